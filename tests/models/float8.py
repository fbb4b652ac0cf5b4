"""Tensors of float8 (e4m3) of ONNX models."""
import numpy as np
from onnx import TensorProto

E4M3, E5M2 = 17, 19  # of TensorProto.DataType; the oldest package that this runs with does not name them
# The numbers of e4m3 codes from 0 to 126, in order; 127 is no number.
NUMBERS = np.array([code % 8 * 2.0**-9 if code < 8 else (8 + code % 8) * 2.0 ** (code // 8 - 10) for code in range(127)],
                   np.float32)
LARGEST = NUMBERS[-1]
LARGEST_OF = {E4M3: 448.0, E5M2: 57344.0}


def tensor(name, values):
    """The values, none above LARGEST, rounded to e4m3."""
    codes = np.searchsorted((NUMBERS[1:] + NUMBERS[:-1]) / 2, np.abs(values)).astype(np.uint8)
    codes |= np.signbit(values).astype(np.uint8) << 7
    return TensorProto(name=name, data_type=E4M3, dims=values.shape, raw_data=np.ascontiguousarray(codes).tobytes())
