#!/usr/bin/env python3
"""Writes the float8 version of a model: its products by constant matrices multiply float8.

    quantize_float8.py llama_block.onnx block_float8.onnx [--samples 2] [--length 128] [--activations e5m2] [--weights tensor]
    quantize_float8.py llama_block.onnx block_float8.onnx --weights block

The form is QDQ: QuantizeLinear and DequantizeLinear before each such MatMul or Gemm, activations with one scale, weights
of e4m3 with one a column. The largest number of what has a scale becomes the largest of the type. Ranges of activations
come from random inputs, as weights of make_model.py are random, too; named dimensions are LENGTH then. With --weights
block, weights have a scale for each block of 128 x 128 and activations, in plain operators, one for each 128 elements of
a row, from their own range. Needs the Python packages onnx, numpy and onnxruntime.
"""
import argparse

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import float8
from make_model import write
from quantize_model import Samples

TYPES = {"e4m3": float8.E4M3, "e5m2": float8.E5M2}
OLDEST_OPSET, OPSET_OF_BLOCKS, IR_OF_BLOCKS = 19, 21, 10  # of QuantizeLinear to float8, and by blocks
BLOCK = 128
LEAST = 1e-6  # magnitude that a scale stands for


def attribute(node, name, default):
    return next((helper.get_attribute_value(a) for a in node.attribute if a.name == name), default)


def products(graph):
    """The nodes that multiply something by a constant matrix of f32, with their places and the axis of its columns."""
    constants = {c.name: c for c in graph.initializer}
    for place, node in enumerate(graph.node):
        right = constants.get(node.input[1]) if node.op_type in ("MatMul", "Gemm") else None
        if right is None or right.data_type != TensorProto.FLOAT or len(right.dims) != 2:
            continue
        is_gemm = node.op_type == "Gemm"
        if node.input[0] in constants or (is_gemm and attribute(node, "transA", 0)):
            continue
        yield place, node, 0 if is_gemm and attribute(node, "transB", 0) else 1


def largest_of(model_path, names, samples, length):
    """The largest magnitudes of values of the model, by name."""
    model = onnx.load(model_path)
    given = {value.name for value in model.graph.input}
    known = {value.name for value in model.graph.output} | given
    model.graph.output.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names
                              if name not in known)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    largest = dict.fromkeys(names, 0.0)
    data = Samples(model_path, samples, length)
    while (feed := data.get_next()) is not None:
        inner = [name for name in names if name not in given]
        values = dict(zip(inner, session.run(inner, feed)))
        for name in names:
            largest[name] = max(largest[name], float(np.abs(values.get(name, feed.get(name))).max()))
    return largest


