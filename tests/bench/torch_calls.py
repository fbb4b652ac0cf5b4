#!/usr/bin/env python3
"""Times calls of small networks by torch.compile: eager mode, inductor and the backend "mlc".

  torch_calls.py [--rounds N] [--threads N] [--log LOG] [OUTPUT.json]

In a clone, MLC_BIN is build/release/bin and PYTHONPATH is python.

Prints JSON: for each network and way, the median, the quartiles and the fastest time of one call in
us. Rounds of all ways alternate, so that a slow phase of the machine meets all of them. `identity`
has next to no work: its time is what a call costs. Times count on a quiet machine alone.
"""

import argparse
import json
import os
import statistics
import sys
import time
import warnings

import torch
from torch import nn
from torch.nn import functional as F

import mlc_tune.torch  # noqa: F401  registers the backend


class Attention(nn.Module):
    def __init__(self, width=64, heads=4):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v)
        return x + self.out(y.transpose(1, 2).reshape(b, n, d))


class Identity(nn.Module):
    def forward(self, x):
        return x + 1


def networks():
    """(name, module, input) of each network."""
    perceptron = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 16))
    convolutions = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 10),
    )
    yield "identity", Identity(), torch.randn(4)
    yield "perceptron", perceptron, torch.randn(8, 64)
    yield "convolutions", convolutions, torch.randn(1, 3, 32, 32)
    yield "attention", Attention(), torch.randn(1, 32, 64)


def round_us(call, x, seconds=0.05):
    """Mean time of a call over a round of about `seconds`."""
    begin = time.perf_counter()
    call(x)
    count = max(1, int(seconds / max(time.perf_counter() - begin, 1e-6)))
    begin = time.perf_counter()
    for _ in range(count):
        call(x)
    return (time.perf_counter() - begin) / count * 1e6


def measure(model, x, options):
    ways = {
        "eager": model,
        "inductor": torch.compile(model),
        "mlc": torch.compile(model, backend="mlc", options=options.choices),
    }
    wanted = model(x)
    for name in list(ways):
        try:
            for _ in range(3):
                torch.testing.assert_close(ways[name](x), wanted, rtol=1e-3, atol=1e-3)
        except torch._dynamo.exc.BackendCompilerFailed as error:  # inductor without a compiler
            print(f"{name} is left out: {str(error).splitlines()[0]}", file=sys.stderr)
            del ways[name]
    rounds = {name: [] for name in ways}
    for _ in range(options.rounds):
        for name, way in ways.items():
            rounds[name].append(round_us(way, x))
    return {name: summary(times) for name, times in rounds.items()}


def summary(times):
    low, middle, high = statistics.quantiles(times, n=4)
    figures = {"median_us": middle, "quartiles_us": [low, high], "fastest_us": min(times)}
    return json.loads(json.dumps(figures), parse_float=lambda text: round(float(text), 2))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--log", help="tuning log for the backend mlc")
    parser.add_argument("output", nargs="?")
    options = parser.parse_args()
    if options.rounds < 2:
        parser.error("--rounds is at least 2")
    options.choices = {"threads": options.threads, "log": options.log}
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    # A graph that eager mode runs must not be taken for one of a library.
    warnings.simplefilter("error", mlc_tune.torch.EagerWarning)
    results = {
        "torch": torch.__version__,
        "threads": options.threads,
        "rounds": options.rounds,
        "load": os.getloadavg()[0],
        "networks": {},
    }
    with torch.inference_mode():
        for name, model, x in networks():
            results["networks"][name] = measure(model.eval(), x, options)
    text = json.dumps(results, indent=1)
    print(text)
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()
