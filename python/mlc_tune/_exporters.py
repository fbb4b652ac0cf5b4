"""What the modules for other frameworks share: packages that may be missing, and failed exports."""

from __future__ import annotations

import contextlib
import importlib
from typing import Any, Iterator, List, Sequence, Tuple

import numpy as np

from ._errors import DataError, Error, UnavailableError, UsageError


def required(package: str, framework: str) -> Any:
    """The package as a module. UnavailableError, with the way to get it, if it is not installed."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise UnavailableError(
            f"mlc_tune.{framework}: the package {package.split('.')[0]} cannot be imported "
            f"({error}): pip install 'mlc-tune[{framework}]'"
        ) from error


@contextlib.contextmanager
def exporting(what: str, tool: str) -> Iterator[None]:
    """Failures of an exporter as DataError: any operator may fail in any way there."""
    try:
        yield
    except Error:
        raise
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        said = lines[0] if lines else type(error).__name__
        raise DataError(f"{tool} cannot export the {what}: {said}") from error


def shapes_of(examples: Sequence[Any]) -> List[Tuple[Tuple[int, ...], "np.dtype[Any]"]]:
    """Shape and type of each example. UsageError for one that is no array."""
    found = []
    for place, example in enumerate(examples):
        shape, dtype = getattr(example, "shape", None), getattr(example, "dtype", None)
        if shape is None or dtype is None:
            raise UsageError(
                f"example {place} is a {type(example).__name__}: give arrays, and bind other "
                "arguments by functools.partial"
            )
        sizes = tuple(shape)
        if any(isinstance(size, bool) or not hasattr(size, "__index__") for size in sizes):
            raise UsageError(f"example {place} has the sizes {sizes}: give an array of fixed sizes")
        # TensorFlow's types know theirs of NumPy.
        kind = np.dtype(getattr(dtype, "as_numpy_dtype", dtype))
        found.append((tuple(int(size) for size in sizes), kind))
    return found
