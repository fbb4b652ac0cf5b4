"""Where a graph runs: the device of its tensors, and runs of a library there."""

from __future__ import annotations

import contextlib
from typing import Any, Iterable, List, Sequence, Tuple

import torch

from .. import _cuda
from .._library import Library
from .._session import Session
from ._reasons import Unsuited

_ALIGNMENT = 16  # of addresses that a library for GPUs takes
CPU = torch.device("cpu")


def device_of(values: Iterable[Any]) -> "torch.device":
    """The device of all tensors. Unsuited if there are several, or if it runs no libraries.

    A tensor without dimensions may be on the CPU in any case: it is a number.
    """
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    found = {t.device for t in tensors if t.dim() > 0 or t.device.type != "cpu"} or {CPU}
    if len(found) > 1:
        names = ", ".join(sorted(map(str, found)))
        raise Unsuited(f"its tensors are on several devices ({names}): move all to one of them")
    device = found.pop()
    if device.type not in ("cpu", "cuda") or device.type == "cuda" and torch.version.cuda is None:
        raise Unsuited(
            f"a tensor is on the device {device}; the backend compiles for CPUs and NVIDIA GPUs"
        )
    return device


def target_of(device: "torch.device") -> str:
    """The compiler's target for a device of tensors. Its own choice would be a GPU, if there is one."""
    return "cpu" if device.type == "cpu" else f"cuda:{device.index or 0}"


def facts_of(device: "torch.device") -> str:
    """What kernels depend on; empty for the CPU, which the cache knows."""
    if device.type == "cpu":
        return ""
    about = torch.cuda.get_device_properties(device)
    return f"{about.name} {about.major}.{about.minor} {about.multi_processor_count}"


def computes_in_tf32(device: "torch.device", tensors: Iterable[Any]) -> bool:
    """Whether eager mode computes products of fp32 in tf32, and no tensor has fewer bits."""
    if device.type != "cuda" or torch.get_float32_matmul_precision() == "highest":
        return False
    types = {t.dtype for t in tensors if isinstance(t, torch.Tensor)}
    return torch.float32 in types and not types & {torch.float16, torch.bfloat16}


def is_captured() -> bool:
    """Whether the current stream is captured into a CUDA graph."""
    return torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()


def random_state(device: "torch.device") -> "Tuple[torch.Tensor, ...]":
    """States of the generators that a graph on the device draws from."""
    if device.type == "cpu":
        return (torch.get_rng_state(),)
    return (torch.get_rng_state(), torch.cuda.get_rng_state(device))


class DeviceRunner:
    """Runs a library on tensors of a GPU, on PyTorch's current stream. The host waits for nothing.

    Threads that run at the same time get a session each. So does each run that is captured into
    a CUDA graph: the graph uses the memory of its session whenever it is replayed.
    """

    def __init__(self, library: Library, device: "torch.device", types: Sequence[Any]) -> None:
        """`types` are those of the library's outputs."""
        self._library = library
        self._device = device
        self._outputs = [(info.shape, dtype) for info, dtype in zip(library.outputs, types)]
        self._idle: List[Session] = []
        self._captured: List[Session] = []

    def __call__(self, tensors: Sequence["torch.Tensor"]) -> "List[torch.Tensor]":
        """Outputs in the library's order, of inputs in its order."""
        device = self._device
        ready = [self._ready(tensor) for tensor in tensors]
        results = [torch.empty(shape, dtype=dtype, device=device) for shape, dtype in self._outputs]
        stream = torch.cuda.current_stream(device).cuda_stream
        captured = is_captured()
        session = self._session(captured)
        session.run_addresses(
            [tensor.data_ptr() for tensor in ready],
            [tensor.data_ptr() for tensor in results],
            stream,
        )
        (self._captured if captured else self._idle).append(session)
        return results

    def _session(self, captured: bool) -> Session:
        if not captured:
            with contextlib.suppress(IndexError):
                return self._idle.pop()
            return self._library.session()
        with _cuda.allocation_in_capture():
            return self._library.session()

    def _ready(self, tensor: "torch.Tensor") -> "torch.Tensor":
        """The tensor as a library takes it."""
        if tensor.requires_grad:
            tensor = tensor.detach()
        if tensor.is_neg():
            tensor = tensor.resolve_neg()
        if tensor.device != self._device:
            # A number. Eager mode passes its value to kernels, too; a copy would wait.
            return torch.full((), tensor.item(), dtype=tensor.dtype, device=self._device)
        if not tensor.is_contiguous():
            return tensor.contiguous()
        return tensor.clone() if tensor.data_ptr() % _ALIGNMENT else tensor
