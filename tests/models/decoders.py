"""Decoders with caches of keys and values, of any size: Llama (Touvron et al. 2023), Qwen2 and Qwen3 (Qwen team 2024,
2025) and GPT-2 (Radford et al. 2019), in the forms that exporters write.

    fixed     torch.onnx.export of a static cache: plain operators; new keys are scattered to their positions
    growing   torch.onnx.export of a dynamic cache: plain operators; new keys are appended
    attention the same with operator set 23, whose Attention appends them
    genai     the builder of ONNX Runtime GenAI: operators of the domain com.microsoft

The same seed gives the same weights in every form, so that the forms compute the same logits.
"""
import dataclasses

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import float8
from builder import Builder

FORMS = ("fixed", "growing", "attention", "genai")
TYPES = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}
BLOCK = 32  # weights that share a scale
DOMAIN = "com.microsoft"
POSITIONS = 1024  # of tables, where the length of a cache is a name
TOTAL = "total_sequence_length"
INT4 = 22  # of TensorProto.DataType; the oldest package that this runs with does not name it
FLOAT8_SCALES = ("tensor", "column", "block")


@dataclasses.dataclass
class Shape:
    layers: int = 16
    width: int = 2048
    heads: int = 32
    kv_heads: int = 8
    gates: int = 5632
    vocabulary: int = 32000
    bits: int = 32  # of the weights of products: 32, 8 or 4
    float8: str | None = None  # what of the weights of products, then of float8, has a scale: one of FLOAT8_SCALES

    @property
    def size(self):
        return self.width // self.heads


# What tells the families apart: biases of queries, keys and values, and norms of each head.
BIASES, HEAD_NORMS = ("qwen2",), ("qwen3",)
EPSILON, THETA = 1e-6, 10000.0
FAMILIES = {
    "llama": Shape(),
    "qwen2": Shape(layers=24, width=896, heads=14, kv_heads=2, gates=4864, vocabulary=151936),
    "qwen3": Shape(layers=28, width=1024, heads=16, kv_heads=8, gates=3072, vocabulary=151936),
    "gpt2_decoder": Shape(layers=12, width=768, heads=12, kv_heads=12, gates=3072, vocabulary=50257),
}


# The numbers of an initializer of f32, f16 or bf16.
def values_of(tensor):
    if tensor.data_type != TensorProto.BFLOAT16:
        return numpy_helper.to_array(tensor).astype(np.float32)
    return (np.frombuffer(tensor.raw_data, np.uint16).astype(np.uint32) << 16).view(np.float32)


