"""The one call of the CUDA driver that the C interface of a library does not offer: to wait."""

from __future__ import annotations

import ctypes

from ._errors import UnavailableError


def _check(status: int, what: str) -> None:
    if status != 0:
        raise UnavailableError(f"the CUDA driver cannot {what}: error {status}")


def synchronize(device: int, stream: int = 0) -> None:
    """Waits for what was queued on a stream of the GPU's primary context."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise UnavailableError(f"no NVIDIA driver: {error}") from error
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
