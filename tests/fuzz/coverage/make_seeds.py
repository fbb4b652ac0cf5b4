#!/usr/bin/python3
"""Writes the seeds of the fuzz targets whose inputs are no text, into corpus/TARGET beside this file: ONNX models with the
python3-onnx of Debian, messages by hand."""
import pathlib
import struct

import numpy
from onnx import TensorProto, helper, numpy_helper

CORPUS = pathlib.Path(__file__).parent / "corpus"


def write(target, name, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


# --- ONNX models: one operator of each file of compiler/graph/onnx/ops, on small tensors.

def floats(name, *dims):
    count = int(numpy.prod(dims)) if dims else 1
    values = (numpy.arange(count, dtype=numpy.float32) % 5 - 2).reshape(dims)
    return numpy_helper.from_array(values, name)


def ints(name, *values):
    return numpy_helper.from_array(numpy.array(values, dtype=numpy.int64), name)


def model(name, nodes, dims, constants=(), outputs=("y",), opset=18, functions=(), **more):
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_empty_tensor_value_info(o) for o in outputs], list(constants))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)] + more.get("domains", []), functions=list(functions))
    write("onnx", name, made.SerializeToString())


def one(op, dims, constants=(), opset=18, inputs=None, **attributes):
    node = helper.make_node(op, inputs or ["x"] + [c.name for c in constants], ["y"], **attributes)
    model(op.lower(), [node], dims, constants, opset=opset)


def onnx_models():
    image = [1, 2, 4, 4]
    one("Conv", image, [floats("w", 2, 2, 3, 3), floats("b", 2)], pads=[1, 1, 1, 1], strides=[1, 1])
    one("ConvTranspose", image, [floats("w", 2, 2, 2, 2)], strides=[2, 2])
    one("AveragePool", image, kernel_shape=[2, 2], ceil_mode=1)
    one("MaxPool", image, kernel_shape=[2, 2], auto_pad="SAME_UPPER")
    one("BatchNormalization", image, [floats(n, 2) for n in ("s", "b", "m", "v")], opset=15)
    one("LayerNormalization", [2, 3, 4], [floats("s", 4), floats("b", 4)], opset=17)
    one("Softmax", [2, 3], opset=11, axis=1)
    one("Gemm", [2, 3], [floats("w", 4, 3), floats("c", 4)], transB=1, alpha=0.5)
    one("MatMul", [2, 3], [floats("w", 3, 4)])
    one("Einsum", [2, 3], [floats("w", 3, 4)], equation="ij,jk->ki")
    one("Reshape", [2, 6], [ints("s", 3, -1)])
    one("Slice", [4, 6], [ints("s", 1), ints("e", 9), ints("a", -1), ints("t", 2)])
    one("Pad", [2, 3], [ints("p", 0, 1, 0, 1), floats("v")], mode="constant")
    one("Gather", [3, 4], [ints("i", 2, 0)], axis=0)
    one("ScatterElements", [2, 3], [ints("i", 1), floats("u", 1)], inputs=["x", "i", "u"], axis=0)
    one("Resize", image, [floats("s", 4)], inputs=["x", "", "s"], mode="linear")
    one("ReduceSum", [2, 3, 4], [ints("a", -1)], keepdims=0)
    one("TopK", [2, 6], [ints("k", 2)], inputs=["x", "k"], largest=1)
    one("NonZero", [2, 3])
    one("Unique", [5], sorted=0)
    chosen = [helper.make_node("Less", ["v", "x"], ["c"]), helper.make_node("Compress", ["x", "c"], ["z"]), helper.make_node("Softmax", ["z"], ["y"])]
    model("compress", chosen, [6], [floats("v")])
    boxes = helper.make_node("NonMaxSuppression", ["x", "s", "m", "o"], ["y"])
    model("nonmaxsuppression", [boxes], [1, 3, 4], [floats("s", 1, 2, 3), ints("m", 2), floats("o", 1)])
    one("Clip", [3], opset=6, min=-1.0, max=1.0)
    one("GridSample", image, [floats("g", 1, 2, 2, 2)], opset=16, mode="bilinear")
    one("DepthToSpace", [1, 4, 2, 2], blocksize=2)
    one("CumSum", [2, 3], [ints("a", 1)])
    one("Expand", [1, 3], [ints("s", 2, 3)])
    one("OneHot", [2], [ints("d", 3), floats("v", 2)])
    one("LSTM", [2, 1, 3], [floats("w", 1, 8, 3), floats("r", 1, 8, 2)], hidden_size=2)
    model("split", [helper.make_node("Split", ["x"], ["y", "z"], axis=0)], [4, 2], outputs=("y", "z"), opset=13)
    model("shape", [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("ConstantOfShape", ["s"], ["y"])], [2, 3])
    quantize = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"])]
    zero = numpy_helper.from_array(numpy.array(3, dtype=numpy.uint8), "z")
    model("quantize", quantize, [4], [numpy_helper.from_array(numpy.array(0.1, dtype=numpy.float32), "s"), zero])
    branch = helper.make_graph([helper.make_node("Relu", ["x"], ["r"])], "b", [], [helper.make_empty_tensor_value_info("r")])
    condition = numpy_helper.from_array(numpy.array(True), "c")
    model("if", [helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)], [2], [condition])
    function = helper.make_function("f", "F", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])], [helper.make_opsetid("", 18)])
    model("function", [helper.make_node("F", ["x"], ["y"], domain="f")], [2], functions=[function], domains=[helper.make_opsetid("f", 1)])
    gelu = helper.make_node("Gelu", ["x"], ["y"], domain="com.microsoft")
    model("gelu", [gelu], [2], domains=[helper.make_opsetid("com.microsoft", 1)])
    outside = floats("w", 2)
    outside.ClearField("raw_data")
    outside.data_location = TensorProto.EXTERNAL
    outside.external_data.add(key="location", value="w.bin")
    model("outside", [helper.make_node("Add", ["x", "w"], ["y"])], [2], [outside])
    write("onnx", "tensor", floats("t", 2, 2).SerializeToString())


