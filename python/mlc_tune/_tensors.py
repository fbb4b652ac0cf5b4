"""Arrays as the C interface takes them: what a model's inputs and outputs are, memory for them, and
views of other libraries' tensors by DLPack."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any, Dict, NamedTuple, Optional, Tuple

import numpy as np

from ._errors import InputError

ALIGNMENT = 64  # buffers of this alignment are used in place

_NO_DLPACK = (-1, 0)  # no type of DLPack

# By number of mlc_dtype: its name, NumPy's, and DLPack's (code, bits).
_TYPES: Tuple[Tuple[str, str, Tuple[int, int]], ...] = (
    ("f32", "float32", (2, 32)),
    ("f64", "float64", (2, 64)),
    ("f16", "float16", (2, 16)),
    ("bf16", "bfloat16", (4, 16)),
    ("i8", "int8", (0, 8)),
    ("u8", "uint8", (1, 8)),
    ("i16", "int16", (0, 16)),
    ("i32", "int32", (0, 32)),
    ("i64", "int64", (0, 64)),
    ("bool", "bool", (6, 8)),
    ("u16", "uint16", (1, 16)),
    ("u32", "uint32", (1, 32)),
    ("u64", "uint64", (1, 64)),
    # NumPy has these by ml_dtypes only. A byte holds an element, as it does there; DLPack counts
    # fewer bits for some, but packs them.
    ("i4", "int4", _NO_DLPACK),
    ("u4", "uint4", _NO_DLPACK),
    ("i2", "int2", _NO_DLPACK),
    ("u2", "uint2", _NO_DLPACK),
    ("f8e4m3fn", "float8_e4m3fn", (10, 8)),
    ("f8e4m3fnuz", "float8_e4m3fnuz", (11, 8)),
    ("f8e5m2", "float8_e5m2", (12, 8)),
    ("f8e5m2fnuz", "float8_e5m2fnuz", (13, 8)),
    ("f8e8m0", "float8_e8m0fnu", (14, 8)),
    ("f4e2m1", "float4_e2m1fn", _NO_DLPACK),
)
_BY_DLPACK: Dict[Tuple[int, int], str] = {row[2]: row[0] for row in _TYPES}


def numpy_type(number: int) -> "np.dtype[Any]":
    """NumPy's type for a number of mlc_dtype. NumPy has no bfloat16 and no types of 2, 4 and 8 bits:
    those of ml_dtypes if it is installed, otherwise integers with the bits."""
    kind, name, _ = _TYPES[number]
    if name in np.sctypeDict:
        return np.dtype(name)
    try:
        import ml_dtypes

        extension: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
        return extension
    except (ImportError, AttributeError):
        return np.dtype({"bf16": np.uint16, "i4": np.int8, "i2": np.int8}.get(kind, np.uint8))


def type_name(dtype: "np.dtype[Any]") -> str:
    """The compiler's name of a NumPy type; NumPy's if it has none."""
    return next((row[0] for row in _TYPES if row[1] == dtype.name), dtype.name)


class TensorInfo(NamedTuple):
    """An input or output of a model."""

    name: str
    shape: Tuple[int, ...]
    dtype: "np.dtype[Any]"
    type: str  # as the compiler calls it: f32, bf16, i64, ...

    @property
    def nbytes(self) -> int:
        """Bytes of an array for it."""
        count = self.dtype.itemsize
        for size in self.shape:
            count *= size
        return count

    def empty(self) -> "np.ndarray[Any, Any]":
        """A new array for it whose memory a library uses in place."""
        return aligned_empty(self.shape, self.dtype)

    def __str__(self) -> str:
        return f"{self.name}: {self.type}[{','.join(map(str, self.shape))}]"


def info_of(port: Any) -> TensorInfo:
    shape = tuple(port.dims[: port.rank]) if port.rank else ()
    name = (port.name or b"").decode("utf-8", "replace")
    return TensorInfo(name, shape, numpy_type(port.dtype), _TYPES[port.dtype][0])


def address_of(array: "np.ndarray[Any, Any]") -> int:
    buffer: Any = array  # types of Python before 3.12 do not say that it is one
    try:
        # A quarter of the time of NumPy's own way.
        return ctypes.addressof(ctypes.c_char.from_buffer(buffer))
    except (TypeError, ValueError, BufferError):
        # Not writable, not contiguous, empty, or of a type that has no buffer: bf16.
        address: int = array.__array_interface__["data"][0]
        return address


def aligned_empty(shape: Tuple[int, ...], dtype: "np.dtype[Any]") -> "np.ndarray[Any, Any]":
    count = dtype.itemsize
    for size in shape:
        count *= size
    return aligned(count, shape, dtype)[0]


def aligned(
    count: int, shape: Tuple[int, ...], dtype: "np.dtype[Any]"
) -> Tuple["np.ndarray[Any, Any]", int]:
    """A new array of `count` bytes, and its address."""
    memory = np.empty(count + ALIGNMENT, np.uint8)
    address = address_of(memory)
    offset = -address % ALIGNMENT
    return np.ndarray(shape, dtype, memory, offset), address + offset


class _Device(ctypes.Structure):
    _fields_ = [("type", c_int32), ("id", c_int32)]


class _DataType(ctypes.Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class _Tensor(ctypes.Structure):
    """DLTensor, with which a DLManagedTensor begins."""

    _fields_ = [
        ("data", c_void_p),
        ("device", _Device),
        ("ndim", c_int32),
        ("dtype", _DataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype = c_void_p
_get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


class View(NamedTuple):
    """A tensor of another library. Its memory stays while `owner` does."""

    address: int
    shape: Tuple[int, ...]
    type: str
    device: Tuple[int, int]  # DLPack's type and number
    contiguous: bool
    owner: object


def _is_contiguous(tensor: _Tensor, shape: Tuple[int, ...]) -> bool:
    if not tensor.strides or 0 in shape:
        return True
    step = 1
    for size, stride in zip(reversed(shape), reversed(tensor.strides[: len(shape)])):
        if size != 1 and stride != step:
            return False
        step *= size
    return True


class DevicePointer:
    """Memory of a GPU that the caller owns, by its address."""

    def __init__(self, address: int, shape: Tuple[int, ...], dtype: Any, device: int) -> None:
        self.view = View(
            address, shape, type_name(np.dtype(dtype)), (CUDA, device), contiguous=True, owner=None
        )

    def __dlpack_device__(self) -> Tuple[int, int]:
        return self.view.device


def view_of(what: str, tensor: Any, stream: Optional[int] = None) -> View:
    """The tensor's memory by DLPack; `stream`, DLPack's number of one, is to see finished data."""
    if isinstance(tensor, DevicePointer):
        return tensor.view
    try:
        device = tensor.__dlpack_device__()
        if int(device[0]) in (CUDA, CUDA_MANAGED):
            capsule = tensor.__dlpack__(stream=stream)
        else:
            capsule = tensor.__dlpack__()
        address = _get_pointer(capsule, b"dltensor")
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(
            f"{what}: {type(tensor).__name__} gives no memory by DLPack: {error}"
        ) from error
    held = _Tensor.from_address(address)
    shape = tuple(held.shape[: held.ndim]) if held.ndim else ()
    kind = _BY_DLPACK.get((held.dtype.code, held.dtype.bits)) if held.dtype.lanes == 1 else None
    return View(
        (held.data or 0) + held.byte_offset or ALIGNMENT,  # of no elements: any but null
        shape,
        kind or f"type {held.dtype.code} of {held.dtype.bits} bits",
        (int(device[0]), int(device[1])),
        _is_contiguous(held, shape),
        (capsule, tensor),
    )


def is_device_tensor(value: Any) -> bool:
    if isinstance(value, np.ndarray) or not hasattr(value, "__dlpack_device__"):
        return False
    return int(value.__dlpack_device__()[0]) in (CUDA, CUDA_MANAGED)


def stream_handle(stream: Any) -> int:
    """The driver's handle of a stream: a number, or a stream of another library. 0 is the default
    stream."""
    if stream is None:
        return 0
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for name in ("cuda_stream", "ptr", "handle"):  # PyTorch, CuPy, others
        if hasattr(stream, name):
            return int(getattr(stream, name))
    if isinstance(stream, int):
        return stream
    raise InputError(
        f"{type(stream).__name__} is no stream: give its handle as a number, or a stream of "
        "PyTorch or CuPy"
    )
