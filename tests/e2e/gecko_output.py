# SPDX-License-Identifier: MIT
"""Holds each Firefox Profiler file that a test makes to the rules and to the schema: recording.run() asks here after each
pyreel-gecko."""

import os

import gecko_check
import gecko_schema


def output_of(arguments, is_file=os.path.isfile):
    """The file that pyreel-gecko writes with these arguments; None: none, or no profile that the rules know."""
    if {"--help", "--version"} & set(arguments):
        return None
    words, named = iter(arguments), None
    for word in words:
        if word in ("-o", "--output"):
            named = next(words, None)
        elif word.startswith("--output="):
            named = word.partition("=")[2]
        elif word.startswith("-o") and len(word) > 2:
            named = word[2:]
    if named is None:
        named = next((f"{word}.json.gz" for word in arguments if is_file(word)), None)
    return None if named in (None, "-") or named.startswith("/dev/") else named


def hold(command, cwd=None):
    """Asserts that what a pyreel-gecko that worked has written obeys the rules. Returns whether there was a file."""
    arguments, folder = [str(word) for word in command[1:]], cwd or "."
    path = output_of(arguments, lambda word: os.path.isfile(os.path.join(folder, word)))
    if path is None or not os.path.isfile(os.path.join(folder, path)):
        return False
    profile = gecko_check.load(os.path.join(folder, path))
    found = gecko_check.problems(profile, all_markers="--markers=all" in arguments) or gecko_schema.problems(profile)
    assert found == [], (command, found[:20])
    return True
