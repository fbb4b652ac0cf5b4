#!/usr/bin/env python3
"""Runs clang-tidy, as .clang-tidy configures it, over every source of the programs and libraries.

    tidy.py BUILD_DIR [FOLDER...]      e.g. tidy.py build/release compiler/ir

Prints each finding once; exit code 1 if there is one, 77 if clang-tidy was not fetched.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

from compile_database import compilations, write_database

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# The one that deploy/setup.sh fetches: unlike Debian's, it leaves system headers alone, which takes a quarter of the time.
TIDY = os.path.join(ROOT, "build/python/clang_tidy/data/bin/clang-tidy")
FINDING = re.compile(r"^(/[^:]+:\d+:\d+: (?:warning|error): .*)$", re.M)
# The tests' macros expand to what the checks complain of.
TREES = ("base", "compiler", "costmodel", "db", "server", "worker", "client")


def sources(build, folders):
    files = sorted({entry["file"] for entry in compilations(build)})
    prefixes = tuple(os.path.join(ROOT, folder) + "/" for folder in folders)
    return [f for f in files if f.startswith(prefixes) and f.endswith(".cc")]


def check(database, source):
    run = subprocess.run([TIDY, "-p", database, "--quiet", source], capture_output=True, text=True)
    found = FINDING.findall(run.stdout)
    if run.returncode != 0 and not found:
        found = [f"{source}: clang-tidy ended with {run.returncode}: {(run.stdout + run.stderr).strip()[-400:]}"]
    return found


def main():
    if not os.path.exists(TIDY):
        print(f"skipped: {TIDY} is missing; deploy/setup.sh fetches it")
        return 77
    build, folders = sys.argv[1], sys.argv[2:] or TREES
    files = sources(build, folders)
    if not files:
        print(f"no sources of {' '.join(folders)} in {build}/compile_commands.json")
        return 1
    findings = set()
    with tempfile.TemporaryDirectory() as database, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        write_database(build, database)
        for found in pool.map(lambda f: check(database, f), files):
            for line in found:
                if line not in findings:
                    print(line.replace(ROOT + "/", ""), flush=True)
                findings.add(line)
    print(f"{len(files)} sources, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
