"""What a run takes and gives: inputs by position or name, buffers for outputs, checks of both."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Type, Union

import numpy as np

from . import _tensors
from ._errors import InputError
from ._tensors import TensorInfo, View

Array = Any  # numpy.ndarray, or an object with __dlpack__ or __array__
Arrays = Union[Array, Sequence[Array], Mapping[str, Array]]


class Outputs(Tuple[Any, ...]):
    """The outputs of a run: a tuple in the model's order that also takes names: `y["logits"]`."""

    names: Tuple[str, ...] = ()

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            try:
                return tuple.__getitem__(self, self.names.index(key))
            except ValueError:
                raise KeyError(f"{key}: the outputs are {', '.join(self.names)}") from None
        return tuple.__getitem__(self, key)

    def keys(self) -> Tuple[str, ...]:
        """Names of the outputs; with it, `dict(outputs)` is a dictionary by name."""
        return self.names

    def __reduce__(self) -> Any:
        return (_outputs_of, (self.names, tuple(self)))


def _outputs_of(names: Tuple[str, ...], values: Tuple[Any, ...]) -> Outputs:
    return outputs_type(names)(values)


def outputs_type(names: Tuple[str, ...]) -> Type[Outputs]:
    """The class of one model's outputs."""
    return type("Outputs", (Outputs,), {"names": names, "__slots__": ()})


def _misfit(what: str, info: TensorInfo, shape: Sequence[int], kind: str) -> InputError:
    wanted = f"{info.type}[{','.join(map(str, info.shape))}]"
    given = f"{kind}[{','.join(map(str, shape))}]"
    return InputError(f"{what} {info.name!r} is {given}, the model has {wanted}: convert it")


def to_numpy(info: TensorInfo, value: Any) -> "np.ndarray[Any, Any]":
    """The value as an array of the input's type and shape, in any layout and byte order."""
    array = value if isinstance(value, np.ndarray) else None
    if array is None and hasattr(value, "__array__"):
        array = np.asarray(value)
    if array is None:
        raise InputError(
            f"input {info.name!r} is a {type(value).__name__}: give a NumPy array or a tensor "
            "with __dlpack__"
        )
    if info.type == "bf16" and array.dtype == np.uint16:
        array = array.view(info.dtype)
    if array.dtype.newbyteorder("=") != info.dtype or array.shape != info.shape:
        raise _misfit("input", info, array.shape, str(array.dtype))
    return array


def checked_view(what: str, info: TensorInfo, value: Any, stream: Optional[int] = None) -> View:
    """The memory of a tensor of another library, which fits the input or output."""
    view = _tensors.view_of(f"{what} {info.name!r}", value, stream)
    if view.type != info.type or view.shape != info.shape:
        raise _misfit(what, info, view.shape, view.type)
    return view


def check_writable(info: TensorInfo, array: "np.ndarray[Any, Any]") -> None:
    """InputError unless the array can take the output."""
    flags = array.flags
    if array.dtype != info.dtype and not (info.type == "bf16" and array.dtype == np.uint16):
        raise _misfit("output", info, array.shape, str(array.dtype))
    if array.shape != info.shape:
        raise _misfit("output", info, array.shape, str(array.dtype))
    if not (flags.c_contiguous and flags.writeable):
        raise InputError(f"output {info.name!r}: its buffer is not contiguous and writable")


def writable_address(info: TensorInfo, value: Any) -> Tuple[int, object]:
    """Address of the caller's buffer for an output on the host, and what keeps it."""
    if isinstance(value, np.ndarray):
        check_writable(info, value)
        return _tensors.address_of(value), value
    if hasattr(value, "__dlpack_device__") and not _tensors.is_device_tensor(value):
        view = checked_view("output", info, value)
        if not view.contiguous:
            raise InputError(f"output {info.name!r}: its buffer is not contiguous and writable")
        return view.address, view.owner
    raise InputError(
        f"output {info.name!r}: its buffer is a {type(value).__name__}; give a NumPy array or a "
        "tensor in the memory of the host"
    )


def arranged(what: str, infos: Sequence[TensorInfo], given: Arrays) -> List[Any]:
    """Values in the model's order, from a mapping by name, a sequence or a single value."""
    if not isinstance(given, Mapping):
        values = list(given) if isinstance(given, (tuple, list)) else [given]
        if len(values) == len(infos):
            return values
        raise InputError(
            f"the model has {len(infos)} {what}(s), {len(values)} are given; "
            f"its {what}s: {', '.join(map(str, infos))}"
        )
    if len(given) == len(infos):
        try:
            return [given[info.name] for info in infos]
        except KeyError:
            pass  # said below
    names, ports = [info.name for info in infos], ", ".join(map(str, infos))
    unknown = [name for name in given if name not in names]
    if unknown:
        raise InputError(f"the model has no {what} {unknown[0]!r}; its {what}s: {ports}")
    missing = next(name for name in names if name not in given)
    raise InputError(f"{what} {missing!r} is missing; the model's {what}s: {ports}")


def arranged_inputs(
    infos: Sequence[TensorInfo], arrays: Sequence[Array], named: Mapping[str, Array]
) -> List[Any]:
    """Inputs in the model's order, of a call by position, by name, or with one dictionary."""
    if len(arrays) == 1 and isinstance(arrays[0], Mapping) and not named:
        return arranged("input", infos, arrays[0])
    if len(arrays) > len(infos) or not named and len(arrays) == len(infos):
        return arranged("input", infos, tuple(arrays))
    values: Dict[str, Any] = {info.name: value for info, value in zip(infos, arrays)}
    for name, value in named.items():
        if name in values:
            raise InputError(f"input {name!r} is given twice: by position and by name")
        values[name] = value
    return arranged("input", infos, values)
