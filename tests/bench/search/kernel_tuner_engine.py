"""Kernel Tuner on one kernel in the T1 format, in a process of its own: a line with a JSON object for each seed.

    kernel_tuner_engine.py SPEC.json --cache FILE --strategy brute_force [--seeds 1 2] [--seconds 60] [--lock FILE] [--simulate]

Needs the package kernel-tuner, and cuda-python unless --simulate, which takes all times from the cache: Kernel Tuner's own way
to replay a strategy. With --lock, processes of several kernels take turns on the GPU; what one waits is in no time. The results
are in the order in which the strategy asked for them; `at_s` is the time since the call of tune_kernel at which each was known, of
a simulation the sum of what the cache says of compilation, check and benchmark: the strategy's own computing is left out there.
"""
import argparse
import contextlib
import fcntl
import io
import json
import pathlib
import random
import sys
import time

TIMES = ("compile_time", "verification_time", "benchmark_time")
# More launches than Kernel Tuner's 7 make its averages as steady as ours, in a millisecond of each config's third of a second.
LAUNCHES = 32


def parameters(spec):
    return {parameter["Name"]: list(eval(parameter["Values"], {"range": range}))  # pylint: disable=eval-used
            for parameter in spec["ConfigurationSpace"]["TuningParameters"]}


def conditions(spec):
    return [condition["Expression"] for condition in spec["ConfigurationSpace"]["Conditions"]]


def arguments(kernel, numpy):
    """Vectors of random floats, as the specification has them."""
    generator = numpy.random.default_rng(7)
    return [generator.standard_normal(argument["Size"], dtype=numpy.float32) for argument in kernel["Arguments"]]


def in_turns(path):
    """Holds the lock while a kernel is timed."""
    from kernel_tuner import core

    timed, whole, waited = core.DeviceInterface.benchmark, core.DeviceInterface.compile_and_benchmark, [0.0]

    def benchmark(self, *words, **named):
        with open(path, "w") as lock:
            begin = time.perf_counter()
            fcntl.flock(lock, fcntl.LOCK_EX)
            waited[0] += time.perf_counter() - begin
            return timed(self, *words, **named)

    def compile_and_benchmark(self, *words, **named):
        before = waited[0]
        result = whole(self, *words, **named)
        result["benchmark_time"] -= 1e3 * (waited[0] - before)
        return result

    core.DeviceInterface.benchmark = benchmark
    core.DeviceInterface.compile_and_benchmark = compile_and_benchmark


def tuned(args, seed):
    import kernel_tuner
    import numpy

    path = pathlib.Path(args.spec)
    spec = json.loads(path.read_text())
    kernel = spec["KernelSpecification"]
    space = parameters(spec)
    random.seed(seed)
    numpy.random.seed(seed)
    options = {} if args.strategy == "brute_force" else {"max_fevals": args.evaluations}
    if args.seconds and args.strategy != "brute_force" and not args.simulate:
        options["time_limit"] = args.seconds
    begin = time.time()
    results, _ = kernel_tuner.tune_kernel(
        kernel["KernelName"], (path.parent / kernel["KernelFile"]).read_text(), tuple(kernel["ProblemSize"]),
        arguments(kernel, numpy), space, grid_div_x=kernel["GridDivX"], grid_div_y=kernel["GridDivY"],
        restrictions=conditions(spec), lang="NVCUDA", cache=args.cache, iterations=LAUNCHES, strategy=args.strategy,
        strategy_options=options, simulation_mode=args.simulate, quiet=True)
    return {"strategy": args.strategy, "seed": seed, "seconds": time.time() - begin, "started_s": begin - args.launched,
            "results": [row(result, space) for result in in_order(results, args.simulate, begin)]}


def in_order(results, simulated, begin):
    from datetime import datetime

    at = 0.0
    for result in results:
        at += sum(max(0.0, result.get(key, 0.0)) for key in TIMES) / 1e3
        stamp = result.get("timestamp")
        known = at if simulated or not stamp else datetime.fromisoformat(stamp).timestamp() - begin
        yield dict(result, at_s=known)


def row(result, space):
    ms = result.get("time")
    failed = "__error__" in result or not isinstance(ms, (int, float))
    return {"config": [result[name] for name in space], "ms": None if failed else ms, "at_s": round(result["at_s"], 4),
            "compile_s": round(result.get("compile_time", 0.0) / 1e3, 4),
            "benchmark_s": round(result.get("benchmark_time", 0.0) / 1e3, 4)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spec")
    parser.add_argument("--cache", required=True)
    parser.add_argument("--strategy", default="brute_force")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--seconds", type=float, default=0, help="after which the strategy ends; 0: none")
    parser.add_argument("--evaluations", type=int, default=10**6)
    parser.add_argument("--lock")
    parser.add_argument("--launched", type=float, default=0, help="seconds since 1970 when this process was started")
    parser.add_argument("--simulate", action="store_true")
    args = parser.parse_args()
    if args.lock:
        in_turns(args.lock)
    for seed in args.seeds:
        with contextlib.redirect_stdout(io.StringIO()):
            found = tuned(args, seed)
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    sys.exit(main())
