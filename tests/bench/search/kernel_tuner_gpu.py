#!/usr/bin/env python3
"""`mlc-tune --kernel` beside Kernel Tuner on a GPU: seconds to within 2 % of the optimum of a space that is measured whole.

    kernel_tuner_gpu.py measure --bin build/release/bin --record build/release/bench/space_record --out DIR [--limit 300]
    kernel_tuner_gpu.py judge DIR [--python PYTHON] [--seeds 20] [--json FILE]     anywhere

Both need kernel-tuner. The kernels are those of the folder kernels/, in Kernel Tuner's T1 format, which both read. `measure` keeps in
DIR, each as soon as it is known: of Kernel Tuner its cache of the whole space, with the times that each config took to compile and to
time (the processes of the kernels have a core each and take turns on the GPU), and live runs of some strategies; of mlc-tune a run
for each seed, each with an empty log and without a cache of device code; and by space_record, which builds and times as mlc-tune
does, the whole space. `judge` replays Kernel Tuner's strategies on its caches, in its own simulation mode.

The engines compile a kernel differently (ours with the launch bounds of the block) and time it differently, so each is judged by the
space as it measured it: a config counts as found when its engine would choose it, and its time in that engine's table is within 2 %
of the least one there. Seconds count from the start of the program. To a simulated strategy's the start of a live run is added; its
own computing is left out.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE))

import kernel_tuner_engine  # noqa: E402

KERNELS = ("convolution", "gemm", "nbody")
STRATEGIES = ("random_sample", "genetic_algorithm", "simulated_annealing", "pso", "dual_annealing", "bayes_opt", "diff_evo",
              "greedy_ils", "firefly_algorithm", "hybrid_vndx", "adaptive_tabu_greywolf")
LIVE = ("genetic_algorithm", "dual_annealing")
PARTS = ("seeds", "own", "cache", "live")
GOAL = 0.98


def say(begin, text):
    print(f"{time.monotonic() - begin:6.1f} s  {text}", flush=True)


def write(path, content):
    path.with_suffix(".new").write_text(json.dumps(content))
    os.replace(path.with_suffix(".new"), path)


def spec_of(kernel):
    return HERE / "kernels" / f"{kernel}.json"


def names_of(kernel):
    return list(kernel_tuner_engine.parameters(json.loads(spec_of(kernel).read_text())))


# Measuring


def values_of(config, names):
    """Of a config's text."""
    values = dict(word.split("=", 1) for word in config.split() if "=" in word)
    return tuple(int(values[name]) for name in names)


def rows_of_log(lines, names, start):
    """Rows [config, ns or None, seconds] of an exported log, in the order in which they were known."""
    rows = []
    for line in lines:
        record = json.loads(line)
        if record.get("kind") != "record":
            continue
        right = record["outcome"] == "ok"
        rows.append([list(values_of(record["config"], names)), record["median_ns"] if right else None,
                     round(record["created_us"] / 1e6 - start, 4)])
    return sorted(rows, key=lambda row: row[2])


def tune(args, kernel, seed, trials, limit_s):
    """One run of mlc-tune with nothing known. What was measured counts also if it had to be ended."""
    with tempfile.TemporaryDirectory(prefix="kernel_") as folder:
        log = f"{folder}/tuning.db"
        command = [f"{args.bin}/mlc-tune", "--kernel", spec_of(kernel), "--target", args.target, "--trials", trials, "--seed", seed,
                   "--log", log, "--cubin-cache", "off", "--quiet", "--json", *args.option]
        start = time.time()
        try:
            done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=limit_s, check=False)
            code, said = done.returncode, done.stderr[-500:]
        except subprocess.TimeoutExpired:
            code, said = 124, f"ended after {limit_s:g} s"
        seconds = time.time() - start
        exported = subprocess.run([f"{args.bin}/mlc-log", "export", log], capture_output=True, text=True, check=False)
        rows = rows_of_log(exported.stdout.splitlines(), names_of(kernel), start)
    return {"kernel": kernel, "seed": seed, "trials": trials, "code": code, "said": said, "seconds": round(seconds, 2), "rows": rows}


