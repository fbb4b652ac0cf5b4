#!/usr/bin/env python3
"""What it costs to compile the project, and what of it is dearest.

    build_time.py BUILD [--every N] [--trace N] [--json FILE] [--budget FILE]

BUILD is a configured build tree; `ninja -C BUILD mlc_proto headers_of_tests` makes the headers that it needs. Compiles
every Nth source (--every, default 1) of the programs and of the tests alone, without ccache and without keeping the
object, and prints the CPU seconds (user and system), estimated for all sources, and the ten dearest compilations. Other
work on the machine changes CPU seconds much less than wall-clock seconds.
--trace reads every Nth source of the programs with clang (default 0: none) and prints the ten dearest headers: the
seconds for a header with all that it includes, summed over all sources. Headers within headers count in both.
--json writes the figures to a part of FILE: "grouped" or "alone", as BUILD compiles its sources; the rest of it stays.
--budget compares them with the budgets in FILE, such as docs/data/build_time.json: exit code 1 if one is exceeded. A
budget holds for the machine that its file names.
"""
import argparse
import collections
import json
import os
import re
import resource
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests/layering"))
from compile_database import compilations  # noqa: E402: its folder is known only here

CLANG = "clang++-14"
PARTS = ("programs", "tests")
SHOWN = 10


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compiler_words(entry, output):
    """The command without ccache and lists of dependencies, and the object that it would write; None for C and assembler."""
    words = shlex.split(entry["command"])
    first = next((i for i, word in enumerate(words) if word.endswith("++")), None)
    if first is None:
        return None, None
    kept, written = [], None
    for before, word in zip(["", *words[first:]], words[first:]):
        if before == "-o":
            written, word = word, output
        elif word in ("-MD", "-MT", "-MF") or before in ("-MT", "-MF"):
            continue
        kept.append(word)
    return kept, written


def compile_all(build, every):
    """Part of the project -> CPU seconds of all its compilations, their number, and (seconds, object) of the measured."""
    with open(f"{build}/compile_commands.json", encoding="utf-8") as f:
        entries = json.load(f)
    parts = {part: [] for part in PARTS}
    with tempfile.TemporaryDirectory() as scratch:
        for entry in entries:
            words, written = compiler_words(entry, os.path.join(scratch, "object.o"))
            # Targets that no build makes unless it is asked to.
            if words and not re.match(r"tests/layering/|tests/fuzz/coverage/", written):
                parts["tests" if written.startswith("tests/") else "programs"].append((written, words, entry["directory"]))
        result = {}
        for part, commands in parts.items():
            measured = []
            for written, words, directory in commands[::every]:
                before = cpu_seconds()
                run = subprocess.run(words, cwd=directory, capture_output=True, text=True)
                if run.returncode != 0:
                    sys.exit(f"{written} does not compile: {run.stderr[-600:]}")
                measured.append((round(cpu_seconds() - before, 2), re.sub(r"CMakeFiles/(.*)\.dir/(Unity/)?", "", written)))
            total = sum(seconds for seconds, _ in measured) * len(commands) / max(len(measured), 1)
            result[part] = {"compilations": len(commands), "measured": len(measured), "cpu_s": round(total, 1),
                            "dearest": sorted(measured, reverse=True)[:SHOWN]}
    return result


def trace(entry, output):
    """The events of clang reading one source, without making code."""
    kept, after = [], ""
    for word in shlex.split(entry["command"]):
        if re.match(r"-[DI]|-std=|-isystem", word) or after == "-isystem":
            kept.append(word)
        after = word
    run = subprocess.run([CLANG, "-c", "-O0", "-w", "-ftime-trace", *kept, entry["file"], "-o", output],
                         cwd=entry["directory"], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{entry['file']}: {run.stderr[-600:]}")
    with open(os.path.splitext(output)[0] + ".json", encoding="utf-8") as f:
        return json.load(f)["traceEvents"]


def header_name(path):
    path = os.path.normpath(path)
    if path.startswith(ROOT + "/"):
        return path[len(ROOT) + 1:]
    return re.sub(r"^/usr/(lib/gcc/.*?/include|lib/llvm-\d+/include|include)/(c\+\+/\d+/)?", "", path)


def dearest_headers(build, every):
    entries = sorted((e for e in compilations(build) if e["file"].endswith(".cc") and
                      os.path.relpath(e["file"], ROOT).split("/")[0] not in ("tests", "build", "..")), key=lambda e: e["file"])
    seconds, sources = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        for entry in entries[::every]:
            names = collections.Counter()
            for event in trace(entry, os.path.join(scratch, "object.o")):
                if event.get("name") == "Source":
                    names[header_name(event["args"]["detail"])] += event["dur"] / 1e6
            seconds.update(names)
            sources.update(names.keys())
    return [(round(total * every, 1), sources[name] * every, name) for name, total in seconds.most_common(SHOWN)]


def arrangement(build):
    """How a build tree compiles its sources."""
    with open(f"{build}/CMakeCache.txt", encoding="utf-8") as f:
        return "grouped" if re.search(r"^MLC_UNITY:\w+=ON$", f.read(), re.M) else "alone"


def show(result):
    for part in PARTS:
        figures = result[part]
        print(f"{part}: {figures['cpu_s']} CPU s for {figures['compilations']} compilations, {figures['measured']} measured")
        for seconds, name in figures["dearest"]:
            print(f"{seconds:8.1f} s  {name}")
    if "headers" in result:
        print("headers: seconds, sources that include it, name")
        for seconds, sources, name in result["headers"]:
            print(f"{seconds:8.1f} s  {sources:4d}  {name}")


def read_json(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def within(result, budgets):
    """Whether no part costs more than its budget; prints how much of it each takes."""
    for part in PARTS:
        print(f"{part}: {result[part]['cpu_s']} of a budget of {budgets[part]} CPU s")
    return all(result[part]["cpu_s"] <= budgets[part] for part in PARTS)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--trace", type=int, default=0)
    parser.add_argument("--json")
    parser.add_argument("--budget")
    args = parser.parse_args()
    kind = arrangement(args.build)
    budgets = None
    if args.budget:
        budgets = read_json(args.budget).get("budget", {}).get(kind)
        if budgets is None:
            sys.exit(f"{args.budget} has no budget of builds with sources {kind}: compare another build tree")
    result = compile_all(args.build, args.every)
    if args.trace:
        result["headers"] = dearest_headers(args.build, args.trace)
    show(result)
    if args.json:
        whole = read_json(args.json) if os.path.exists(args.json) else {}
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump({**whole, kind: result}, f, indent=1)
            f.write("\n")
    return 0 if budgets is None or within(result, budgets) else 1


if __name__ == "__main__":
    sys.exit(main())
