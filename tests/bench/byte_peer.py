#!/usr/bin/env python3
"""Times quantised models in compiled libraries beside the same in f32, and in ONNX Runtime.

    byte_peer.py BIN_FOLDER [--threads 2] [--rounds 7] [--only TEXT] [--json FILE]

A model is a chain of layers: a product or a convolution, its bias and a ReLU. The quantised one has
QuantizeLinear and DequantizeLinear around each layer as ONNX Runtime's quantizer writes them:
activations of u8 with one scale, weights of i8 with one a column. Libraries have the default
configs. The four ways take turns within a round; a figure is the median of the rounds, a ratio the
median of the rounds' ratios. The outputs of the library and of ONNX Runtime are compared. Needs
numpy, onnx and onnxruntime.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper

# Name, dims of the input, columns or (filters, size) of each layer.
CASES = [
    ("products 128 x 768 and 3072", [128, 768], [3072, 768] * 3),
    ("products 128 x 768", [128, 768], [768] * 6),
    ("products 512 x 1024", [512, 1024], [1024] * 4),
    ("1x1 convolutions 56 x 56, 64 and 256", [1, 64, 56, 56], [(256, 1), (64, 1)] * 3),
    ("3x3 convolutions 14 x 14, 256", [1, 256, 14, 14], [(256, 3)] * 6),
    ("3x3 convolutions 28 x 28, 128", [1, 128, 28, 28], [(128, 3)] * 6),
]
X_SCALE, X_ZERO = 4 / 127, 128
Y_SCALE, Y_ZERO = 6 / 255, 0


class Chain:
    """Nodes and constants of a model, in f32 or quantised."""

    def __init__(self, dims, layers, quantised):
        self.nodes, self.constants, self.quantised = [], [], quantised
        self.random = numpy.random.default_rng(1)
        value, channels = "x", dims[1]
        if quantised:
            value = self.requantised("x", "in", X_SCALE, X_ZERO)
        for index, layer in enumerate(layers):
            value, channels = self.layer(f"l{index}", value, channels, layer), \
                layer[0] if isinstance(layer, tuple) else layer
        dims = [dims[0], channels] + dims[2:]
        self.nodes.append(helper.make_node("Identity", [value], ["y"]))
        self.out = helper.make_tensor_value_info("y", TensorProto.FLOAT, dims)

    def constant(self, name, array):
        self.constants.append(onnx.numpy_helper.from_array(array, name))
        return name

    def node(self, op, operands, result, **attributes):
        self.nodes.append(helper.make_node(op, operands, [result], **attributes))
        return result

    def requantised(self, value, name, scale, zero):
        parameters = [self.constant(name + "_s", numpy.float32(scale)),
                      self.constant(name + "_z", numpy.uint8(zero))]
        codes = self.node("QuantizeLinear", [value, *parameters], name + "_q")
        return self.node("DequantizeLinear", [codes, *parameters], name + "_d")

    def weights(self, name, codes, scales, axis):
        if not self.quantised:
            shape = [1] * codes.ndim
            shape[axis] = -1
            return self.constant(name, codes.astype(numpy.float32) * scales.reshape(shape))
        operands = [self.constant(name + "_q", codes), self.constant(name + "_s", scales),
                    self.constant(name + "_z", numpy.zeros(scales.shape, numpy.int8))]
        return self.node("DequantizeLinear", operands, name, axis=axis)

    def layer(self, name, value, channels, layer):
        is_conv = isinstance(layer, tuple)
        columns, size = layer if is_conv else (layer, 1)
        depth = channels * size * size
        dims = [columns, channels, size, size] if is_conv else [channels, columns]
        codes = self.random.integers(-127, 128, dims, numpy.int8)
        scales = (self.random.random(columns, numpy.float32) + 0.5) * 0.02 / depth ** 0.5
        weights = self.weights(name + "_w", codes, scales, 0 if is_conv else 1)
        bias = self.constant(name + "_b", self.random.standard_normal(columns, numpy.float32) * 0.1)
        if is_conv:
            value = self.node("Conv", [value, weights, bias], name + "_c", pads=[size // 2] * 4)
        else:
            value = self.node("MatMul", [value, weights], name + "_p")
            value = self.node("Add", [value, bias], name + "_a")
        value = self.node("Relu", [value], name + "_r")
        return self.requantised(value, name, Y_SCALE, Y_ZERO) if self.quantised else value


def model_of(case, quantised):
    _, dims, layers = case
    chain = Chain(dims, layers, quantised)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)
    graph = helper.make_graph(chain.nodes, "chain", [x], [chain.out], chain.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class Library:
    def __init__(self, programs, model, folder, threads, x):
        self.programs, self.folder, self.threads = programs, folder, threads
        path = folder.with_suffix(".onnx")
        onnx.save(model, path)
        subprocess.run([programs / "mlc-compile", "--model", path, "-o", folder, "--target", "cpu"],
                       check=True, capture_output=True)
        self.inputs = folder.with_suffix(".in")
        self.inputs.mkdir()
        numpy.save(self.inputs / "input_0.npy", x)

    def run(self, *more):
        command = [self.programs / "mlc-run", self.folder, "--threads", str(self.threads), *more]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def microseconds(self):
        return json.loads(self.run("--json", "--bench", "0.3"))["latency_ms"]["median"] * 1e3

    def output(self):
        outputs = self.folder.with_suffix(".out")
        self.run("--inputs", str(self.inputs), "--outputs", str(outputs))
        tensor = onnx.TensorProto.FromString((outputs / "output_0.pb").read_bytes())
        return onnx.numpy_helper.to_array(tensor)


class Peer:
    def __init__(self, model, threads, x):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        self.x = {"x": x}

    def output(self):
        return self.session.run(None, self.x)[0]

    def microseconds(self):
        samples = []
        while sum(samples) < 0.3:
            start = time.perf_counter()
            self.session.run(None, self.x)
            samples.append(time.perf_counter() - start)
        return statistics.median(samples) * 1e6


def measured(case, programs, folder, options):
    x = numpy.random.default_rng(0).standard_normal(case[1], numpy.float32)
    ways = {}
    for quantised in (True, False):
        kind = "bytes" if quantised else "f32"
        model = model_of(case, quantised)
        ways["library_" + kind] = Library(programs, model, folder / kind, options.threads, x)
        ways["onnxruntime_" + kind] = Peer(model, options.threads, x)
    ours, theirs = ways["library_bytes"].output(), ways["onnxruntime_bytes"].output()
    steps = numpy.abs(ours - theirs) / Y_SCALE
    times = {name: [] for name in ways}
    for _ in range(options.rounds):
        for name, way in ways.items():
            times[name].append(way.microseconds())

    def ratio(a, b):
        return round(statistics.median(x / y for x, y in zip(times[a], times[b])), 3)

    return {"case": case[0],
            **{name + "_us": round(statistics.median(t), 1) for name, t in times.items()},
            "f32_over_bytes": ratio("library_f32", "library_bytes"),
            "bytes_over_onnxruntime": ratio("library_bytes", "onnxruntime_bytes"),
            "codes_that_differ": round(float((steps > 0.5).mean()), 5),
            "largest_difference_in_codes": round(float(steps.max()), 2)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="")
    parser.add_argument("--json")
    options = parser.parse_args()
    results, loads = [], [os.getloadavg()[0]]
    for case in CASES:
        if options.only not in case[0]:
            continue
        with tempfile.TemporaryDirectory() as name:
            results.append(measured(case, options.programs, pathlib.Path(name), options))
        loads.append(os.getloadavg()[0])
        print(json.dumps(results[-1]), flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(
            {"threads": options.threads, "rounds": options.rounds,
             "load_average": [round(min(loads), 1), round(max(loads), 1)],
             "onnxruntime": onnxruntime.__version__, "cases": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
