"""A small writer of ONNX graphs: one method per operator, seeded random weights."""
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 20
IR_VERSION = 9


class Builder:
    def __init__(self, name, seed):
        self.name, self.seed = name, seed
        self.nodes, self.initializers, self.inputs, self.count = [], [], [], 0

    def input(self, name, shape, dtype=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def constant(self, array, name=None):
        self.count += 1
        name = name or f"c{self.count}"
        self.initializers.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def weight(self, name, shape, scale, mean=0.0):
        rng = np.random.default_rng([self.seed, zlib.crc32(name.encode())])
        values = rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)
        return self.constant(values + np.float32(mean), name)

    def op(self, kind, inputs, **attributes):
        self.count += 1
        output = f"{kind.lower()}_{self.count}"
        self.nodes.append(helper.make_node(kind, inputs, [output], name=f"n{self.count}", **attributes))
        return output

    def split(self, x, parts, axis):
        outputs = []
        for _ in range(parts):
            self.count += 1
            outputs.append(f"split_{self.count}")
        self.nodes.append(helper.make_node("Split", [x], outputs, axis=axis, num_outputs=parts))
        return outputs

    def reshape(self, x, shape):
        return self.op("Reshape", [x, self.constant(np.array(shape, np.int64))])

    def transpose(self, x, perm):
        return self.op("Transpose", [x], perm=perm)

    def conv(self, x, name, cin, cout, kernel, stride=1, group=1):
        pad = kernel // 2
        fan = cin // group * kernel * kernel
        w = self.weight(f"{name}.weight", (cout, cin // group, kernel, kernel), (1.6 / fan) ** 0.5)
        b = self.weight(f"{name}.bias", (cout,), 0.05)
        return self.op("Conv", [x, w, b], kernel_shape=[kernel] * 2, strides=[stride] * 2,
                       pads=[pad] * 4, dilations=[1, 1], group=group)

    def linear(self, x, name, cin, cout):
        """A matrix product with a [cin, cout] weight and a bias, over the last dimension."""
        product = self.op("MatMul", [x, self.weight(f"{name}.weight", (cin, cout), (1.6 / cin) ** 0.5)])
        return self.op("Add", [product, self.weight(f"{name}.bias", (cout,), 0.05)])

    def layer_norm(self, x, name, width, epsilon=1e-5):
        scale = self.weight(f"{name}.weight", (width,), 0.1, mean=1.0)
        bias = self.weight(f"{name}.bias", (width,), 0.05)
        return self.op("LayerNormalization", [x, scale, bias], axis=-1, epsilon=epsilon)

    def model(self, outputs, opset=OPSET):
        """outputs: list of (value, shape)."""
        infos = [helper.make_tensor_value_info(v, TensorProto.FLOAT, s) for v, s in outputs]
        graph = helper.make_graph(self.nodes, self.name, self.inputs, infos, self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        model.ir_version = IR_VERSION
        return model


def write_inputs(model, directory, seed, most_id=1000):
    """Seeded inputs as directory/input_K.pb, in the order of the graph's inputs; ids are below most_id."""
    rng = np.random.default_rng([seed, 1])
    lengths = {i.name: i.type.tensor_type.shape.dim[-1].dim_value for i in model.graph.input}
    for k, value in enumerate(model.graph.input):
        shape = [d.dim_value or 1 for d in value.type.tensor_type.shape.dim]
        if value.name == "position_ids":
            array = np.arange(shape[0], dtype=np.int64)
        elif value.name == "seqlens_k":
            array = np.full(shape, lengths["input_ids"] - 1, np.int32)
        elif value.type.tensor_type.elem_type == TensorProto.INT64:
            array = np.ones(shape, np.int64) if "mask" in value.name else rng.integers(0, most_id, shape)
        else:
            array = rng.standard_normal(shape).astype(np.float32)
        with open(f"{directory}/input_{k}.pb", "wb") as f:
            f.write(as_tensor(array, value).SerializeToString())


def as_tensor(array, value):
    """The array in the element type of a value of the graph."""
    kind = value.type.tensor_type.elem_type
    if kind == TensorProto.FLOAT16:
        array = array.astype(np.float16)
    if kind != TensorProto.BFLOAT16:
        return numpy_helper.from_array(array, value.name)
    halves = (array.view(np.uint32) >> 16).astype(np.uint16)
    return TensorProto(name=value.name, data_type=kind, dims=array.shape, raw_data=halves.tobytes())