def in_blocks(values):
    """For each block the largest magnitude, repeated for each column: [K/128, N]."""
    k, n = values.shape
    padded = np.zeros((k, -(-n // BLOCK) * BLOCK), np.float32)
    padded[:, :n] = np.abs(values)
    largest = padded.reshape(k // BLOCK, BLOCK, -1, BLOCK).max(axis=(1, 3))
    return np.repeat(largest, BLOCK, axis=1)[:, :n]


class Quantizer:
    def __init__(self, graph, largest, activations, weights):
        self.graph, self.largest, self.type, self.by = graph, largest, TYPES[activations], weights
        self.constants = {c.name: c for c in graph.initializer}
        self.nodes, self.done = [], {}
        self.add(TensorProto(name="float8_zero", data_type=self.type, dims=(), raw_data=b"\0"))

    def add(self, tensor):
        self.graph.initializer.append(tensor)
        return tensor.name

    def node(self, kind, inputs, output, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [output], name=f"{output}/{kind}", **attributes))
        return output

    def constant(self, value, name):
        return self.add(numpy_helper.from_array(np.asarray(value), name))

    def activation_in_blocks(self, name, depth):
        """Scaled by the largest magnitude of each 128 elements of a row."""
        at, last = f"{name}_blocks", [-1]
        shape = self.constant(np.array([-1, depth // BLOCK, BLOCK], np.int64), f"{at}_shape")
        x = self.node("Reshape", [name, shape], at)
        axes = self.constant(np.array(last, np.int64), f"{at}_axes")
        largest = self.node("ReduceMax", [self.node("Abs", [x], f"{at}_abs"), axes], f"{at}_most", keepdims=1)
        largest = self.node("Max", [largest, self.constant(np.float32(LEAST), f"{at}_least")], f"{at}_bounded")
        factor = self.constant(np.float32(1 / float8.LARGEST_OF[self.type]), f"{at}_factor")
        scale = self.node("Mul", [largest, factor], f"{at}_scale")
        codes = self.node("Cast", [self.node("Div", [x, scale], f"{at}_steps")], f"{at}_float8", to=self.type)
        wide = self.node("Cast", [codes], f"{at}_wide", to=TensorProto.FLOAT)
        scaled = self.node("Mul", [wide, scale], f"{at}_scaled")
        return self.node("Reshape", [scaled, self.node("Shape", [name], f"{at}_whole")], f"{name}_dequantized")

    def activation(self, name, depth):
        if name not in self.done and self.by == "block":
            self.done[name] = self.activation_in_blocks(name, depth)
        if name not in self.done:
            scale = np.float32(max(self.largest[name], LEAST) / float8.LARGEST_OF[self.type])
            inputs = [self.constant(scale, f"{name}_scale"), "float8_zero"]
            codes = self.node("QuantizeLinear", [name, *inputs], f"{name}_float8")
            self.done[name] = self.node("DequantizeLinear", [codes, *inputs], f"{name}_dequantized")
        return self.done[name]

    def weight(self, name, axis):
        if (name, axis) not in self.done:
            values = numpy_helper.to_array(self.constants[name])
            if self.by == "block":
                largest = in_blocks(values if axis == 1 else values.T)
                largest = largest if axis == 1 else largest.T
            else:
                largest = np.abs(values).max(axis=1 - axis if self.by == "column" else None, keepdims=True)
            scales = np.maximum(largest / float8.LARGEST, np.float32(1e-12))
            wide = np.repeat(scales, BLOCK, axis=1 - axis) if self.by == "block" else scales
            codes = self.add(float8.tensor(f"{name}_float8_{axis}", values / wide))
            stored = {"block": scales, "column": scales.reshape(-1), "tensor": scales.reshape(-1)[0]}[self.by]
            scale = self.constant(np.ascontiguousarray(stored), f"{name}_scale_{axis}")
            along = {"block": {"axis": 1 - axis, "block_size": BLOCK}, "column": {"axis": axis}, "tensor": {}}[self.by]
            self.done[name, axis] = self.node("DequantizeLinear", [codes, scale], f"{name}_dequantized_{axis}", **along)
        return self.done[name, axis]

    def run(self):
        axes = {place: axis for place, _, axis in products(self.graph)}
        for place, node in enumerate(self.graph.node):
            if place in axes:
                depth = self.constants[node.input[1]].dims[1 - axes[place]]
                if self.by == "block" and depth % BLOCK:
                    raise ValueError(f"{node.name} sums {depth} products, which are no blocks of {BLOCK}")
                node.input[0] = self.activation(node.input[0], depth)
                node.input[1] = self.weight(node.input[1], axes[place])
            self.nodes.append(node)
        read = {name for node in self.nodes for name in node.input}
        kept = [c for c in self.graph.initializer if c.name in read]
        for field, values in ((self.graph.node, self.nodes), (self.graph.initializer, kept)):
            copies = [type(value).FromString(value.SerializeToString()) for value in values]
            del field[:]
            field.extend(copies)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--length", type=int, default=128, help="named dimensions while ranges are measured")
    parser.add_argument("--activations", choices=TYPES, default="e4m3")
    parser.add_argument("--weights", choices=("column", "tensor", "block"), default="column",
                        help="what of a matrix has a scale")
    args = parser.parse_args()
    model = onnx.load(args.model)
    if any(o.version < OLDEST_OPSET for o in model.opset_import if o.domain in ("", "ai.onnx")):
        parser.error(f"the model's operator set is older than {OLDEST_OPSET}")
    largest = {}
    if args.weights == "block":
        for imported in model.opset_import:
            if imported.domain in ("", "ai.onnx"):
                imported.version = max(imported.version, OPSET_OF_BLOCKS)
        model.ir_version = max(model.ir_version, IR_OF_BLOCKS)
    else:
        names = sorted({node.input[0] for _, node, _ in products(model.graph)})
        largest = largest_of(args.model, names, args.samples, args.length)
    Quantizer(model.graph, largest, args.activations, args.weights).run()
    write(model, args.out)
    onnx.checker.check_model(args.out)


if __name__ == "__main__":
    main()
