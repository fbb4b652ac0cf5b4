"""A kernel in C with chosen values of its parameters, compiled and called on this machine."""

from __future__ import annotations

import concurrent.futures
import ctypes
import os
import shutil
import subprocess
from typing import Any, List, Sequence, Tuple

import numpy as np

from ._errors import DataError, UnavailableError
from ._temporary import TemporaryFolder
from ._tensors import aligned_empty

# As workers compile; the pointers of their buffers have this alignment, too.
_FLAGS = ("-x", "c", "-std=gnu11", "-O3", "-march=native", "-fno-math-errno", "-fPIC", "-shared")
_ALIGNMENT = 16
_ENTRY = "mlc_tuned_blocks"


def _compiler() -> str:
    for name in ("cc", "gcc", "clang"):
        path = shutil.which(name)
        if path is not None:
            return path
    raise UnavailableError("there is no C compiler on PATH: install gcc or clang to call the kernel")


def entry_text(name: str, grid: Sequence[int], calls: Sequence[str]) -> str:
    """C of a function that executes a range of blocks. `calls`: the arguments behind the block."""
    columns, rows = grid[0], grid[0] * grid[1]
    arguments = "".join(f", {call}" for call in calls)
    return (
        f"\nvoid {_ENTRY}(void* const* buffers, long long begin, long long end) {{\n"
        "  for (long long i = begin; i < end; ++i) {\n"
        f"    {name}((int)(i % {columns}), (int)(i / {columns} % {grid[1]}), (int)(i / {rows})"
        f"{arguments});\n  }}\n}}\n"
    )


class KernelLibrary:
    """Blocks of a kernel; thread-safe."""

    def __init__(self, source: str, options: Sequence[str], blocks: int, threads: int) -> None:
        self._folder = TemporaryFolder()  # holds the file of the library
        self._blocks = blocks
        self._threads = max(1, min(threads, blocks))
        path = os.path.join(self._folder.path, "kernel.so")
        command = [_compiler(), *_FLAGS, *options, "-o", path, "-", "-lm"]
        done = subprocess.run(command, input=source, capture_output=True, text=True)
        if done.returncode != 0:
            raise DataError(f"the C compiler refused the kernel: {done.stderr.strip()}")
        self._entry = getattr(ctypes.CDLL(path), _ENTRY)
        self._entry.argtypes = (ctypes.c_void_p, ctypes.c_longlong, ctypes.c_longlong)
        self._entry.restype = None
        self._pool = (
            concurrent.futures.ThreadPoolExecutor(self._threads) if self._threads > 1 else None
        )

    def run(
        self,
        inputs: Sequence["np.ndarray[Any, Any]"],
        outputs: Sequence[Tuple[Tuple[int, ...], Any]],
    ) -> List["np.ndarray[Any, Any]"]:
        """Executes all blocks. The arrays are in the order of the function's pointers by kind."""
        given = [_in_place(x) for x in inputs]
        made = [aligned_empty(shape, np.dtype(dtype)) for shape, dtype in outputs]
        pointers = [x.ctypes.data for x in (*given, *made)]
        buffers = (ctypes.c_void_p * len(pointers))(*pointers)
        address = ctypes.addressof(buffers)
        if self._pool is None:
            self._entry(address, 0, self._blocks)
            return made
        edges = [self._blocks * i // self._threads for i in range(self._threads + 1)]
        parts = [self._pool.submit(self._entry, address, *e) for e in zip(edges, edges[1:])]
        for part in parts:
            part.result()
        return made


def _in_place(x: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """The array, or a dense and aligned copy."""
    if x.flags.c_contiguous and x.ctypes.data % _ALIGNMENT == 0:
        return x
    copy = aligned_empty(x.shape, x.dtype)
    copy[...] = x
    return copy
