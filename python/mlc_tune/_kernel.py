"""Kernels of one's own in Python: a decorator that tunes the parameters of a source in C or CUDA."""

from __future__ import annotations

import inspect
import json
import os
import pathlib
import re
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _kernel_cache
from ._errors import DataError, InputError, NoResultError, UnavailableError, UsageError
from ._kernel_library import KernelLibrary, entry_text
from ._kernel_spec import (
    Argument,
    Config,
    Extents,
    Interface,
    Space,
    argument_of,
    definitions,
    interface_of,
)
from ._options import ServerLike, path_flag, server_flags
from ._programs import PathLike, flag
from ._progress import Progress
from ._temporary import TemporaryFolder
from ._tune import TuneResult, follow

Reference = Callable[..., Any]
# Extents, or a function of the kernel's arguments that returns them.
Grid = Union[Extents, Callable[..., Extents]]
Signature = Tuple[Argument, ...]


@dataclass(frozen=True)
class TunedKernel:
    """The fastest values that are known for arguments of given shapes, types and numbers."""

    config: Config
    time_ms: float
    default_ms: float  # with the default values
    job: Optional[TuneResult] = field(repr=False)  # None: the values are from the cache
    specification: Dict[str, Any] = field(repr=False)
    source: str = field(repr=False)  # with the values as macros
    _signature: Signature = field(repr=False)
    _outputs: Sequence[Tuple[Tuple[int, ...], str]] = field(repr=False)
    _library: Optional[KernelLibrary] = field(repr=False)

    @property
    def header(self) -> str:
        """The values as macros of C."""
        return definitions(self.config)

    def __call__(self, *arguments: Any) -> Any:
        """Executes the kernel on the CPUs of this machine: an array, or a tuple of several.

        InputError for other arguments than it was tuned for, UnavailableError for CUDA.
        """
        if self._library is None:
            raise UnavailableError(
                "a kernel in CUDA is not called from Python: use its source, or its header"
            )
        names = [a.name for a in self._signature]
        if len(arguments) != len(names):
            raise InputError(f"the kernel takes {', '.join(names)}: {len(arguments)} are given")
        given = [argument_of(name, value) for name, value in zip(names, arguments)]
        for got, wanted in zip(given, self._signature):
            if got != wanted:
                raise InputError(f"the kernel was tuned for {wanted}, and gets {got}")
        arrays = [a for a in arguments if isinstance(a, np.ndarray)]
        made = self._library.run(arrays, self._outputs)
        return made[0] if len(made) == 1 else tuple(made)


