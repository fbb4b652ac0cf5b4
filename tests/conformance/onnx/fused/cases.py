"""What a case of a fused operator is, and how it becomes a folder of files.

A case is one node, its operands and the results that a formula gives for them. Constant operands
become initializers; the others are inputs of the model.
"""
import dataclasses
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FUSED_DOMAIN = "com.microsoft"


class Packed:
    """A tensor of a type that NumPy lacks: the bytes of its elements, and the type's number."""

    def __init__(self, data_type, dims, raw):
        self.data_type, self.dims, self.raw = data_type, list(dims), bytes(raw)


@dataclasses.dataclass
class Case:
    name: str
    op: str
    operands: list  # (array or None, is constant)
    results: list  # arrays; None where the node leaves the result out
    attributes: dict = dataclasses.field(default_factory=dict)
    domain: str = FUSED_DOMAIN
    opset: int = 21
    # How far 8-bit results may be off: a runtime may round sums in another order.
    tolerance: float = 1e-4
    # The first results that other runtimes must agree on: what the rest holds is not specified.
    specified: int = 9


def tensor_of(value, name):
    if isinstance(value, Packed):
        tensor = TensorProto()
        tensor.name, tensor.data_type, tensor.raw_data = name, value.data_type, value.raw
        tensor.dims.extend(value.dims)
        return tensor
    # Not as a vector of one element, which this function would make of a scalar.
    return numpy_helper.from_array(np.asarray(value), name)


def model_of(case):
    names, initializers, inputs = [], [], []
    for k, (value, is_constant) in enumerate(case.operands):
        names.append("" if value is None else f"x{k}")
        if value is None:
            continue
        if is_constant:
            initializers.append(tensor_of(value, f"x{k}"))
        else:
            kind = helper.np_dtype_to_tensor_dtype(value.dtype) if hasattr(
                helper, "np_dtype_to_tensor_dtype") else onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[
                    value.dtype]
            inputs.append(helper.make_tensor_value_info(f"x{k}", kind, value.shape))
    while names and not names[-1]:
        names.pop()
    outputs, results = [], []
    for k, value in enumerate(case.results):
        results.append("" if value is None else f"y{k}")
        if value is not None:
            outputs.append(helper.make_tensor_value_info(
                f"y{k}", tensor_of(value, "").data_type, value.shape))
    node = helper.make_node(case.op, names, results, domain=case.domain, **case.attributes)
    graph = helper.make_graph([node], case.name, inputs, outputs, initializers)
    opsets = [helper.make_opsetid("", case.opset)]
    if case.domain:
        opsets.append(helper.make_opsetid(case.domain, 1))
    model = helper.make_model(graph, opset_imports=opsets)
    model.ir_version = 10
    return model


def feeds_of(case):
    return {f"x{k}": value for k, (value, is_constant) in enumerate(case.operands)
            if value is not None and not is_constant}


def write_case(case, root):
    folder = os.path.join(root, "node", case.name)
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data, exist_ok=True)
    with open(os.path.join(folder, "model.onnx"), "wb") as file:
        file.write(model_of(case).SerializeToString())
    for k, value in enumerate(feeds_of(case).values()):
        with open(os.path.join(data, f"input_{k}.pb"), "wb") as file:
            file.write(tensor_of(value, "").SerializeToString())
    for k, value in enumerate(result for result in case.results if result is not None):
        with open(os.path.join(data, f"output_{k}.pb"), "wb") as file:
            file.write(tensor_of(value, "").SerializeToString())


def write_cases(cases, root):
    os.makedirs(root, exist_ok=True)
    rows = ["group name op tier a b c d e f flags g".replace(" ", "\t")]
    for case in cases:
        write_case(case, root)
        rows.append("\t".join(["node", case.name, case.op, "1"] + ["-"] * 8))
    with open(os.path.join(root, "MANIFEST.tsv"), "w", encoding="utf-8") as file:
        file.write("\n".join(rows) + "\n")


def differs(case, results):
    """Why `results` are not those of the case; empty if they are."""
    wanted = [value for value in case.results if value is not None]
    for k, (got, want) in enumerate(list(zip(results, wanted))[:case.specified]):
        if got.shape != want.shape:
            return f"result {k} has shape {got.shape}, the formula gives {want.shape}"
        error = np.abs(np.asarray(got, np.float64) - np.asarray(want, np.float64))
        bound = case.tolerance * (1 + np.abs(np.asarray(want, np.float64)))
        if np.any(error > bound):
            return f"result {k} is off by {error.max():.3g}"
    return ""
