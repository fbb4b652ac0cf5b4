"""Products, convolutions, norms and quantised operators with what is fused to them."""
import math

import numpy as np

from cases import Case


def normal(random, *shape):
    return random.standard_normal(shape).astype(np.float32)


def single(value):
    return value.astype(np.float32)


def sigmoid(x):
    return 1 / (1 + np.exp(-np.asarray(x, np.float64)))


def erf_gelu(x):
    return x * 0.5 * (1 + np.vectorize(math.erf)(np.asarray(x, np.float64) / math.sqrt(2)))


def tanh_gelu(x):
    x = np.asarray(x, np.float64)
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def products(random):
    def fused(name, x, y, want, **attributes):
        return Case("fused_matmul_" + name, "FusedMatMul", [(x, False), (y, True)],
                    [single(want)], attributes)

    x, y = normal(random, 2, 4, 5), normal(random, 2, 5, 3)
    yield fused("alpha", x, y, 1.5 * (x @ y), alpha=1.5)
    x, y = normal(random, 4, 2, 5), normal(random, 2, 5, 3)
    yield fused("batch_a", x, y, x.transpose(1, 0, 2) @ y, transBatchA=1)
    x, y = normal(random, 5, 2, 4), normal(random, 3, 2, 5)
    yield fused("batch_both_transposed", x, y, x.transpose(1, 2, 0) @ y.transpose(1, 2, 0),
                transBatchA=1, transA=1, transBatchB=1, transB=1)
    x, y = normal(random, 4, 5), normal(random, 5, 3)
    yield Case("transpose_matmul", "TransposeMatMul", [(x.T.copy(), False), (y, True)],
               [single(x @ y)], dict(transA=1))
    yield Case("fused_matmul_activation", "FusedMatMulActivation", [(x, False), (y, True)],
               [single(np.maximum(x @ y, 0))], dict(activation="Relu"))
    bias = normal(random, 3)
    yield Case("gemm_fast_gelu", "GemmFastGelu", [(x, False), (y, True), (bias, True)],
               [single(tanh_gelu(x @ y + bias))])
    for activation, formula in (("Relu", lambda z: np.maximum(z, 0)), ("Tanh", np.tanh),
                                ("Sigmoid", sigmoid)):
        yield Case("fused_gemm_" + activation.lower(), "FusedGemm",
                   [(x, False), (y, True), (bias, True)],
                   [single(formula(0.5 * (x @ y) + bias))],
                   dict(activation=activation, alpha=0.5))
    yield Case("fused_gemm_leaky", "FusedGemm", [(x, False), (y, True), (bias, True)],
               [single(np.where(x @ y + bias < 0, 0.2, 1) * (x @ y + bias))],
               dict(activation="LeakyRelu", activation_alpha=0.2))


def additions(random):
    x, bias, skip = normal(random, 2, 3, 8), normal(random, 8), normal(random, 2, 3, 8)
    yield Case("bias_add", "BiasAdd", [(x, False), (bias, True), (skip, False)],
               [x + bias + skip])
    summed = x + bias
    yield Case("bias_split_gelu", "BiasSplitGelu", [(x, False), (bias, True)],
               [single(summed[..., :4] * erf_gelu(summed[..., 4:]))])
    yield Case("quick_gelu", "QuickGelu", [(x, False)], [single(x * sigmoid(1.3 * x))],
               dict(alpha=1.3))
    yield Case("bias_gelu", "BiasGelu", [(x, False), (bias, True)], [single(erf_gelu(summed))])
    yield Case("fast_gelu", "FastGelu", [(x, False), (bias, True)], [single(tanh_gelu(summed))])
    scores, mask = normal(random, 2, 3, 4, 5), normal(random, 2, 1, 1, 5)
    shifted = np.exp(scores + mask)
    yield Case("bias_softmax", "BiasSoftmax", [(scores, False), (mask, False)],
               [single(shifted / shifted.sum(3, keepdims=True))],
               dict(axis=3, is_inner_broadcast=1))


