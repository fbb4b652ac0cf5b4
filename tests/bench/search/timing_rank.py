#!/usr/bin/env python3
"""Which time of a kernel predicts the latency of whole models? Rank correlations on several models.

    timing_rank.py --bin build/release/bin --work DIR --models A.onnx B.onnx [--trials 300] [--variants 24] [--json FILE]
                   [--tune=FLAG] [--compile=--precision=fp16]

Each model is tuned, unless DIR has its log. Variants of its library take one of the fastest configs of each task at
random. Every variant is timed in turns with the library of the fastest configs (mlc-run --beside), in several races. Beside
that quotient stand the sums, over a variant's tasks and their uses, of each time that the log has of a config:
  record     median of the trial: on a GPU activations in the cache and weights not, on a CPU warm
  shortest   tenth percentile of the trial
  cold       nothing in the caches
and the time of a profile of the variant, kernel by kernel in the model (`profile`). The table has Spearman's rank
correlation with an interval of 95 % (bootstrap over variants), and that of two halves of the races (`again`): no time can
predict more than what the latency says of itself. --tune and --compile (both programs) take further flags.
"""
import argparse
import concurrent.futures
import json
import math
import pathlib
import random
import shutil
import statistics
import subprocess

TIMES = {"record": "median_ns", "shortest": "p10_ns", "cold": "cold_ns"}
SLOWEST = 1.3  # of a config that a variant may take, over the fastest one
LIBRARY = "library"  # one name, so that device code of equal kernels is in the cache


def ranks(values):
    """Ranks from 0; equal values share their mean rank."""
    order = sorted(range(len(values)), key=values.__getitem__)
    result = [0.0] * len(values)
    at = 0
    while at < len(order):
        end = at
        while end < len(order) and values[order[end]] == values[order[at]]:
            end += 1
        for i in order[at:end]:
            result[i] = (at + end - 1) / 2
        at = end
    return result


def spearman(a, b):
    """Correlation of the ranks; 0 if all values of one side are equal."""
    x, y = ranks(a), ranks(b)
    mean_x, mean_y = statistics.fmean(x), statistics.fmean(y)
    product = sum((i - mean_x) * (j - mean_y) for i, j in zip(x, y))
    scale = math.sqrt(sum((i - mean_x) ** 2 for i in x) * sum((j - mean_y) ** 2 for j in y))
    return product / scale if scale > 0 else 0.0


