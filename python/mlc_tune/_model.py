"""An opened model, which its sessions share and keep."""

from __future__ import annotations

import ctypes
import os
import weakref
from typing import Any, Optional, Tuple

from . import _abi, _forks, _tensors
from ._arguments import outputs_type
from ._counted import Cut, cut_of
from ._errors import ConfigurationError


Ports = Tuple[_tensors.TensorInfo, ...]


class OpenModel:
    """A model of a loaded library. It does not change; it closes with its last reference."""

    def __init__(self, path: str, weights: Optional[str], device: int, owner: object) -> None:
        loaded = _abi.LoadedObject(path)
        self.api = api = loaded.api
        handle = ctypes.c_void_p()
        said = ctypes.create_string_buffer(1024)
        options = _abi.OpenOptions(
            os.fsencode(weights) if weights else None,
            device,
            ctypes.cast(said, ctypes.c_char_p),
            len(said),
        )
        status = api.open_with(ctypes.addressof(api), ctypes.byref(options), ctypes.byref(handle))
        if status != 0:
            text = said.value.decode("utf-8", "replace")
            error = _abi.error_of_status(api, status, f"cannot open '{path}'", text)
            loaded.unload()
            raise error
        self.path = path
        self.handle: int = handle.value or 0
        self.process = _forks.generation
        # At the end of the process the system takes everything: other threads may run the model.
        weakref.finalize(self, _close, api.close, self.handle, loaded, owner).atexit = False
        self.inputs = tuple(
            _tensors.info_of(api.input(self.handle, i).contents)
            for i in range(api.input_count(self.handle))
        )
        self.outputs = tuple(
            _tensors.info_of(api.output(self.handle, i).contents)
            for i in range(api.output_count(self.handle))
        )
        self.outputs_type = outputs_type(tuple(info.name for info in self.outputs))
        self.device: int = api.device(self.handle)
        #: Of a library of several sizes: names of the dimensions, and a row for each combination.
        self.dims: Tuple[str, ...] = ()
        self.sizes: Tuple[Tuple[int, ...], ...] = ()
        #: The least and the most size of each dimension; None: it has those of the rows alone.
        self.ranges: Tuple[Optional[Tuple[int, int]], ...] = ()
        if api.sizes:
            self._read_sizes(api.sizes.contents)

    def _read_sizes(self, sizes: _abi.SizesApi) -> None:
        count = sizes.dim_count
        self.dims = tuple(sizes.dims[d].name.decode("utf-8", "replace") for d in range(count))
        self.sizes = tuple(
            tuple(sizes.sizes[r * count : (r + 1) * count]) for r in range(sizes.size_count)
        )
        self.ranges = tuple(
            (sizes.dims[d].least, sizes.dims[d].most) if sizes.any_size >> d & 1 else None
            for d in range(count)
        )

    def ports_at(self, session: int, row: Tuple[int, ...]) -> Tuple[Ports, Ports]:
        """Inputs and outputs at one combination of sizes, which a session then has."""
        sizes = self.api.sizes.contents
        status = sizes.set_sizes(session, (ctypes.c_int64 * len(row))(*row))
        if status != 0:
            raise self.error_of_run(status, session)
        inputs = range(len(self.inputs))
        outputs = range(len(self.outputs))
        return (
            tuple(_tensors.info_of(sizes.input(session, i).contents) for i in inputs),
            tuple(_tensors.info_of(sizes.output(session, i).contents) for i in outputs),
        )

    def create_session(self, threads: int) -> int:
        handle = ctypes.c_void_p()
        options = _abi.SessionOptions(threads)
        status = self.api.create_session(self.handle, ctypes.byref(options), ctypes.byref(handle))
        if status != 0:
            raise _abi.error_of_status(self.api, status, "cannot create a session")
        return handle.value or 0

    def cut_of(self, session: int) -> Optional[Cut]:
        """What takes the elements that there are from outputs whose shape depends on data."""
        return cut_of(self.api, self.handle, session)

    def destroy_session(self, handle: int, process: int) -> None:
        # After a fork, the threads of a session are in the parent alone: to wait for them never
        # ends. `process` is the one that made the session.
        if process == _forks.generation:
            self.api.destroy_session(handle)

    def check_process(self) -> None:
        if self.process != _forks.generation and self.device >= 0:
            raise ConfigurationError(
                f"'{self.path}' was loaded before this process forked, and the CUDA driver does "
                "not work after a fork: load it in this process, or start processes by 'spawn'"
            )

    def error_of_run(self, status: int, handle: int) -> Exception:
        text = (self.api.session_error(handle) or b"").decode("utf-8", "replace")
        return _abi.error_of_status(self.api, status, "the run failed", text)


def _close(close: Any, handle: int, loaded: _abi.LoadedObject, owner: object) -> None:
    close(handle)
    loaded.unload()
    del owner  # a temporary folder, for one