def layer_norms(random):
    x, skip = normal(random, 2, 3, 8), normal(random, 2, 3, 8)
    scale, shift, bias = normal(random, 8), normal(random, 8), normal(random, 8)
    total = (x + skip + bias).astype(np.float64)
    mean = total.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt(total.var(-1, keepdims=True) + 1e-5)
    yield Case("skip_layer_norm", "SkipLayerNormalization",
               [(x, False), (skip, False), (scale, True), (shift, True), (bias, True)],
               [single((total - mean) * inverse * scale + shift), single(mean), single(inverse),
                single(total)], dict(epsilon=1e-5), specified=1)
    yield Case("skip_layer_norm_of_one_skip", "SkipLayerNormalization",
               [(x, False), (skip[0], False), (scale, True)],
               [single(norm(x + skip[0], 1e-5) * scale)], dict(epsilon=1e-5))
    root = 1 / np.sqrt((total ** 2).mean(-1, keepdims=True) + 1e-5)
    yield Case("skip_simplified_norm", "SkipSimplifiedLayerNormalization",
               [(x, False), (skip, False), (scale, True), (bias, True)],
               [single(total * root * scale), None, None, single(total)], dict(epsilon=1e-5))
    yield Case("skip_simplified_norm_deviation", "SkipSimplifiedLayerNormalization",
               [(x, False), (skip, False), (scale, True), (bias, True)],
               [single(total * root * scale), None, single(root)], dict(epsilon=1e-5),
               specified=1)
    root = 1 / np.sqrt((x.astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-5)
    for domain in ("", "com.microsoft"):
        yield Case("simplified_norm_" + (domain or "ai_onnx").replace(".", "_"),
                   "SimplifiedLayerNormalization", [(x, False), (scale, True)],
                   [single(x * root * scale), single(root)], dict(epsilon=1e-5, axis=-1),
                   domain=domain, specified=1)
    gate, part = normal(random, 2, 3, 8), normal(random, 4)
    rows = x.astype(np.float64).reshape(2, 3, 2, 4)
    normed = rows / np.sqrt((rows ** 2).mean(-1, keepdims=True) + 1e-6) * part
    for activation, factor in (("silu", gate * sigmoid(gate)), ("sigmoid", sigmoid(gate))):
        yield Case("gated_norm_" + activation, "GatedRMSNorm",
                   [(x, False), (part, True), (gate, False)],
                   [single(normed.reshape(x.shape) * factor)],
                   dict(activation=activation, epsilon=1e-6))


def norm(x, epsilon):
    x = np.asarray(x, np.float64)
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon)


def group_norm(x, groups, scale, shift):
    """x [N, H, W, C]"""
    batch, height, width, channels = x.shape
    rows = x.transpose(0, 3, 1, 2).reshape(batch, groups, -1)
    y = norm(rows, 1e-5).reshape(batch, channels, height, width).transpose(0, 2, 3, 1)
    return y * scale + shift


def group_norms(random):
    x, scale, shift = normal(random, 2, 3, 5, 8), normal(random, 8), normal(random, 8)
    y = group_norm(x, 2, scale, shift)
    parameters = [(scale, True), (shift, True)]
    yield Case("group_norm", "GroupNorm", [(x, False)] + parameters, [single(y)],
               dict(groups=2, activation=0))
    yield Case("group_norm_silu", "GroupNorm", [(x, False)] + parameters,
               [single(y * sigmoid(y))], dict(groups=2, activation=1))
    yield Case("group_norm_channels_second", "GroupNorm",
               [(x.transpose(0, 3, 1, 2).copy(), False)] + parameters,
               [single(y.transpose(0, 3, 1, 2))], dict(groups=2, activation=0, channels_last=0))
    skip, bias = normal(random, 2, 8), normal(random, 8)
    total = x + skip[:, None, None] + bias
    y = group_norm(total, 4, scale, shift)
    yield Case("skip_group_norm", "SkipGroupNorm",
               [(x, False)] + parameters + [(skip, False), (bias, True)],
               [single(y * sigmoid(y)), single(total)], dict(groups=4, activation=1))


def convolve(x, w):
    """x [N, C, H, W] with w [O, C, h, w], without padding."""
    batch, _, height, width = x.shape
    out, _, kernel_height, kernel_width = w.shape
    y = np.zeros((batch, out, height - kernel_height + 1, width - kernel_width + 1))
    for i in range(y.shape[2]):
        for j in range(y.shape[3]):
            window = x[:, :, i:i + kernel_height, j:j + kernel_width]
            y[:, :, i, j] = np.einsum("nchw,ochw->no", window, w)
    return y


def last(x):
    return np.ascontiguousarray(x.transpose(0, 2, 3, 1))


def convolutions(random):
    x, w, bias = normal(random, 2, 3, 6, 5), normal(random, 4, 3, 2, 2), normal(random, 4)
    y = convolve(x, w) + bias[:, None, None]
    added = normal(random, *y.shape)
    yield Case("fused_conv", "FusedConv", [(x, False), (w, True), (bias, True), (added, False)],
               [single(np.maximum(y + added, 0))], dict(activation="Relu"))
    yield Case("fused_conv_clip", "FusedConv", [(x, False), (w, True), (bias, True)],
               [single(np.clip(y, 0, 1))], dict(activation="Clip", activation_params=[0.0, 1.0]))
    yield Case("fused_conv_hard_sigmoid", "FusedConv", [(x, False), (w, True), (bias, True)],
               [single(np.clip(0.1 * y + 0.4, 0, 1))],
               dict(activation="HardSigmoid", activation_params=[0.1, 0.4]))
    operands = [(last(x), False), (w, True), (bias, True)]
    yield Case("conv_channels_last", "NhwcConv", operands, [single(last(y))])
    yield Case("conv_channels_last_weights_too", "NhwcConv",
               [(last(x), False), (last(w), True), (bias, True)], [single(last(y))])
    yield Case("fused_conv_channels_last", "NhwcFusedConv", operands + [(last(added), False)],
               [single(np.maximum(last(y + added), 0))], dict(activation="Relu"))