def kernel_tuner(args, kernel, strategy, cache, lock, cpu, limit_s):
    """The output of the engine; of one that had to be ended nothing, but its cache stays."""
    command = [args.python, HERE / "kernel_tuner_engine.py", spec_of(kernel), "--cache", cache, "--strategy", strategy, "--lock", lock,
               "--seconds", max(1, limit_s - 15), "--launched", time.time()]
    environment = dict(os.environ, CUDA_CACHE_DISABLE="1")
    with open(f"{cache}.err", "w") as errors:
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=errors, text=True, env=environment)
        if cpu is not None:
            os.sched_setaffinity(process.pid, {cpu})
        try:
            said, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            process.kill()
            said, _ = process.communicate()
    return json.loads(said.splitlines()[-1]) if said.strip() else None


def all_at_once(args, strategy, out, limit_s, begin):
    """Kernel Tuner on every kernel, each on a core of its own."""
    cpus = sorted(os.sched_getaffinity(0))
    lock = out / "gpu.lock"

    def one(number, kernel):
        whole = strategy == "brute_force"
        cache = out / f"{kernel}.cache.json" if whole else out / f"{kernel}.{strategy}.live.cache.json"
        cpu = cpus[2 * number] if len(cpus) > 2 * number else None
        found = kernel_tuner(args, kernel, strategy, cache, lock, cpu, limit_s)
        if found:
            write(out / f"{kernel}.{strategy}.kt.json", found)
        say(begin, f"Kernel Tuner, {strategy} on {kernel}: " + (f"{len(found['results'])} configs" if found else "was ended"))

    threads = [threading.Thread(target=one, args=(number, kernel)) for number, kernel in enumerate(args.kernels)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def measure(args):
    begin, out = time.monotonic(), pathlib.Path(args.out)
    out.mkdir(parents=True, exist_ok=True)

    def left(most):
        return max(1.0, min(most, args.limit - (time.monotonic() - begin)))

    def ours(kernel, seed, trials, limit_s):
        run = tune(args, kernel, seed, trials, left(limit_s))
        write(out / f"{kernel}.seed{seed}.mlc.json", run)
        how = "" if run["code"] == 0 else f", code {run['code']}: {run['said'][-200:]}"
        say(begin, f"mlc-tune on {kernel}, seed {seed}: {len(run['rows'])} trials in {run['seconds']} s{how}")

    say(begin, f"on {machine()}")
    (out / "machine.txt").write_text(machine() + "\n")
    if "seeds" in args.parts:
        for seed in range(1, args.seeds + 1):
            for kernel in args.kernels:
                if left(40) > 5:
                    ours(kernel, seed, args.trials, 40)
    if "own" in args.parts:
        record(args, out, left(100), begin)
    if "cache" in args.parts:
        all_at_once(args, "brute_force", out, left(130), begin)
    for strategy in LIVE if "live" in args.parts else ():
        if left(45) > 20:
            all_at_once(args, strategy, out, left(45), begin)


def record(args, out, limit_s, begin):
    """The whole spaces, built and timed as trials of mlc-tune are."""
    for words in (["kernels", HERE / "kernels", out / "own"], ["measure", out / "own", f"seconds={limit_s - 5:.0f}"]):
        try:
            done = subprocess.run([args.record, *map(str, words)], capture_output=True, text=True, timeout=limit_s, check=False)
            said = (done.stdout + done.stderr)[-800:]
        except subprocess.TimeoutExpired:
            said = f"ended after {limit_s:g} s"
        say(begin, f"space_record {words[0]}: {said}")


def machine():
    try:
        said = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True,
                              timeout=60, check=False).stdout.strip()
    except OSError:
        said = ""
    return f"{said or 'no GPU'}, {len(os.sched_getaffinity(0))} CPUs"


