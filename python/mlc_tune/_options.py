"""Options that several programs share: the model, the device, the server."""

from __future__ import annotations

import contextlib
import os
import tempfile
from dataclasses import dataclass, fields
from typing import Any, Iterator, List, Mapping, Optional, Sequence, Union

from ._constants import Constant, constant_flags
from ._errors import UsageError
from ._programs import PathLike, flag

# A path, the bytes of a model, or an onnx.ModelProto.
Model = Any
# Of a dimension: one size, several, or text as mlc-compile takes it ("64..512:64").
Size = Union[int, Sequence[int], str]
# protobuf writes no message of 2 GiB or more.
_MOST_BYTES = 2**31 - 1


@dataclass(frozen=True)
class Server:
    """A server and how to reach it. What is None comes from the configuration file or MLC_*."""

    address: str
    tls_cert: Optional[PathLike] = None
    tls_key: Optional[PathLike] = None
    tls_ca: Optional[PathLike] = None
    tls_crl: Optional[PathLike] = None
    token_file: Optional[PathLike] = None
    server_name: Optional[str] = None

    def flags(self) -> List[str]:
        """Its flags for a program."""
        arguments = flag("server", self.address)
        for field in fields(self)[1:]:
            arguments += path_flag(field.name.replace("_", "-"), getattr(self, field.name))
        return arguments


ServerLike = Union[str, Server]


def server_flags(server: Optional[ServerLike]) -> List[str]:
    if server is None:
        return []
    return (Server(server) if isinstance(server, str) else server).flags()


def path_flag(name: str, path: Optional[PathLike]) -> List[str]:
    return flag(name, None if path is None else os.fspath(path))


def model_flags(
    dims: Optional[Mapping[str, Size]],
    precision: Optional[str],
    tolerance: Optional[float],
    threads: Optional[int],
    target: Optional[str],
) -> List[str]:
    """Flags that must be equal when a model is tuned and compiled."""
    arguments: List[str] = []
    for name, size in (dims or {}).items():
        arguments += flag("dim", f"{name}={_size_text(name, size)}")
    arguments += flag("precision", precision) + flag("tolerance", tolerance)
    return arguments + flag("threads", threads) + flag("target", target)


def _size_text(name: str, size: Size) -> str:
    if isinstance(size, str):
        return size
    sizes = list(size) if isinstance(size, (list, tuple, range)) else [size]
    if not sizes or any(isinstance(s, bool) or not isinstance(s, int) for s in sizes):
        raise UsageError(f"the dimension {name!r} is {size!r}: give a whole number, or several")
    return ",".join(map(str, sizes))


@contextlib.contextmanager
def model_arguments(
    model: Model, constants: Optional[Mapping[str, Constant]] = None
) -> Iterator[List[str]]:
    """Flags for the model and its constants; files that are written for them go at the end."""
    is_path = isinstance(model, (str, os.PathLike))
    if is_path and not constants:
        yield flag("model", os.fspath(model))
        return
    with tempfile.TemporaryDirectory(prefix="mlc-tune-") as folder:
        path = os.fspath(model) if is_path else os.path.join(folder, "model.onnx")
        if not is_path:
            write_model(model, path)
        yield flag("model", path) + constant_flags(constants or {}, folder)


def write_model(model: Model, path: str) -> None:
    """Writes bytes or an onnx.ModelProto to a file."""
    if isinstance(model, (bytes, bytearray, memoryview)):
        data = model
    elif not hasattr(model, "SerializeToString"):
        raise UsageError(
            f"a model is a path, bytes or an onnx.ModelProto, not a {type(model).__name__}"
        )
    elif model.ByteSize() > _MOST_BYTES:
        import onnx

        onnx.save_model(model, path, save_as_external_data=True, location="model.data")
        return
    else:
        data = model.SerializeToString()
    with open(path, "wb") as file:
        file.write(data)
