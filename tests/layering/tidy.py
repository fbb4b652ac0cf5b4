#!/usr/bin/env python3
"""Runs clang-tidy, as .clang-tidy configures it, over every source of the programs and libraries.

    tidy.py BUILD_DIR [FOLDER...]      e.g. tidy.py build/release compiler/ir

Prints each finding once; exit code 1 if there is one, 77 if clang-tidy is not installed.
"""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FINDING = re.compile(r"^(/[^:]+:\d+:\d+: (?:warning|error): .*)$", re.M)
# The tests' macros expand to what the checks complain of.
TREES = ("compiler", "costmodel", "db", "transport", "server", "worker", "client")


def sources(build, folders):
    with open(f"{build}/compile_commands.json") as f:
        files = sorted({entry["file"] for entry in json.load(f)})
    prefixes = tuple(os.path.join(ROOT, folder) + "/" for folder in folders)
    return [f for f in files if f.startswith(prefixes) and f.endswith(".cc")]


def check(build, source):
    run = subprocess.run(["clang-tidy", "-p", build, "--quiet", source], capture_output=True, text=True)
    found = FINDING.findall(run.stdout)
    if run.returncode != 0 and not found:
        found = [f"{source}: clang-tidy ended with {run.returncode}: {(run.stdout + run.stderr).strip()[-400:]}"]
    return found


def main():
    if shutil.which("clang-tidy") is None:
        print("skipped: clang-tidy is not installed")
        return 77
    build, folders = sys.argv[1], sys.argv[2:] or TREES
    files = sources(build, folders)
    if not files:
        print(f"no sources of {' '.join(folders)} in {build}/compile_commands.json")
        return 1
    findings = set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(lambda f: check(build, f), files):
            for line in found:
                if line not in findings:
                    print(line.replace(ROOT + "/", ""), flush=True)
                findings.add(line)
    print(f"{len(files)} sources, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
