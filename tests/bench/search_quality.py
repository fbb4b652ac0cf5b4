#!/usr/bin/env python3
"""How good the search is on resnet50: few trials against many, and a second tuning against a cold one.

    search_quality.py --bin build/release/bin --work DIR [--seeds 1 2 3] [--trials 2000] [--few 200] [--second 600]

Few trials: two runs of their own per seed, each from an empty log; the latencies are those of the compiled libraries,
executed in turns (and, beside them, the sums of the searches' best times).
Second tuning: batch 4, once from an empty log and once from a copy of the log of batch 1; counted are the trials until the
model's time is within 5 % of what that run ends with. Prints medians over the seeds.
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
        "WHERE lower(hex(r.study)) = ? ORDER BY r.id", (result["job"],)).fetchall()
    connection.close()
    best, curve = {}, []
    for trials, (workload, outcome, ns) in enumerate(rows, 1):
        if outcome == 0 and workload in occurrences:
            best[workload] = min(best.get(workload, ns), ns)
        if len(best) == len(occurrences):
            curve.append((trials, sum(occurrences[w] * t for w, t in best.items()) * 1e-6))
    return curve


def trials_to(curve, within):
    """Trials after which the model's time stays within `within` of the last one."""
    final = curve[-1][1]
    reached = curve[-1][0]
    for trials, ms in reversed(curve):
        if ms > final * (1 + within):
            break
        reached = trials
    return reached


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


def second_tuning(args, seed):
    model = f"{args.work}/resnet50_b4.onnx"
    make_model(model, 4)
    cold_log = fresh(f"{args.work}/second_cold.db")
    cold, _ = tune(args, model, args.second, cold_log, seed)
    warm_log = fresh(f"{args.work}/second_warm.db")
    shutil.copy(f"{args.work}/quality_{args.trials}.db", warm_log)
    warm, _ = tune(args, model, args.second, warm_log, seed)
    cold_curve, warm_curve = curve_of(cold_log, cold), curve_of(warm_log, warm)
    cold_trials, warm_trials = trials_to(cold_curve, 0.05), trials_to(warm_curve, 0.05)
    print(f"| {seed} | {cold_trials} | {warm_trials} | {warm_trials / cold_trials:.2f} | {cold_curve[-1][1]:.1f} | {warm_curve[-1][1]:.1f} |", flush=True)
    return warm_trials / cold_trials


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--work", required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--few", type=int, default=200)
    parser.add_argument("--second", type=int, default=600)
    parser.add_argument("--skip", choices=("few", "second"))
    args = parser.parse_args()
    ratios, seconds, seconds_ratio = [], [], []
    if args.skip != "few":
        print(f"| seed | ms after {args.few} | ms after {args.trials} | quotient | quotient of the sums | seconds of {args.trials} |\n|---|---|---|---|---|---|")
        for seed in args.seeds:
            ratio, spent = few_against_many(args, seed)
            ratios.append(ratio)
            seconds.append(spent)
        print(f"\nmedian quotient {statistics.median(ratios):.3f}; wall clock of {args.trials} trials {statistics.median(seconds):.0f} s\n")
    if args.skip != "second":
        print("| seed | trials to within 5 %, cold | warm | quotient | ms at the end, cold | warm |\n|---|---|---|---|---|---|")
        for seed in args.seeds:
            seconds_ratio.append(second_tuning(args, seed))
        print(f"\nmedian quotient {statistics.median(seconds_ratio):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
