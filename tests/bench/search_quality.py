#!/usr/bin/env python3
"""How good the search is on resnet50: few trials against many, and a second tuning against a cold one.

    search_quality.py --bin build/release/bin --work DIR [--seeds 1 2 3] [--trials 2000] [--few 200] [--second 300] [--budget 720]

Few trials: two runs of their own per seed, each from an empty log; the latencies are those of the compiled libraries,
executed in turns (and, beside them, the sums of the searches' best times).
Second tuning: batch 4, once from an empty log and once from a copy of the log of batch 1. Counted are the trials from which
on the model's time is within 5 % of what that run ends with, seen in three ways:
  reported   the model_ms of --json-lines, in which untried tasks count with the estimate of their prior config
  library    what mlc-compile writes from the log as it was after so many trials (one of --steps), executed in turns
  measured   the sum of the best measured times, which exists once every task has one
No seed is started that would probably end after --budget seconds. Prints medians over the seeds.
"""
import argparse
import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MAKE_MODEL = f"{HERE}/../models/make_model.py"


def make_model(path, batch):
    if not os.path.exists(path):
        subprocess.run(["/usr/bin/python3", MAKE_MODEL, "resnet50", path, "--batch", str(batch), "--inputs", path[:-5] + "_inputs"],
                       check=True)


def fresh(path):
    for suffix in ("", "-wal", "-shm", ".lock"):
        if os.path.exists(path + suffix):
            os.remove(path + suffix)
    return path


def tune(args, model, trials, log, seed):
    """Events of a tuning, and its wall-clock seconds."""
    started = time.time()
    output = subprocess.run([f"{args.bin}/mlc-tune", "--model", model, "--trials", str(trials), "--log", log, "--seed", str(seed),
                             "--json-lines"], check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in output.splitlines()], time.time() - started


def curve_of(log, events):
    """(trials, model_ms) after every trial of a run from which on each task has a kernel: occurrences times best times."""
    result = events[-1]
    occurrences = {task["workload"]: task["occurrences"] for task in result["tasks"]}
    connection = sqlite3.connect(f"file:{log}?mode=ro", uri=True)
    rows = connection.execute(
        "SELECT lower(hex(w.key)), r.outcome, r.median_ns FROM record r JOIN workload w ON w.id = r.workload "
        "WHERE lower(hex(r.job_id)) = ? ORDER BY r.id", (result["job"],)).fetchall()
    connection.close()
    best, curve = {}, []
    for trials, (workload, outcome, ns) in enumerate(rows, 1):
        if outcome == 0 and workload in occurrences:
            best[workload] = min(best.get(workload, ns), ns)
        if len(best) == len(occurrences):
            curve.append((trials, sum(occurrences[w] * t for w, t in best.items()) * 1e-6))
    return curve


def reported_of(events):
    """(trials, model_ms) as the progress says it."""
    return [(event["trials"], event["model_ms"]) for event in events if event["model_ms"] > 0]


def trials_to(curve, within):
    """Trials after which the model's time stays within `within` of the last one."""
    final = curve[-1][1]
    reached = curve[-1][0]
    for trials, ms in reversed(curve):
        if ms > final * (1 + within):
            break
        reached = trials
    return reached


def cut(log, job, trials, out):
    """A copy of a log in which the job made only so many trials."""
    shutil.copy(log, fresh(out))
    connection = sqlite3.connect(out)
    ids = [row[0] for row in connection.execute("SELECT id FROM record WHERE lower(hex(job_id)) = ? ORDER BY id", (job,))]
    connection.executemany("DELETE FROM record WHERE id = ?", [(i,) for i in ids[trials:]])
    connection.commit()
    connection.close()
    return out


def library_curves(args, model, runs):
    """Of each (log, events): [(trials, ms)], all libraries executed in turns."""
    steps = [step for step in args.steps if step < args.second] + [args.second]
    libraries = []
    for number, (log, events) in enumerate(runs):
        for step in steps:
            libraries.append(f"{args.work}/step_{number}_{step}")
            compile_library(args, model, cut(log, events[-1]["job"], step, f"{args.work}/step.db"), libraries[-1])
    ms = latencies(args, libraries, f"{model[:-5]}_inputs", rounds=args.rounds)
    for library in libraries:
        shutil.rmtree(library)
    return [list(zip(steps, ms[i * len(steps):(i + 1) * len(steps)])) for i in range(len(runs))]


def compile_library(args, model, log, out):
    shutil.rmtree(out, ignore_errors=True)
    subprocess.run([f"{args.bin}/mlc-compile", "--model", model, "--log", log, "-o", out, "--name", "m"], check=True, capture_output=True)


