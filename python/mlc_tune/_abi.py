"""The C interface of a compiled library (docs/reference/c-interface.md), by ctypes."""

from __future__ import annotations

import ctypes
import itertools
import os
import stat
import struct
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from typing import Any, Dict, Optional, Type

from ._errors import (
    ConfigurationError,
    DataError,
    Error,
    InputError,
    TemporaryError,
    UnavailableError,
    UsageError,
)

ABI_VERSION = 1
MAX_THREADS = 1024


class Port(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("dims", POINTER(c_int64)),
        ("bytes", c_int64),
        ("rank", c_int32),
        ("dtype", c_int32),
    ]


class SessionOptions(ctypes.Structure):
    _fields_ = [("threads", c_int32)]


class OpenOptions(ctypes.Structure):
    _fields_ = [
        ("weights_path", c_char_p),
        ("device", c_int32),
        ("error", c_char_p),
        ("error_bytes", c_size_t),
    ]


class Dim(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("least", c_int64), ("most", c_int64)]


def _function(result: Any, *arguments: Any) -> Any:
    # CFUNCTYPE releases the GIL during a call.
    return ctypes.CFUNCTYPE(result, *arguments)


class SizesApi(ctypes.Structure):
    """mlc_sizes_api, as far as it is used."""

    _fields_ = [
        ("struct_bytes", c_uint32),
        ("dim_count", c_int32),
        ("size_count", c_int32),
        ("any_size", c_uint32),
        ("dims", POINTER(Dim)),
        ("sizes", POINTER(c_int64)),
        ("set_sizes", _function(c_int32, c_void_p, POINTER(c_int64))),
        ("input", _function(POINTER(Port), c_void_p, c_int32)),
        ("output", _function(POINTER(Port), c_void_p, c_int32)),
    ]


class Api(ctypes.Structure):
    """mlc_model_api, member by member. Addresses of objects are plain integers."""

    _fields_ = [
        ("abi_version", c_uint32),
        ("struct_bytes", c_uint32),
        ("open", _function(c_int32, c_void_p, c_char_p, POINTER(c_void_p))),
        ("close", _function(None, c_void_p)),
        ("input_count", _function(c_int32, c_void_p)),
        ("output_count", _function(c_int32, c_void_p)),
        ("input", _function(POINTER(Port), c_void_p, c_int32)),
        ("output", _function(POINTER(Port), c_void_p, c_int32)),
        ("session_bytes", _function(c_int64, c_void_p, c_int32)),
        (
            "create_session",
            _function(c_int32, c_void_p, POINTER(SessionOptions), POINTER(c_void_p)),
        ),
        ("destroy_session", _function(None, c_void_p)),
        ("run", _function(c_int32, c_void_p, c_void_p, c_void_p)),
        ("step_count", _function(c_int32, c_void_p)),
        ("step_label", _function(c_char_p, c_void_p, c_int32)),
        ("run_profiled", _function(c_int32, c_void_p, c_void_p, c_void_p, c_void_p)),
        ("status_text", _function(c_char_p, c_int32)),
        ("open_with", _function(c_int32, c_void_p, POINTER(OpenOptions), POINTER(c_void_p))),
        ("device", _function(c_int32, c_void_p)),
        ("session_error", _function(c_char_p, c_void_p)),
        ("run_device", _function(c_int32, c_void_p, c_void_p, c_void_p, c_void_p)),
        ("run_timed", _function(c_int32, c_void_p, c_void_p, c_void_p, c_int32, c_void_p)),
        ("sizes", POINTER(SizesApi)),
    ]


class ResultApi(Api):
    """With the members that older libraries lack."""

    _fields_ = [
        ("in_place_input", _function(c_int32, c_void_p, c_int32)),
        ("read_cache", _function(c_int32, c_void_p, c_int32, c_void_p)),
        ("write_cache", _function(c_int32, c_void_p, c_int32, c_void_p)),
        ("result", _function(POINTER(Port), c_void_p, c_int32)),
    ]


