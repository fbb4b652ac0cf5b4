#!/usr/bin/env python3
"""Times a model in mlc-tune and, where it is installed, in ONNX Runtime.

benchmark.py MODEL.onnx [--threads 1] [--seconds 2] [--rounds 5] [--log tuning.db] [--json FILE]

Engines take turns in rounds, so that a slow phase of the machine meets all of them. Prints the
median, the 90th and 99th percentile of single runs, runs a second, and the largest difference of
the outputs, over the largest magnitude. Times count on a quiet machine alone.
"""

import argparse
import json
import os
import platform
import time

import numpy as np

import mlc_tune


def engines(options):
    """(name, session) of each engine; all sessions have the interface of ONNX Runtime."""
    own = mlc_tune.SessionOptions()
    own.intra_op_num_threads = options.threads
    yield "mlc-tune", mlc_tune.InferenceSession(options.model, own, log=options.log)
    try:
        import onnxruntime
    except ImportError:
        print("onnxruntime is not installed: mlc-tune alone is timed")
        return
    other = onnxruntime.SessionOptions()
    other.intra_op_num_threads = options.threads
    providers = ["CPUExecutionProvider"]
    yield "ONNX Runtime", onnxruntime.InferenceSession(options.model, other, providers=providers)


def feed_of(session):
    rng = np.random.default_rng(0)
    feed = {}
    for port in session.get_inputs():
        if any(not isinstance(size, int) for size in port.shape):
            raise SystemExit(f"input {port.name} has symbolic sizes {port.shape}: fix them first")
        kind = np.float32 if "float" in port.type else np.int64
        feed[port.name] = rng.random(port.shape).astype(kind)
    return feed


def round_of(session, feed, seconds):
    """Milliseconds of single runs over a round."""
    taken = []
    end = time.perf_counter() + seconds
    while not taken or time.perf_counter() < end:
        begin = time.perf_counter()
        session.run(None, feed)
        taken.append((time.perf_counter() - begin) * 1e3)
    return taken


def row_of(taken, outputs, wanted):
    median, p90, p99 = np.percentile(taken, [50, 90, 99])
    apart = [np.abs(a - b).max() / max(np.abs(b).max(), 1e-30) for a, b in zip(outputs, wanted)]
    return {
        "median_ms": round(float(median), 4),
        "p90_ms": round(float(p90), 4),
        "p99_ms": round(float(p99), 4),
        "runs_per_s": round(1e3 * len(taken) / sum(taken), 1),
        "difference": float(max(apart)),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2, help="of a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--log", help="tuning log with kernels for mlc-tune")
    parser.add_argument("--json", help="file for the figures")
    options = parser.parse_args()

    sessions = dict(engines(options))
    feed = feed_of(sessions["mlc-tune"])
    outputs = {name: session.run(None, feed) for name, session in sessions.items()}
    taken = {name: [] for name in sessions}
    for _ in range(options.rounds):
        for name, session in sessions.items():
            taken[name] += round_of(session, feed, options.seconds)
    wanted = list(outputs.values())[-1]  # ONNX Runtime's, where it is installed
    rows = {name: row_of(taken[name], outputs[name], wanted) for name in sessions}

    print(f"{options.model}, {options.threads} thread(s), {platform.machine()}")
    print(f"{'engine':14}{'median ms':>11}{'p90':>10}{'p99':>10}{'runs/s':>10}{'difference':>12}")
    for name, row in rows.items():
        print(
            f"{name:14}{row['median_ms']:11.3f}{row['p90_ms']:10.3f}{row['p99_ms']:10.3f}"
            f"{row['runs_per_s']:10.1f}{row['difference']:12.1e}"
        )
    if options.json:
        about = {"model": os.path.basename(options.model), "threads": options.threads}
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(about | {"numpy": np.__version__, "engines": rows}, file, indent=1)


if __name__ == "__main__":
    main()
