"""The shortest way of a call: plain arrays of a few kilobytes, whose addresses never change.

They are copied into and out of memory of the session. NumPy has one object of each type, save for
rare ones, so that types are compared by identity; what does not fit takes the general way.
"""

from __future__ import annotations

import ctypes
from typing import Any, Optional, Sequence

import numpy as np

from . import _forks, _tensors
from ._model import OpenModel


class Quick:
    """Runs of a model whose inputs and outputs are all small, in memory of one session."""

    def __init__(self, model: OpenModel, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """`inputs` and `outputs` are the memory, one array for each input and output."""
        addresses = [(ctypes.c_void_p * max(1, len(m)))() for m in (inputs, outputs)]
        for table, memory in zip(addresses, (inputs, outputs)):
            table[: len(memory)] = [_tensors.address_of(array) for array in memory]
        self._kept = addresses
        # In one tuple, since it takes less time to unpack than attributes to read.
        self._parts = (
            len(inputs),
            [(m.dtype, m.shape, m) for m in inputs],
            [(m.dtype, m.shape, m) for m in outputs],
            model.api.run,
            *map(ctypes.addressof, addresses),
            model.outputs_type,
        )

    def call(self, session: Any, arrays: Sequence[Any], out: Any, array: Any = np.ndarray) -> Any:
        """The outputs; None if the arrays do not fit, which the general way looks at. `array` is
        a local name of the class."""
        count, takes, gives, run, in_at, out_at, made = self._parts
        if len(arrays) != count:
            return None
        if out is not None:
            if type(out) is array:
                out = (out,)
            elif type(out) is not list and type(out) is not tuple:
                return None
            if len(out) != len(gives):
                return None
            for value, (dtype, shape, _) in zip(out, gives):
                if type(value) is not array or value.dtype is not dtype or value.shape != shape:
                    return None
                if not value.flags.carray:  # contiguous, aligned and writable
                    return None
            if len(gives) > 1 and len(set(map(id, out))) < len(out):
                return None
        with session._lock:
            for value, (dtype, shape, memory) in zip(arrays, takes):
                if type(value) is not array or value.dtype is not dtype or value.shape != shape:
                    return None
                memory[...] = value
            handle = session._handle
            if not handle or session._process != _forks.generation:
                session._check_usable()
            status = run(handle, in_at, out_at)
            if status != 0:
                raise session._model.error_of_run(status, handle)
            if out is None:
                return made([memory.copy() for _, _, memory in gives])
            for value, (_, _, memory) in zip(out, gives):
                value[...] = memory
            return made(out)


def quick(model: OpenModel, inputs: Sequence[Any], outputs: Sequence[Any]) -> Optional[Quick]:
    """None if an input or output is large, or the model runs on a GPU."""
    if model.device >= 0 or any(memory is None for memory in (*inputs, *outputs)):
        return None
    return Quick(model, inputs, outputs)