# Judging


def table_of(cache):
    """From Kernel Tuner's cache: time by config, without those that fail."""
    text = cache.read_text().rstrip()
    content = json.loads(text.rstrip(",") + "}}" if text.endswith(",") else text)
    keys = content["tune_params_keys"]
    return {tuple(row[key] for key in keys): row["time"] for row in content["cache"].values()
            if isinstance(row["time"], (int, float))}


def own_table(path, names):
    """From a recording: median of the times by config, without those that fail or were stopped early."""
    times = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if record["outcome"] == "ok":
            times.setdefault(values_of(record["config"], names), []).append(record["ns"])
    return {config: statistics.median(ns) for config, ns in times.items()}


def pooled_table(out, kernel):
    """From what all runs of mlc-tune measured: only a part of the space, where there is no recording."""
    times = {}
    for path in out.glob(f"{kernel}.*.mlc.json"):
        for config, ns, _ in json.loads(path.read_text())["rows"]:
            if ns is not None:
                times.setdefault(tuple(config), []).append(ns)
    return {config: statistics.median(ns) for config, ns in times.items()}


def seconds_to(rows, table, goal=GOAL):
    """Rows are (config, own time or None, seconds): when the config that the engine would choose is good enough; None: never."""
    best, least, chosen = min(table.values()), None, None
    for config, own, at in rows:
        if own is None or (least is not None and own >= least):
            continue
        least, chosen = own, tuple(config)
        if chosen in table and best / table[chosen] >= goal:
            return at
    return None


def median(seconds):
    """Of runs that may not get there: then None."""
    ordered = sorted(float("inf") if s is None else s for s in seconds)
    middle = statistics.median_low(ordered)
    return None if middle == float("inf") else middle


