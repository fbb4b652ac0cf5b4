"""Attention with caches, masks and rotary embeddings, and the rotary embedding by itself."""
import numpy as np

from cases import Case


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def split(x, heads):
    """[batch, sequence, heads * size] as [batch, heads, sequence, size]."""
    batch, length, width = x.shape
    return x.reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3)


def join(x):
    batch, heads, length, size = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, length, heads * size)


def rotate(x, cosine, sine, positions, interleaved):
    """Heads [batch, heads, sequence, size]; positions [batch, sequence]."""
    half = cosine.shape[1]
    c, s = cosine[positions][:, None], sine[positions][:, None]
    y = x.copy()
    if interleaved:
        first, second = x[..., 0:2 * half:2], x[..., 1:2 * half:2]
        y[..., 0:2 * half:2] = c * first - s * second
        y[..., 1:2 * half:2] = s * first + c * second
    else:
        first, second = x[..., :half], x[..., half:2 * half]
        y[..., :half] = c * first - s * second
        y[..., half:2 * half] = s * first + c * second
    return y


def rotary_case(random, name, heads=3, size=8, half=4, interleaved=0, rank=3, first_only=False,
                attributes=None):
    batch, length = 2, 5
    shape = (batch, length, heads * size) if rank == 3 else (batch, heads, length, size)
    x = random.standard_normal(shape).astype(np.float32)
    cosine = random.standard_normal((16, half)).astype(np.float32)
    sine = random.standard_normal((16, half)).astype(np.float32)
    if first_only:
        given = np.array([3], np.int64)
        positions = np.tile(3 + np.arange(length), (batch, 1))
    else:
        given = positions = random.integers(0, 16, (batch, length))
    y = rotate(split(x, heads) if rank == 3 else x, cosine, sine, positions, interleaved)
    return Case("rotary_" + name, "RotaryEmbedding",
                [(x, False), (given, False), (cosine, True), (sine, True)],
                [(join(y) if rank == 3 else y).astype(np.float32)],
                dict(interleaved=interleaved, **(attributes or {})))


def rotaries(random):
    yield rotary_case(random, "halves")
    yield rotary_case(random, "interleaved", interleaved=1)
    yield rotary_case(random, "first_position", first_only=True)
    yield rotary_case(random, "heads_first", rank=4)
    yield rotary_case(random, "part", half=2, attributes=dict(num_heads=3, rotary_embedding_dim=4))
    yield rotary_case(random, "part_heads_first", half=2, rank=4, interleaved=1,
                      attributes=dict(num_heads=3, rotary_embedding_dim=4))


