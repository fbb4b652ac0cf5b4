"""Small models for the tests of the Python package, and what they compute."""

import sys
import unittest

try:
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"SKIPPED: the tests of the package need numpy and onnx: {error}")
    sys.exit(77)

WEIGHTS = np.arange(12, dtype=np.float32).reshape(4, 3) / 8 - 0.5


def model(nodes, inputs, outputs, weights=(), opset=14):
    """inputs and outputs: (name, TensorProto type, shape) each."""
    ports = [[helper.make_tensor_value_info(*port) for port in side] for side in (inputs, outputs)]
    constants = [numpy_helper.from_array(array, name) for name, array in weights]
    graph = helper.make_graph(nodes, "small", *ports, constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 8
    made.producer_name = "small_models"
    return made


def product(rows=2):
    """relu(x[rows,4] w[4,3]); rows may be a name."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    return model(
        nodes,
        [("x", TensorProto.FLOAT, [rows, 4])],
        [("y", TensorProto.FLOAT, [rows, 3])],
        [("w", WEIGHTS)],
    )


def expected_product(x):
    return np.maximum(x @ WEIGHTS, 0)


def two_by_two(count=6):
    """sum = a + b and difference = a - b, of `count` numbers."""
    nodes = [
        helper.make_node("Add", ["a", "b"], ["sum"]),
        helper.make_node("Sub", ["a", "b"], ["difference.1"]),
    ]
    ports = ["a", "b"], ["sum", "difference.1"]
    return model(nodes, *([(name, TensorProto.FLOAT, [count]) for name in side] for side in ports))


def twice(elem_type):
    """y = x + x, or not x for booleans, of 3 x 5 elements of any type."""
    boolean = elem_type == TensorProto.BOOL
    node = helper.make_node("Not" if boolean else "Add", ["x"] if boolean else ["x", "x"], ["y"])
    return model([node], [("x", elem_type, [3, 5])], [("y", elem_type, [3, 5])])


def reshaped():
    """y = s * relu(reshape(x, shape)), of 6 numbers; the shape is an input, and so is s."""
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["r"]),
        helper.make_node("Relu", ["r"], ["h"]),
        helper.make_node("Mul", ["h", "s"], ["y"]),
    ]
    float_type, integer = TensorProto.FLOAT, TensorProto.INT64
    inputs = [("x", float_type, [6]), ("shape", integer, [2]), ("s", float_type, [1])]
    return model(nodes, inputs, [("y", float_type, ["a", "b"])])


def unsupported():
    """A model with an operator that no importer knows."""
    node = helper.make_node("NoSuchOperator", ["x"], ["y"])
    return model([node], [("x", TensorProto.FLOAT, [2])], [("y", TensorProto.FLOAT, [2])])


class PackageTest(unittest.TestCase):
    """A test that compares arrays."""

    def assert_close(self, got, wanted):
        self.assertEqual(np.shape(got), np.shape(wanted))
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
