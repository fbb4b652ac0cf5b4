#!/usr/bin/env python3
"""Networks that nobody tried before: exported, compiled without a search, compared with onnxruntime in values and in time.

    breadth.py --bin build/release/bin --work DIR [--exporters ts dynamo] [--only swin_t llama] [--threads 2]

Every network of networks.py is exported by torch's exporters (ts: TorchScript, opset 17; dynamo: torch.export), compiled
with default configs, and executed in turns with onnxruntime. Needs onnx, onnxruntime, onnxscript, torch, torchvision, timm and
transformers. Ends with 1 if a network is refused or differs by more than 1e-4 of its largest value.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
import warnings

import numpy as np
import onnxruntime
import torch
from onnx import numpy_helper

import networks

EXPORTERS = {"ts": {"dynamo": False, "opset_version": 17}, "dynamo": {"dynamo": True, "external_data": False, "verbose": False}}


def export(name, exporter, path):
    network, inputs = networks.make(name)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(network, (inputs,), path, **EXPORTERS[exporter])
    return inputs.numpy()


def write_tensor(folder, stem, name, array):
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/{stem}_0.pb", "wb") as f:
        f.write(numpy_helper.from_array(np.ascontiguousarray(array), name).SerializeToString())


class Reference:
    def __init__(self, model, array, folder, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.feed = {self.session.get_inputs()[0].name: array}
        output = self.session.get_outputs()[0].name
        write_tensor(f"{folder}/inputs", "input", self.session.get_inputs()[0].name, array)
        write_tensor(f"{folder}/outputs", "output", output, self.session.run([output], self.feed)[0])

    def sample(self):
        end, samples = time.time() + 0.5, []
        while time.time() < end or len(samples) < 3:
            started = time.perf_counter()
            self.session.run(None, self.feed)
            samples.append((time.perf_counter() - started) * 1e3)
        return statistics.median(samples)


def ours(args, folder):
    """Largest difference to the reference, and the median latency."""
    output = subprocess.run([f"{args.bin}/mlc-run", f"{folder}/library", "--inputs", f"{folder}/inputs", "--check", f"{folder}/outputs",
                             "--threads", str(args.threads), "--bench", "0.5", "--json"], capture_output=True, text=True).stdout
    result = json.loads(output)
    return max(o["max_relative_difference"] for o in result["check"]["outputs"]), result["latency_ms"]["median"]


def measure(args, name, exporter):
    """A row of the table, and whether the network passed."""
    folder = f"{args.work}/{name}"
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    model = f"{folder}/model.onnx"
    try:
        array = export(name, exporter, model)
    except Exception as error:  # an exporter's refusal says nothing about us
        return f"not exported: {str(error).strip().splitlines()[0][:80]} | | |", True
    compiled = subprocess.run([f"{args.bin}/mlc-compile", "--model", model, "-o", f"{folder}/library", "--name", "m"],
                              capture_output=True, text=True)
    if compiled.returncode != 0:
        return f"**refused**: {compiled.stderr.strip().splitlines()[-1]} | | |", False
    reference = Reference(model, array, folder, args.threads)
    rounds = [(*ours(args, folder), reference.sample()) for _ in range(args.rounds)]
    difference = max(r[0] for r in rounds)
    mlc, peer = (statistics.median(r[i] for r in rounds) for i in (1, 2))
    return f"{difference:.1e} | {mlc:.2f} | {peer:.2f} | {mlc / peer:.2f}", difference <= 1e-4


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--work", required=True)
    parser.add_argument("--exporters", nargs="+", choices=sorted(EXPORTERS), default=["ts", "dynamo"])
    parser.add_argument("--only", nargs="+", choices=sorted(networks.NETWORKS), default=list(networks.NETWORKS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    print("| network | exporter | difference | mlc, untuned, ms | onnxruntime, ms | quotient |\n|---|---|---|---|---|---|")
    failures = 0
    for name in args.only:
        for exporter in args.exporters:
            row, passed = measure(args, name, exporter)
            failures += not passed
            print(f"| {name} | {exporter} | {row} |", flush=True)
            shutil.rmtree(f"{args.work}/{name}", ignore_errors=True)
    print(f"\n{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