# --- Messages on the wire: the first byte chooses the reader.

def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value >= 0x80:
        out += bytes([0x80 | (value & 0x7F)])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def double(field, value):
    return varint(field << 3 | 1) + struct.pack("<d", value)


def text(field, value):
    value = value if isinstance(value, bytes) else value.encode()
    return varint(field << 3 | 2) + varint(len(value)) + value


WORKLOAD = "workload v1 tolerance=1e-04 {\n  %0 = input() : f32[8]\n  %1 = exp(%0) : f32[8]\n  return %1\n}\n"
CPU = "target v1 cpu arch=x86_64 isa=avx2 threads=2 l1=32768 l2=1048576 l3=33554432"
GPU = "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560"


def wire_messages():
    task = text(1, WORKLOAD) + number(2, 3) + text(3, "exp")
    options = number(1, 100) + number(2, 7)
    job = number(1, 1) + text(2, task) + text(3, CPU) + text(4, options) + text(5, "model")
    write("wire_messages", "job", b"\0" + job)
    variants = text(7, text(1, "usual")) + text(7, text(1, "other"))
    write("wire_messages", "variants", b"\0" + text(2, task + number(4, 1) + number(4, 0)) + text(3, CPU) + text(4, options) + variants)
    source = 'extern "C" __global__ void f(const float* a, float* b) { b[threadIdx.x] = a[threadIdx.x]; }'
    on_gpu = text(2, task) + text(3, GPU) + text(4, number(6, 1))

    def kernel(*extents):
        launch = b"".join(number(field, extent) for field, extent in enumerate(extents, start=3))
        return text(1, "f") + text(2, source) + launch + number(9, 1024)

    write("wire_messages", "user_kernel", b"\1" + text(1, on_gpu) + text(2, kernel(4, 1, 1, 32, 1, 1)))
    write("wire_messages", "user_kernel_2d", b"\1" + text(1, on_gpu) + text(2, kernel(4, 2, 1, 32, 2, 1)))
    times = number(1, 0) + double(2, 1000) + double(3, 900) + double(4, 1100) + number(5, 10) + double(6, 2000) + double(7, 1e-6)
    failed = number(1, 3) + text(11, "it crashed")
    results = b"".join(text(8, text(1, bytes(16)) + text(2, m) + double(3, 0.5)) for m in (times, failed))
    offer = number(1, 1 << 33) + text(2, "contraction/3") + text(3, "19.1")
    sync = number(1, 1) + text(2, "worker") + text(3, "boot") + text(4, "build") + text(5, CPU) + number(6, 4) + text(7, bytes(16))
    write("wire_messages", "synchronize", b"\2" + sync + results + number(10, 1) + text(11, offer))
    written = '{"trials":100,"seed":1,"use_history":true,"time_budget_ms":0,"batch":16,"models":3,"variants":[{"name":"a","uses":[1]}]}'
    write("wire_messages", "options", b"\3" + written.encode())


# --- Messages of a worker's children.

def counted(data):
    data = data if isinstance(data, bytes) else data.encode()
    return struct.pack("<Q", len(data)) + data


def measurement(detail=b""):
    return bytes([0]) + struct.pack("<8d", 1000, 900, 1100, 2000, 1e-6, 5, 3000, 1) + struct.pack("<i", 10) + counted(detail)


def child_messages():
    part = counted("kernel") + struct.pack("<Q", 1) + struct.pack("<3q", 4, 0, 0)
    built = counted("object") + part + b"\0" + struct.pack("<Q", 0) + struct.pack("<Q", 0) + struct.pack("<d", 1.5)
    device = counted("image") + struct.pack("<Q", 1) + counted("f") + struct.pack("<7q", 1, 1, 1, 32, 1, 1, 0) + struct.pack("<2q", 0, 0)
    on_gpu = counted("") + part + b"\1" + device + struct.pack("<Q", 0) + struct.pack("<Q", 0) + struct.pack("<d", 1.5)
    task = counted(WORKLOAD) + struct.pack("<Q", 1) + counted(built) + struct.pack("<Qd", 7, 0) + b"\1"
    hello = struct.pack("<i", 0) + counted("") + struct.pack("<d", 2000)
    report = struct.pack("<Q", 2) + measurement() + measurement(b"detail") + b"\0" + struct.pack("<d", 0)
    trial = struct.pack("<2Q", 1, 2) + counted(WORKLOAD) + counted("pointwise/1") + struct.pack("<Qdi", 1, 0, 0)
    for name, message in (("built", built), ("on_gpu", on_gpu), ("task", task), ("hello", hello), ("report", report), ("trial", trial)):
        write("child_messages", name, message)
    frames = b"".join(struct.pack("<I", len(m)) + m for m in (hello, report))
    write("child_messages", "frames", b"\x10" + frames)


onnx_models()
wire_messages()
child_messages()