def quantise(y, scale, zero, kind=np.uint8):
    limits = np.iinfo(kind)
    return np.clip(np.rint(y / scale) + zero, limits.min, limits.max).astype(kind)


def parameter(value, kind=np.float32):
    return (np.array(value, kind), True)


def quantised(random):
    x_scale, x_zero, y_scale, y_zero = 0.05, 120, 0.0413, 110
    x = random.integers(0, 256, (2, 4, 6, 5)).astype(np.uint8)
    real = (x.astype(np.float64) - x_zero) * np.float32(x_scale)
    x_parts = [parameter(x_scale), parameter(x_zero, np.uint8)]
    y_parts = [parameter(y_scale), parameter(y_zero, np.uint8)]

    def case(name, op, value, want, **attributes):
        return Case(name, op, [(value, False)] + x_parts + y_parts,
                    [quantise(want, np.float32(y_scale), y_zero)], attributes, tolerance=1e-2)

    # With these scales no mean lies in the middle of two integers, where rounding errors decide.
    yield case("quantised_mean", "QLinearReduceMean", x, real.mean((2, 3), keepdims=True),
               axes=[2, 3], keepdims=1)
    yield case("quantised_mean_without_dims", "QLinearReduceMean", x, real.mean(1), axes=[1],
               keepdims=0)
    pooled = real.reshape(2, 4, 2, 3, 5).mean(3)
    yield case("quantised_pool_channels_last", "QLinearAveragePool", last(x), last(pooled),
               kernel_shape=[3, 1], strides=[3, 1], channels_last=1)
    small = [parameter(1 / 256), parameter(0, np.uint8)]
    flat = np.exp(real.reshape(2, 4, -1))
    flat = (flat / flat.sum(-1, keepdims=True)).reshape(x.shape)
    yield Case("quantised_softmax_flat", "QLinearSoftmax", [(x, False)] + x_parts + small,
               [quantise(flat, 1 / 256, 0)], dict(axis=2, opset=12), tolerance=1e-2)
    w = random.integers(-128, 128, (3, 4, 2, 2)).astype(np.int8)
    w_scale = random.uniform(0.001, 0.002, 3).astype(np.float32)
    bias = random.integers(-500, 500, 3).astype(np.int32)
    total = convolve(x.astype(np.float64) - x_zero, w.astype(np.float64)) + bias[:, None, None]
    y = total * (np.float32(x_scale) * w_scale.astype(np.float64))[:, None, None]
    yield Case("quantised_conv_channels_last", "QLinearConv",
               [(last(x), False)] + x_parts +
               [(w, True), (w_scale, True), (np.zeros(3, np.int8), True)] + y_parts +
               [(bias, True)],
               [last(quantise(y, np.float32(y_scale), y_zero))], dict(channels_last=1),
               tolerance=1e-2)
    matrix = random.integers(0, 256, (4, 3)).astype(np.uint8)
    rows = random.integers(0, 256, (2, 5, 4)).astype(np.uint8)
    scale = random.uniform(0.01, 0.1, 3).astype(np.float32)
    sums = (rows.astype(np.float64) - x_zero) @ (matrix.astype(np.float64) - 7)
    vector = normal(random, 3)
    yield Case("integers_to_float", "MatMulIntegerToFloat",
               [(rows, False), (matrix, True), parameter(x_scale), (scale, True),
                parameter(x_zero, np.uint8), (np.full(3, 7, np.uint8), True), (vector, True)],
               [single(sums * np.float32(x_scale) * scale + vector)], tolerance=1e-3)


def embeddings(random):
    words, places, kinds = normal(random, 10, 8), normal(random, 6, 8), normal(random, 2, 8)
    scale, shift = normal(random, 8), normal(random, 8)
    ids = random.integers(0, 10, (2, 5)).astype(np.int32)
    segments = random.integers(0, 2, (2, 5)).astype(np.int32)
    mask = np.array([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]], np.int32)
    total = words[ids] + places[:5] + kinds[segments]
    yield Case("embedding", "EmbedLayerNormalization",
               [(ids, False), (segments, False), (words, True), (places, True), (kinds, True),
                (scale, True), (shift, True), (mask, False)],
               [single(norm(total, 1e-5) * scale + shift), mask.sum(1).astype(np.int32)],
               dict(epsilon=1e-5))
    positions = random.integers(0, 6, (2, 5)).astype(np.int32)
    total = words[ids] + places[positions]
    yield Case("embedding_positions", "EmbedLayerNormalization",
               [(ids, False), (None, False), (words, True), (places, True), (None, True),
                (scale, True), (shift, True), (None, False), (positions, False)],
               [single(norm(total, 1e-5) * scale + shift), np.zeros(2, np.int32), single(total)],
               dict(epsilon=1e-5))


def cases():
    random = np.random.default_rng(17)
    for family in (products, additions, layer_norms, group_norms, convolutions, quantised,
                   embeddings):
        yield from family(random)
