#!/usr/bin/env python3
"""Peak memory of a command with all its processes.

    peak_memory.py [--weights FILE] [--every SECONDS] COMMAND...

Every few milliseconds the proportional set sizes (what is shared counts once) of the command's process group and of all
its descendants are added up; the largest sum counts. Bytes of files that are only mapped belong to it: of --weights the
size is subtracted. The command's output goes to stderr.
"""
import argparse
import os
import subprocess
import sys
import time


def processes():
    """pid -> (parent, name)"""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as f:
                text = f.read()
        except OSError:
            continue
        name = text[text.index("(") + 1:text.rindex(")")]
        found[int(entry)] = (int(text[text.rindex(")") + 2:].split()[1]), name)
    return found


def tree(root, known):
    """The processes of `known` and of root that are alive, with their descendants: a child outlives its parent's death here."""
    table = processes()
    members = {pid for pid in known | {root} if pid in table}
    grown = True
    while grown:
        more = {pid for pid, (parent, _) in table.items() if parent in members} - members
        members |= more
        grown = bool(more)
    return {pid: table[pid][1] for pid in members}


def proportional_bytes(pid):
    try:
        with open(f"/proc/{pid}/smaps_rollup") as f:
            for line in f:
                if line.startswith("Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", help="file whose bytes do not count")
    parser.add_argument("--every", type=float, default=0.03)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    started = time.time()
    process = subprocess.Popen(args.command, stdout=sys.stderr)
    peak, at_peak, known = 0, [], set()
    while process.poll() is None:
        members = tree(process.pid, known)
        known = set(members)
        sizes = sorted(((proportional_bytes(pid), name) for pid, name in members.items()), reverse=True)
        if sum(size for size, _ in sizes) > peak:
            peak, at_peak = sum(size for size, _ in sizes), sizes
        time.sleep(args.every)
    weights = os.path.getsize(args.weights) if args.weights else 0
    mb = 1e6
    print(f"peak {peak / mb:.0f} MB, beyond the weights {(peak - weights) / mb:.0f} MB, {time.time() - started:.1f} s")
    print("  at the peak: " + ", ".join(f"{name} {size / mb:.0f}" for size, name in at_peak))
    return process.returncode


if __name__ == "__main__":
    sys.exit(main())
