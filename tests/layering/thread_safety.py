#!/usr/bin/env python3
"""Runs Clang's thread-safety analysis over the server's sources and the base headers that they include.

    thread_safety.py BUILD_DIR [SOURCE...]      e.g. thread_safety.py build/release server/tuner/dispatcher.cc

base/mutex.h has the annotations that it checks, the order of mutexes among them. First it must reject each mistake
in tests/layering/unguarded.cc. Prints each finding; exit code 1 if there is one, 77 if there is no Clang.
"""
import concurrent.futures
import os
import re
import shlex
import shutil
import subprocess
import sys

from compile_database import compilations

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CLANG = next(filter(None, map(shutil.which, ("clang++-14", "clang++-15", "clang++-16", "clang++"))), None)
ANALYSIS = ["-fsyntax-only", "-Wno-everything", "-Wthread-safety", "-Wthread-safety-beta", "-Werror=thread-safety",
            "-Werror=thread-safety-beta"]
SAMPLE = os.path.join(ROOT, "tests/layering/unguarded.cc")
FINDING = re.compile(r"^(/[^:]+:\d+):\d+: (?:error|fatal error): (.*)$", re.M)


def commands(build, wanted):
    """Source -> directory and arguments of its compilation, without what only gcc understands."""
    found = {}
    for entry in compilations(build):
        name = os.path.relpath(entry["file"], ROOT)
        if name not in wanted and (wanted or not name.startswith("server/")):
            continue
        kept = [word for word in shlex.split(entry["command"]) if re.match(r"-[DI]|-std=|-isystem|/", word)]
        # -isystem has its folder in the next word; compilers, sources and objects are words of their own, too.
        words, after = [], ""
        for word in kept:
            if word.startswith("-") or after == "-isystem":
                words.append(word)
            after = word
        found[entry["file"]] = entry["directory"], words
    return found


def check(source, directory, words):
    run = subprocess.run([CLANG, *ANALYSIS, *words, source], cwd=directory, capture_output=True, text=True)
    found = FINDING.findall(run.stderr)
    if run.returncode != 0 and not found:
        found = [(source, f"clang ended with {run.returncode}: {run.stderr.strip()[-400:]}")]
    return found


def missed_mistakes():
    """Lines of the sample that hold a mistake and are not rejected, or are rejected without one."""
    with open(SAMPLE) as f:
        expected = {f"{SAMPLE}:{number}" for number, line in enumerate(f, 1) if "// MISTAKE" in line}
    rejected = {place for place, _ in check(SAMPLE, ROOT, ["-std=c++20", f"-I{ROOT}"])}
    return sorted(expected ^ rejected), len(expected)


def main():
    if CLANG is None:
        print("skipped: there is no clang++; Debian's package clang-14 has it")
        return 77
    wrong, mistakes = missed_mistakes()
    for place in wrong:
        print(f"{place.replace(ROOT + '/', '')}: the analysis and the sample disagree")
    files = commands(sys.argv[1], set(sys.argv[2:]))
    findings = set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(lambda item: check(item[0], *item[1]), files.items()):
            for place, text in found:
                if (place, text) not in findings:
                    print(f"{place.replace(ROOT + '/', '')}: {text}", flush=True)
                findings.add((place, text))
    print(f"{len(files)} sources, {len(findings)} findings; {mistakes} mistakes of the sample, {len(wrong)} missed")
    return 1 if findings or wrong or not files or not mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
