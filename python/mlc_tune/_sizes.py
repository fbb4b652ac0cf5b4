"""Libraries of several sizes: each run has the sizes of its inputs."""

from __future__ import annotations

import ctypes
import threading
import weakref
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from . import _abi, _forks, _tensors
from ._arguments import Array, Arrays, Outputs, arranged, arranged_inputs
from ._counted import Cut
from ._errors import InputError, UsageError
from ._model import OpenModel
from ._session import Binding, Session

Shapes = Tuple[Tuple[int, ...], ...]
Row = Tuple[int, ...]

# Sessions of a library that takes ranges; the one that was made first goes.
_MOST_SESSIONS = 64


def _shape_of(value: Any) -> Tuple[int, ...]:
    if hasattr(value, "shape"):
        return tuple(value.shape)
    if hasattr(value, "__dlpack_device__"):
        return _tensors.view_of("an input", value).shape
    return np.shape(value)


class _Handle:
    """A session of the library, which the sessions of all sizes share."""

    def __init__(self, model: OpenModel, threads: int) -> None:
        self.process = _forks.generation
        self.lock = threading.Lock()
        self.value = model.create_session(threads)
        self.release = weakref.finalize(self, model.destroy_session, self.value, self.process)
        self.release.atexit = False


class _KeptCut(Cut):
    """Knows the shapes of this combination's last run when the session has run at another one."""

    def __init__(self, cut: Cut) -> None:
        self._cut = cut
        self._kept: List[Tuple[int, ...]] = []

    def keep(self) -> None:
        self._kept = self._cut.shapes()

    def shapes(self) -> List[Tuple[int, ...]]:
        return self._kept


class _PlanApi:
    """The interface at one combination of sizes, which each run sets first."""

    cut: Optional[_KeptCut] = None

    def __init__(self, api: _abi.Api, handle: _Handle, row: Tuple[int, ...]) -> None:
        self._api = api
        self._set = api.sizes.contents.set_sizes
        self._handle = handle
        self._row = (ctypes.c_int64 * len(row))(*row)

    def _at_sizes(self, run: Any, session: int, *arguments: Any) -> int:
        with self._handle.lock:
            status: int = self._set(session, self._row) or run(session, *arguments)
            if status == 0 and self.cut is not None:
                self.cut.keep()
            return status

    def run(self, session: int, inputs: int, outputs: int) -> int:
        return self._at_sizes(self._api.run, session, inputs, outputs)

    def run_timed(self, session: int, inputs: int, outputs: int, runs: int, times: int) -> int:
        return self._at_sizes(self._api.run_timed, session, inputs, outputs, runs, times)


class _Plan:
    """What a session needs of the model, at one combination of sizes."""

    def __init__(self, model: OpenModel, handle: _Handle, row: Tuple[int, ...]) -> None:
        self.api = _PlanApi(model.api, handle, row)
        self._handle = handle
        self.inputs, self.outputs = model.ports_at(handle.value, row)
        self.outputs_type = model.outputs_type
        self._cut_of = model.cut_of
        self.device = model.device
        self.check_process = model.check_process
        self.error_of_run = model.error_of_run

    def cut_of(self, session: int) -> Optional[Cut]:
        cut = self._cut_of(session)
        self.api.cut = None if cut is None else _KeptCut(cut)
        return self.api.cut

    def create_session(self, threads: int) -> int:
        return self._handle.value

    def destroy_session(self, handle: int, process: int) -> None:
        """The session is the others', too."""


