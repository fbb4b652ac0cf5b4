#!/usr/bin/env python3
"""Runs real optimisers of other projects on recorded spaces, beside the search of the service.

    rivals.py --spaces FOLDER [--build build/release] [--seeds 30] [--trials 256] [--jobs 2]
              [--rivals kernel_tuner:genetic_algorithm,...] [--runs FILE.jsonl] [--only SPACE,...]

Needs a Python with numpy, kernel-tuner, opentuner and pyatf. Each optimiser asks an objective that
looks the config up, with the median of five recorded timings as measurement noise. Each new config
is a trial, failing ones too; a config that is asked again costs nothing, as these tools cache it.
The service runs through replay_searches on the same spaces and seeds (cold and warm).

Prints a table: median trials to 95 % of the optimum, share of runs that get there, and the score P
of the methodology for comparing autotuners (Willemsen et al. 2024), here over trials: the mean over
equidistant trials of (baseline - time) / (baseline - optimum), where the baseline is the expected
best time of random search without replacement. The budget ends where the baseline has covered 95 %
of the way from the median to the optimum, and at --trials.
"""
import argparse
import collections
import concurrent.futures
import gzip
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
GOAL = 0.95
POINTS = 50  # trials at which P is taken
STRATEGIES = ("genetic_algorithm", "dual_annealing", "pso", "greedy_ils", "simulated_annealing",
              "diff_evo")


class Spent(Exception):
    """The trials are used up."""


class Space:
    def __init__(self, path):
        self.path = path
        self.name = os.path.basename(path).split(".")[0].replace("_", "/", 1)
        with gzip.open(path) as file:
            root = json.load(file)
        self.keys = root["tune_params_keys"]
        self.values = {key: root["tune_params"][key] for key in self.keys}
        self.rows = {}
        for row in root["cache"].values():
            failed = isinstance(row["time"], str)
            self.rows[tuple(row[key] for key in self.keys)] = None if failed else (row["time"], row["times"])
        self.times = sorted(row[0] for row in self.rows.values() if row)
        self.best = self.times[0]

    def baseline(self, trials):
        """Expected best time after each number of random trials without replacement."""
        count, curve = len(self.rows), []
        for n in range(1, trials + 1):
            expected, none_so_far = 0.0, 1.0  # chance that no faster one was drawn
            for place, time in enumerate(self.times):
                drawn = n / (count - place) if count - place > n else 1.0
                expected += none_so_far * drawn * time
                none_so_far *= 1 - drawn
                if none_so_far < 1e-9:
                    break
            curve.append(expected + none_so_far * self.times[-1])
        return curve


class Objective:
    """What the optimisers call: counts trials and follows the true time of the best config."""

    def __init__(self, space, trials, seed):
        self.space, self.trials, self.rng = space, trials, random.Random(seed)
        self.seen, self.best, self.steps = {}, (float("inf"), None), []

    def __call__(self, config):
        config = tuple(config)
        if config in self.seen:
            return self.seen[config]
        if len(self.seen) >= self.trials:
            raise Spent
        row = self.space.rows.get(config)
        measured = statistics.median(self.rng.choices(row[1], k=5)) if row else None
        self.seen[config] = measured
        if measured and measured < self.best[0]:
            self.best = (measured, row[0])
            self.steps.append((len(self.seen), self.space.best / row[0]))
        return measured


