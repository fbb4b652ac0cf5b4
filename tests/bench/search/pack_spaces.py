#!/usr/bin/env python3
"""Packs recordings of space_record into files that replay_searches reads, one a task: OUT/TASK_DEVICE.json.gz.

    pack_spaces.py RECORDING OUT --device H200 --card "NVIDIA H200, driver 580" --date 2026-11-28

A file has the task's workload, the target that was measured, how its configs were selected, and of each measured config its text
and its times in ns, one a measurement; instead of times the outcome of one that gave none. A config that was stopped early as too
slow keeps the shortest time that was seen, a lower bound.
"""
import argparse
import gzip
import json
import pathlib
import sys

TIMED = ("ok", "too_slow")


def lines_of(path):
    """Without a line that was cut."""
    found = []
    for line in path.read_text().splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def packed(selection, times, about):
    """The content of a file, or None if nothing was measured."""
    header, results, target = selection[0], {}, ""
    for line in times:
        target = target or line.get("target", "")
        results.setdefault(line["config"], []).append(line)
    if not results or not target:
        return None
    configs = []
    for config, lines in results.items():
        # Numbers of a tenth of a nanosecond are more than any clock has.
        ns = [round(line["ns"], 1) for line in lines if line["outcome"] in TIMED]
        configs.append([config, ns if ns else lines[0]["outcome"]])
    about = dict(about, measured=len(configs), selected=len(selection) - 1,
                 **{key: header[key] for key in ("legal", "pruned", "factor", "best", "random", "seed", "selected_for")})
    return {"about": about, "workload": header["workload"], "target": target, "configs": configs}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recording", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--device", required=True)
    parser.add_argument("--card", required=True)
    parser.add_argument("--date", required=True)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for path in sorted(args.recording.glob("*.selection.jsonl")):
        name = path.name.removesuffix(".selection.jsonl")
        times = path.with_name(f"{name}.times.jsonl")
        content = packed(lines_of(path), lines_of(times), {"task": name, "card": args.card, "date": args.date}) if times.exists() else None
        if content is None:
            print(f"{name}: nothing measured")
            continue
        file = args.out / f"{name}_{args.device}.json.gz"
        file.write_bytes(gzip.compress(json.dumps(content, separators=(",", ":")).encode(), 9, mtime=0))
        print(f"{file}: {len(content['configs'])} configs, {file.stat().st_size} bytes")


if __name__ == "__main__":
    sys.exit(main())