class Kernel:
    """A source with tunable parameters and the function that says what it computes.

    A call executes the fastest known values for its arguments. The first call with other shapes,
    types or numbers takes them from the cache of this machine, or tunes. Not thread-safe while it
    tunes.
    """

    def __init__(
        self,
        reference: Reference,
        space: Space,
        grid: Grid,
        block: Optional[Grid],
        shared: Union[int, str],
        tolerance: float,
        tuning: Mapping[str, Any],
    ) -> None:
        self._space = space
        self._grid, self._block, self._shared = grid, block, shared
        self._tolerance = tolerance
        self._tuning = dict(tuning)
        self._tuned: Dict[Signature, TunedKernel] = {}
        #: The function that says what the kernel computes, in NumPy.
        self.reference = reference
        self.__name__ = space.name
        self.__doc__ = reference.__doc__

    def __repr__(self) -> str:
        return f"<mlc_tune.Kernel {self._space.name}, {self._space.language}>"

    def __call__(self, *arguments: Any) -> Any:
        """Executes the kernel, which is tuned before if it is not."""
        names = self._names(arguments)
        signature = tuple(argument_of(n, v) for n, v in zip(names, arguments))
        if signature not in self._tuned and not self._recall(signature, arguments):
            self.tune(*arguments)
        return self._tuned[signature](*arguments)

    def specification(self, *arguments: Any) -> Dict[str, Any]:
        """What `mlc-tune --kernel` reads, for arguments like these."""
        return self._specify(arguments)[1]

    def tune(
        self,
        *arguments: Any,
        trials: Optional[int] = None,
        log: Optional[PathLike] = None,
        server: Optional[ServerLike] = None,
        target: Optional[str] = None,
        threads: Optional[int] = None,
        time_budget: Optional[str] = None,
        seed: Optional[int] = None,
        fresh: bool = False,
        progress: Progress = True,
    ) -> TunedKernel:
        """Tunes for arguments like these, and checks the winner with them if it runs here.

        Options that are None are those of the decorator. What the log knows is not measured again.
        """
        given = {"trials": trials, "log": log, "server": server, "target": target,
                 "threads": threads, "time_budget": time_budget, "seed": seed}  # fmt: skip
        options = {**self._tuning, **{k: v for k, v in given.items() if v is not None}}
        interface, specification, grid = self._specify(arguments)
        flags = flag("trials", options.get("trials")) + flag("target", options.get("target"))
        flags += flag("threads", options.get("threads")) + flag("seed", options.get("seed"))
        flags += flag("time-budget", options.get("time_budget")) + (["--fresh"] if fresh else [])
        flags += path_flag("log", options.get("log")) + server_flags(options.get("server"))
        folder = TemporaryFolder()
        path = os.path.join(folder.path, f"{self._space.name}.json")
        pathlib.Path(path).write_text(json.dumps(specification), encoding="utf-8")
        job = follow([f"--kernel={path}", *flags], progress, options.get("server") is not None)
        (task,) = job.tasks
        if not task.get("config"):
            raise NoResultError(f"no values of {self._space.name} gave a correct kernel")
        found = {
            "config": task["config"].split(" entry=")[0],
            "best_ns": task["best_ns"],
            "default_ms": job.default_model_ms,
        }
        tuned = self._made(job, found, interface, specification, grid, options)
        if tuned._library is not None:
            self._check(tuned, arguments)
        _kernel_cache.store(specification, options, found)
        self._tuned[tuned._signature] = tuned
        return tuned

    def _recall(self, signature: Signature, arguments: Sequence[Any]) -> bool:
        """Takes the values that an earlier process found."""
        interface, specification, grid = self._specify(arguments)
        found = _kernel_cache.load(specification, self._tuning)
        if found is None:
            return False
        made = self._made(None, found, interface, specification, grid, self._tuning)
        self._tuned[signature] = made
        return True

    def _names(self, arguments: Sequence[Any]) -> List[str]:
        try:
            bound = inspect.signature(self.reference).bind(*arguments)
        except TypeError as error:
            raise UsageError(f"{self._space.name}: {error}") from error
        names: List[str] = []
        for name, value in bound.arguments.items():
            several = inspect.signature(self.reference).parameters[name].kind is (
                inspect.Parameter.VAR_POSITIONAL
            )
            names += [f"{name}{i}" for i in range(len(value))] if several else [name]
        return names

    def _specify(self, arguments: Sequence[Any]) -> Tuple[Interface, Dict[str, Any], Extents]:
        names = self._names(arguments)
        interface = interface_of(self.reference, names, arguments, self._tolerance)
        grid = self._grid(*arguments) if callable(self._grid) else self._grid
        block = self._block(*arguments) if callable(self._block) else self._block
        return interface, self._space.to_json(interface, grid, block, self._shared), grid

    def _made(
        self,
        job: Optional[TuneResult],
        found: Mapping[str, Any],
        interface: Interface,
        specification: Dict[str, Any],
        grid: Extents,
        options: Mapping[str, Any],
    ) -> TunedKernel:
        config = self._space.config_of(found["config"])
        source = definitions(config)
        library = None
        if self._space.language == "C":
            blocks = self._space.blocks_of(config, interface, grid)
            for axis, count in zip("xyz", blocks):
                source += f"#define grid_size_{axis} {count}\n"
            source += f'#line 1 "{self._space.name}.c"\n{self._space.source}'
            calls = _calls(interface)
            whole = source + entry_text(self._space.name, blocks, calls)
            count = blocks[0] * blocks[1] * blocks[2]
            library = KernelLibrary(whole, self._space.options, count, options.get("threads") or _cpus())
        else:
            source += self._space.source
        return TunedKernel(
            config=config,
            time_ms=found["best_ns"] / 1e6,
            default_ms=found["default_ms"],
            job=job,
            specification=specification,
            source=source,
            _signature=_signature(interface),
            _outputs=interface.outputs,
            _library=library,
        )

    def _check(self, tuned: TunedKernel, arguments: Sequence[Any]) -> None:
        """Compares the winner with the reference, called by NumPy on the caller's own arrays."""
        got, wanted = tuned(*arguments), self.reference(*arguments)
        got = got if isinstance(got, tuple) else (got,)
        wanted = wanted if isinstance(wanted, (tuple, list)) else (wanted,)
        for i, (one, other) in enumerate(zip(got, wanted)):
            other = np.asarray(other)
            scale = float(np.max(np.abs(other), initial=0)) or 1.0
            error = float(np.max(np.abs(one.astype(float) - other), initial=0)) / scale
            bound = max(self._tolerance, 8 * float(np.finfo(one.dtype).eps)) if (
                one.dtype.kind == "f") else 0.0  # fmt: skip
            if one.shape != other.shape or not error <= bound:
                raise DataError(
                    f"{self._space.name} with {tuned.config} gives output {i} of {other.shape} with "
                    f"an error of {error:.3g}, more than the tolerance {bound:.3g}: for these "
                    "arguments it computes something else than on the random inputs of the tuning"
                )


