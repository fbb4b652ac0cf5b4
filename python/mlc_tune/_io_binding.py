"""ONNX Runtime's IOBinding and OrtValue: buffers of the caller for inputs and outputs."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence

import numpy as np

from . import _cuda, _tensors
from ._errors import InputError, UsageError
from ._library import Library

if TYPE_CHECKING:
    from ._inference import InferenceSession


def _array_at(address: int, shape: Sequence[int], dtype: Any) -> "np.ndarray[Any, Any]":
    kind = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    memory = (ctypes.c_uint8 * count).from_address(address)
    array: np.ndarray[Any, Any] = np.frombuffer(memory, np.uint8).view(kind)
    return array.reshape(tuple(shape))


def _buffer(device: str, number: int, dtype: Any, shape: Sequence[int], address: int) -> Any:
    if device == "cpu":
        return _array_at(address, shape, dtype)
    if device in ("cuda", "gpu"):
        return _tensors.DevicePointer(address, tuple(shape), dtype, number)
    raise UsageError(f"the device {device!r} is not supported: give 'cpu' or 'cuda'")


class OrtValue:
    """An array in the memory of the host."""

    def __init__(self, array: "np.ndarray[Any, Any]") -> None:
        self._array = array

    @staticmethod
    def ortvalue_from_numpy(
        array: "np.ndarray[Any, Any]", device_type: str = "cpu", device_id: int = 0
    ) -> "OrtValue":
        """A value with a contiguous array."""
        OrtValue._host_only(device_type)
        return OrtValue(np.ascontiguousarray(array).reshape(np.shape(array)))

    @staticmethod
    def ortvalue_from_shape_and_type(
        shape: Sequence[int], element_type: Any, device_type: str = "cpu", device_id: int = 0
    ) -> "OrtValue":
        """A value with a new array."""
        OrtValue._host_only(device_type)
        return OrtValue(_tensors.aligned_empty(tuple(shape), np.dtype(element_type)))

    @staticmethod
    def _host_only(device: str) -> None:
        if device != "cpu":
            raise UsageError(
                "an OrtValue lies in the memory of the host: bind tensors of a GPU with "
                "bind_input and bind_output, by their addresses"
            )

    def numpy(self) -> "np.ndarray[Any, Any]":
        """The array itself."""
        return self._array

    def shape(self) -> List[int]:
        """The sizes of the array."""
        return list(self._array.shape)

    def device_name(self) -> str:
        """Always cpu."""
        return "cpu"

    def data_ptr(self) -> int:
        """The address of the array."""
        return _tensors.address_of(self._array)

    def is_tensor(self) -> bool:
        """Always True."""
        return True


class IOBinding:
    """Buffers for run_with_iobinding. Outputs that are bound without one get arrays of the host."""

    def __init__(self, session: "InferenceSession") -> None:
        self._session = session
        #: The bound inputs by name.
        self.inputs: Dict[str, Any] = {}
        self._outputs: Dict[str, Any] = {}
        self._results: Dict[str, Any] = {}

    def bind_cpu_input(self, name: str, array: "np.ndarray[Any, Any]") -> None:
        """Binds an array to an input."""
        self.inputs[name] = array

    def bind_ortvalue_input(self, name: str, value: OrtValue) -> None:
        """Binds the array of a value to an input."""
        self.inputs[name] = value.numpy()

    def bind_input(
        self,
        name: str,
        device_type: str,
        device_id: int,
        element_type: Any,
        shape: Sequence[int],
        buffer_ptr: int,
    ) -> None:
        """Binds the memory at an address, which must stay until the binding is cleared."""
        self.inputs[name] = _buffer(device_type, device_id, element_type, shape, buffer_ptr)

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Optional[Sequence[int]] = None,
        buffer_ptr: Optional[int] = None,
    ) -> None:
        """Has an output written to the memory at an address, or to a new array without one."""
        if buffer_ptr is None:
            if device_type != "cpu":
                raise UsageError(f"output {name!r} on a GPU needs buffer_ptr, type and shape")
            self._outputs[name] = None
        elif element_type is None or shape is None:
            raise UsageError(f"output {name!r}: an address needs element_type and shape")
        else:
            self._outputs[name] = _buffer(device_type, device_id, element_type, shape, buffer_ptr)

    def bind_ortvalue_output(self, name: str, value: OrtValue) -> None:
        """Has an output written into the array of a value."""
        self._outputs[name] = value.numpy()

    def clear_binding_inputs(self) -> None:
        """Forgets all inputs."""
        self.inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Forgets all outputs."""
        self._outputs.clear()
        self._results.clear()

    def synchronize_inputs(self) -> None:
        """Without effect: runs wait for their end."""

    def synchronize_outputs(self) -> None:
        """Without effect: runs wait for their end."""

    def run(self, library: Library) -> None:
        """Runs the library on the bound buffers."""
        names = [info.name for info in library.outputs]
        unknown = [name for name in self._outputs if name not in names]
        if unknown:
            raise InputError(
                f"the model has no output {unknown[0]!r}; its outputs: {', '.join(names)}"
            )
        buffers = {}
        for info in library.outputs:
            buffer = self._outputs.get(info.name)
            buffers[info.name] = info.empty() if buffer is None else buffer
        library.call((), self.inputs, buffers)
        if any(map(_tensors.is_device_tensor, buffers.values())):
            _cuda.synchronize(library.device)
        self._results = {name: buffers[name] for name in names if name in self._outputs}

    def get_outputs(self) -> List[OrtValue]:
        """The bound outputs of the last run, in the model's order."""
        return [OrtValue(value) for value in self.copy_outputs_to_cpu()]

    def copy_outputs_to_cpu(self) -> List[Any]:
        """The bound outputs of the last run as arrays, in the model's order."""
        for name, value in self._results.items():
            if not isinstance(value, np.ndarray):
                raise UsageError(
                    f"output {name!r} is in the memory of a GPU: read it with the library that "
                    "owns the memory, or bind the output to 'cpu'"
                )
        return list(self._results.values())
