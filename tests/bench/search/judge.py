#!/usr/bin/env python3
"""Judges the search on spaces of which every config is known, each device left out of the log in turn.

    judge.py --spaces FOLDER [--rugged FIRST:COUNT] [--build build/release] [--seeds 30] [--trials 256]
             [--methods cold,warm,random,genetic,descent] [--rearranged] [--scatter 0.05] [--failures 0.1]
             [--goal 0.95] [--jobs 2] [--runs FILE.jsonl] [--nested]

Runs replay_searches for all spaces and writes its raw results to --runs. With --runs alone, the
tables come from the file. --rearranged: each seed reverses the order of the values of some knobs
and starts from a random config, so that nothing is won by how a space is written down. --scatter
and --failures disturb timings (standard deviation of log time) and trials (share that fails).
--nested: runs every setting of nested_choice.py and judges each space with the one that the other
spaces choose.
Prints two tables: by problem, with intervals, and by space, as the page
docs/benchmarks/search-spaces.md has them, and which share of the measured times was in the
predicted interval. The interval of a median is a bootstrap over the seeds of each space, that of a
share is Wilson's; both are of 95 %.
"""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import random
import subprocess
import sys

import nested_choice

SAMPLES = 1000
Z = 1.96


def median_of(values):
    return sorted(values)[(len(values) - 1) // 2]


def median_interval(groups):
    """Of the median of all values, where each group is drawn again from itself."""
    rng = random.Random(1)
    medians = sorted(
        median_of([value for group in groups for value in rng.choices(group, k=len(group))])
        for _ in range(SAMPLES))
    return medians[int(0.025 * SAMPLES)], medians[int(0.975 * SAMPLES) - 1]


def wilson(hits, count):
    """The interval of a share."""
    share = hits / count
    centre = (share + Z * Z / (2 * count)) / (1 + Z * Z / count)
    half = Z / (1 + Z * Z / count) * math.sqrt(share * (1 - share) / count + Z * Z / (4 * count * count))
    return max(0.0, centre - half), min(1.0, centre + half)


def problem_class(problem):
    """Made problems are judged together, those whose log misleads apart from the others."""
    if not problem.startswith("rugged"):
        return problem
    return "made, log misleads" if int(problem[len("rugged"):]) % 3 == 2 else "made, log helps"


class Runs:
    def __init__(self, lines, trials, goal):
        self.over, self.goal = trials + 1, goal
        self.methods = []
        self.intervals = collections.defaultdict(lambda: [0, 0])  # method -> those that held, all
        self.by_space = collections.defaultdict(dict)  # (class, space) -> method -> reached
        for line in lines:
            run = json.loads(line)
            space = (problem_class(run["problem"]), f"{run['problem']} {run['device']}")
            self.intervals[run["method"]][0] += run.get("holding", 0)
            self.intervals[run["method"]][1] += run.get("intervals", 0)
            if run["method"] not in self.methods:
                self.methods.append(run["method"])
            self.by_space[space].setdefault(run["method"], []).append(run["reached"] or self.over)

    def trials_text(self, value):
        return f"over {self.over - 1}" if value >= self.over else str(value)

    def print_problems(self):
        print(f"| problem | search | trials to {100 * self.goal:g} % | interval | reached, % | interval |")
        print("|---|---|---|---|---|---|")
        for problem in sorted({problem for problem, _ in self.by_space}):
            for method in self.methods:
                groups = [runs[method] for (its, _), runs in sorted(self.by_space.items())
                          if its == problem and method in runs]
                if not groups:
                    continue
                values = [value for group in groups for value in group]
                hits = sum(value < self.over for value in values)
                low, high = median_interval(groups)
                least, most = wilson(hits, len(values))
                print(f"| {problem} | {method} | {self.trials_text(median_of(values))} | "
                      f"{self.trials_text(low)} to {self.trials_text(high)} | "
                      f"{100 * hits / len(values):.0f} | {100 * least:.0f} to {100 * most:.0f} |")

    def print_spaces(self):
        print("| space | " + " | ".join(f"{method}, %" for method in self.methods) + " |")
        print("|---" * (len(self.methods) + 1) + "|")
        for (_, space), runs in sorted(self.by_space.items()):
            shares = [sum(value < self.over for value in runs[method]) / len(runs[method])
                      for method in self.methods]
            print(f"| {space} | " + " | ".join(f"{100 * share:.0f}" for share in shares) + " |")

    def print_intervals(self):
        for method, (holding, count) in self.intervals.items():
            if count:
                print(f"{method}: {100 * holding / count:.0f} % of {count} times in the predicted interval")


def spaces_of(args):
    """(what replay_searches reads, name of one space) for each."""
    found = []
    if args.spaces:
        for name in sorted(os.listdir(args.spaces)):
            if name.endswith(".json.gz"):
                found.append((args.spaces, name.split(".")[0].replace("_", "/", 1)))
    if args.rugged:
        first, count = map(int, args.rugged.split(":"))
        found += [(f"rugged:{problem}:1", f"rugged{problem}/device{device}")
                  for problem in range(first, first + count) for device in range(3)]
    return found


def replay(args, work):
    (spaces, name), constants = work
    command = [f"{args.build}/bench/replay_searches", spaces, f"only={name}", f"seeds={args.seeds}",
               f"trials={args.trials}", f"methods={args.methods}", f"rearranged={int(args.rearranged)}",
               f"scatter={args.scatter}", f"failures={args.failures}", f"goal={args.goal}"]
    if constants:
        command.append(f"constants={constants}")
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spaces")
    parser.add_argument("--rugged")
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--trials", type=int, default=256)
    parser.add_argument("--methods", default="cold,warm,random,genetic,descent")
    parser.add_argument("--rearranged", action="store_true")
    parser.add_argument("--scatter", type=float, default=0)
    parser.add_argument("--failures", type=float, default=0)
    parser.add_argument("--goal", type=float, default=0.95, help="share of the optimum that counts (%(default)g)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--runs")
    parser.add_argument("--nested", action="store_true")
    args = parser.parse_args()
    spaces = spaces_of(args)
    if spaces:
        settings = nested_choice.SETTINGS if args.nested else ("",)
        works = [(space, constants) for space in spaces for constants in settings]
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            lines = [line for lines in pool.map(lambda work: replay(args, work), works) for line in lines]
        if args.runs:
            os.makedirs(os.path.dirname(os.path.abspath(args.runs)), exist_ok=True)
            with open(args.runs, "w") as out:
                out.write("\n".join(lines) + "\n")
    elif args.runs:
        lines = open(args.runs).read().splitlines()
    else:
        sys.exit("judge.py: name --spaces, --rugged or --runs")
    if args.nested:
        lines = nested_choice.judged(lines, args.trials + 1)
    runs = Runs(lines, args.trials, args.goal)
    runs.print_problems()
    print()
    runs.print_spaces()
    print()
    runs.print_intervals()


if __name__ == "__main__":
    main()
