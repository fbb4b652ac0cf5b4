#!/usr/bin/env python3
"""Latency of whole models beside the peers': every engine in a process of its own, in turns, in one run.

    compare.py --bin build/release/bin --models DIR [--only resnet50 gpt2] [--threads 2] [--rounds 5]

DIR holds NAME.onnx, NAME_inputs/input_K.pb and NAME_library/ (written by mlc-compile). Prints one table;
--json FILE keeps the samples. Peers: onnxruntime, torch eager and torch.compile, as installed.
"""
import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = ("resnet50", "mobilenet_v2", "resnet18", "bert_base", "gpt2", "vit_b_16")


class Peer:
    def __init__(self, kind, model, inputs, threads):
        self.process = subprocess.Popen([sys.executable, f"{HERE}/engines.py", kind, model, inputs, str(threads)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{kind} does not run {model}")
        self.version = json.loads(line)["ready"]

    def sample(self, seconds):
        self.process.stdin.write(f"run {seconds}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["latency_ms"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Ours:
    def __init__(self, binary, library, inputs, threads):
        self.command = [f"{binary}/mlc-run", library, "--inputs", inputs, "--threads", str(threads), "--json", "--bench"]

    def sample(self, seconds):
        output = subprocess.run(self.command + [str(seconds)], check=True, capture_output=True, text=True).stdout
        return [json.loads(output)["latency_ms"]["median"]]

    def close(self):
        pass


def engines_of(name, args):
    model, inputs = f"{args.models}/{name}.onnx", f"{args.models}/{name}_inputs"
    engines = {}
    library = f"{args.models}/{name}_library"
    if os.path.isdir(library):
        engines["mlc"] = Ours(args.bin, library, inputs, args.threads)
    for kind, what in (("onnxruntime", model), ("torch", name), ("torch_compile", name)):
        try:
            engines[kind] = Peer(kind, what, inputs, args.threads)
        except (RuntimeError, OSError) as error:
            print(f"{name}: {kind} left out: {error}", file=sys.stderr)
    return engines


def measure(name, args):
    engines = engines_of(name, args)
    samples = {kind: [] for kind in engines}
    for _ in range(args.rounds):
        for kind, engine in engines.items():
            time.sleep(0.05)
            samples[kind] += engine.sample(args.seconds)
    for engine in engines.values():
        engine.close()
    return samples


def row_of(name, samples):
    medians = {kind: statistics.median(s) for kind, s in samples.items()}
    peers = {kind: m for kind, m in medians.items() if kind != "mlc"}
    best = min(peers, key=peers.get, default=None)
    cells = [f"{medians[k]:.2f}" if k in medians else "-" for k in ("mlc", "onnxruntime", "torch", "torch_compile")]
    ratio = medians["mlc"] / peers[best] if "mlc" in medians and best else None
    ending = f"{best or '-'} | {f'{ratio:.2f}' if ratio else '-'}"
    return f"| {name} | " + " | ".join(cells) + f" | {ending} |", ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--models", required=True)
    parser.add_argument("--only", nargs="*", default=MODELS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--json")
    args = parser.parse_args()
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if "model name" in line), platform.machine())
    print(f"{datetime.date.today()}, {cpu}, {args.threads} threads, fp32, batch 1; medians in ms")
    print("| model | mlc | onnxruntime | torch | torch.compile | best peer | mlc / best peer |\n|---|---|---|---|---|---|---|")
    kept, logs = {}, []
    for name in args.only:
        samples = measure(name, args)
        row, ratio = row_of(name, samples)
        print(row, flush=True)
        kept[name] = samples
        if ratio:
            logs.append(ratio)
    if logs:
        print(f"\ngeometric mean of mlc / best peer: {statistics.geometric_mean(logs):.2f}")
    if args.json:
        with open(args.json, "w") as f:
            json.dump(kept, f)


if __name__ == "__main__":
    main()