def run_kernel_tuner(strategy, space, objective, seed):
    """The strategies of the package, on its own search space and cost function interface."""
    import importlib
    import numpy
    from kernel_tuner import util
    from kernel_tuner.interface import Options
    from kernel_tuner.searchspace import Searchspace
    numpy.random.seed(seed)
    random.seed(seed)
    legal = space.rows

    def allowed(config):
        return tuple(config[key] for key in space.keys) in legal

    searchspace = Searchspace(space.values, allowed, 1024)
    tuning = Options(strategy=strategy, strategy_options=Options(max_fevals=objective.trials), objective=["time"],
                     objective_higher_is_better=[False], tune_params=space.values, restrictions=allowed,
                     max_fevals=objective.trials, time_limit=None, verbose=False, snap=True, simulation_mode=True,
                     cache=None, unique_results={}, metrics=None, observers=None, quiet=True, device_name="")
    tuning.budget = util.TuningBudget(None, 20 * objective.trials)

    class Runner:
        """Stands for a device."""
        simulation_mode = True
        last_strategy_start_time = last_strategy_time = total_simulated_time = simulated_time = 0
        units = {"time": "ms"}

        def run(self, parameter_space, tuning_options):
            results = []
            for config in parameter_space:
                measured = objective(config)
                result = dict(zip(space.keys, config))
                if measured:
                    result["time"] = measured
                else:
                    result["__error__"] = util.RuntimeFailedConfig()
                for key in ("compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time"):
                    result[key] = 0
                results.append(result)
                tuning_options.unique_results[",".join(map(str, config))] = result
            return results

        def add_strategy_time(self, seconds):
            pass

        def get_environment(self, tuning_options):
            return {}

        def get_device_info(self):
            return Options(max_threads=1024, name="")

        def shutdown(self):
            pass

    module = importlib.import_module(f"kernel_tuner.strategies.{strategy}")
    for _ in range(20):  # a strategy that ends early starts again
        before = len(objective.seen)
        module.tune(searchspace, Runner(), tuning)
        if len(objective.seen) == before:
            break


def run_opentuner(space, objective, seed):
    """The default ensemble of the package."""
    import opentuner
    from opentuner.api import TuningRunManager
    from opentuner.measurement.interface import DefaultMeasurementInterface
    from opentuner.resultsdb.models import Result
    from opentuner.search.manipulator import ConfigurationManipulator, EnumParameter, IntegerParameter
    random.seed(seed)
    manipulator = ConfigurationManipulator()
    for key in space.keys:
        if len(space.values[key]) > 1:
            manipulator.add_parameter(IntegerParameter(key, 0, len(space.values[key]) - 1))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # it writes a file beside itself
        arguments = opentuner.default_argparser().parse_args(
            ["--no-dups", "--quiet", f"--database={folder}/results.db", f"--test-limit={20 * objective.trials}"])
        interface = DefaultMeasurementInterface(args=arguments, manipulator=manipulator, project_name="p",
                                                program_name="p", program_version="1")
        manager = TuningRunManager(interface, arguments)
        try:
            for _ in range(20 * objective.trials):
                desired = manager.get_next_desired_result()
                if desired is None:
                    break
                data = desired.configuration.data
                config = tuple(space.values[key][data.get(key, 0)] for key in space.keys)
                # A config outside the restrictions is no trial: any tool would reject it untried.
                measured = objective(config) if config in space.rows else None
                state = "OK" if measured else "ERROR"
                manager.report_result(desired, Result(time=measured or float("inf"), state=state))
        finally:
            manager.finish()
            os.chdir("/")


def run_pyatf(space, objective, seed):
    """The ensemble of the package."""
    from pyatf import TP, Set, Tuner
    from pyatf.abort_conditions import Evaluations
    from pyatf.search_techniques import AUCBandit
    from pyatf.tuning_data import CostFunctionError
    random.seed(seed)
    try:
        import numpy
        numpy.random.seed(seed)
    except ImportError:
        pass
    keys = [key for key in space.keys if len(space.values[key]) > 1]
    constant = {key: space.values[key][0] for key in space.keys}
    prefixes = collections.defaultdict(set)
    for config in space.rows:
        chosen = dict(zip(space.keys, config))
        for place, key in enumerate(keys):
            prefixes[key].add(tuple(chosen[other] for other in keys[:place + 1]))

    def constraint_of(place):
        names = keys[:place + 1]
        allowed = prefixes[keys[place]]
        scope = {"allowed": allowed}
        arguments = ", ".join(names)
        exec(f"def constraint({arguments}): return ({arguments},) in allowed", scope)  # by name, as pyatf wants
        return scope["constraint"]

    def cost(configuration):
        measured = objective(tuple(configuration.get(key, constant[key]) for key in space.keys))
        if measured is None:
            raise CostFunctionError("failed")
        return measured

    parameters = [TP(key, Set(*space.values[key]), constraint_of(place)) for place, key in enumerate(keys)]
    Tuner().tuning_parameters(*parameters).search_technique(AUCBandit()).verbosity(0).tune(
        cost, Evaluations(20 * objective.trials))


