#!/usr/bin/env python3
"""Tunes an ONNX model, compiles it into a folder, and runs the library from there.

deploy_onnx.py MODEL.onnx FOLDER [TRIALS]

Needs NumPy alone. The log beside the folder keeps what was measured: a second run goes on with it.
"""

import sys

import numpy as np

import mlc_tune

model, folder = sys.argv[1:3]
trials = int(sys.argv[3]) if len(sys.argv) > 3 else 2000
result = mlc_tune.tune(model, trials=trials, log=folder + ".db")
mlc_tune.compile(model, log=result.log, output=folder)

# What a deployed program does:
library = mlc_tune.load(folder)
rng = np.random.default_rng(0)
inputs = [rng.random(port.shape).astype(port.dtype) for port in library.inputs]
for port, output in zip(library.outputs, library(*inputs)):
    print(f"{port}: the mean is {output.mean():.4g}")