class Grouped:
    """A node of GroupQueryAttention: random operands, and its results by the definition."""

    def __init__(self, random, batch=2, queries=3, past=0, capacity=None, lengths=None, heads=4,
                 kv_heads=2, size=16, packed=False, rotary=False, interleaved=0, window=-1,
                 softcap=0.0, scale=0.0, bias=False, sink=False, smooth=0, positions=False,
                 half=None, dtype=np.float32):
        self.random, self.batch, self.queries, self.dtype = random, batch, queries, dtype
        self.heads, self.kv_heads, self.size = heads, kv_heads, size
        self.past, self.capacity = past, capacity if capacity is not None else past
        self.total = past + queries
        # Tokens of each batch with the new ones; the longest sequence has all.
        self.lengths = np.array(lengths if lengths is not None else [self.total] * batch)
        self.packed, self.rotary, self.interleaved = packed, rotary, interleaved
        self.window, self.softcap, self.scale = window, softcap, scale
        self.bias, self.sink, self.smooth, self.positions = bias, sink, smooth, positions
        self.half = half or size // 2

    def normal(self, *shape):
        return self.random.standard_normal(shape).astype(self.dtype)

    def operands(self):
        batch, queries, size = self.batch, self.queries, self.size
        q = self.normal(batch, queries, self.heads * size)
        k = self.normal(batch, queries, self.kv_heads * size)
        v = self.normal(batch, queries, self.kv_heads * size)
        cache = (batch, self.kv_heads, self.capacity, size)
        past_k, past_v = self.normal(*cache), self.normal(*cache)
        limit = max(self.total, self.capacity) + 4
        angles = self.random.uniform(0, 6, (limit, self.half))
        bias = self.normal(batch, 1, queries, self.total) if self.bias else None
        sink = self.normal(self.heads) if self.sink else None
        given = self.random.integers(0, limit, (batch, queries)) if self.positions else None
        return (q, k, v, past_k, past_v, np.cos(angles).astype(self.dtype),
                np.sin(angles).astype(self.dtype), given, bias, sink)

    def weigh(self, q, k, v, first, last, bias, sink):
        """One batch's q [heads, queries, size]; k and v [kv_heads, last, size]."""
        scale = self.scale or self.size ** -0.5
        y = np.zeros_like(q)
        for head in range(self.heads):
            group = head * self.kv_heads // self.heads
            scores = q[head] @ k[group].T * scale
            if self.softcap:
                scores = self.softcap * np.tanh(scores / self.softcap)
            if bias is not None:
                scores = scores + bias[0, :, :last]
            place = first + np.arange(self.queries)[:, None]
            key = np.arange(last)[None]
            hidden = key > place
            if self.window > 0:
                hidden |= key <= place - self.window
            scores = np.where(hidden, -np.inf, scores)
            if sink is not None or self.smooth:
                extra = 0 if sink is None else sink[head]
                scores = np.append(scores, np.full((self.queries, 1), extra), 1)
            y[head] = softmax(scores)[:, :last] @ v[group]
        return y

    def case(self, name):
        q, k, v, past_k, past_v, cosine, sine, given, bias, sink = self.operands()
        wide = [np.asarray(x, np.float64) for x in (q, k, v, cosine, sine)]
        heads_q, heads_k, heads_v = (split(wide[0], self.heads), split(wide[1], self.kv_heads),
                                     split(wide[2], self.kv_heads))
        firsts = self.lengths - self.queries if self.past else np.zeros(self.batch, int)
        if self.rotary:
            places = given if given is not None else firsts[:, None] + np.arange(self.queries)
            heads_q = rotate(heads_q, wide[3], wide[4], places, self.interleaved)
            heads_k = rotate(heads_k, wide[3], wide[4], places, self.interleaved)
        room = max(self.capacity, self.total)
        present_k = np.zeros((self.batch, self.kv_heads, room, self.size))
        present_v = np.zeros_like(present_k)
        present_k[:, :, :self.capacity], present_v[:, :, :self.capacity] = past_k, past_v
        y = np.zeros_like(heads_q)
        for i, first in enumerate(firsts):
            last = first + self.queries
            present_k[i, :, first:last], present_v[i, :, first:last] = heads_k[i], heads_v[i]
            y[i] = self.weigh(heads_q[i], present_k[i, :, :last], present_v[i, :, :last], first,
                              last, None if bias is None else bias[i].astype(np.float64),
                              None if sink is None else sink.astype(np.float64))
        has_past = self.capacity > 0
        query = np.concatenate([q, k, v], 2) if self.packed else q
        operands = [(query, False), (None if self.packed else k, False),
                    (None if self.packed else v, False), (past_k if has_past else None, False),
                    (past_v if has_past else None, False),
                    ((self.lengths - 1).astype(np.int32), False),
                    (np.array(self.total, np.int32), True),
                    (cosine if self.rotary else None, True), (sine if self.rotary else None, True),
                    (given, False), (bias, False), (sink, True)]
        attributes = dict(num_heads=self.heads, kv_num_heads=self.kv_heads)
        for key, value, plain in (("do_rotary", int(self.rotary), 0), ("softcap", self.softcap, 0),
                                  ("rotary_interleaved", self.interleaved, 0),
                                  ("local_window_size", self.window, -1),
                                  ("scale", self.scale, 0), ("smooth_softmax", self.smooth, 0)):
            if value != plain:
                attributes[key] = value
        results = [join(y), present_k, present_v]
        return Case("grouped_" + name, "GroupQueryAttention", operands,
                    [x.astype(self.dtype) for x in results], attributes,
                    # Here, rows of the cache that no token fills stay what they were.
                    specified=3 if room == self.total and np.all(self.lengths == self.total) else 1,
                    tolerance=1e-4 if self.dtype == np.float32 else 1e-2)


