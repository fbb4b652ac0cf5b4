#!/usr/bin/env python3
"""Times ONNX Runtime's MatMulNBits in the cases of packed_bench, with weights that left the caches.

    packed_peer.py [--threads 2] [--rounds 9]    prints one JSON object a case

A model has many products with weights of their own, of 256 MiB together, so that each product reads
them from memory; the time is that of a run over the number of products. `accuracy_level` 1 computes
in f32, 4 with activations rounded to 8 bits.
"""

import argparse
import json
import statistics
import time

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper

BLOCK = 32
DEPTH = 4096
TOTAL_BYTES = 256 << 20


def product(index, rows, columns, bits, level):
    blocks = DEPTH // BLOCK
    codes = numpy.random.default_rng(index).integers(
        0, 256, (columns, blocks, BLOCK * bits // 8), dtype=numpy.uint8)
    scales = numpy.full((columns * blocks,), 0.01, dtype=numpy.float32)
    names = [f"w{index}", f"s{index}"]
    node = helper.make_node(
        "MatMulNBits", ["x", *names], [f"y{index}"], domain="com.microsoft", K=DEPTH, N=columns,
        bits=bits, block_size=BLOCK, accuracy_level=level)
    return node, [onnx.numpy_helper.from_array(codes, names[0]),
                  onnx.numpy_helper.from_array(scales, names[1])]


def model_of(rows, columns, bits, level):
    count = max(4, TOTAL_BYTES // (columns * DEPTH * bits // 8))
    nodes, constants = [], []
    for index in range(count):
        node, own = product(index, rows, columns, bits, level)
        nodes.append(node)
        constants += own
    outputs = [helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, [rows, columns])
               for i in range(count)]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, DEPTH])
    graph = helper.make_graph(nodes, "products", [x], outputs, constants)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    return model.SerializeToString(), count


def microseconds(rows, columns, bits, level, threads, rounds):
    data, count = model_of(rows, columns, bits, level)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    x = numpy.random.default_rng(0).standard_normal((rows, DEPTH), dtype=numpy.float32)
    session.run(None, {"x": x})
    samples = []
    for _ in range(rounds):
        start = time.perf_counter()
        session.run(None, {"x": x})
        samples.append((time.perf_counter() - start) / count * 1e6)
    return statistics.median(samples)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    for columns in (4096, 11008):
        for rows, bits in ((1, 4), (1, 8), (4, 4), (16, 4), (128, 4)):
            times = {f"accuracy_level_{level}_us": round(
                microseconds(rows, columns, bits, level, options.threads, options.rounds), 1)
                for level in (1, 4)}
            print(json.dumps({"case": f"{rows}x{DEPTH}x{columns} {bits} bits by {BLOCK}", **times}),
                  flush=True)


if __name__ == "__main__":
    main()
