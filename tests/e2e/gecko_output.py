# SPDX-License-Identifier: MIT
"""Holds each Firefox Profiler file that a test makes to the rules: recording.run() asks here after each pyreel-gecko."""

import os

import gecko_check

WITH_VALUE = {"-o", "--output", "--threads", "--from", "--to", "--mode", "--weight", "--max-samples"}  # options whose value is the next word


def output_of(arguments):
    """The file that pyreel-gecko writes with these arguments; None: none, or not a file."""
    words, inputs, named = iter(arguments), [], None
    for word in words:
        if word in ("--help", "--version"):
            return None
        if word in ("-o", "--output"):
            named = next(words, None)
        elif word.startswith("--output="):
            named = word.partition("=")[2]
        elif word.startswith("-o") and len(word) > 2:
            named = word[2:]
        elif word in WITH_VALUE:
            next(words, None)
        elif not word.startswith("-"):
            inputs.append(word)
    if named is None and inputs:
        named = f"{inputs[0]}.json.gz"
    return None if named in (None, "-") else named


def hold(command, cwd=None):
    """Asserts that what a pyreel-gecko that worked has written obeys the rules. Returns whether there was a file."""
    arguments = [str(word) for word in command[1:]]
    path = output_of(arguments)
    if path is None:
        return False
    path = os.path.join(cwd or ".", path)
    if not os.path.isfile(path):
        return False
    found = gecko_check.problems(gecko_check.load(path), all_markers="--markers=all" in arguments)
    assert found == [], (command, found[:20])
    return True