def result_api(api: Api) -> Optional[ResultApi]:
    """None for a library that is older than these members."""
    if api.struct_bytes < ctypes.sizeof(ResultApi):
        return None
    return ResultApi.from_address(ctypes.addressof(api))


_ERRORS: Dict[int, Type[Error]] = {
    3: InputError,  # MLC_INVALID_ARGUMENT
    5: DataError,  # MLC_NOT_FOUND
    8: TemporaryError,  # MLC_OUT_OF_MEMORY
    9: ConfigurationError,  # MLC_UNSUPPORTED_MACHINE
    11: InputError,  # MLC_UNSUPPORTED_SIZE
    12: UsageError,  # MLC_UNIMPLEMENTED
    13: UnavailableError,  # MLC_DEVICE_FAILED
    15: DataError,  # MLC_BAD_WEIGHTS
}


def error_of_status(api: Api, status: int, what: str, detail: str = "") -> Error:
    said = detail or (api.status_text(status) or b"").decode("utf-8", "replace")
    return _ERRORS.get(status, Error)(f"{what}: {said}")


def check_whole(path: str, descriptor: int) -> None:
    """The loader maps what a file's headers say: in a file that was cut short it would touch pages
    that are not there, which ends the process."""
    about = os.fstat(descriptor)
    size = about.st_size
    header = os.pread(descriptor, 64, 0) if stat.S_ISREG(about.st_mode) else b""
    if len(header) < 64 or header[:6] != b"\x7fELF\x02\x01":
        raise DataError(f"'{path}' is not a shared library: give one that mlc-compile wrote")
    offset = struct.unpack_from("<Q", header, 32)[0]
    entry, count = struct.unpack_from("<HH", header, 54)
    if entry != 56:
        raise DataError(f"'{path}' is damaged: compile the model again")
    table = os.pread(descriptor, entry * count, offset) if offset < size else b""
    whole = len(table) == entry * count
    for at in range(0, len(table) - 55, 56):
        begin, length = struct.unpack_from("<8xQ16xQ", table, at)
        whole = whole and begin + length <= size
    if not whole:
        raise DataError(f"'{path}' is cut short: compile the model again")


_loads = itertools.count(1)


def _name_of(descriptor: int) -> str:
    """A path of the open file that no load had before.

    The loader keeps the names of a library until its last user closes it, and answers with it for
    the same name. A number of a descriptor comes back earlier: with two users of one file, after
    the first has closed it.
    """
    bits = "".join("/." if bit == "1" else "/" for bit in f"{next(_loads):b}")
    return f"/proc/self/fd{bits}/{descriptor}"


class LoadedObject:
    """A shared library with a model in it.

    It is loaded by its descriptor. By its path, the loader would answer with an older file of the
    same path if that is still loaded, as after a model was compiled again into the same folder.
    """

    def __init__(self, path: str) -> None:
        self._handle: Optional[int] = None
        try:
            # Of a pipe, a plain open would wait for a writer.
            self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise DataError(f"cannot open the library '{path}': {error.strerror}") from error
        try:
            check_whole(path, self._descriptor)
            self.api = self._load(path)
        except BaseException:
            self.unload()
            raise

    def _load(self, path: str) -> Api:
        name = _name_of(self._descriptor)
        try:
            loaded = ctypes.CDLL(name, mode=os.RTLD_NOW)
        except OSError as error:
            text = str(error).replace(name, path)
            raise DataError(f"cannot load '{path}': {text}") from error
        self._handle = loaded._handle
        try:
            api = Api.in_dll(loaded, "mlc_model_entry")
        except ValueError as error:
            raise DataError(
                f"'{path}' is no compiled model: give a library that mlc-compile wrote"
            ) from error
        if api.abi_version != ABI_VERSION or api.struct_bytes < ctypes.sizeof(Api):
            raise ConfigurationError(
                f"'{path}' has interface version {api.abi_version}, this package reads version "
                f"{ABI_VERSION}: compile the model again"
            )
        return api

    def unload(self) -> None:
        if self._handle is not None:
            close = ctypes.CDLL(None).dlclose
            close.argtypes = [c_void_p]
            close(self._handle)
            self._handle = None
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
