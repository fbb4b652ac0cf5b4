"""Attention, MultiHeadAttention and QAttention: biases, masks, packed operands and past states."""
import numpy as np

from attention_cases import join, softmax, split
from cases import Case

BATCH, QUERIES, HEADS, SIZE = 2, 3, 2, 8
WIDTH = HEADS * SIZE
FILLER = -10000.0


def kept_keys(mask, batch, queries, keys):
    """[batch, queries, keys]: which keys a mask operand keeps."""
    place = np.arange(keys)
    if mask.shape == (batch,):
        kept = place < mask[:, None]
    elif mask.shape == (2 * batch,):
        kept = (place < mask[:batch, None]) & (place >= mask[batch:, None])
    elif mask.ndim == 2:
        kept = mask != 0
    else:
        return mask != 0
    return np.broadcast_to(kept[:, None], (batch, queries, keys))


def attend(q, k, v, mask=None, bias=None, scale=None, causal=False, filler=FILLER):
    """Heads of q, k and v, in double precision."""
    q, k, v = (np.asarray(x, np.float64) for x in (q, k, v))
    scores = q @ k.transpose(0, 1, 3, 2) * (scale or q.shape[-1] ** -0.5)
    batch, _, queries, keys = scores.shape
    if mask is not None:
        scores = scores + np.where(kept_keys(mask, batch, queries, keys), 0, filler)[:, None]
    if bias is not None:
        scores = scores + bias
    if causal:
        later = np.arange(keys) > np.arange(queries)[:, None] + keys - queries
        scores = np.where(later, -np.inf, scores)
    return softmax(scores) @ v


def masks(random, keys):
    """Forms of a mask over `keys`, by name."""
    yield "no_mask", None
    yield "lengths", np.array([keys, keys - 2], np.int32)
    yield "ends_and_starts", np.array([keys, keys - 1, 1, 0], np.int32)
    flags = random.integers(0, 2, (BATCH, keys)).astype(np.int32)
    flags[:, -1] = 1
    yield "flags", flags
    pairs = random.integers(0, 2, (BATCH, QUERIES, keys)).astype(np.int32)
    pairs[:, :, 0] = 1
    yield "pairs", pairs


def normal(random, *shape):
    return random.standard_normal(shape).astype(np.float32)


def attention_case(random, name, mask=None, past=0, bias=False, causal=0, inner=5, attributes=None,
                   v_size=SIZE):
    sizes = [WIDTH, WIDTH, HEADS * v_size]
    x = normal(random, BATCH, QUERIES, inner)
    weights = normal(random, inner, sum(sizes))
    vector = normal(random, sum(sizes))
    state = normal(random, 2, BATCH, HEADS, past, SIZE) if past else None
    added = normal(random, BATCH, HEADS, QUERIES, past + QUERIES) if bias else None
    q, k, v = (split(part, HEADS) for part in np.split(
        x.astype(np.float64) @ weights + vector, np.cumsum(sizes)[:2], axis=2))
    if past:
        k, v = np.concatenate([state[0], k], 2), np.concatenate([state[1], v], 2)
    y = join(attend(q, k, v, mask, added, causal=causal,
                    scale=(attributes or {}).get("scale")))
    results = [y] + ([np.stack([k, v])] if past else [])
    attributes = dict(num_heads=HEADS, unidirectional=causal, **(attributes or {}))
    if v_size != SIZE:
        attributes["qkv_hidden_sizes"] = sizes
    return Case("attention_" + name, "Attention",
                [(x, False), (weights, True), (vector, True), (mask, False), (state, False),
                 (added, False)],
                [part.astype(np.float32) for part in results], attributes, tolerance=2e-4)


def attentions(random):
    for name, mask in masks(random, QUERIES):
        yield attention_case(random, name, mask)
        if name in ("no_mask", "flags"):
            yield attention_case(random, name + "_causal", mask, causal=1)
    yield attention_case(random, "bias_scale", bias=True, attributes=dict(scale=0.2))
    yield attention_case(random, "past", past=4)
    yield attention_case(random, "past_causal", past=4, causal=1)
    for name, mask in list(masks(random, QUERIES + 4))[3:]:
        yield attention_case(random, "past_" + name, mask, past=4)
    yield attention_case(random, "values_of_another_size", v_size=4)