class SizedSession(Session):
    """As Session, of a library of several sizes: a run has the sizes of its inputs."""

    def __init__(self, model: OpenModel, threads: int = 0) -> None:
        if not 0 <= threads <= _abi.MAX_THREADS:
            raise UsageError(f"threads is {threads}: give 0 (as compiled) to {_abi.MAX_THREADS}")
        self._model = model
        self._shared: Optional[_Handle] = _Handle(model, threads)
        self._process = self._shared.process
        self._rows: Dict[Shapes, Tuple[int, ...]] = {}
        for row in model.sizes:
            inputs, _ = model.ports_at(self._shared.value, row)
            self._rows[tuple(info.shape for info in inputs)] = row
        self._sessions: Dict[Tuple[int, ...], Session] = {}
        self._axes = self._axes_of_dims() if any(model.ranges) else ()

    def close(self) -> None:
        """Releases memory and threads, after a run of another thread has ended."""
        for session in list(self._sessions.values()):
            session.close()
        self._sessions.clear()
        if self._shared is not None:
            self._shared.release()
        self._shared = None

    def call(
        self,
        arrays: Sequence[Array],
        named: Mapping[str, Array],
        out: Optional[Arrays] = None,
        stream: Any = None,
    ) -> Outputs:
        """As a call, with the inputs by position and by name apart."""
        given = arranged_inputs(self._model.inputs, arrays, named)
        return self._at(given).call(given, {}, out, stream)

    def bind(self, inputs: Arrays, outputs: Optional[Arrays] = None) -> Binding:
        """Prepares a run, at the sizes of the inputs, with the same memory each time."""
        if not isinstance(inputs, (Mapping, tuple, list)):
            inputs = (inputs,)
        given = arranged("input", self._model.inputs, inputs)
        return self._at(given).bind(given, outputs)

    def time(self, runs: int, /, *arrays: Array, **named: Array) -> List[float]:
        """Seconds of each of `runs` runs without pause, timed inside of the library."""
        given = arranged_inputs(self._model.inputs, arrays, named)
        return self._at(given).time(runs, *given)

    def _at(self, arrays: Sequence[Array]) -> Session:
        """The session of the arrays' sizes."""
        if self._shared is None:
            raise UsageError("the session is closed: open another one with library.session()")
        if self._process != _forks.generation:
            raise UsageError(
                "the session was opened before this process forked, and its threads are in the "
                "parent alone: open a session in this process"
            )
        shapes = tuple(map(_shape_of, arrays))
        row = self._rows.get(shapes) or self._row_in_range(shapes)
        if row is None:
            raise InputError(self._no_plan(shapes))
        session = self._sessions.get(row)
        if session is None:
            # Another thread may run at other sizes; both ask the session for ports of these.
            with self._shared.lock:
                plan: Any = _Plan(self._model, self._shared, row)
                made = Session(plan)
            while len(self._sessions) >= max(_MOST_SESSIONS, len(self._rows)):
                self._sessions.pop(next(iter(self._sessions)), None)
            session = self._sessions.setdefault(row, made)
        return session

    def _shapes_at(self, row: Row) -> Shapes:
        assert self._shared is not None
        inputs, _ = self._model.ports_at(self._shared.value, row)
        return tuple(info.shape for info in inputs)

    def _axes_of_dims(self) -> Tuple[Tuple[int, int], ...]:
        """Of each dimension, an input and its axis that has its size."""
        first, last = self._model.sizes[0], self._model.sizes[-1]
        least = tuple(
            limits[0] if limits else first[d] for d, limits in enumerate(self._model.ranges)
        )
        small = self._shapes_at(least)
        axes = []
        for d in range(len(least)):
            row = least[:d] + (last[d],) + least[d + 1 :]
            large = self._shapes_at(row)
            axes.append(
                next(
                    (i, a)
                    for i, shape in enumerate(small)
                    for a, size in enumerate(shape)
                    if size == least[d] and large[i][a] == row[d]
                )
            )
        return tuple(axes)

    def _row_in_range(self, shapes: Shapes) -> Optional[Row]:
        """The sizes of inputs of these shapes; None if the library has none."""
        if not self._axes or len(shapes) != len(self._model.inputs):
            return None
        if any(len(s) != len(info.shape) for s, info in zip(shapes, self._model.inputs)):
            return None
        row = tuple(shapes[i][a] for i, a in self._axes)
        for d, limits in enumerate(self._model.ranges):
            if limits is None and row[d] not in {known[d] for known in self._model.sizes}:
                return None
            if limits is not None and not limits[0] <= row[d] <= limits[1]:
                return None
        assert self._shared is not None
        with self._shared.lock:
            return row if self._shapes_at(row) == shapes else None

    def _no_plan(self, shapes: Shapes) -> str:
        given = ", ".join(
            f"{info.name} [{','.join(map(str, shape))}]"
            for info, shape in zip(self._model.inputs, shapes)
        )
        sizes = "; ".join(
            f"{name} {self._sizes_text(i)}" for i, name in enumerate(self._model.dims)
        )
        return f"the library has no plan for inputs of these shapes: {given}; its sizes: {sizes}"

    def _sizes_text(self, dim: int) -> str:
        limits = self._model.ranges[dim]
        if limits is not None:
            return f"{limits[0]} to {limits[1]}"
        return ", ".join(map(str, sorted({row[dim] for row in self._model.sizes})))


def make_session(model: OpenModel, threads: int) -> Session:
    """A session of a library of one size or of several."""
    return SizedSession(model, threads) if model.sizes else Session(model, threads)