class Decoder(Builder):
    """batch sequences of `length` new tokens after `past` cached ones; a fixed cache holds `cache` positions. The length
    may be the name of a dimension; with a growing cache, so may `past`, and both together are the dimension
    "total_sequence_length" of an attention mask. Weights, caches and logits are of `type`; angles and norms are computed
    in f32, as exporters write them."""

    def __init__(self, family, form, shape, batch, length, past, cache, seed, type="f32"):
        super().__init__(family, seed)
        self.type = TYPES[type]
        if type != "f32" and form == "genai":
            raise ValueError("only plain operators have a type other than f32")
        self.family, self.form, self.s = family, form, shape
        self.batch, self.length, self.past = batch, length, past
        self.is_growing = form in ("growing", "attention") or isinstance(past, str)
        if self.is_growing and isinstance(length, str) != isinstance(past, str):
            raise ValueError("of a cache that grows, give names of both dimensions or of none")
        if isinstance(past, str) and form == "fixed":
            raise ValueError("a fixed cache holds a number of positions: give it with --cache")
        names = isinstance(past, str)
        self.total = TOTAL if names else past + length if self.is_growing else cache
        self.presents = []

    def number(self, value, dtype=np.float32):
        return self.constant(np.array(value, dtype))

    # A number of the type of the weights.
    def factor(self, value):
        return self.stored(self.number(value))

    # The last initializer, in the type of the weights.
    def stored(self, name):
        if self.type == TensorProto.FLOAT:
            return name
        values = numpy_helper.to_array(self.initializers.pop())
        if self.type == TensorProto.FLOAT16:
            return self.constant(values.astype(np.float16), name)
        bits = values.view(np.uint32)
        bits = ((bits + np.uint32(0x7FFF) + (bits >> 16 & 1)) >> 16).astype(np.uint16)  # to nearest, ties to even
        self.initializers.append(TensorProto(name=name, data_type=self.type, dims=values.shape, raw_data=bits.tobytes()))
        return name

    def weight(self, name, shape, scale, mean=0.0):
        return self.stored(super().weight(name, shape, scale, mean))

    def cast(self, x, type):
        return x if self.type == TensorProto.FLOAT else self.op("Cast", [x], to=type)

    def microsoft(self, kind, inputs, outputs=1, **attributes):
        self.count += 1
        names = [f"{kind.lower()}_{self.count}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, domain=DOMAIN, **attributes))
        return names

    # y = x w, with w[cin, cout] of float8: the largest number of what has a scale is 448.
    def float8_product(self, x, name, cin, cout):
        super().weight(f"{name}.weight", (cin, cout), (1.0 / cin) ** 0.5)
        w = numpy_helper.to_array(self.initializers.pop())
        block = {"tensor": cin * cout, "column": cin, "block": BLOCK}[self.s.float8]
        largest = np.abs(w.T.reshape(-1, block)).max(axis=1) / float8.LARGEST
        scales = self.stored(self.constant(largest, f"{name}.scales"))
        stored = self.initializers.pop()
        rounded = values_of(stored)
        steps = (w.T.reshape(-1, block) / rounded[:, None]).reshape(cout, cin).T
        self.initializers.append(float8.tensor(f"{name}.codes", steps))
        attributes = {"tensor": {}, "column": {"axis": 1}, "block": {"axis": 0, "block_size": BLOCK}}[self.s.float8]
        dims = {"tensor": (), "column": (cout,), "block": (cin // BLOCK, cout)}[self.s.float8]
        elements = np.frombuffer(stored.raw_data, np.uint32 if self.type == TensorProto.FLOAT else np.uint16)
        if self.s.float8 == "block":
            elements = elements.reshape(cout, cin // BLOCK).T
        self.initializers.append(TensorProto(name=scales, data_type=stored.data_type, dims=dims,
                                             raw_data=np.ascontiguousarray(elements).tobytes()))
        return self.op("MatMul", [x, self.op("DequantizeLinear", [f"{name}.codes", scales], **attributes)])

    # y = x w, with w[cin, cout] in the bits of the model.
    def project(self, x, name, cin, cout):
        if self.s.float8:
            return self.float8_product(x, name, cin, cout)
        if self.s.bits == 32:
            return self.op("MatMul", [x, self.weight(f"{name}.weight", (cin, cout), (1.0 / cin) ** 0.5)])
        super().weight(f"{name}.weight", (cin, cout), (1.0 / cin) ** 0.5)
        w = numpy_helper.to_array(self.initializers.pop())
        blocks = w.T.reshape(cout, cin // BLOCK, BLOCK)
        most = 2 ** (self.s.bits - 1) - 1
        scales = np.abs(blocks).max(axis=2) / np.float32(most)
        steps = np.clip(np.rint(blocks / scales[..., None]), -most - 1, most).astype(np.int8)
        if self.form == "genai":
            packed = (steps.astype(np.int16) + most + 1).astype(np.uint8)
            if self.s.bits == 4:
                packed = packed[..., 0::2] | packed[..., 1::2] << 4
            inputs = [x, self.constant(packed, f"{name}.packed"), self.constant(scales, f"{name}.scales")]
            return self.microsoft("MatMulNBits", inputs, K=cin, N=cout, bits=self.s.bits, block_size=BLOCK)[0]
        steps = steps.reshape(cout, cin).T
        if self.s.bits == 8:
            packed = self.constant(steps, f"{name}.packed")
        else:
            flat = steps.reshape(-1).astype(np.uint8) & 15
            packed = f"{name}.packed"
            self.initializers.append(TensorProto(name=packed, data_type=INT4, dims=(cin, cout),
                                                 raw_data=(flat[0::2] | flat[1::2] << 4).tobytes()))
        scales = self.stored(self.constant(np.ascontiguousarray(scales.T), f"{name}.scales"))
        return self.op("MatMul", [x, self.op("DequantizeLinear", [packed, scales], axis=0, block_size=BLOCK)])

    def linear(self, x, name, cin, cout):
        return self.op("Add", [self.project(x, name, cin, cout), self.weight(f"{name}.bias", (cout,), 0.05)])

    def rms_norm(self, x, name, width):
        scale = self.weight(f"{name}.weight", (width,), 0.1, mean=1.0)
        if self.form == "genai":
            return self.op("SimplifiedLayerNormalization", [x, scale], axis=-1, epsilon=EPSILON, stash_type=1)
        x = self.cast(x, TensorProto.FLOAT)
        square = self.op("Pow", [x, self.number(2.0)])
        mean = self.op("ReduceMean", [square, self.constant(np.array([-1], np.int64))], keepdims=1)
        root = self.op("Sqrt", [self.op("Add", [mean, self.number(EPSILON)])])
        return self.op("Mul", [scale, self.cast(self.op("Mul", [x, self.op("Reciprocal", [root])]), self.type)])

    def norm(self, x, name):
        return self.layer_norm(x, name, self.s.width) if self.family == "gpt2_decoder" else self.rms_norm(
            x, name, self.s.width)

    def by_head(self, x, heads, name=None):
        x = self.reshape(x, [self.batch, 0, heads, self.s.size])
        if name and self.family in HEAD_NORMS:
            x = self.rms_norm(x, name, self.s.size)
        return self.transpose(x, [0, 2, 1, 3])

    # The two halves of each head, rotated by the position's angles (Su et al. 2021).
    def rotate(self, x):
        half, end = self.s.size // 2, 2 ** 62

        def part(start, stop):
            return self.op("Slice", [x, *(self.constant(np.array([v], np.int64)) for v in (start, stop, 3, 1))])

        turned = self.op("Concat", [self.op("Neg", [part(half, end)]), part(0, half)], axis=-1)
        return self.op("Add", [self.op("Mul", [x, self.cosine]), self.op("Mul", [turned, self.sine])])

    def angles(self):
        return THETA ** (-np.arange(0, self.s.size, 2, dtype=np.float32) / self.s.size)

    # The cache as an input.
    def before(self, side, layer):
        dims = [self.batch, self.s.kv_heads, self.past if self.is_growing else self.total, self.s.size]
        return self.input(f"past_key_values.{layer}.{side}", dims, self.type)

    # Attention of operator set 23, which has the heads of keys that several heads of queries share.
    def attend_whole(self, q, k, v, layer):
        pasts = [self.before(side, layer) for side in ("key", "value")]
        self.count += 1
        names = [f"attention_{self.count}_{i}" for i in range(3)]
        self.nodes.append(helper.make_node("Attention", [q, k, v, self.mask, *pasts], names))
        dims = [self.batch, self.s.kv_heads, self.total, self.s.size]
        self.presents += [(name, f"present.{layer}.{side}", dims) for name, side in zip(names[1:], ("key", "value"))]
        return names[0]

    def cached(self, side, layer, new):
        past = self.before(side, layer)
        if self.form == "growing":
            present = self.op("Concat", [past, new], axis=2)
        else:
            places = self.reshape(self.positions, [-1, 1])
            swap = [2, 1, 0, 3]
            scattered = self.op("ScatterND", [self.transpose(past, swap), places, self.transpose(new, swap)])
            present = self.transpose(scattered, swap)
        self.presents.append((present, f"present.{layer}.{side}",
                              [self.batch, self.s.kv_heads, self.total, self.s.size]))
        return present

    def repeat(self, x):
        groups = self.s.heads // self.s.kv_heads
        if groups == 1:
            return x
        wide = self.op("Unsqueeze", [x, self.constant(np.array([2], np.int64))])
        if isinstance(self.total, str):
            ends = [[self.batch, self.s.kv_heads, groups], [self.s.size]]
            first, last = (self.constant(np.array(dims, np.int64)) for dims in ends)
            shape = self.op("Concat", [first, self.reshape(self.total_now, [1]), last], axis=0)
        else:
            shape = self.constant(np.array([self.batch, self.s.kv_heads, groups, self.total, self.s.size], np.int64))
        wide = self.op("Expand", [wide, shape])
        return self.reshape(wide, [self.batch, self.s.heads, -1, self.s.size])

    def attend(self, q, k, v, layer):
        p = f"layer.{layer}"
        if self.form == "genai":
            return self.attend_genai(q, k, v, layer)
        q, k = self.by_head(q, self.s.heads, f"{p}.q_norm"), self.by_head(k, self.s.kv_heads, f"{p}.k_norm")
        v = self.by_head(v, self.s.kv_heads)
        if self.family != "gpt2_decoder":
            q, k = self.rotate(q), self.rotate(k)
        if self.form == "attention":
            return self.joined(self.attend_whole(q, k, v, layer))
        k, v = (self.repeat(self.cached(side, layer, x)) for side, x in (("key", k), ("value", v)))
        root = self.factor(self.s.size ** -0.25)
        scores = self.op("MatMul", [self.op("Mul", [q, root]),
                                    self.op("Mul", [self.transpose(k, [0, 1, 3, 2]), root])])
        weights = self.op("Softmax", [self.op("Add", [scores, self.mask])], axis=-1)
        weights = self.op("Where", [self.op("IsNaN", [weights]), self.factor(0.0), weights])
        return self.joined(self.op("MatMul", [weights, v]))

    # Heads side by side.
    def joined(self, x):
        return self.reshape(self.transpose(x, [0, 2, 1, 3]), [self.batch, 0, self.s.width])

    def attend_genai(self, q, k, v, layer):
        if self.family in HEAD_NORMS:
            def normed(x, heads, name):
                x = self.rms_norm(self.reshape(x, [self.batch, 0, heads, self.s.size]), name, self.s.size)
                return self.reshape(x, [self.batch, 0, heads * self.s.size])

            q = normed(q, self.s.heads, f"layer.{layer}.q_norm")
            k = normed(k, self.s.kv_heads, f"layer.{layer}.k_norm")
        dims = [self.batch, self.s.kv_heads, self.total, self.s.size]
        before = [self.batch, self.s.kv_heads, self.past if self.is_growing else self.total, self.s.size]
        pasts = [self.input(f"past_key_values.{layer}.{side}", before) for side in ("key", "value")]
        rotary = [] if self.family == "gpt2_decoder" else [self.cosine, self.sine]
        attended, *presents = self.microsoft(
            "GroupQueryAttention", [q, k, v, *pasts, self.last, self.total_now, *rotary], 3,
            num_heads=self.s.heads, kv_num_heads=self.s.kv_heads, do_rotary=1 if rotary else 0)
        self.presents += [(name, f"present.{layer}.{side}", dims) for name, side in zip(presents, ("key", "value"))]
        return attended

    # The sequences, whose number of positions is that of the cache after the step.
    def read_mask(self):
        self.attention_mask = self.input("attention_mask", [self.batch, self.total], TensorProto.INT64)
        shape = self.op("Shape", [self.attention_mask])
        self.total_now = self.op("Gather", [shape, self.number(1, np.int64)], axis=0)

    # Of GroupQueryAttention: the position of the last token, and the most keys.
    def read_lengths(self):
        if not isinstance(self.total, str):
            self.last = self.input("seqlens_k", [self.batch], TensorProto.INT32)
            self.total_now = self.number(self.total, np.int32)
            return
        self.read_mask()
        self.total_now = self.op("Cast", [self.total_now], to=TensorProto.INT32)
        ones = self.op("ReduceSum", [self.attention_mask, self.constant(np.array([1], np.int64))], keepdims=0)
        self.last = self.op("Cast", [self.op("Sub", [ones, self.number(1, np.int64)])], to=TensorProto.INT32)

    # What every layer reads: the positions of the new tokens, their angles, and who sees whom.
    def places(self):
        if self.form == "genai":
            self.read_lengths()
            if self.family == "gpt2_decoder":
                self.positions = self.input("position_ids", [self.length], TensorProto.INT64)
                return
            positions = POSITIONS if isinstance(self.total, str) else self.total
            turns = np.outer(np.arange(positions, dtype=np.float32), self.angles())
            self.cosine, self.sine = self.constant(np.cos(turns), "cos_cache"), self.constant(np.sin(turns), "sin_cache")
            return
        self.positions = self.input("position_ids", [self.length], TensorProto.INT64)
        column = self.reshape(self.positions, [-1, 1])
        turns = self.op("Mul", [self.op("Cast", [column], to=TensorProto.FLOAT),
                                self.constant(self.angles().reshape(1, -1))])
        turns = self.op("Concat", [turns, turns], axis=-1)
        self.cosine, self.sine = (self.cast(self.op(kind, [turns]), self.type) for kind in ("Cos", "Sin"))
        if isinstance(self.total, str):
            self.read_mask()
        else:
            self.total_now = self.number(self.total, np.int64)
        keys = self.op("Range", [self.number(0, np.int64), self.total_now, self.number(1, np.int64)])
        visible = self.op("LessOrEqual", [keys, column])
        if isinstance(self.total, str):
            shown = self.op("Equal", [self.attention_mask, self.number(1, np.int64)])
            visible = self.op("And", [visible, self.reshape(shown, [self.batch, 1, 1, -1])])
        self.mask = self.op("Where", [visible, self.factor(0.0), self.factor(-np.inf)])

    def layer(self, x, i):
        s, p, gpt2 = self.s, f"layer.{i}", self.family == "gpt2_decoder"
        h = self.norm(x, f"{p}.norm1")
        make = self.linear if gpt2 or self.family in BIASES else self.project
        wide = s.kv_heads * s.size
        q, k, v = (make(h, f"{p}.{name}", s.width, n) for name, n in (("q", s.width), ("k", wide), ("v", wide)))
        plain = self.linear if gpt2 else self.project
        x = self.op("Add", [x, plain(self.attend(q, k, v, i), f"{p}.out", s.width, s.width)])
        h = self.norm(x, f"{p}.norm2")
        if gpt2:
            h = self.op("Gelu", [self.linear(h, f"{p}.up", s.width, s.gates)], approximate="tanh")
        else:
            gate = self.project(h, f"{p}.gate", s.width, s.gates)
            gate = self.op("Mul", [gate, self.op("Sigmoid", [gate])])
            h = self.op("Mul", [gate, self.project(h, f"{p}.up", s.width, s.gates)])
        return self.op("Add", [x, plain(h, f"{p}.down", s.gates, s.width)])

    def make(self):
        s = self.s
        ids = self.input("input_ids", [self.batch, self.length], TensorProto.INT64)
        self.places()
        x = self.op("Gather", [self.weight("embed", (s.vocabulary, s.width), 1.0), ids], axis=0)
        if self.family == "gpt2_decoder":
            positions = POSITIONS if isinstance(self.total, str) else max(self.total, POSITIONS)
            table = self.weight("wpe", (positions, s.width), 0.05)
            x = self.op("Add", [x, self.op("Gather", [table, self.positions], axis=0)])
        for i in range(s.layers):
            x = self.layer(x, i)
        logits = self.project(self.norm(x, "norm"), "head", s.width, s.vocabulary)
        for value, name, _ in [(logits, "logits", None), *self.presents]:
            self.nodes.append(helper.make_node("Identity", [value], [name]))
        outputs = [("logits", [self.batch, self.length, s.vocabulary])]
        model = self.model(outputs + [(name, dims) for _, name, dims in self.presents],
                           opset=23 if self.form == "attention" else 21)
        for output in model.graph.output:
            output.type.tensor_type.elem_type = self.type
        model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
        model.ir_version = 10
        return model


def reduced(family):
    whole = FAMILIES[family]
    kv_heads = 4 if whole.kv_heads == whole.heads else 2
    return dataclasses.replace(whole, layers=2, width=64, heads=4, kv_heads=kv_heads, gates=96, vocabulary=200)


def decoder(family, form, batch, length, past, cache, seed, is_reduced, type="f32", **sizes):
    given = {name: value for name, value in sizes.items() if value is not None}
    shape = dataclasses.replace(reduced(family) if is_reduced else FAMILIES[family], **given)
    if shape.width % shape.heads or shape.heads % shape.kv_heads:
        raise ValueError(f"{shape.width} elements, {shape.heads} heads and {shape.kv_heads} heads of keys do not divide")
    if shape.float8 and (form == "genai" or shape.bits != 32):
        raise ValueError("weights of float8 have plain operators and no other number of bits")
    if (shape.bits != 32 or shape.float8 == "block") and (shape.width % BLOCK or shape.gates % BLOCK):
        raise ValueError(f"{shape.width} elements and {shape.gates} gates are not whole blocks of {BLOCK} weights")
    return Decoder(family, form, shape, batch, length, past, cache, seed, type).make()