def multi_head_case(random, name, form="apart", keys=QUERIES, mask=None, past=0, vector=False,
                    bias=False, causal=0):
    q = normal(random, BATCH, QUERIES, WIDTH)
    k, v = normal(random, BATCH, keys, WIDTH), normal(random, BATCH, keys, WIDTH)
    line = normal(random, 3 * WIDTH) if vector else None
    past_k, past_v = normal(random, BATCH, HEADS, past, SIZE), normal(random, BATCH, HEADS, past,
                                                                      SIZE)
    added = normal(random, 1, HEADS, QUERIES, past + keys) if bias else None

    def packed(parts):
        return np.stack([part.reshape(part.shape[:2] + (HEADS, SIZE)) for part in parts], 3)

    operands = {"apart": lambda: (q, k, v), "split": lambda: (q, split(k, HEADS), split(v, HEADS)),
                "packed": lambda: (packed((q, k, v)), None, None),
                "packed_keys": lambda: (q, packed((k, v)), None)}[form]()
    heads = [split(part + (line[i * WIDTH:(i + 1) * WIDTH] if vector else 0), HEADS)
             for i, part in enumerate((q, k, v))]
    if form == "split" and vector:
        heads[1:] = [split(k, HEADS), split(v, HEADS)]
    heads[1] = np.concatenate([past_k, heads[1]], 2)
    heads[2] = np.concatenate([past_v, heads[2]], 2)
    y = join(attend(*heads, mask, added, causal=causal))
    results = [y] + (heads[1:] if past else [])
    return Case("multi_head_" + name, "MultiHeadAttention",
                [(part, False) for part in operands] +
                [(line, True), (mask, False), (added, False), (past_k if past else None, False),
                 (past_v if past else None, False)],
                [part.astype(np.float32) for part in results],
                dict(num_heads=HEADS, unidirectional=causal), tolerance=2e-4)


def multi_heads(random):
    yield multi_head_case(random, "plain", keys=5)
    yield multi_head_case(random, "vector", vector=True, keys=5)
    yield multi_head_case(random, "packed", form="packed")
    yield multi_head_case(random, "packed_vector", form="packed", vector=True)
    yield multi_head_case(random, "packed_keys", form="packed_keys", keys=5)
    yield multi_head_case(random, "split", form="split", keys=5)
    yield multi_head_case(random, "bias", bias=True, keys=4)
    yield multi_head_case(random, "causal", causal=1)
    yield multi_head_case(random, "past", past=4, vector=True)
    yield multi_head_case(random, "past_causal", past=4, causal=1)
    for name, mask in list(masks(random, QUERIES)):
        if name not in ("no_mask", "ends_and_starts"):
            yield multi_head_case(random, name, mask=mask)
            yield multi_head_case(random, name + "_bias", mask=mask, bias=True)


def quantised_case(random, name, kind=np.uint8, by_column=False, mask=None, past=0, causal=0):
    inner = 6
    x = random.integers(0, 256, (BATCH, QUERIES, inner)).astype(np.uint8)
    low, high = (0, 256) if kind == np.uint8 else (-128, 128)
    weights = random.integers(low, high, (inner, 3 * WIDTH)).astype(kind)
    vector = normal(random, 3 * WIDTH)
    columns = 3 * WIDTH if by_column else 1
    x_scale = np.array(0.02, np.float32)
    w_scale = random.uniform(0.001, 0.01, columns).astype(np.float32)
    x_zero = np.array(120, np.uint8)
    w_zero = (random.integers(0, 9, columns) + (120 if kind == np.uint8 else -4)).astype(kind)
    if not by_column:
        w_scale, w_zero = w_scale.reshape(()), w_zero.reshape(())
    state = normal(random, 2, BATCH, HEADS, past, SIZE) if past else None
    all_parts = (x.astype(np.float64) - x_zero) @ (weights.astype(np.float64) - w_zero)
    all_parts = all_parts * (x_scale.astype(np.float64) * w_scale) + vector
    q, k, v = (split(part, HEADS) for part in np.split(all_parts, 3, axis=2))
    if past:
        k, v = np.concatenate([state[0], k], 2), np.concatenate([state[1], v], 2)
    y = join(attend(q, k, v, mask, causal=causal))
    results = [y] + ([np.stack([k, v])] if past else [])
    return Case("quantised_attention_" + name, "QAttention",
                [(x, False), (weights, True), (vector, True), (x_scale, True), (w_scale, True),
                 (mask, False), (x_zero, True), (w_zero, True), (state, False)],
                [part.astype(np.float32) for part in results],
                dict(num_heads=HEADS, unidirectional=causal), tolerance=2e-4)


def quantised(random):
    yield quantised_case(random, "u8")
    yield quantised_case(random, "i8", kind=np.int8)
    yield quantised_case(random, "by_column", kind=np.int8, by_column=True)
    yield quantised_case(random, "causal", causal=1)
    yield quantised_case(random, "past", past=2)
    for name, mask in list(masks(random, QUERIES))[1:]:
        yield quantised_case(random, name, mask=mask)


def cases():
    random = np.random.default_rng(13)
    yield from attentions(random)
    yield from multi_heads(random)
    yield from quantised(random)