def _signature(interface: Interface) -> Signature:
    """The arguments without the outputs, as a call has them."""
    inputs = [a for a in interface.arguments if not a.is_output]
    return tuple(Argument(a.name, a.type, a.shape, a.value) for a in inputs)


def _calls(interface: Interface) -> List[str]:
    """Arguments of the call in C. Buffers are inputs in the order of arguments, then outputs."""
    inputs = sum(not a.is_output and a.shape is not None for a in interface.arguments)
    calls, place = [], 0
    for argument in interface.arguments:
        calls.append(argument.call_text(inputs + argument.operand if argument.is_output else place))
        place += argument.shape is not None and not argument.is_output
    return calls


def _cpus() -> int:
    return len(os.sched_getaffinity(0))


def _read(source: PathLike) -> Tuple[str, str]:
    """The text, and the language: by the name of the file, or by what it says."""
    name = os.fspath(source)
    if "\n" not in name and name.endswith((".c", ".cu", ".cuh")):
        try:
            text = pathlib.Path(name).read_text(encoding="utf-8")
        except OSError as error:
            raise DataError(f"cannot read the source {name}: {error.strerror}") from error
        return text, "C" if name.endswith(".c") else "CUDA"
    return name, "CUDA" if re.search(r"\b__global__\b", name) else "C"


def kernel(
    source: PathLike,
    *,
    parameters: Mapping[str, Sequence[Any]],
    grid: Grid,
    block: Optional[Grid] = None,
    restrictions: Sequence[str] = (),
    defaults: Optional[Mapping[str, Any]] = None,
    shared: Union[int, str] = 0,
    name: Optional[str] = None,
    options: Sequence[str] = (),
    tolerance: float = 1e-4,
    trials: int = 100,
    log: Optional[PathLike] = None,
    server: Optional[ServerLike] = None,
    target: Optional[str] = None,
    threads: Optional[int] = None,
) -> Callable[[Reference], Kernel]:
    """Decorates the reference of a kernel in C or CUDA: a function that says in NumPy what it computes.

    `source` is the text or a file (.c, .cu). The kernel takes the arguments of the reference, then
    pointers to what it returns; `parameters` are its macros with their values. `grid`, `block` (CUDA),
    `shared` and `restrictions` are expressions of parameters and numbers among the arguments; the
    first two may be functions of the arguments that return them. `options` are for the C compiler.
    The last five are what `Kernel.tune` takes unless it is told otherwise.
    """

    def decorate(reference: Reference) -> Kernel:
        text, language = _read(source)
        unknown = set(defaults or {}) - set(parameters)
        if unknown:
            raise UsageError(f"defaults of no parameter: {', '.join(sorted(unknown))}")
        if language == "CUDA" and block is None:
            raise UsageError("a kernel in CUDA needs the threads of a block: block=")
        space = Space(
            name=name or reference.__name__,
            source=text,
            language=language,
            parameters=dict(parameters),
            restrictions=tuple(restrictions),
            defaults=dict(defaults or {}),
            options=tuple(options),
        )
        tuning = {"trials": trials, "log": log, "server": server, "target": target,
                  "threads": threads}  # fmt: skip
        return Kernel(reference, space, grid, block, shared, tolerance, tuning)

    return decorate