def latencies(args, libraries, inputs, rounds=6):
    """Medians of libraries that take turns."""
    samples = [[] for _ in libraries]
    for _ in range(rounds):
        for i, library in enumerate(libraries):
            output = subprocess.run([f"{args.bin}/mlc-run", library, "--inputs", inputs, "--bench", "1", "--json"], check=True,
                                    capture_output=True, text=True).stdout
            samples[i].append(json.loads(output)["latency_ms"]["median"])
    return [statistics.median(s) for s in samples]


def few_against_many(args, seed):
    model = f"{args.work}/resnet50.onnx"
    make_model(model, 1)
    libraries, finals, seconds = [], [], 0
    for trials in (args.few, args.trials):
        log = fresh(f"{args.work}/quality_{trials}.db")
        events, seconds = tune(args, model, trials, log, seed)
        finals.append(curve_of(log, events)[-1][1])
        libraries.append(f"{args.work}/quality_{trials}_library")
        compile_library(args, model, log, libraries[-1])
    few, many = latencies(args, libraries, f"{args.work}/resnet50_inputs")
    print(f"| {seed} | {few:.2f} | {many:.2f} | {few / many:.3f} | {finals[0] / finals[1]:.3f} | {seconds:.0f} |", flush=True)
    return few / many, seconds


def quotient(warm, cold):
    return warm / max(cold, 1)


def curve_text(curve):
    return ", ".join(f"{trials}: {ms:.1f}" for trials, ms in curve)


def second_tuning(args, seed):
    """Quotients of trials, warm over cold: reported, library (None if not asked for), measured."""
    model = f"{args.work}/resnet50_b4.onnx"
    make_model(model, 4)
    cold_log = fresh(f"{args.work}/second_cold.db")
    cold, _ = tune(args, model, args.second, cold_log, seed)
    warm_log = fresh(f"{args.work}/second_warm.db")
    shutil.copy(f"{args.work}/quality_{args.trials}.db", warm_log)
    warm, _ = tune(args, model, args.second, warm_log, seed)
    ways = {"reported": (reported_of(cold), reported_of(warm)), "measured": (curve_of(cold_log, cold), curve_of(warm_log, warm))}
    if seed in args.seeds[:args.libraries]:
        ways["library"] = library_curves(args, model, [(cold_log, cold), (warm_log, warm)])
    quotients = {}
    for way, (cold_curve, warm_curve) in ways.items():
        cold_trials, warm_trials = trials_to(cold_curve, 0.05), trials_to(warm_curve, 0.05)
        quotients[way] = quotient(warm_trials, cold_trials)
        print(f"| {seed} | {way} | {cold_trials} | {warm_trials} | {quotients[way]:.2f} | {cold_curve[0][1]:.1f}, {warm_curve[0][1]:.1f} | "
              f"{cold_curve[-1][1]:.1f}, {warm_curve[-1][1]:.1f} |", flush=True)
        if way == "library":
            print(f"\nms of the library after so many trials, cold {curve_text(cold_curve)}; warm {curve_text(warm_curve)}\n", flush=True)
    return quotients


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--work", required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--few", type=int, default=200)
    parser.add_argument("--second", type=int, default=300)
    parser.add_argument("--steps", type=int, nargs="+", default=[0, 4, 16, 32, 64, 128])
    parser.add_argument("--libraries", type=int, default=1, help="so many seeds have their libraries compiled and executed")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--budget", type=float, default=720)
    parser.add_argument("--skip", choices=("few", "second"))
    args = parser.parse_args()
    ratios, seconds, second, longest = [], [], [], 0
    started = time.time()
    for seed in args.seeds:
        seed_started = time.time()
        if seed_started + longest > started + args.budget:
            print(f"\nno time for seed {seed} and later ones")
            break
        if args.skip != "few":
            print(f"\n| seed | ms after {args.few} | ms after {args.trials} | quotient | quotient of the sums | seconds of {args.trials} |\n"
                  "|---|---|---|---|---|---|")
            ratio, spent = few_against_many(args, seed)
            ratios.append(ratio)
            seconds.append(spent)
        if args.skip != "second":
            print("\n| seed | seen in | trials to within 5 %, cold | warm | quotient | ms at first, cold, warm | at the end |\n"
                  "|---|---|---|---|---|---|---|")
            second.append(second_tuning(args, seed))
        longest = max(longest, time.time() - seed_started)
    if ratios:
        print(f"\nmedian of {len(ratios)} quotients {statistics.median(ratios):.3f}; wall clock of {args.trials} trials {statistics.median(seconds):.0f} s")
    for way in ("reported", "library", "measured"):
        quotients = [entry[way] for entry in second if way in entry]
        if quotients:
            print(f"second tuning, {way}: median of {len(quotients)} quotients {statistics.median(quotients):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
