#!/usr/bin/env python3
"""What a call from Python costs beyond the C interface: tiny models, one thread, and ONNX Runtime beside it if it is installed.

    python_call.py BIN_FOLDER [--json FILE] [--rounds 15] [--calls 20000]

Ways to call take turns within a round; a sample is the mean of the round's calls. Prints the median of all rounds and the
middle half (p25 to p75). The C interface is timed inside of the library (run_timed).
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(SOURCE / "python"), str(SOURCE / "tests/e2e/python")]


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def ways_of(library, model, threads_options, peer):
    """(name, function) of each way to call a model with one set of inputs."""
    import mlc_tune
    import numpy as np

    rng = np.random.default_rng(1)
    inputs = [info.empty() for info in library.inputs]
    for array in inputs:
        array[...] = rng.standard_normal(array.shape, np.float32)
    feed = {info.name: array for info, array in zip(library.inputs, inputs)}
    buffers = [info.empty() for info in library.outputs]
    session = library.session()
    binding = session.bind(inputs, buffers)
    drop_in = mlc_tune.InferenceSession(model, threads_options(mlc_tune.SessionOptions()))
    ways = [
        ("Binding.run()", binding.run),
        ("session(x)", lambda: session(*inputs)),
        ("library(x)", lambda: library(*inputs)),
        ("library(x=x)", lambda: library(**feed)),
        ("library(x, out=y)", lambda: library(*inputs, out=buffers)),
        ("InferenceSession.run", lambda: drop_in.run(None, feed)),
    ]
    if peer is not None:
        options = threads_options(peer.SessionOptions())
        other = peer.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        ways.append(("ONNX Runtime's run", lambda: other.run(None, feed)))
    return ways, lambda runs: statistics.fmean(session.time(runs, *inputs))


def sample(function, calls):
    begin = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - begin) / calls


def measure(model, options, peer, threads_options):
    import mlc_tune

    library = mlc_tune.compile(model, target="cpu", threads=1)
    ways, inside = ways_of(library, model, threads_options, peer)
    samples = {"C interface": []} | {name: [] for name, _ in ways}
    for round_number in range(options.rounds + 1):  # the first one warms up
        taken = {"C interface": inside(options.calls)}
        taken |= {name: sample(function, options.calls) for name, function in ways}
        if round_number > 0:
            for name, seconds in taken.items():
                samples[name].append(seconds * 1e6)
    rows = []
    base = statistics.median(samples["C interface"])
    for name, values in samples.items():
        low, middle, high = statistics.quantiles(values, n=4)
        beyond = round(middle - base, 2)
        rows.append({"call": name, "us": round(middle, 2), "p25": round(low, 2), "p75": round(high, 2), "beyond_c_us": beyond})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calls", type=int, default=20_000)
    options = parser.parse_args()
    os.environ |= {"MLC_BIN": str(options.bin.resolve()), "MLC_CONFIG": ""}
    import numpy
    import small_models

    try:
        import onnxruntime as peer
    except ImportError:
        peer = None

    def one_thread(wanted):
        wanted.intra_op_num_threads = 1
        return wanted

    models = {
        "relu(x w), x of 2 x 4 floats": small_models.product(),
        "a + b and a - b of 16,384 floats": small_models.two_by_two(count=16_384),
    }
    document = {
        "machine": processor(),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "onnxruntime": getattr(peer, "__version__", None),
        "rounds": options.rounds,
        "calls": options.calls,
        "models": {},
    }
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        for name, model in models.items():
            document["models"][name] = rows = measure(model, options, peer, one_thread)
            print(name)
            for row in rows:
                print(f"  {row['call']:22} {row['us']:8.2f} us  ({row['p25']:.2f} to {row['p75']:.2f}), {row['beyond_c_us']:6.2f} beyond C")
    if options.json:
        options.json.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
