#!/usr/bin/env python3
"""Whole models on one GPU beside PyTorch: engines in processes of their own, in turns, in one run.

    compare.py --bin build/release/bin --libraries DIR [--cases resnet50:1:fp16 ...] [--kinds graph compile]

DIR holds NAME_BATCH_PRECISION/, written by mlc-compile --target cuda. Times are medians of graph replays
between events, on random data. Prints one table; --json FILE keeps the samples.
"""
import argparse
import datetime
import json
import os
import select
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = ("resnet50:1:fp16", "resnet50:1:fp32", "resnet50:1:tf32", "resnet50:32:fp32", "mobilenet_v2:1:fp16",
         "bert_base:1:fp16", "bert_base:1:fp32", "gpt2:1:fp16", "vit_b_16:1:fp16")


class Torch:
    def __init__(self, name, batch, precision, kind, start_s):
        self.process = subprocess.Popen([sys.executable, f"{HERE}/torch_models.py", name, batch, precision, kind],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        ready, _, _ = select.select([self.process.stdout], [], [], start_s)
        line = self.process.stdout.readline() if ready else ""
        if not line:
            self.process.kill()
            raise RuntimeError(f"{kind} was not ready after {start_s} s" if not ready else f"{kind} does not run {name}")

    def sample(self, seconds):
        self.process.stdin.write(f"run {seconds}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["latency_ms"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Ours:
    def __init__(self, binaries, library):
        if not os.path.isdir(library):
            raise RuntimeError(f"there is no {library}")
        self.command = [f"{binaries}/mlc-run", library, "--json", "--bench"]

    def sample(self, seconds):
        run = subprocess.run(self.command + [str(seconds)], capture_output=True, text=True)
        if run.returncode != 0:
            raise RuntimeError(run.stderr.strip()[-300:])
        return [json.loads(run.stdout)["latency_ms"]["median"]]

    def close(self):
        pass


def measure(case, args):
    name, batch, precision = case.split(":")
    makers = {"mlc": lambda: Ours(args.bin, f"{args.libraries}/{name}_{batch}_{precision}")}
    for kind in args.kinds:
        makers[kind] = lambda kind=kind: Torch(name, batch, precision, kind, args.start)
    engines = {}
    for kind, make in makers.items():
        try:
            engines[kind] = make()
        except (RuntimeError, OSError) as error:
            print(f"{case}: {kind} left out: {error}", file=sys.stderr)
    samples = {kind: [] for kind in engines}
    for _ in range(args.rounds):
        for kind, engine in list(engines.items()):
            try:
                samples[kind] += engine.sample(args.seconds)
            except (RuntimeError, ValueError) as error:
                print(f"{case}: {kind} failed: {error}", file=sys.stderr)
                del engines[kind], samples[kind]
            time.sleep(0.05)
    for engine in engines.values():
        engine.close()
    return samples


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--libraries", required=True)
    parser.add_argument("--cases", nargs="*", default=CASES)
    parser.add_argument("--kinds", nargs="*", default=["graph", "compile"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--start", type=float, default=120, help="seconds that a peer may take to be ready")
    parser.add_argument("--json")
    args = parser.parse_args()
    device = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True)
    print(f"{datetime.date.today()}, {device.stdout.strip()}; medians in ms")
    columns = ["mlc"] + args.kinds
    print("| model | batch | precision | " + " | ".join(columns) + " | mlc / best |\n|" + "---|" * (len(columns) + 4))
    kept = {}
    for case in args.cases:
        samples = kept[case] = measure(case, args)
        medians = {kind: statistics.median(s) for kind, s in samples.items() if s}
        best = min((m for kind, m in medians.items() if kind != "mlc"), default=None)
        ratio = f"{medians['mlc'] / best:.2f}" if best and "mlc" in medians else "-"
        cells = [f"{medians[kind]:.3f}" if kind in medians else "-" for kind in columns]
        print("| " + " | ".join(case.split(":") + cells) + f" | {ratio} |", flush=True)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(kept, f)


if __name__ == "__main__":
    main()
