"""Calls of the CUDA driver that the C interface of a library does not offer."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any, Iterator

from ._errors import UnavailableError


def _check(status: int, what: str) -> None:
    if status != 0:
        raise UnavailableError(f"the CUDA driver cannot {what}: error {status}")


def _driver() -> Any:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise UnavailableError(f"no NVIDIA driver: {error}") from error


@contextlib.contextmanager
def allocation_in_capture() -> Iterator[None]:
    """Lets this thread allocate memory while one of its streams is captured into a graph."""
    driver = _driver()
    mode = ctypes.c_int(2)  # relaxed; the call gives the mode before
    _check(driver.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode)), "allow allocations")
    try:
        yield
    finally:
        driver.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))


def synchronize(device: int, stream: int = 0) -> None:
    """Waits for what was queued on a stream of the GPU's primary context."""
    driver = _driver()
    number, context = ctypes.c_int(), ctypes.c_void_p()
    _check(driver.cuInit(0), "start")
    _check(driver.cuDeviceGet(ctypes.byref(number), device), f"open GPU {device}")
    _check(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), number), "open the context")
    try:
        _check(driver.cuCtxPushCurrent_v2(context), "enter the context")
        try:
            _check(driver.cuStreamSynchronize(ctypes.c_void_p(stream)), "wait for a stream")
        finally:
            driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
    finally:
        driver.cuDevicePrimaryCtxRelease_v2(number)
