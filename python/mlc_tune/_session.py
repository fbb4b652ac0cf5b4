"""Runs of an opened model: sessions, and bindings whose addresses are prepared once.

Arrays of up to STAGED bytes are copied into and out of memory of the session: this takes less time
than to ask NumPy for their addresses. Larger ones are used in place.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from . import _abi, _forks, _tensors
from ._arguments import (
    Array,
    Arrays,
    Outputs,
    arranged,
    arranged_inputs,
    check_writable,
    checked_view,
    to_numpy,
    writable_address,
)
from ._errors import InputError, UsageError
from ._model import OpenModel
from ._quick import quick
from ._tensors import TensorInfo

STAGED = 16384


def _table(count: int) -> Any:
    return (ctypes.c_void_p * max(1, count))()


class Session:
    """Memory and threads of one runner of a model.

    Any thread may use it; runs of one session follow each other. For runs at the same time, give
    each thread a session of its own, or call the Library, which does this.
    """

    def __init__(self, model: OpenModel, threads: int = 0) -> None:
        if not 0 <= threads <= _abi.MAX_THREADS:
            raise UsageError(f"threads is {threads}: give 0 (as compiled) to {_abi.MAX_THREADS}")
        model.check_process()
        self._model = model
        self._lock = threading.Lock()
        self._process = _forks.generation
        self._handle = model.create_session(threads)
        self._finalizer = weakref.finalize(self, model.destroy_session, self._handle, self._process)
        self._finalizer.atexit = False
        self._run = model.api.run
        self._names = tuple(info.name for info in model.inputs)
        self._count = len(model.inputs)
        self._type = model.outputs_type
        self._in, self._out = _table(len(model.inputs)), _table(len(model.outputs))
        self._in_at, self._out_at = ctypes.addressof(self._in), ctypes.addressof(self._out)
        # Memory of the session for small arrays, and for copies of large ones in another layout.
        self._staged = [i.empty() if i.nbytes <= STAGED else None for i in model.inputs]
        self._copies: Dict[int, Any] = {}
        self._in_sizes = [info.nbytes for info in model.inputs]
        self._out_sizes = [info.nbytes for info in model.outputs]
        staged_out = [o.empty() if o.nbytes <= STAGED else None for o in model.outputs]
        self._cut = model.cut_of(self._handle)
        self._quick = None if self._cut else quick(model, self._staged, staged_out)
        # One row a port, for the loop of a call.
        self._takes = [
            (
                i,
                info.dtype,
                info.shape,
                memory,
                0 if memory is None else _tensors.address_of(memory),
            )
            for i, (info, memory) in enumerate(zip(model.inputs, self._staged))
        ]
        self._gives = [
            (i, info, info.nbytes, memory, 0 if memory is None else _tensors.address_of(memory))
            for i, (info, memory) in enumerate(zip(model.outputs, staged_out))
        ]

    @property
    def inputs(self) -> Tuple[TensorInfo, ...]:
        """Names, shapes and types of the inputs."""
        return self._model.inputs

    @property
    def outputs(self) -> Tuple[TensorInfo, ...]:
        """Names, shapes and types of the outputs."""
        return self._model.outputs

    def close(self) -> None:
        """Releases memory and threads, after a run of another thread has ended."""
        with self._lock:
            self._finalizer()
            self._handle = 0

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __call__(
        self, /, *arrays: Array, out: Optional[Arrays] = None, stream: Any = None, **named: Array
    ) -> Outputs:
        """Runs the model, as a call of a Library does."""
        return self.call(arrays, named, out, stream)

    def call(
        self,
        arrays: Sequence[Array],
        named: Mapping[str, Array],
        out: Optional[Arrays] = None,
        stream: Any = None,
    ) -> Outputs:
        """As a call, with the inputs by position and by name apart."""
        short = self._quick
        if short is not None and stream is None:
            if named:
                arrays, named = self._arranged(arrays, named), {}
            done = short.call(self, arrays, out)
            if done is not None:
                return done  # type: ignore[no-any-return]
        if named or len(arrays) != self._count or (arrays and type(arrays[0]) is not np.ndarray):
            arrays = self._arranged(arrays, named)
        if self._model.device >= 0 or stream is not None:
            if stream is not None or any(map(_tensors.is_device_tensor, arrays)):
                return self._call_device(arrays, out, stream)
        with self._lock:
            kept = self._take_inputs(arrays)
            if out is not None:
                values, small = self._take_outputs(out, kept)
                self._execute(self._in_at, self._out_at)
                for value, memory in small:
                    value[...] = memory if value.dtype == memory.dtype else memory.view(np.uint16)
            else:
                values = self._fresh_outputs()
                self._execute(self._in_at, self._out_at)
                for i, _, _, memory, _ in self._gives:
                    if memory is not None:
                        values[i] = memory.copy()
            if self._cut is not None:
                values = self._cut(values, out is None)
        del kept
        return self._type(values)

    def _arranged(self, arrays: Sequence[Array], named: Mapping[str, Array]) -> Sequence[Array]:
        if not arrays and len(named) == self._count:
            try:
                return [named[name] for name in self._names]
            except KeyError:
                pass  # said below
        return arranged_inputs(self._model.inputs, arrays, named)

    def _take_inputs(self, arrays: Sequence[Array]) -> List[Any]:
        """Fills the table of inputs. Returns what must stay until the end of the run."""
        kept: List[Any] = []
        table = self._in
        for array, (i, dtype, shape, memory, address) in zip(arrays, self._takes):
            if type(array) is not np.ndarray or array.dtype != dtype or array.shape != shape:
                array = self._foreign(i, array, kept)
                if array is None:
                    continue
            if memory is not None:
                memory[...] = array
                table[i] = address
            elif array.flags.c_contiguous and array.dtype == dtype:
                table[i] = _tensors.address_of(array)
            else:
                self._copy(i, array)
        return kept

    def _copy(self, i: int, array: "np.ndarray[Any, Any]") -> None:
        if i not in self._copies:
            self._copies[i] = self._model.inputs[i].empty()
        self._copies[i][...] = array
        self._in[i] = _tensors.address_of(self._copies[i])

    def _foreign(self, i: int, value: Any, kept: List[Any]) -> Optional["np.ndarray[Any, Any]"]:
        """An array of what is not a plain one; None if the table has its address already."""
        info = self._model.inputs[i]
        if isinstance(value, np.ndarray) or not hasattr(value, "__dlpack_device__"):
            array = to_numpy(info, value)
            kept.append(array)
            return array
        view = checked_view("input", info, value)
        if view.device[0] not in (_tensors.CPU, _tensors.CUDA_HOST, _tensors.CUDA_MANAGED):
            raise InputError(
                f"input {info.name!r} is in the memory of a device, but the library runs on the "
                "CPU: copy it to the host, or compile for target 'cuda'"
            )
        if not view.contiguous:
            return to_numpy(info, np.from_dlpack(value))
        kept.append(view.owner)
        self._in[i] = view.address
        return None

    def _fresh_outputs(self) -> List[Any]:
        values: List[Any] = []
        for i, info, size, memory, address in self._gives:
            if memory is None:
                memory, address = _tensors.aligned(size, info.shape, info.dtype)
            self._out[i] = address
            values.append(memory)
        return values

    def _take_outputs(self, out: Arrays, kept: List[Any]) -> Tuple[List[Any], List[Any]]:
        """The caller's buffers, and those of small arrays with what they get after the run."""
        values = arranged("output", self._model.outputs, out)
        small: List[Any] = []
        for value, (i, info, _, memory, address) in zip(values, self._gives):
            if memory is not None and type(value) is np.ndarray:
                check_writable(info, value)
                if any(value is other for other, _ in small):
                    raise InputError(f"output {info.name!r}: its buffer overlaps another output")
                small.append((value, memory))
                self._out[i] = address
            else:
                self._out[i], owner = writable_address(info, value)
                kept.append(owner)
        if len(small) < len(values):
            self._check_apart(self._in, self._out)
        return values, small

    def _check_apart(self, inputs: Any, outputs: Any) -> None:
        others = list(zip(inputs, self._in_sizes))
        for begin, size in zip(outputs, self._out_sizes):
            for other, length in others:
                if begin < other + length and other < begin + size and size and length:
                    raise InputError("the buffer of an output overlaps an input or another output")
            others.append((begin, size))

    def _execute(self, inputs: int, outputs: int) -> None:
        if not self._handle or self._process != _forks.generation:
            self._check_usable()
        status = self._run(self._handle, inputs, outputs)
        if status != 0:
            raise self._model.error_of_run(status, self._handle)

    def _check_usable(self) -> None:
        if not self._handle:
            raise UsageError("the session is closed: open another one with library.session()")
        raise UsageError(
            "the session was opened before this process forked, and its threads are in the parent "
            "alone: open a session in this process"
        )

    def _call_device(self, arrays: Sequence[Array], out: Optional[Arrays], stream: Any) -> Outputs:
        """Queues a run on the caller's stream."""
        if self._model.device < 0:
            raise UsageError("the library runs on the CPU and takes no stream")
        if out is None:
            raise InputError(
                "tensors in the memory of a GPU need out=: give a tensor for each output, and the "
                "same ones again for later runs, which are faster"
            )
        binding = Binding(self, arrays, out, stream)
        binding.run(stream)
        return binding.outputs

    def run_addresses(self, inputs: Sequence[int], outputs: Sequence[int], stream: int) -> None:
        """Queues a run on memory of the GPU, of which the caller knows that it fits the model."""
        with self._lock:
            self._in[: len(inputs)] = inputs
            self._out[: len(outputs)] = outputs
            if not self._handle or self._process != _forks.generation:
                self._check_usable()
            status = self._model.api.run_device(self._handle, stream, self._in_at, self._out_at)
            if status != 0:
                raise self._model.error_of_run(status, self._handle)

    def bind(self, inputs: Arrays, outputs: Optional[Arrays] = None) -> "Binding":
        """Prepares a run that takes and gives the same memory each time.

        Arrays must be contiguous and of the model's types. Without `outputs`, arrays are made for
        them; tensors in the memory of a GPU need outputs there, too.
        """
        if isinstance(inputs, Mapping):
            return Binding(self, arranged("input", self._model.inputs, inputs), outputs, None)
        values = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
        return Binding(self, arranged("input", self._model.inputs, tuple(values)), outputs, None)

    def time(self, runs: int, /, *arrays: Array, **named: Array) -> List[float]:
        """Seconds of each of `runs` runs without pause, timed inside of the library."""
        times = (ctypes.c_double * max(1, runs))()
        arrays = tuple(arranged_inputs(self._model.inputs, arrays, named))
        with self._lock:
            kept = self._take_inputs(arrays)
            values = self._fresh_outputs()
            if not self._handle or self._process != _forks.generation:
                self._check_usable()
            status = self._model.api.run_timed(
                self._handle, self._in_at, self._out_at, runs, ctypes.addressof(times)
            )
            if status != 0:
                raise self._model.error_of_run(status, self._handle)
        del kept, values
        return [time / 1e9 for time in times[:runs]]


