#!/usr/bin/env python3
"""Counts the test cases of a ctest JUnit report: GoogleTest cases inside each program, and programs of
other kinds as one each. Prints "N passed, M failed, K skipped", and lists on stderr which programs failed and what was skipped."""
import re
import sys
import xml.etree.ElementTree as tree

# A program of Google Test ends with these lines.
PASSED = re.compile(r"^\[  PASSED  \] (\d+) tests?", re.M)
FAILED = re.compile(r"^\[  FAILED  \] (\d+) tests?", re.M)
SKIPPED = re.compile(r"^\[  SKIPPED \] (\d+) tests?", re.M)


def total(pattern, text):
    return sum(int(n) for n in pattern.findall(text))


passed = failed = skipped = 0
for case in tree.parse(sys.argv[1]).getroot().iter("testcase"):
    output = "".join(e.text or "" for e in case.iter("system-out"))
    ok, bad, skip = total(PASSED, output), total(FAILED, output), total(SKIPPED, output)
    status = case.get("status")
    if status == "fail" and bad == 0:
        bad = 1  # a crash or a time-out ends a program without its summary
    if ok + bad + skip == 0:
        skip = 1 if status in ("notrun", "disabled") else 0
        ok = 1 - skip
    passed, failed, skipped = passed + ok, failed + bad, skipped + skip
    if bad:
        print(f"failed: {bad} of {case.get('name')}", file=sys.stderr)
    if skip:
        print(f"skipped: {skip} of {case.get('name')}", file=sys.stderr)
print(f"{passed} passed, {failed} failed, {skipped} skipped")
