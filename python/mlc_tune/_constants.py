"""Inputs of a model that have the same values in every run: the flag --constant of the programs."""

from __future__ import annotations

import numbers
import os
from typing import Any, Iterator, List, Mapping

import numpy as np

from ._errors import UsageError
from ._programs import flag

# An array, a number, numbers in lists, or text as the programs take it: "1,-1" or an .npy or .pb file.
Constant = Any
# The system takes no argument of 128 KiB.
_LONGEST = 100_000


def constant_flags(constants: Mapping[str, Constant], folder: str) -> List[str]:
    """Flags of a program. Arrays, which have types and shapes of their own, become files in the
    folder; numbers get those that the model declares. UsageError for other values."""
    arguments: List[str] = []
    for name, value in constants.items():
        if isinstance(value, (str, os.PathLike)):
            text = os.fspath(value)
        elif hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
            text = os.path.join(folder, f"{len(arguments)}.npy")
            _save(name, value, text)
        else:
            text = ",".join(_numbers(name, value))
            if len(text) > _LONGEST:
                raise UsageError(f"the constant {name!r} has many numbers: give a NumPy array")
        arguments += flag("constant", f"{name}={text}")
    return arguments


def _save(name: str, value: Any, path: str) -> None:
    try:
        given = value if hasattr(value, "__array__") else np.from_dlpack(value)
        array = np.asarray(given, order="C")
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise UsageError(f"the constant {name!r} cannot be read by NumPy: {error}") from error
    if array.dtype.kind not in "biuf":
        raise UsageError(
            f"the constant {name!r} is an array of {array.dtype}: give numbers in a list, which get "
            "the type that the model declares"
        )
    np.save(path, array.astype(array.dtype.newbyteorder("<"), copy=False), allow_pickle=False)


def _numbers(name: str, value: Any) -> Iterator[str]:
    """The numbers of nested lists, row by row, as text."""
    if isinstance(value, (list, tuple, range)):
        for one in value:
            yield from _numbers(name, one)
    elif isinstance(value, (bool, np.bool_, numbers.Integral)):
        yield str(int(value))
    elif isinstance(value, numbers.Real):
        yield repr(float(value))
    else:
        raise UsageError(
            f"the constant {name!r} is {value!r}: give a number, numbers in a list, a NumPy array, "
            "or a path of an .npy or .pb file"
        )