class Binding:
    """A run with prepared addresses: write to `inputs`, call `run`, read `outputs`."""

    def __init__(
        self, session: Session, inputs: Sequence[Array], out: Optional[Arrays], stream: Any
    ) -> None:
        model = session._model
        self._session = session
        self._in, self._out = _table(len(model.inputs)), _table(len(model.outputs))
        self._in_at, self._out_at = ctypes.addressof(self._in), ctypes.addressof(self._out)
        self._kept: List[Any] = []
        #: The caller's input arrays.
        self.inputs: Tuple[Array, ...] = tuple(inputs)
        self._on_device = model.device >= 0 and any(map(_tensors.is_device_tensor, inputs))
        if self._on_device:
            values = self._bind_device(out, _tensors.stream_handle(stream))
        else:
            values = self._bind_host(out)
        session._check_apart(self._in, self._out)
        self._values = values
        #: The outputs, written by each run; it sets them anew if their shapes depend on data.
        self.outputs: Outputs = model.outputs_type(values)

    def _bind_host(self, out: Optional[Arrays]) -> List[Any]:
        model = self._session._model
        for i, (info, value) in enumerate(zip(model.inputs, self.inputs)):
            if not isinstance(value, np.ndarray):
                if not hasattr(value, "__dlpack_device__") or _tensors.is_device_tensor(value):
                    raise InputError(f"input {info.name!r}: only an array can be bound")
                view = checked_view("input", info, value)
                contiguous, self._in[i] = view.contiguous, view.address
                self._kept.append(view.owner)
            else:
                array = to_numpy(info, value)
                contiguous = array.flags.c_contiguous and array.dtype == info.dtype
                self._in[i] = _tensors.address_of(array)
            if not contiguous:
                raise InputError(f"input {info.name!r}: only a contiguous array can be bound")
        if out is None:
            out = [info.empty() for info in model.outputs]
        values = arranged("output", model.outputs, out)
        for i, (info, value) in enumerate(zip(model.outputs, values)):
            self._out[i], owner = writable_address(info, value)
            self._kept.append(owner)
        return values

    def _bind_device(self, out: Optional[Arrays], stream: int) -> List[Any]:
        model = self._session._model
        if out is None:
            raise InputError("tensors in the memory of a GPU need outputs there, too")
        values = arranged("output", model.outputs, out)
        for what, infos, given, table in (
            ("input", model.inputs, self.inputs, self._in),
            ("output", model.outputs, values, self._out),
        ):
            for i, (info, value) in enumerate(zip(infos, given)):
                if not _tensors.is_device_tensor(value):
                    raise InputError(
                        f"{what} {info.name!r} is not in the memory of a GPU, but others are"
                    )
                view = checked_view(what, info, value, stream or 1)  # 1: the default stream
                if view.device[1] != model.device and view.device[0] == _tensors.CUDA:
                    raise InputError(
                        f"{what} {info.name!r} is on GPU {view.device[1]}, the model on GPU "
                        f"{model.device}"
                    )
                if not view.contiguous or view.address % 16 != 0:
                    raise InputError(
                        f"{what} {info.name!r} is not contiguous, or not aligned to 16 bytes"
                    )
                table[i] = view.address
                self._kept.append(view.owner)
        return values

    def run(self, stream: Any = None) -> None:
        """Runs the model. With tensors on a GPU, queues the run on the stream and returns."""
        session = self._session
        with session._lock:
            if not self._on_device:
                session._execute(self._in_at, self._out_at)
                if session._cut is not None:
                    self.outputs = session._model.outputs_type(session._cut(self._values, False))
                return
            if not session._handle or session._process != _forks.generation:
                session._check_usable()
            handle = _tensors.stream_handle(stream)
            status = session._model.api.run_device(
                session._handle, handle, self._in_at, self._out_at
            )
            if status != 0:
                raise session._model.error_of_run(status, session._handle)
