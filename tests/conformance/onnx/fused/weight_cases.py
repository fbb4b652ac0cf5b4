"""Weights of 2, 4 and 8 bits in blocks: MatMulNBits, GatherBlockQuantized, DequantizeLinear."""
import numpy as np

from cases import Case, Packed

UINT4, INT4 = 21, 22


def pack(codes, bits):
    """Codes of the last axis into bytes, the first in the low bits; a short last byte is filled."""
    a_byte = 8 // bits
    missing = -codes.shape[-1] % a_byte
    codes = np.pad(codes, [(0, 0)] * (codes.ndim - 1) + [(0, missing)])
    parts = codes.reshape(codes.shape[:-1] + (-1, a_byte)).astype(np.uint32)
    return sum(parts[..., i] << (bits * i) for i in range(a_byte)).astype(np.uint8)


def scaled(codes, scales, zeros, block_of):
    """One row of numbers for each row of codes; block_of says whose scale a column takes."""
    return (codes.astype(np.float64) - zeros[:, block_of]) * scales[:, block_of]


def product_case(random, bits, block, zeros_kind, dtype=np.float32, columns=7, inner=None,
                 with_order=False, with_bias=False, flat=False, batch=(2, 3)):
    inner = inner or 2 * block + block // 2
    blocks = -(-inner // block)
    codes = random.integers(0, 1 << bits, (columns, blocks * block))
    largest = 1 if dtype == np.float32 else 0.1
    scales = random.uniform(largest / 10, largest, (columns, blocks)).astype(dtype)
    x = random.standard_normal(batch + (inner,)).astype(dtype)
    zero_codes = random.integers(0, 1 << bits, (columns, blocks))
    zeros, operand = np.full((columns, blocks), 1 << (bits - 1)), None
    if zeros_kind == "packed":
        zeros, operand = zero_codes, pack(zero_codes, bits)
    if zeros_kind == "real":
        operand = (zero_codes + random.uniform(-0.5, 0.5, zero_codes.shape)).astype(dtype)
        zeros = operand.astype(np.float64)
    order = random.integers(0, blocks, inner).astype(np.int32) if with_order else None
    block_of = np.arange(inner) // block if order is None else order
    weights = scaled(codes[:, :inner], scales.astype(np.float64), zeros, block_of)
    bias = random.standard_normal(columns).astype(dtype) if with_bias else None
    y = x.astype(np.float64) @ weights.T + (0 if bias is None else bias)
    packed = pack(codes.reshape(columns, blocks, block), bits)
    if flat:  # as older quantizers write them
        scales = scales.reshape(-1)
        operand = None if operand is None else operand.reshape(-1)
    name = f"matmul_{bits}bits_block{block}_{zeros_kind}" + "_order" * with_order + \
        "_bias" * with_bias + "_flat" * flat + f"_{np.dtype(dtype).name}_{inner}_{len(batch)}d"
    return Case(name, "MatMulNBits",
                [(x, False), (packed, True), (scales, True), (operand, True), (order, True),
                 (bias, True)],
                [y.astype(dtype)],
                dict(K=inner, N=columns, bits=bits, block_size=block),
                tolerance=2e-3 if dtype == np.float32 else 2e-2)


def products(random):
    for bits in (2, 4, 8):
        for block in (16, 32, 64, 128, 256):
            for zeros_kind in ("none", "packed"):
                yield product_case(random, bits, block, zeros_kind)
    yield product_case(random, 4, 32, "real")
    yield product_case(random, 8, 16, "real")
    yield product_case(random, 4, 16, "none", with_order=True)
    yield product_case(random, 4, 16, "none", with_bias=True)
    yield product_case(random, 4, 32, "packed", flat=True)
    yield product_case(random, 4, 32, "packed", dtype=np.float16)
    yield product_case(random, 4, 32, "none", inner=17, batch=(3,))
    yield product_case(random, 4, 16, "none", inner=48, batch=(2, 2, 2))


def gather_case(random, bits, kind, zeros_kind, rows=9, width=64, block=16):
    """Of u8 bytes, or of 4-bit elements if `kind` is a type's number."""
    blocks = -(-width // block)
    is_signed = kind == INT4
    low = -(1 << (bits - 1)) if is_signed else 0
    codes = random.integers(low, low + (1 << bits), (rows, width))
    zero_codes = random.integers(low, low + (1 << bits), (rows, blocks))
    scales = random.uniform(0.1, 1, (rows, blocks)).astype(np.float32)
    indices = random.integers(0, rows, (2, 3))
    middle = 1 << (bits - 1) if kind == "bytes" else 0
    zeros = zero_codes if zeros_kind else np.full((rows, blocks), middle)
    table = scaled(codes, scales, zeros, np.arange(width) // block)

    def stored(values):
        packed = pack(values & ((1 << bits) - 1), bits)
        if kind == "bytes":
            return packed
        return Packed(kind, values.shape, pack(
            (values & 15).reshape(1, -1), 4).tobytes())

    name = f"gather_{bits}bits_{kind}" + "_zeros" * zeros_kind + f"_{width}"
    return Case(name, "GatherBlockQuantized",
                [(stored(codes), True), (indices, False), (scales, True),
                 (stored(zero_codes) if zeros_kind else None, True)],
                [table[indices].astype(np.float32)],
                dict(block_size=block, gather_axis=0, quantize_axis=1, bits=bits))


def gathers(random):
    for bits in (2, 4, 8):
        yield gather_case(random, bits, "bytes", False)
        yield gather_case(random, bits, "bytes", True)
    yield gather_case(random, 4, "bytes", True, width=48)
    for kind in (UINT4, INT4):
        yield gather_case(random, 4, kind, False)
        yield gather_case(random, 4, kind, True)


def dequantize_case(random, kind, axis, block, shape, with_zeros, dtype):
    blocks = list(shape)
    blocks[axis] = -(-shape[axis] // block)
    low = -8 if kind == INT4 else 0
    codes = random.integers(low, low + 16, shape)
    zeros = random.integers(low, low + 16, blocks) if with_zeros else np.zeros(blocks, np.int64)
    scales = random.uniform(0.1, 1, blocks).astype(dtype)

    def spread(values):
        return np.take(np.repeat(values, block, axis), range(shape[axis]), axis)

    y = (codes - spread(zeros)) * spread(scales.astype(np.float64))

    def stored(values):
        return Packed(kind, values.shape, pack((values & 15).reshape(1, -1), 4).tobytes())

    name = f"dequantize_{kind}_axis{axis}_block{block}" + "_zeros" * with_zeros + \
        f"_{np.dtype(dtype).name}_{'x'.join(map(str, shape))}"
    return Case(name, "DequantizeLinear",
                [(stored(codes), True), (scales, True), (stored(zeros) if with_zeros else None,
                                                         True)],
                [y.astype(dtype)], dict(axis=axis, block_size=block), domain="", opset=21,
                tolerance=1e-3)


def dequantizes(random):
    yield dequantize_case(random, INT4, 0, 16, (32, 6), False, np.float32)
    yield dequantize_case(random, UINT4, 0, 16, (48, 5), True, np.float32)
    yield dequantize_case(random, INT4, 1, 32, (3, 64), True, np.float16)
    yield dequantize_case(random, UINT4, 1, 4, (2, 12, 3), True, np.float32)


def cases():
    random = np.random.default_rng(7)
    yield from products(random)
    yield from gathers(random)
    yield from dequantizes(random)