def run(job):
    path, rival, seed, trials = job
    space = Space(path)
    objective = Objective(space, trials, seed)
    try:
        if rival.startswith("kernel_tuner:"):
            run_kernel_tuner(rival.split(":")[1], space, objective, seed)
        elif rival == "opentuner":
            run_opentuner(space, objective, seed)
        else:
            run_pyatf(space, objective, seed)
    except Spent:
        pass
    reached = next((trial for trial, quality in objective.steps if quality >= GOAL), 0)
    problem, device = space.name.split("/")
    return {"problem": problem, "device": device, "method": rival, "seed": seed, "trials": len(objective.seen),
            "reached": reached, "steps": objective.steps}


def score(space, runs, baseline):
    """P of some runs on one space."""
    median = space.times[len(space.times) // 2]
    cutoff = next((n for n, time in enumerate(baseline, 1)
                   if (median - time) / (median - space.best) >= GOAL), len(baseline))
    at = sorted({max(1, round(cutoff * point / POINTS)) for point in range(1, POINTS + 1)})
    total = 0.0
    for n in at:
        times = []
        for run in runs:
            quality = 0.0
            for trial, its in run["steps"]:
                if trial <= n:
                    quality = its
            times.append(space.best / quality if quality else space.times[-1])
        expected = baseline[n - 1]
        total += (expected - statistics.fmean(times)) / (expected - space.best) if expected > space.best else 0.0
    return total / len(at)


def print_table(paths, runs, trials):
    spaces = {space.name: space for space in map(Space, paths)}
    baselines = {name: space.baseline(trials) for name, space in spaces.items()}
    grouped = collections.defaultdict(lambda: collections.defaultdict(list))
    for one in runs:
        grouped[one["method"]][f"{one['problem']}/{one['device']}"].append(one)
    problems = sorted({name.split("/")[0] for name in spaces})
    heads = [f"{head}, {problem}" for problem in problems for head in ("trials to 95 %", "reached, %", "P")]
    print("| search | runs | " + " | ".join(heads) + " |")
    print("|---" * (len(heads) + 2) + "|")
    for method, by_space in grouped.items():
        line = [method, str(sum(map(len, by_space.values())))]
        for problem in problems:
            its = {name: its_runs for name, its_runs in by_space.items() if name.startswith(problem + "/")}
            reached = sorted(one["reached"] or trials + 1 for its_runs in its.values() for one in its_runs)
            if not reached:
                line += ["-", "-", "-"]
                continue
            median = reached[(len(reached) - 1) // 2]
            points = [score(spaces[name], its_runs, baselines[name]) for name, its_runs in its.items()]
            line += [f"over {trials}" if median > trials else str(median),
                     f"{100 * sum(one <= trials for one in reached) / len(reached):.0f}",
                     f"{statistics.fmean(points):.2f}"]
        print("| " + " | ".join(line) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spaces", required=True)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--trials", type=int, default=256)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rivals", default=",".join([f"kernel_tuner:{s}" for s in STRATEGIES] + ["opentuner", "pyatf"]))
    parser.add_argument("--only", default="")
    parser.add_argument("--runs")
    parser.add_argument("--service", help="raw results of judge.py; default: replay_searches runs now")
    args = parser.parse_args()
    paths = [os.path.abspath(os.path.join(args.spaces, name)) for name in sorted(os.listdir(args.spaces)) if name.endswith(".json.gz")]
    if args.only:
        paths = [path for path in paths if os.path.basename(path).split(".")[0].replace("_", "/", 1) in args.only.split(",")]
    if args.service:
        runs = [json.loads(line) for line in open(args.service)]
        names = {os.path.basename(path).split(".")[0] for path in paths}
        runs = [one for one in runs if f"{one['problem']}_{one['device']}" in names]
    else:
        only = ",".join(os.path.basename(path).split(".")[0].replace("_", "/", 1) for path in paths)
        output = subprocess.run([f"{args.build}/bench/replay_searches", args.spaces, f"seeds={args.seeds}", f"only={only}",
                                 f"trials={args.trials}", "methods=cold,warm,random"],
                                check=True, capture_output=True, text=True).stdout
        runs = [json.loads(line) for line in output.splitlines()]
    jobs = [(path, rival, seed, args.trials) for path in paths for rival in args.rivals.split(",") if rival
            for seed in range(1, args.seeds + 1)]
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        runs += pool.map(run, jobs, chunksize=5)
    if args.runs:
        with open(args.runs, "w") as out:
            out.writelines(json.dumps(one) + "\n" for one in runs)
    print_table(paths, runs, args.trials)


if __name__ == "__main__":
    sys.exit(main())
