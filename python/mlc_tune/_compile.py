"""From a model to a library: mlc-compile."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, Optional, Sequence

from . import _programs
from ._constants import Constant
from ._library import Library
from ._options import (
    Model,
    ServerLike,
    Size,
    model_arguments,
    model_flags,
    path_flag,
    server_flags,
)
from ._programs import PathLike, flag
from ._temporary import TemporaryFolder


def compile_flags(
    *,
    log: Optional[PathLike] = None,
    server: Optional[ServerLike] = None,
    target: Optional[str] = None,
    threads: Optional[int] = None,
    dims: Optional[Mapping[str, Size]] = None,
    precision: Optional[str] = None,
    tolerance: Optional[float] = None,
    require_tuned: bool = False,
    reproducible: bool = False,
    transfer: Optional[bool] = None,
    locked: Optional[PathLike] = None,
    lock: Optional[PathLike] = None,
    skip_passes: Sequence[str] = (),
    weights: Optional[str] = None,
    name: Optional[str] = None,
) -> List[str]:
    """Flags of mlc-compile, in a fixed order; without model and output."""
    arguments = model_flags(dims, precision, tolerance, threads, target)
    arguments += path_flag("log", log) + server_flags(server)
    arguments += path_flag("locked", locked) + path_flag("lock", lock)
    if require_tuned:
        arguments.append("--require-tuned")
    if reproducible:
        arguments.append("--reproducible")
    if transfer is not None:
        arguments += flag("transfer", "on" if transfer else "off")
    for skipped in skip_passes:
        arguments += flag("skip-pass", skipped)
    return arguments + flag("weights", weights) + flag("name", name)


def run_compile(
    model: Model,
    arguments: Sequence[str],
    output: str,
    constants: Optional[Mapping[str, Constant]] = None,
) -> Dict[str, Any]:
    """Compiles into the folder `output` and returns the report."""
    with model_arguments(model, constants) as given:
        return _programs.run_json(
            "mlc-compile", [*given, *flag("output", output), *arguments, "--json"]
        )


def kernel_text(model: Model, arguments: Sequence[str]) -> str:
    """The kernels of the library that these arguments give. It takes a tenth of the time of a
    compilation."""
    with model_arguments(model, None) as given:
        return _programs.run("mlc-compile", [*given, *arguments, "--emit=ir"])


def compile(  # named as re.compile
    model: Model,
    *,
    output: Optional[PathLike] = None,
    log: Optional[PathLike] = None,
    server: Optional[ServerLike] = None,
    target: Optional[str] = None,
    threads: Optional[int] = None,
    dims: Optional[Mapping[str, Size]] = None,
    constants: Optional[Mapping[str, Constant]] = None,
    precision: Optional[str] = None,
    tolerance: Optional[float] = None,
    require_tuned: bool = False,
    reproducible: bool = False,
    transfer: Optional[bool] = None,
    locked: Optional[PathLike] = None,
    lock: Optional[PathLike] = None,
    skip_passes: Sequence[str] = (),
    weights: Optional[str] = None,
    name: Optional[str] = None,
    session_threads: int = 0,
    device: int = 0,
) -> Library:
    """Compiles a model and loads the library.

    `model` is a path, bytes or an onnx.ModelProto. Without `output` the library lies in a temporary
    folder, which goes with it. `session_threads` and `device` are `threads` and `device` of `load`.
    `constants` are values by the names of inputs that have them in every run, such as a shape, and
    are no inputs of the library: numbers, which get the type and shape that the model declares, an
    array, or the path of an .npy or .pb file.
    All others are the flags of mlc-compile; None leaves the choice to it.
    """
    arguments = compile_flags(
        log=log,
        server=server,
        target=target,
        threads=threads,
        dims=dims,
        precision=precision,
        tolerance=tolerance,
        require_tuned=require_tuned,
        reproducible=reproducible,
        transfer=transfer,
        locked=locked,
        lock=lock,
        skip_passes=skip_passes,
        weights=weights,
        name=name,
    )
    temporary = None
    if output is None:
        temporary = TemporaryFolder()
        output = os.path.join(temporary.path, name or "model")
    run_compile(model, arguments, os.fspath(output), constants)
    return Library(output, threads=session_threads, device=device, owner=temporary)
