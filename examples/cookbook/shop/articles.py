# SPDX-License-Identifier: MIT
"""The words in article numbers."""
import re

WORDS = [f"{colour}{size}{kind}" for colour in ("red", "green", "blue", "white") for size in ("", "-s", "-m", "-l", "-xl")
         for kind in ("shirt", "shoes", "hat", "coat")]


def compile_patterns():
    """One pattern for each kind of article, all when the module is imported: that is the mistake."""
    return [re.compile(rf"(?P<number>\d{{1,8}})[ _-]+(?i:{word})(?:[ _-]+(?P<year>(?:19|20)\d\d))?(?:/(?P<part>[a-z]{{1,3}}|\d+))*")
            for word in WORDS]


PATTERNS = compile_patterns()


def describe(number):
    return next((pattern.pattern for pattern in PATTERNS if pattern.match(number)), "unknown")
