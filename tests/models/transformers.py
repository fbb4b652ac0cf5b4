"""BERT (Devlin et al. 2018), GPT-2 (Radford et al. 2019) without its language head, and ViT-B/16
(Dosovitskiy et al. 2020), as exporters write them: attention spelled out in matrix products."""
import numpy as np
from onnx import TensorProto

from builder import Builder


# `length` may be the name of a dimension: reshapes keep the one that there is.
def _heads(b, x, batch, length, heads, width, perm):
    kept = 0 if isinstance(length, str) else length
    return b.transpose(b.reshape(x, [batch, kept, heads, width // heads]), perm)


def _first(b, table, like, axis):
    """The first rows of table[1, rows, width]: as many as `like` has along the axis."""
    count = b.op("Slice", [b.op("Shape", [like]), *(b.constant(np.array([v], np.int64)) for v in (axis, axis + 1))])
    return b.op("Slice", [table, b.constant(np.array([0], np.int64)), count, b.constant(np.array([1], np.int64))])


def _attention(b, q, k, v, batch, length, heads, width, mask=None):
    """q, k, v: [batch, length, width]."""
    q = _heads(b, q, batch, length, heads, width, [0, 2, 1, 3])
    k = _heads(b, k, batch, length, heads, width, [0, 2, 3, 1])
    v = _heads(b, v, batch, length, heads, width, [0, 2, 1, 3])
    scores = b.op("MatMul", [q, k])
    scores = b.op("Mul", [scores, b.constant(np.array((width // heads) ** -0.5, np.float32))])
    if mask is not None:
        scores = b.op("Add", [scores, mask])
    weights = b.op("Softmax", [scores], axis=-1)
    x = b.transpose(b.op("MatMul", [weights, v]), [0, 2, 1, 3])
    return b.reshape(x, [batch, 0 if isinstance(length, str) else length, width])


def bert(name, batch, length, seed, layers=12, width=768, heads=12, vocabulary=30522):
    b = Builder(name, seed)
    ids = b.input("input_ids", [batch, length], TensorProto.INT64)
    mask = b.input("attention_mask", [batch, length], TensorProto.INT64)
    tokens = b.op("Gather", [b.weight("word", (vocabulary, width), 0.05), ids], axis=0)
    if isinstance(length, str):
        positions = _first(b, b.weight("position", (1, 512, width), 0.05), ids, 1)
    else:
        positions = b.weight("position", (1, length, width), 0.05)
    x = b.layer_norm(b.op("Add", [tokens, positions]), "embeddings.norm", width, 1e-12)
    if isinstance(length, str):
        by_key = b.op("Unsqueeze", [mask, b.constant(np.array([1, 2], np.int64))])
    else:
        by_key = b.reshape(mask, [batch, 1, 1, length])
    visible = b.op("Cast", [by_key], to=TensorProto.BOOL)
    zero, lowest = (b.constant(np.array(v, np.float32)) for v in (0.0, -3.4028235e38))
    bias = b.op("Where", [visible, zero, lowest])
    for i in range(layers):
        p = f"layer.{i}"
        q, k, v = (b.linear(x, f"{p}.{n}", width, width) for n in ("query", "key", "value"))
        a = _attention(b, q, k, v, batch, length, heads, width, bias)
        x = b.layer_norm(b.op("Add", [b.linear(a, f"{p}.out", width, width), x]), f"{p}.norm1", width, 1e-12)
        h = b.op("Gelu", [b.linear(x, f"{p}.up", width, 4 * width)], approximate="none")
        h = b.linear(h, f"{p}.down", 4 * width, width)
        x = b.layer_norm(b.op("Add", [h, x]), f"{p}.norm2", width, 1e-12)
    return b.model([(x, [batch, length, width])])


def _gelu_tanh(b, x):
    def number(v):
        return b.constant(np.array(v, np.float32))

    cubic = b.op("Mul", [b.op("Pow", [x, number(3.0)]), number(0.044715)])
    inner = b.op("Tanh", [b.op("Mul", [b.op("Add", [x, cubic]), number(0.7978845608)])])
    return b.op("Mul", [b.op("Mul", [x, number(0.5)]), b.op("Add", [inner, number(1.0)])])


def gpt2(name, batch, length, seed, layers=12, width=768, heads=12, vocabulary=50257):
    b = Builder(name, seed)
    ids = b.input("input_ids", [batch, length], TensorProto.INT64)
    tokens = b.op("Gather", [b.weight("wte", (vocabulary, width), 0.05), ids], axis=0)
    x = b.op("Add", [tokens, b.weight("wpe", (1, length, width), 0.05)])
    causal = np.where(np.tril(np.ones((1, 1, length, length), bool)), 0.0, -3.4028235e38)
    mask = b.constant(causal.astype(np.float32))
    for i in range(layers):
        p = f"h.{i}"
        h = b.linear(b.layer_norm(x, f"{p}.norm1", width), f"{p}.attn", width, 3 * width)
        q, k, v = b.split(h, 3, 2)
        a = _attention(b, q, k, v, batch, length, heads, width, mask)
        x = b.op("Add", [b.linear(a, f"{p}.out", width, width), x])
        h = _gelu_tanh(b, b.linear(b.layer_norm(x, f"{p}.norm2", width), f"{p}.up", width, 4 * width))
        x = b.op("Add", [x, b.linear(h, f"{p}.down", 4 * width, width)])
    x = b.layer_norm(x, "norm", width)
    return b.model([(x, [batch, length, width])])


def _rms_norm(b, x, name, width):
    mean = b.op("ReduceMean", [b.op("Mul", [x, x]), b.constant(np.array([-1], np.int64))], keepdims=1)
    root = b.op("Sqrt", [b.op("Add", [mean, b.constant(np.array(1e-6, np.float32))])])
    return b.op("Mul", [b.op("Div", [x, root]), b.weight(f"{name}.weight", (width,), 0.1, mean=1.0)])


def llama_block(name, batch, length, seed, layers=1, width=1024, heads=16, kv_heads=None, gates=2816):
    """Blocks of a Llama (Touvron et al. 2023) over whole sequences, without a cache: x[batch, length, width]."""
    b, size = Builder(name, seed), width // heads
    kv_heads = kv_heads or heads
    x = b.input("x", [batch, length, width])
    count = b.op("Gather", [b.op("Shape", [x]), b.constant(np.array(1, np.int64))], axis=0)
    places = b.op("Range", [b.constant(np.array(0, np.int64)), count, b.constant(np.array(1, np.int64))])
    column = b.op("Unsqueeze", [places, b.constant(np.array([1], np.int64))])
    hidden = b.op("Less", [column, b.op("Unsqueeze", [places, b.constant(np.array([0], np.int64))])])
    mask = b.op("Where", [hidden, *(b.constant(np.array(v, np.float32)) for v in (-np.inf, 0.0))])
    angles = (10000.0 ** (-np.arange(0, size, 2, dtype=np.float32) / size)).reshape(1, -1)
    turns = b.op("Mul", [b.op("Cast", [column], to=TensorProto.FLOAT), b.constant(angles)])
    turns = b.op("Concat", [turns, turns], axis=-1)
    cosine, sine = b.op("Cos", [turns]), b.op("Sin", [turns])

    def rotate(x):
        low, high = b.split(x, 2, 3)
        turned = b.op("Concat", [b.op("Neg", [high]), low], axis=-1)
        return b.op("Add", [b.op("Mul", [x, cosine]), b.op("Mul", [turned, sine])])

    def project(x, name, cin, cout):
        return b.op("MatMul", [x, b.weight(f"{name}.weight", (cin, cout), (1.0 / cin) ** 0.5)])

    def by_head(x, name, count):
        wide = count * size
        return _heads(b, project(x, name, width, wide), batch, length, count, wide, [0, 2, 1, 3])

    def repeat(x):
        """Heads of keys or values, once for each head of queries that reads them."""
        if kv_heads == heads:
            return x
        ends = ([batch, kv_heads, heads // kv_heads], [size])
        first, last = (b.constant(np.array(dims, np.int64)) for dims in ends)
        shape = b.op("Concat", [first, b.reshape(count, [1]), last], axis=0)
        wide = b.op("Expand", [b.op("Unsqueeze", [x, b.constant(np.array([2], np.int64))]), shape])
        return b.reshape(wide, [batch, heads, -1, size])

    for i in range(layers):
        p = f"layer.{i}"
        h = _rms_norm(b, x, f"{p}.norm1", width)
        q, k, v = (by_head(h, f"{p}.{n}", c) for n, c in (("q", heads), ("k", kv_heads), ("v", kv_heads)))
        k, v = repeat(rotate(k)), repeat(v)
        scores = b.op("MatMul", [rotate(q), b.transpose(k, [0, 1, 3, 2])])
        scores = b.op("Mul", [scores, b.constant(np.array(size ** -0.5, np.float32))])
        weights = b.op("Softmax", [b.op("Add", [scores, mask])], axis=-1)
        a = b.transpose(b.op("MatMul", [weights, v]), [0, 2, 1, 3])
        a = b.reshape(a, [batch, 0 if isinstance(length, str) else length, width])
        x = b.op("Add", [x, project(a, f"{p}.out", width, width)])
        h = _rms_norm(b, x, f"{p}.norm2", width)
        gate = project(h, f"{p}.gate", width, gates)
        h = b.op("Mul", [b.op("Mul", [gate, b.op("Sigmoid", [gate])]), project(h, f"{p}.up", width, gates)])
        x = b.op("Add", [x, project(h, f"{p}.down", gates, width)])
    return b.model([(x, [batch, length, width])])


def vit(name, batch, size, seed, layers=12, width=768, heads=12, patch=16):
    b = Builder(name, seed)
    x = b.input("x", [batch, 3, size, size])
    patches = (size // patch) ** 2
    length = patches + 1
    w = b.weight("patch.weight", (width, 3, patch, patch), (1.6 / (3 * patch * patch)) ** 0.5)
    x = b.op("Conv", [x, w, b.weight("patch.bias", (width,), 0.05)], kernel_shape=[patch] * 2,
             strides=[patch] * 2, pads=[0] * 4)
    x = b.transpose(b.reshape(x, [batch, width, patches]), [0, 2, 1])
    token = b.op("Expand", [b.weight("class", (1, 1, width), 0.05),
                            b.constant(np.array([batch, 1, width], np.int64))])
    x = b.op("Concat", [token, x], axis=1)
    x = b.op("Add", [x, b.weight("position", (1, length, width), 0.05)])
    for i in range(layers):
        p = f"layer.{i}"
        h = b.linear(b.layer_norm(x, f"{p}.norm1", width, 1e-6), f"{p}.qkv", width, 3 * width)
        h = b.transpose(b.reshape(h, [batch, length, 3, width]), [2, 0, 1, 3])
        q, k, v = (b.op("Gather", [h, b.constant(np.array(j, np.int64))], axis=0) for j in range(3))
        a = _attention(b, q, k, v, batch, length, heads, width)
        x = b.op("Add", [b.linear(a, f"{p}.out", width, width), x])
        h = b.op("Gelu", [b.linear(b.layer_norm(x, f"{p}.norm2", width, 1e-6), f"{p}.up", width, 4 * width)])
        x = b.op("Add", [x, b.linear(h, f"{p}.down", 4 * width, width)])
    x = b.layer_norm(x, "norm", width, 1e-6)
    first = b.op("Gather", [x, b.constant(np.array(0, np.int64))], axis=1)
    return b.model([(b.linear(first, "head", width, 1000), [batch, 1000])])
