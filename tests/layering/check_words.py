#!/usr/bin/env python3
"""Holds the code to the glossary: fails where a source, a message or a test has a word that the project replaced by the field's
term, and where docs/reference/glossary.md has more than 60 terms or one that is not a line of its table.

    check_words.py ROOT
"""
import pathlib
import re
import subprocess
import sys

MOST_TERMS = 60
SUFFIXES = (".cc", ".h", ".c", ".proto", ".py", ".sql", ".sh")


def banned(path):
    """Lines `regular expression TAB word to use`; empty lines and those that begin with # say nothing."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        pattern, tab, instead = line.partition("\t")
        if not tab or not instead:
            raise SystemExit(f"{path}:{number}: wants a pattern, a TAB and the word to use")
        yield re.compile(pattern), instead


def sources(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, text=True)
    if listed.returncode == 0:
        names = [root / name for name in listed.stdout.split("\0") if name]
    else:
        names = [path for path in root.rglob("*") if "build" not in path.relative_to(root).parts[:1]]
    return sorted(path for path in names if path.suffix in SUFFIXES and path.is_file())


def problems_of_glossary(path):
    rows = [line for line in path.read_text().splitlines() if line.startswith("| ")][1:]
    terms = [row.split("|")[1].strip() for row in rows if not row.startswith("|-")]
    if not terms or len(terms) > MOST_TERMS:
        yield f"{path}: has {len(terms)} terms; at most {MOST_TERMS} are allowed"
    for row in rows:
        if len([cell for cell in row.split("|") if cell.strip()]) != 2:
            yield f"{path}: a term takes one line of two cells: {row}"
    for before, after in zip(terms, terms[1:]):
        if before.lower() >= after.lower():
            yield f"{path}: terms stand in alphabetical order: {after} comes before {before}"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    here = pathlib.Path(__file__).resolve().parent
    words = list(banned(here / "banned_words.txt"))
    count = bad = 0
    for path in sources(root):
        count += 1
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for pattern, instead in words:
                if found := pattern.search(line):
                    print(f"{path.relative_to(root)}:{number}: '{found.group()}' is not in the glossary: use {instead}")
                    bad += 1
    for problem in problems_of_glossary(root / "docs/reference/glossary.md"):
        print(problem)
        bad += 1
    print(f"{count} files, {len(words)} banned words, {bad} problems")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