def interval(a, b, rng, times=1000):
    """95 % of what resampled variants give."""
    found = []
    for _ in range(times):
        sample = [rng.randrange(len(a)) for _ in a]
        found.append(spearman([a[i] for i in sample], [b[i] for i in sample]))
    found.sort()
    return found[len(found) // 40], found[-1 - len(found) // 40]


def candidates(lines, workload, target, top):
    """The first correct record of each config that has all times, the fastest ones first."""
    best = {}
    for record in lines:
        if record.get("workload") != workload or record.get("target") != target or record["outcome"] != "ok":
            continue
        if record["config"].startswith("user_kernel/") or any(record[field] <= 0 for field in TIMES.values()):
            continue
        best.setdefault(record["config"], record)
    fastest = sorted(best.values(), key=lambda record: record["median_ns"])
    return [r for r in fastest if r["median_ns"] <= SLOWEST * fastest[0]["median_ns"]][:top]


def with_configs(lock, configs):
    """The text of a lock file with other configs of some tasks."""
    lines = []
    for line in lock.splitlines():
        words = line.split(" ", 4)
        if words[0] == "newer":
            continue  # a second kernel, of another GPU
        if words[0] == "task" and words[1] in configs:
            line = " ".join(words[:4] + [configs[words[1]]])
        lines.append(line)
    return "\n".join(lines) + "\n"


def run(words):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{words[0]} ended with {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stdout


class Model:
    def __init__(self, args, path):
        self.args = args
        self.path = path
        self.name = path.stem
        self.folder = args.work / self.name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log = args.work / (self.name + ".db")
        self.rng = random.Random(args.seed)

    def compile(self, source, folder):
        run([self.args.bin / "mlc-compile", "--model", self.path, *self.args.compile, *source, "--weights", "file",
             "-o", folder / LIBRARY])
        return folder / LIBRARY

    def tune(self):
        if not self.log.exists():
            print(f"{self.name}: {self.args.trials} trials", flush=True)
            run([self.args.bin / "mlc-tune", "--model", self.path, "--log", self.log, "--trials", self.args.trials,
                 "--quiet", *self.args.compile, *self.args.tune])

    def choose(self, base):
        """What each variant takes: the record of each task, by workload."""
        lines = [json.loads(line) for line in run([self.args.bin / "mlc-log", "export", self.log]).splitlines()]
        records = [line for line in lines if "outcome" in line]
        report = json.loads((base / "report.json").read_text())
        target = (self.folder / "base.lock").read_text().splitlines()[1].removeprefix("target ")
        self.uses, known = {}, {}
        for task in report["tasks"]:
            found = candidates(records, task["workload"], target, self.args.top)
            if len(found) > 1:
                known[task["workload"]] = found
                self.uses[task["workload"]] = task["occurrences"]
        if not known:
            raise RuntimeError(f"{self.name}: no task has two configs within {SLOWEST} of the fastest: more --trials")
        return [{workload: self.rng.choice(found) for workload, found in known.items()}
                for _ in range(self.args.variants)]

    def build(self, number, choice):
        lock = self.folder / f"{number}.lock"
        configs = {workload: record["config"] for workload, record in choice.items()}
        lock.write_text(with_configs((self.folder / "base.lock").read_text(), configs))
        return self.compile(["--locked", lock], self.folder / str(number))

    def race(self, base, variants):
        """The quotients of one race, in the order of the variants."""
        quotients = []
        for at in range(0, len(variants), self.args.at_once):
            words = [self.args.bin / "mlc-run", base, "--bench", self.args.seconds, "--json"]
            for variant in variants[at:at + self.args.at_once]:
                words += ["--beside", variant]
            quotients += [row["quotient"] for row in json.loads(run(words))["beside"]]
        return quotients

    def profile(self, variant):
        return sum(row["median_us"] for row in json.loads(run([self.args.bin / "mlc-run", variant, "--profile",
                                                               "--json"]))["profile"])

    def measure(self):
        self.tune()
        base = self.compile(["--log", self.log, "--lock", self.folder / "base.lock"], self.folder / "base")
        choices = self.choose(base)
        with concurrent.futures.ThreadPoolExecutor(self.args.builds) as pool:
            built = list(pool.map(self.build, range(len(choices)), choices))
        races = [self.race(base, built) for _ in range(self.args.races)]
        latency = [statistics.median(race[i] for race in races) for i in range(len(built))]
        sums = {name: [sum(self.uses[w] * record[field] for w, record in choice.items()) for choice in choices]
                for name, field in TIMES.items()}
        sums["profile"] = [self.profile(variant) for variant in built]
        halves = [[statistics.median(race[i] for race in half) for i in range(len(built))]
                  for half in (races[::2], races[1::2])]
        if not self.args.keep:
            shutil.rmtree(self.folder)
        return {"model": self.name, "tasks": len(self.uses), "latency": latency, "sums": sums,
                "again": spearman(*halves) if len(races) > 1 else None}


def row(result, rng):
    cells = [result["model"], str(result["tasks"]),
             f"{min(result['latency']):.3f} to {max(result['latency']):.3f}"]
    for name in (*TIMES, "profile"):
        low, high = interval(result["sums"][name], result["latency"], rng)
        cells.append(f"{spearman(result['sums'][name], result['latency']):.2f} ({low:.2f} to {high:.2f})")
    cells.append("" if result["again"] is None else f"{result['again']:.2f}")
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--models", type=pathlib.Path, nargs="+", required=True)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--variants", type=int, default=24)
    parser.add_argument("--top", type=int, default=6, help="configs of a task that variants take")
    parser.add_argument("--races", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each variant in a race")
    parser.add_argument("--at-once", type=int, default=8, help="variants of one process")
    parser.add_argument("--builds", type=int, default=2, help="at a time")
    parser.add_argument("--tune", action="append", default=[], metavar="FLAG")
    parser.add_argument("--compile", action="append", default=[], metavar="FLAG", help="of mlc-tune, too; repeatable")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="the libraries")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    rng = random.Random(args.seed)
    print("| model | tasks | latency, over the fastest configs' | record | shortest | cold | profile | again |")
    print("|---|---|---|---|---|---|---|---|")
    results = []
    for path in args.models:
        results.append(Model(args, path).measure())
        print(row(results[-1], rng), flush=True)
        if args.json:
            args.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
