#!/usr/bin/env python3
"""One library on several numbers of threads beside ONNX Runtime, and beside the sum of its kernels' best trials.

    threads.py --bin build/release/bin --models DIR [--only resnet50 bert_base] [--threads 4 8 16] [--rounds 5]

DIR holds NAME.onnx, NAME_inputs/input_K.pb and NAME_library/ (written by mlc-compile, with its report.json). Engines take
turns in one run. Prints one table; --json FILE keeps the samples.
"""
import argparse
import json
import os
import statistics

from compare import Ours, Peer


def measure(name, threads, args):
    library, inputs = f"{args.models}/{name}_library", f"{args.models}/{name}_inputs"
    ours = Ours(args.bin, library, inputs, threads)
    peer = Peer("onnxruntime", f"{args.models}/{name}.onnx", inputs, threads)
    samples = {"mlc": [], "onnxruntime": []}
    for _ in range(args.rounds):
        samples["mlc"] += ours.sample(args.seconds)
        samples["onnxruntime"].append(statistics.median(peer.sample(args.seconds)))
    peer.close()
    return samples


def expected_ms(name, args):
    with open(f"{args.models}/{name}_library/report.json") as f:
        report = json.load(f)
    return sum(task["occurrences"] * task["expected_us"] for task in report["tasks"]) / 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--models", required=True)
    parser.add_argument("--only", nargs="*", default=("resnet50", "bert_base", "mobilenet_v2"))
    parser.add_argument("--threads", nargs="*", type=int, default=[1, 2, 4, 8, 16, 32])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--json")
    args = parser.parse_args()
    usable = len(os.sched_getaffinity(0))
    print("| model | threads | sum of best trials, ms | library | onnxruntime | library / onnxruntime |\n|---|---|---|---|---|---|")
    kept = {}
    for name in args.only:
        for threads in (t for t in args.threads if t <= usable):
            samples = kept[f"{name}, {threads} threads"] = measure(name, threads, args)
            ours, peer = statistics.median(samples["mlc"]), statistics.median(samples["onnxruntime"])
            print(f"| {name} | {threads} | {expected_ms(name, args):.2f} | {ours:.2f} | {peer:.2f} | {ours / peer:.2f} |", flush=True)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(kept, f, indent=1)


if __name__ == "__main__":
    main()
