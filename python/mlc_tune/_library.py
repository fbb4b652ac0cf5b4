"""Compiled models: a library is loaded once and called by any number of threads."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from . import _forks
from ._arguments import Array, Arrays, Outputs
from ._errors import DataError, UnavailableError, UsageError
from ._model import OpenModel
from ._programs import PathLike
from ._session import Session
from ._sizes import make_session
from ._tensors import TensorInfo


def _files_of(path: str) -> Tuple[str, Optional[str]]:
    """The shared library and its weights file of a folder or a library's path."""
    if os.path.isdir(path):
        found = sorted(pathlib.Path(path).glob("lib*.so"))
        if not found:
            raise DataError(
                f"no compiled model in '{path}': mlc_tune.compile(model, output=...) makes one"
            )
        if len(found) > 1:
            raise DataError(f"'{path}' holds several libraries: give the path of one")
        library = found[0]
    else:
        library = pathlib.Path(path)
    name = library.stem[3:] if library.stem.startswith("lib") else library.stem
    weights = library.with_name(name + ".weights")
    return str(library), str(weights) if weights.exists() else None


class Library:
    """A compiled model, loaded. Threads may call it at the same time.

    Call it with arrays in the model's order, by name, or with one dictionary. The result is a tuple
    that also takes names. `out` gives buffers for the outputs. On a GPU, tensors in its memory
    (by DLPack) run on `stream` and need `out`.

    Where the shape of an output depends on data, `outputs` has the most elements, a buffer of `out`
    has room for them, and the result has those that there are.
    """

    def __init__(
        self, path: PathLike, *, threads: int = 0, device: int = 0, owner: object = None
    ) -> None:
        self.path: str = os.fspath(path)
        self._threads = threads
        library, weights = _files_of(self.path)
        self._model: Optional[OpenModel] = OpenModel(library, weights, device, owner)
        self._process = _forks.generation
        self._idle: List[Session] = [make_session(self._model, threads)]
        #: Names, shapes and types of the inputs; of a library of several sizes, at the first ones.
        self.inputs: Tuple[TensorInfo, ...] = self._model.inputs
        #: Names, shapes and types of the outputs.
        self.outputs: Tuple[TensorInfo, ...] = self._model.outputs
        #: Sizes of a library of several sizes, by the names of the dimensions; empty if it has one.
        self.sizes: Tuple[Dict[str, int], ...] = tuple(
            dict(zip(self._model.dims, row)) for row in self._model.sizes
        )
        #: The least and the most size of each dimension that takes any size between them; `sizes`
        #: then has the classes that runs are padded to.
        self.ranges: Dict[str, Tuple[int, int]] = {
            name: limits
            for name, limits in zip(self._model.dims, self._model.ranges)
            if limits is not None
        }
        #: Number of the GPU; -1 for a library that runs on the CPU.
        self.device: int = self._model.device

    @property
    def report(self) -> Dict[str, Any]:
        """The report of mlc-compile: tasks with their configs and expected times, sizes."""
        folder = self.path if os.path.isdir(self.path) else os.path.dirname(self.path)
        try:
            with open(os.path.join(folder, "report.json"), encoding="utf-8") as file:
                document = json.load(file)
        except (OSError, ValueError) as error:
            raise DataError(f"cannot read report.json of the library: {error}") from error
        return dict(document)

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, ports)) for ports in (self.inputs, self.outputs))
        return f"<mlc_tune.Library {self.path!r}: {inputs} -> {outputs}>"

    def __call__(
        self, /, *arrays: Array, out: Optional[Arrays] = None, stream: Any = None, **named: Array
    ) -> Outputs:
        """Runs the model. Threads that call at the same time get a session each."""
        return self.call(arrays, named, out, stream)

    def call(
        self,
        arrays: Sequence[Array],
        named: Mapping[str, Array],
        out: Optional[Arrays] = None,
        stream: Any = None,
    ) -> Outputs:
        """As a call, with the inputs by position and by name apart."""
        idle = self._idle
        try:
            session = idle.pop()
        except IndexError:
            session = self.session()
        if self._process != _forks.generation:
            session = self._after_fork()
        try:
            outputs = session.call(arrays, named, out, stream)
        except UnavailableError:  # a GPU failed: the session is of no more use
            session.close()
            raise
        except BaseException:
            idle.append(session)
            raise
        idle.append(session)
        return outputs

    def _after_fork(self) -> Session:
        """The threads of sessions are in the parent alone: this process takes new ones."""
        self._idle.clear()
        self._process = _forks.generation
        return self.session()

    def session(self, threads: Optional[int] = None) -> Session:
        """A new session: memory and threads of one runner."""
        if self._model is None:
            raise UsageError("the library is closed: load it again")
        return make_session(self._model, self._threads if threads is None else threads)

    def close(self) -> None:
        """Releases the library once its last session is closed."""
        self._model = None
        while self._idle:
            self._idle.pop().close()

    def __enter__(self) -> "Library":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def load(path: PathLike, *, threads: int = 0, device: int = 0) -> Library:
    """Loads a library from its folder, as `compile` wrote it, or from the path of its .so file.

    Loading runs code of the file: load only libraries that you trust. `threads` is the number of
    each session (0: as compiled), `device` the number of the GPU of a library for GPUs.
    """
    return Library(path, threads=threads, device=device)