def grouped(random):
    def case(name, **options):
        return Grouped(random, **options).case(name)

    yield case("prompt")
    yield case("prompt_one_head", heads=2, kv_heads=2, batch=1)
    yield case("prompt_packed_rotary", packed=True, rotary=True)
    yield case("prompt_rotary_interleaved", rotary=True, interleaved=1)
    yield case("prompt_rotary_part", rotary=True, half=8, size=32)
    yield case("prompt_window", window=2, queries=6)
    yield case("prompt_softcap", softcap=0.5)
    yield case("prompt_scale", scale=0.3)
    yield case("prompt_bias", bias=True)
    yield case("prompt_sink", sink=True)
    yield case("prompt_smooth", smooth=1)
    yield case("prompt_half_precision", rotary=True, dtype=np.float16)
    yield case("decode", past=5, queries=1)
    yield case("decode_rotary", past=5, queries=1, rotary=True, packed=True)
    yield case("decode_several", past=4, queries=3, batch=1, rotary=True)
    yield case("decode_shorter", past=5, queries=1, lengths=[6, 4], rotary=True)
    yield case("decode_window", past=7, queries=1, window=3)
    yield case("decode_softcap_sink", past=4, queries=1, softcap=0.7, sink=True)
    yield case("decode_bias", past=4, queries=1, bias=True, batch=1)
    yield case("decode_positions", past=4, queries=1, rotary=True, positions=True)
    # A cache with room for more tokens than there are yet.
    yield case("decode_room", past=5, queries=1, capacity=9, rotary=True)
    yield case("decode_room_shorter", past=5, queries=1, capacity=9, lengths=[3, 6])
    yield case("decode_room_window", past=5, queries=1, capacity=9, lengths=[4, 6], window=2)
    yield case("prompt_room", past=0, queries=3, capacity=8, rotary=True)


def packed_case(random, name, lengths, multi_head=False, together=False, bias=False, heads=2,
                size=4, scale=None):
    """Sequences of these lengths, one behind the other; the offsets name their padded places."""
    batch, longest, width = len(lengths), max(lengths), heads * size
    tokens = sum(lengths)
    places = [s * longest + t for s, n in enumerate(lengths) for t in range(n)]
    padding = [at for at in range(batch * longest) if at not in places]
    offsets = np.array(places + padding, np.int32).reshape(batch, longest)
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    draw = lambda *shape: random.standard_normal(shape).astype(np.float32)
    shift = draw(3 * width)
    added = draw(batch, heads, longest, longest) if bias else None
    if multi_head:
        parts = [draw(tokens, width) for _ in range(3)]
        given = [(part, False) for part in parts]
        if together:
            whole = np.stack([part.reshape(tokens, heads, size) for part in parts], axis=2)
            given = [(whole, False), (None, False), (None, False)]
        parts = [part + shift[k * width:(k + 1) * width] for k, part in enumerate(parts)]
        operands = given + [(shift, True)]
    else:
        x, weights = draw(tokens, width), draw(width, 3 * width)
        parts = np.split(x @ weights + shift, 3, axis=1)
        operands = [(x, False), (weights, True), (shift, True)]
    results, at = [], 0
    for s, n in enumerate(lengths):
        q, k, v = (split(part[None, at:at + n], heads) for part in parts)
        scores = q @ k.transpose(0, 1, 3, 2) * (scale or 1 / np.sqrt(size))
        if bias:
            scores = scores + added[s:s + 1, :, :n, :n]
        results.append(join(softmax(scores) @ v)[0])
        at += n
    attributes = dict(num_heads=heads, **({"scale": scale} if scale else {}))
    op = "PackedMultiHeadAttention" if multi_head else "PackedAttention"
    return Case("packed_" + name, op,
                operands + [(offsets, False), (ends, False), (added, False)],
                [np.concatenate(results).astype(np.float32)], attributes)


def packed(random):
    yield packed_case(random, "attention", [3, 5, 2])
    yield packed_case(random, "attention_bias", [4, 1], bias=True, scale=0.3)
    yield packed_case(random, "heads", [3, 5, 2], multi_head=True)
    yield packed_case(random, "heads_together", [2, 4], multi_head=True, together=True, bias=True)


def cases():
    random = np.random.default_rng(11)
    yield from rotaries(random)
    yield from grouped(random)
    yield from packed(random)
