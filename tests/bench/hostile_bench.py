#!/usr/bin/python3
"""What hostile callers cost a server: 100 calls at once of every kind in tests/faults/attacks.py, floods of unauthenticated connections and of known
callers, crowds of idle connections. Says the most memory, the CPU time and the longest heartbeat of a worker meanwhile.
usage: hostile_bench.py BUILD [--json FILE] [--seconds 5] [--only NAME,...]"""
import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/faults"))
import attacks  # noqa: E402


def target(build):
    said = subprocess.run([build / "bin/mlc-worker", "--doctor", "--threads", "1"], capture_output=True, text=True, check=False)
    return next(line[line.index("target v1 "):].strip() for line in said.stdout.splitlines() if "target v1 " in line)


def measure(build, worker_target, name, kind, attack):
    """A server of its own for each, so that none inherits the memory of another."""
    with tempfile.TemporaryDirectory(prefix="mlc-hostile-") as folder:
        victim = attacks.Victim(build, SOURCE, folder, worker_target)
        beat = attacks.Heartbeat(victim)
        beat.start()
        cpu, begin = victim.cpu_s(), time.monotonic()
        outcome = attack(victim)
        seconds = time.monotonic() - begin
        row = {"kind": kind, "name": name, "seconds": round(seconds, 1), "cpu_s": round(victim.cpu_s() - cpu, 2),
               "most_mib": round(victim.most_mib()) if victim.process.poll() is None else None}
        beat.stop()
        row |= {"heartbeats": beat.calls, "longest_heartbeat_s": round(beat.longest_s, 3), "failed_heartbeats": len(beat.errors),
                "outcome": outcome, "exit": victim.stop()}
    most = "it died" if row["most_mib"] is None else f"{row['most_mib']:5} MiB"
    print(f"{kind:10} {name:30} {seconds:6.1f} s, CPU {row['cpu_s']:6.2f} s, at most {most}, longest heartbeat "
          f"{beat.longest_s * 1000:6.0f} ms, failed {len(beat.errors)}; {outcome}", flush=True)
    return row


def crowd(victim, count, handshake):
    stack, refused = attacks.crowd(victim, count, handshake)
    with stack:
        return {"refused": refused, "descriptors": victim.descriptors(), "resident_mib": round(victim.resident_mib())}


def main():
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("build", type=pathlib.Path)
    flags.add_argument("--json", type=pathlib.Path)
    flags.add_argument("--seconds", type=float, default=5)
    flags.add_argument("--crowd", type=int, default=60_000)
    flags.add_argument("--only", default="")
    options = flags.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    said = target(options.build)
    # Each connection of the crowd is a descriptor here; some are for everything else.
    crowd_size = min(options.crowd, hard - 1_000)
    if crowd_size < options.crowd:
        print(f"crowds of {crowd_size} connections: this process may open {hard} files", flush=True)
    attempts = [("calls", name, lambda victim, name=name: attacks.call_at_once(victim, name)) for name in attacks.CALLS]
    for kind, who, count in (("unauthenticated", None, 100), ("known", "read-x", 4)):
        attempts += [(kind, name, lambda victim, name=name, who=who, count=count:
                      {"sent_mb": round(attacks.flood_at_once(victim, name, who, count, options.seconds) / 1e6, 1)})
                     for name in attacks.FLOODS]
    attempts.append(("crowd", "begin a handshake", lambda victim: crowd(victim, crowd_size, False)))
    attempts.append(("crowd", "handshake, then nothing", lambda victim: crowd(victim, crowd_size // 10, True)))
    only = set(filter(None, options.only.split(",")))
    rows = [measure(options.build, said, name, kind, attack) for kind, name, attack in attempts if not only or {name, kind} & only]
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