def simulate(args, kernel, strategy, seeds):
    cache = pathlib.Path(args.out) / f"{kernel}.cache.json"
    with tempfile.TemporaryDirectory(prefix="replay_") as folder:
        # Kernel Tuner may close the file that it reads.
        copied = shutil.copy(cache, f"{folder}/cache.json")
        command = [args.python, HERE / "kernel_tuner_engine.py", spec_of(kernel), "--cache", copied, "--strategy", strategy, "--simulate",
                   "--evaluations", min(args.evaluations, len(table_of(cache)) // 2), "--seeds", *seeds]
        try:
            said = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=args.simulation_limit,
                                  check=False).stdout
        except subprocess.TimeoutExpired as ended:
            said = (ended.stdout or b"").decode()
    return [json.loads(line) for line in said.splitlines() if line.endswith("}")]


def near(table):
    """How many configs are good enough."""
    return sum(min(table.values()) / time_of >= GOAL for time_of in table.values())


def live_runs(out, kernel, table):
    """By strategy: the seconds, without and with the start of the process."""
    found = {}
    for path in sorted(out.glob(f"{kernel}.*.kt.json")):
        run = json.loads(path.read_text())
        rows = [(r["config"], r["ms"], r["at_s"]) for r in run["results"]]
        if run["strategy"] != "brute_force":
            found[run["strategy"]] = {"seconds": seconds_to(rows, table), "started_s": run.get("started_s"), "configs": len(rows)}
    return found


def judged(args, kernel, runs_of):
    out = pathlib.Path(args.out)
    table = table_of(out / f"{kernel}.cache.json")
    recorded = own_table(out / "own" / f"{kernel}.times.jsonl", names_of(kernel))
    own = recorded or pooled_table(out, kernel)
    result = {"configs": len(table), "optimum_us": 1e3 * min(table.values()), "near": near(table), "strategies": {},
              "live": live_runs(out, kernel, table), "ours": []}
    if own:
        result["own"] = {"whole": bool(recorded), "configs": len(own), "optimum_us": min(own.values()) / 1e3, "near": near(own)}
    started = [run["started_s"] for run in result["live"].values() if run["started_s"] is not None]
    result["started_s"] = statistics.median(started) if started else None
    for strategy, runs in runs_of.items():
        seconds = [seconds_to([(r["config"], r["ms"], r["at_s"]) for r in run["results"]], table) for run in runs]
        if seconds:
            reached = sum(s is not None for s in seconds)
            result["strategies"][strategy] = {"median_s": median(seconds), "reached": reached, "seconds": seconds}
    for path in sorted(out.glob(f"{kernel}.seed*.mlc.json")):
        run = json.loads(path.read_text())
        result["ours"].append({"seed": run["seed"], "seconds": seconds_to(run["rows"], own or table), "all_s": run["seconds"],
                               "first_s": run["rows"][0][2] if run["rows"] else None, "trials": len(run["rows"])})
    result["ours_median_s"] = median([run["seconds"] for run in result["ours"]]) if result["ours"] else None
    return result


def best_strategy(result):
    known = {name: s["median_s"] for name, s in result["strategies"].items() if s["median_s"] is not None}
    return min(known, key=known.get) if known else None


def row(kernel, result):
    best, ours, started = best_strategy(result), result["ours_median_s"], result["started_s"]
    random = result["strategies"].get("random_sample", {}).get("median_s")
    searched = result["strategies"][best]["median_s"] if best else None
    theirs = searched + (started or 0) if best else None
    cells = [kernel, result["configs"], result["near"], result.get("own", {}).get("near"), best, searched and f"{searched:.1f}",
             theirs and f"{theirs:.1f}", random and f"{random + (started or 0):.1f}", ours and f"{ours:.1f}",
             f"{ours / theirs:.2f}" if ours and theirs else None,
             f"{sum(run['seconds'] is not None for run in result['ours'])} of {len(result['ours'])}"]
    return "| " + " | ".join("-" if cell is None else str(cell) for cell in cells) + " |"


def judge(args):
    jobs, results = {}, {}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for kernel in args.kernels:
            for strategy in args.strategies:
                jobs[kernel, strategy] = pool.submit(simulate, args, kernel, strategy, range(1, args.seeds + 1))
        found = {key: job.result() for key, job in jobs.items()}
    columns = ["kernel", "configs", "near, theirs", "near, ours", "Kernel Tuner's best", "its search, s", "from the start, s", "random, s",
               "ours, s", "ours / best", "reached"]
    print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|")
    for kernel in args.kernels:
        results[kernel] = judged(args, kernel, {s: found[kernel, s] for s in args.strategies})
        print(row(kernel, results[kernel]))
    if args.json:
        machine_text = (pathlib.Path(args.out) / "machine.txt").read_text().strip()
        write(pathlib.Path(args.json), {"goal": GOAL, "machine": machine_text, "kernels": results})
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("measure", "judge"))
    parser.add_argument("out", nargs="?", help="folder of what is measured")
    parser.add_argument("--out", dest="folder")
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--record", default="build/release/bench/space_record")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="of measure")
    parser.add_argument("--target", default="cuda")
    parser.add_argument("--option", action="append", default=[], help="also given to mlc-tune; repeatable")
    parser.add_argument("--kernels", nargs="+", choices=KERNELS, default=list(KERNELS))
    parser.add_argument("--python", default=sys.executable, help="that has kernel-tuner")
    parser.add_argument("--trials", type=int, default=150, help="of mlc-tune for each seed (%(default)s)")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--limit", type=float, default=300, help="seconds of measure (%(default)g)")
    parser.add_argument("--strategies", nargs="+", default=list(STRATEGIES))
    parser.add_argument("--simulation-limit", type=float, default=60, help="seconds of a strategy on a kernel (%(default)g)")
    parser.add_argument("--evaluations", type=int, default=200, help="of a simulation (%(default)s)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json")
    args = parser.parse_args()
    args.out = args.out or args.folder
    if not args.out:
        parser.error("name the folder")
    return measure(args) if args.what == "measure" else judge(args)


if __name__ == "__main__":
    sys.exit(main())
