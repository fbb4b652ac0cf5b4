"""A graph for one set of sizes: a library, and how arguments and outputs fit it."""

from __future__ import annotations

from typing import Any, Collection, Iterable, List, Optional, Sequence, Tuple, Union

import torch

from .. import _tensors
from .._library import Library
from ._device import DeviceRunner, computes_in_tf32, device_of, target_of
from ._export import Whole, export
from ._layout import Layout, storage_of
from ._options import Options
from ._reasons import Unsuited
from ._store import Source

_TYPES = {
    torch.float32: "f32",
    torch.float64: "f64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.bool: "bool",
}
# How far a result may be from that of eager mode, over its largest magnitude. On a GPU, eager mode
# computes convolutions of fp32 in tf32.
_EXACT, _TF32, _HALF = 1e-3, 2e-2, 5e-2
_HALVES = (torch.float16, torch.bfloat16)


def check_tensor(tensor: "torch.Tensor") -> None:
    """Unsuited if a library cannot take the tensor."""
    if tensor.layout != torch.strided or tensor.dtype not in _TYPES:
        raise Unsuited(f"a tensor is of the type {tensor.dtype}, {tensor.layout}")
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        raise Unsuited(f"a tensor is of the class {type(tensor).__name__}")


def _array_of(tensor: "torch.Tensor") -> Any:
    """The tensor's memory as an array."""
    if tensor.requires_grad:
        tensor = tensor.detach()
    if tensor.is_neg():
        tensor = tensor.resolve_neg()
    if tensor.dtype is torch.bfloat16:
        tensor = tensor.view(torch.uint16)
    return tensor.numpy()


def _tensor_of(array: Any, dtype: "torch.dtype") -> "torch.Tensor":
    if dtype is torch.bfloat16:
        return torch.from_numpy(array.view("uint16")).view(dtype)
    return torch.from_numpy(array)


def _check_port(info: "_tensors.TensorInfo", tensor: "torch.Tensor") -> None:
    if info.type != _TYPES[tensor.dtype] or info.shape != tuple(tensor.shape):
        raise Unsuited(
            f"the library has {info}, eager mode {_TYPES[tensor.dtype]}{list(tensor.shape)}"
        )


def _check_value(got: "torch.Tensor", wanted: "torch.Tensor", tolerance: float) -> None:
    """Unsuited if a result is not that of eager mode."""
    got, wanted = got.detach(), wanted.detach()
    if not wanted.is_floating_point():
        if not torch.equal(got, wanted):
            raise Unsuited("the library gives other whole numbers than eager mode")
        return
    a, b = got.double(), wanted.double()
    finite = b[b.isfinite()]
    largest = float(finite.abs().max()) if finite.numel() else 0.0
    bound = tolerance * largest
    if not torch.allclose(a, b, rtol=0.0, atol=max(bound, 1e-30), equal_nan=True):
        raise Unsuited("the library gives other values than eager mode")


class HostRunner:
    """Runs a library on tensors of the CPU."""

    def __init__(self, library: Library, types: Sequence[Any]) -> None:
        self._library, self._types = library, types

    def __call__(self, tensors: Sequence["torch.Tensor"]) -> "List[torch.Tensor]":
        arrays = self._library(*[_array_of(tensor) for tensor in tensors])
        return [_tensor_of(array, dtype) for array, dtype in zip(arrays, self._types)]


Runner = Union[HostRunner, DeviceRunner]


class Plan:
    """Runs a graph by a library. Threads may run it at the same time."""

    def __init__(
        self,
        gm: "torch.fx.GraphModule",
        before: Sequence[Any],
        args: Sequence[Any],
        outputs: Sequence[Any],
        constants: Sequence[int],
        written: Iterable[int],
        options: Options,
        numbers: Collection[int] = (),
    ) -> None:
        """Compiles. `before` are the arguments as they were before eager mode gave `outputs`;
        `numbers` are positions of tensors whose values are constants of the library."""
        self._layout = Layout(args, outputs)
        wanted = self._layout.wanted
        self._written = tuple(sorted(written))
        if not wanted and not self._written:
            raise Unsuited("it computes nothing")
        self._tensors = tuple(i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor))
        if self.overlaps(args):
            raise Unsuited("it writes to memory that two of its tensors share")
        whole = Whole(gm, args, constants, wanted, self._written, numbers)
        if not whole.free:
            raise Unsuited("it depends on weights alone")
        expected = [*(outputs[i] for i in wanted), *(args[i] for i in self._written)]
        for tensor in (*(args[i] for i in whole.free), *expected):
            check_tensor(tensor)
        self._types = [tensor.dtype for tensor in expected]
        self.device = device_of(args)
        if any(tensor.device != self.device for tensor in expected):
            raise Unsuited(f"a result is not on the device {self.device}, as its inputs are")
        options = options.on(target_of(self.device), computes_in_tf32(self.device, args))
        self.options = options
        source = export(whole, args, len(expected))
        #: The ONNX file, and its digest.
        self.source: Optional[Source] = source
        self.digest: str = source.digest
        self.library: Library = source.library(options, self.device)
        self._bind(whole.free, args, expected)
        self.use(self.library)
        half = any(isinstance(t, torch.Tensor) and t.dtype in _HALVES for t in (*args, *outputs))
        exact = not half and options.precision in (None, "model", "fp32", "tf32")
        full = _EXACT if self.device.type == "cpu" and options.precision != "tf32" else _TF32
        for got, tensor in zip(self._results(before), expected):
            _check_value(got, tensor, full if exact else _HALF)

    def use(self, library: Library) -> None:
        """Runs this library, which has the same inputs and outputs, from now on."""
        self.library = library
        types: List[Any] = [None] * len(library.outputs)
        for place, dtype in zip(self._places, self._types):
            types[place] = dtype
        if self.device.type == "cpu":
            self._runner: Runner = HostRunner(library, types)
        elif library.device < 0:
            raise Unsuited(f"the target {self.options.target!r} is a CPU, its tensors are on a GPU")
        else:
            self._runner = DeviceRunner(library, self.device, types)

    def _bind(self, free: Sequence[int], args: Sequence[Any], expected: Sequence[Any]) -> None:
        names = {f"x{place}": i for place, i in enumerate(free)}
        try:
            self._feeds = [names[info.name] for info in self.library.inputs]
            places = {info.name: place for place, info in enumerate(self.library.outputs)}
            self._places = [places[f"y{i}"] for i in range(len(expected))]
        except KeyError as error:
            raise Unsuited(f"the library has no input or output {error}") from None
        if not self._feeds:
            raise Unsuited("it depends on weights alone")
        for info, i in zip(self.library.inputs, self._feeds):
            _check_port(info, args[i])
        for place, tensor in zip(self._places, expected):
            _check_port(self.library.outputs[place], tensor)

    def overlaps(self, args: Sequence[Any]) -> bool:
        """Whether a tensor that is written shares memory with another argument."""
        if not self._written:
            return False
        storages = [storage_of(args[i]) for i in self._tensors]
        return any(storages.count(storage_of(args[i])) > 1 for i in self._written)

    def _results(self, args: Sequence[Any]) -> List["torch.Tensor"]:
        results = self._runner([args[i] for i in self._feeds])
        return [results[place] for place in self._places]

    def run(self, args: Sequence[Any]) -> Tuple[Any, ...]:
        results = self._results(args)
        if self._written:
            with torch.no_grad():
                for i, value in zip(self._written, results[len(self._layout.wanted) :]):
                    args[i].copy_(value)
        return self._layout.outputs(args, results)
