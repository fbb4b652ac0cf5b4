"""Mixtures of experts: MoE and QMoE."""
import numpy as np

from cases import Case
from product_cases import normal, sigmoid, single, tanh_gelu
from weight_cases import pack

TOKENS, WIDTH, INNER, EXPERTS = 5, 32, 16, 4


def shares(router, k, normalise):
    """[tokens, experts]: the softmax of the router for the k largest, zero elsewhere."""
    weights = np.exp(router - router.max(-1, keepdims=True))
    weights = weights / weights.sum(-1, keepdims=True)
    kept = np.zeros_like(weights)
    for token, row in enumerate(router):
        best = np.argsort(-row, kind="stable")[:k]
        kept[token, best] = weights[token, best]
    return kept / kept.sum(-1, keepdims=True) if normalise else kept


def swiglu(gate, linear, alpha=1.0, beta=0.0, limit=np.inf):
    gate, linear = np.minimum(gate, limit), np.clip(linear, -limit, limit)
    return gate * sigmoid(alpha * gate) * (linear + beta)


ACTIVATIONS = {"relu": lambda z: np.maximum(z, 0), "silu": lambda z: z * sigmoid(z),
               "gelu": tanh_gelu, "identity": lambda z: z}


def mixed(x, router, hidden, second, bias, k, normalise):
    """`hidden` of an expert's number: what its second layer takes."""
    rows = x.reshape(-1, WIDTH).astype(np.float64)
    weights = shares(router.astype(np.float64), k, normalise)
    y = sum(weights[:, e:e + 1] * (hidden(e, rows) @ second[e].T + bias[e])
            for e in range(EXPERTS))
    return single(y.reshape(x.shape))


def plain(random):
    x, router = normal(random, TOKENS, WIDTH), normal(random, TOKENS, EXPERTS)
    first, first_bias = normal(random, EXPERTS, INNER, WIDTH), normal(random, EXPERTS, INNER)
    second, second_bias = normal(random, EXPERTS, WIDTH, INNER), normal(random, EXPERTS, WIDTH)

    def case(name, hidden, first_operands, x=x, third=(), **attributes):
        want = mixed(x, router, hidden, second, second_bias, attributes["k"],
                     attributes.get("normalize_routing_weights", 0))
        return Case("experts_" + name, "MoE",
                    [(x, False), (router, False)] + [(part, True) for part in first_operands] +
                    [(second, True), (second_bias, True)] + [(part, True) for part in third],
                    [want], attributes, tolerance=1e-3)

    for activation, formula in ACTIVATIONS.items():
        yield case(activation, lambda e, rows, f=formula: f(rows @ first[e].T + first_bias[e]),
                   (first, first_bias), k=2, activation_type=activation)
    relu = ACTIVATIONS["relu"]
    yield case("normalised", lambda e, rows: relu(rows @ first[e].T + first_bias[e]),
               (first, first_bias), k=3, normalize_routing_weights=1)
    yield case("without_bias", lambda e, rows: relu(rows @ first[e].T), (first, None), k=1)
    yield case("of_batches", lambda e, rows: relu(rows @ first[e].T), (first, None),
               x=x.reshape(1, TOKENS, WIDTH), k=2)
    third, third_bias = normal(random, EXPERTS, INNER, WIDTH), normal(random, EXPERTS, INNER)
    yield case("third", lambda e, rows: ACTIVATIONS["silu"](rows @ first[e].T + first_bias[e]) *
               (rows @ third[e].T + third_bias[e]), (first, first_bias), third=(third, third_bias),
               k=2, activation_type="silu")
    both = np.stack([first, third], 2).reshape(EXPERTS, 2 * INNER, WIDTH)
    both_bias = np.stack([first_bias, third_bias], 2).reshape(EXPERTS, 2 * INNER)
    gates = dict(activation_alpha=1.7, activation_beta=1.0, swiglu_limit=1.5)

    def gated(e, rows):
        return swiglu(rows @ first[e].T + first_bias[e], rows @ third[e].T + third_bias[e], 1.7,
                      1.0, 1.5)

    yield case("swiglu_interleaved", gated, (both, both_bias), k=2, activation_type="swiglu",
               swiglu_fusion=1, **gates)
    yield case("swiglu_halves", gated,
               (np.concatenate([first, third], 1), np.concatenate([first_bias, third_bias], 1)),
               k=2, activation_type="swiglu", swiglu_fusion=2, **gates)
    yield case("swiglu_apart", gated, (first, first_bias), third=(third, third_bias), k=2,
               activation_type="swiglu", **gates)


def quantised_layer(random, bits, outputs, inputs, block, with_zeros):
    codes = random.integers(0, 1 << bits, (EXPERTS, outputs, inputs))
    blocks = inputs // block if block else 1
    scales = random.uniform(0.01, 0.05, (EXPERTS, outputs, blocks)).astype(np.float32)
    zeros = random.integers(0, 1 << bits, (EXPERTS, outputs, blocks))
    operand = pack(zeros, bits) if block else pack(zeros[..., 0], bits)
    if not with_zeros:
        zeros, operand = np.full_like(zeros, 1 << (bits - 1)), None
    spread = (inputs // blocks,)
    weights = (codes - np.repeat(zeros, *spread, 2)) * np.repeat(scales.astype(np.float64),
                                                                  *spread, 2)
    return weights, [pack(codes, bits), scales if block else scales[..., 0]], operand


def quantised(random):
    for bits in (2, 4, 8):
        for block in (0, 16):
            for with_zeros in (False, True):
                x, router = normal(random, TOKENS, WIDTH), normal(random, TOKENS, EXPERTS)
                first, first_parts, first_zeros = quantised_layer(random, bits, INNER, WIDTH, block,
                                                                  with_zeros)
                second, second_parts, second_zeros = quantised_layer(random, bits, WIDTH, INNER,
                                                                     block, with_zeros)
                first_bias, second_bias = normal(random, EXPERTS, INNER), normal(random, EXPERTS,
                                                                                 WIDTH)
                want = mixed(x, router,
                             lambda e, rows: np.maximum(rows @ first[e].T + first_bias[e], 0),
                             second, second_bias, 2, True)
                operands = first_parts + [first_bias] + second_parts + [second_bias] + \
                    [None, None, None, first_zeros, second_zeros]
                attributes = dict(k=2, activation_type="relu", expert_weight_bits=bits,
                                  weights_prepacked=0, normalize_routing_weights=1)
                if block:
                    attributes["block_size"] = block
                yield Case(f"quantised_experts_{bits}bits_block{block}" + "_zeros" * with_zeros,
                           "QMoE", [(x, False), (router, False)] + [(part, True)
                                                                    for part in operands],
                           [want], attributes, tolerance=2e-3,
                           # For these, onnxruntime rounds the activations to 8 bits.
                           specified=0 if bits == 8 and block else 1)


def cases():
    random = np.random.default_rng(19)
    yield from plain(random)
    yield from quantised(random)
