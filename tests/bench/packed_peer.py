#!/usr/bin/env python3
"""Times products with weights of few bits in compiled libraries, and in ONNX Runtime beside them.

    packed_peer.py BIN_FOLDER [--threads 2] [--rounds 7] [--only TEXT] [--json FILE]

A model has many products with weights of their own, of 256 MiB together, so that each product reads
them from memory; the time is that of a run over the number of products. Libraries have the default
configs. A library that sums 256 MiB of its input says what memory gives. All take turns within a
round; a figure is the median of the rounds. With accuracy_level 1 ONNX Runtime computes in f32, as
the libraries do, and with 4 it rounds activations to 8 bits; libraries do so from 5 rows on.
Needs numpy, onnx and onnxruntime.
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

DEPTH = 4096
TOTAL_BYTES = 256 << 20
CASES = [(rows, columns, bits, block, zeros)
         for columns in (4096, 11008)
         for rows, bits, block, zeros in ((1, 4, 32, False), (1, 4, 32, True), (1, 4, 128, False),
                                          (1, 8, 32, False), (4, 4, 32, False), (16, 4, 32, False),
                                          (128, 4, 32, False))]


def product(index, columns, bits, block, zeros, level):
    random = numpy.random.default_rng(index)
    blocks = DEPTH // block
    arrays = {
        f"w{index}": random.integers(0, 256, (columns, blocks, block * bits // 8), numpy.uint8),
        f"s{index}": random.random(columns * blocks, numpy.float32) * 0.01}
    if zeros:
        arrays[f"z{index}"] = random.integers(0, 256, columns * blocks * bits // 8, numpy.uint8)
    node = helper.make_node(
        "MatMulNBits", ["x", *arrays], [f"y{index}"], domain="com.microsoft", K=DEPTH, N=columns,
        bits=bits, block_size=block, accuracy_level=level)
    return node, [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()]


def name_of(case):
    rows, columns, bits, block, zeros = case
    kind = "with zeros" if zeros else "symmetric"
    return f"{rows}x{DEPTH}x{columns}, {bits} bits by {block}, {kind}"


def weight_bytes(columns, bits, block, zeros):
    return DEPTH * columns * bits // 8 + DEPTH // block * columns * (5 if zeros else 4)


def model_of(case, level):
    rows, columns, bits, block, zeros = case
    count = max(4, TOTAL_BYTES // weight_bytes(columns, bits, block, zeros))
    nodes, constants = [], []
    for index in range(count):
        node, own = product(index, columns, bits, block, zeros, level)
        nodes.append(node)
        constants += own
    outputs = [helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, [rows, columns])
               for i in range(count)]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, DEPTH])
    return finished(nodes, x, outputs, constants), count


def finished(nodes, x, outputs, constants):
    graph = helper.make_graph(nodes, "products", [x], outputs, constants)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def reading_model():
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [TOTAL_BYTES // 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [])
    return finished([helper.make_node("ReduceSum", ["x"], ["y"], keepdims=0)], x, [y], [])


class Library:
    def __init__(self, programs, model, folder, threads):
        self.run = [programs / "mlc-run", folder, "--threads", str(threads), "--json",
                    "--bench", "0.4"]
        path = folder.with_suffix(".onnx")
        onnx.save(model, path)
        subprocess.run([programs / "mlc-compile", "--model", path, "-o", folder, "--target", "cpu"],
                       check=True, capture_output=True)
        path.unlink()

    def microseconds(self):
        done = subprocess.run(self.run, check=True, capture_output=True, text=True)
        return json.loads(done.stdout)["latency_ms"]["median"] * 1e3


class Peer:
    def __init__(self, model, rows, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        self.x = {"x": numpy.random.default_rng(0).standard_normal((rows, DEPTH), numpy.float32)}
        self.session.run(None, self.x)

    def microseconds(self):
        samples = []
        while len(samples) < 3 and sum(samples) < 0.4:
            start = time.perf_counter()
            self.session.run(None, self.x)
            samples.append(time.perf_counter() - start)
        return statistics.median(samples) * 1e6


def measured(case, reader, programs, folder, options):
    rows, columns, bits, block, zeros = case
    model, count = model_of(case, 1)
    ways = {"library": Library(programs, model, folder / "library", options.threads),
            "onnxruntime_level_1": Peer(model, rows, options.threads),
            "onnxruntime_level_4": Peer(model_of(case, 4)[0], rows, options.threads)}
    if rows > 4:  # fewer are not rounded
        ways["library_level_4"] = Library(programs, model_of(case, 4)[0], folder / "level4", options.threads)
    times = {name: [] for name in ways}
    reading = []
    for _ in range(options.rounds):
        reading.append(TOTAL_BYTES / reader.microseconds() / 1e3)
        for name, way in ways.items():
            times[name].append(way.microseconds() / count)
    middle = {name + "_us": round(statistics.median(samples), 1) for name, samples in times.items()}
    stored = weight_bytes(columns, bits, block, zeros)
    rates = [stored / us / 1e3 for us in times["library"]]
    return {"case": name_of(case), **middle, "weights_gb_s": round(statistics.median(rates), 2),
            "reading_gb_s": round(statistics.median(reading), 2),
            "share_of_reading": round(statistics.median(
                rate / read for rate, read in zip(rates, reading)), 3)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="")
    parser.add_argument("--json")
    options = parser.parse_args()
    results = []
    loads = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        reader = Library(options.programs, reading_model(), folder / "reading", options.threads)
        for case in CASES:
            if options.only not in name_of(case):
                continue
            results.append(measured(case, reader, options.programs, folder, options))
            loads.append(os.getloadavg()[0])
            print(json.dumps(results[-1]), flush=True)
    loads = [round(min(loads), 1), round(max(loads), 1)]
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(
            {"threads": options.threads, "rounds": options.rounds, "load_average": loads,
             "onnxruntime": onnxruntime.__version__, "cases": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
