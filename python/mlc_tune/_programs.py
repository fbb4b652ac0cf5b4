"""Finds and runs the programs: ``mlc-compile``, ``mlc-tune``, ``mlc-log``.

Places, in order: the folder ``MLC_BIN``, ``bin`` beside this file (a wheel has it), ``PATH``.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
from typing import Any, Dict, List, Optional, Sequence, Union

from ._errors import Error, InternalError, UnavailableError, error_of

PathLike = Union[str, "os.PathLike[str]"]


def program(name: str) -> str:
    """Path of a program. UnavailableError if it is nowhere."""
    folder = os.environ.get("MLC_BIN")
    if folder:
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK):
            return path
        raise UnavailableError(
            f"there is no program {name} in the folder that MLC_BIN names, {folder!r}: "
            "correct or unset the variable"
        )
    beside = pathlib.Path(__file__).parent / "bin" / name
    if os.access(beside, os.X_OK):
        return str(beside)
    found = shutil.which(name)
    if found is None:
        raise UnavailableError(
            f"the program {name} is neither beside the package nor on PATH: install the wheel of "
            "mlc-tune, or set MLC_BIN to the folder with the programs"
        )
    return found


def message_of(name: str, code: int, stderr: str) -> str:
    """What a program said about its failure, without remarks that it made before."""
    lines = stderr.rstrip().splitlines()
    own = [i for i, line in enumerate(lines) if line.startswith(f"{name}: ")]
    said = "\n".join(lines[own[-1] :] if own else lines)
    if code < 0:
        said = f"{name} was ended by signal {-code}" + (f": {said}" if said else "")
    return said or f"{name} ended with exit code {code} and said nothing"


def failure_of(name: str, code: int, stderr: str) -> Error:
    message = message_of(name, code, stderr)
    return InternalError(message) if code < 0 else error_of(code, message)


def start(name: str, arguments: Sequence[str], **options: Any) -> "subprocess.Popen[str]":
    """Starts a program in a session of its own: Ctrl-C on the terminal reaches Python alone, which
    then ends the program in its own way."""
    path = program(name)
    try:
        return subprocess.Popen(
            [path, *arguments],
            stdin=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
            **options,
        )
    except OSError as error:
        raise UnavailableError(f"cannot start {path}: {error.strerror}") from error


def run(name: str, arguments: Sequence[str]) -> str:
    """Standard output of a program. Raises the error of its exit code."""
    process = start(name, arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, err = process.communicate()
    except BaseException:  # KeyboardInterrupt: nothing stays behind
        process.terminate()
        process.communicate()
        raise
    if process.returncode != 0:
        raise failure_of(name, process.returncode, err)
    return out


def run_json(name: str, arguments: Sequence[str]) -> Dict[str, Any]:
    """The JSON document that a program prints."""
    out = run(name, arguments)
    try:
        document = json.loads(out)
    except ValueError as error:
        raise InternalError(f"{name} printed no JSON: {error}") from error
    if not isinstance(document, dict):
        raise InternalError(f"{name} printed JSON that is no object")
    return document


def flag(name: str, value: object) -> List[str]:
    """``--name=value``, or nothing for None. Joined, so that no value is taken for a flag."""
    return [] if value is None else [f"--{name}={value}"]


def version() -> str:
    """Version of the programs, such as ``1.0.0``."""
    words = run("mlc-compile", ["--version"]).split()
    return words[-1] if words else ""
