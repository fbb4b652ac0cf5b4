"""InferenceSession: what onnxruntime.InferenceSession offers, on a compiled model."""

from __future__ import annotations

import hashlib
import os
import threading
import warnings
from collections import OrderedDict
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import _cache, _onnx_file
from ._compile import compile_flags, kernel_text, run_compile
from ._errors import ConfigurationError, DataError, InputError, UnavailableError, UsageError
from ._io_binding import IOBinding
from ._library import Library
from ._onnx_file import OnnxFile, ValueInfo
from ._options import Model, ServerLike, write_model
from ._programs import PathLike
from ._session_options import CPU_PROVIDER, CUDA_PROVIDER, Provider, SessionOptions, targets_of

# Libraries of one session, for as many sets of sizes; the one that was used least recently goes.
MOST_LIBRARIES = 16
_ELEMENTS = {
    1: "float",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    8: "string",
    9: "bool",
    10: "float16",
    11: "double",
    12: "uint32",
    13: "uint64",
    16: "bfloat16",
    17: "float8e4m3fn",
    18: "float8e4m3fnuz",
    19: "float8e5m2",
    20: "float8e5m2fnuz",
    21: "uint4",
    22: "int4",
    23: "float4e2m1",
}


class NodeArg(NamedTuple):
    """An input or output as the model declares it; symbolic sizes are names."""

    name: str
    shape: List[Union[int, str, None]]
    type: str  # as ONNX Runtime writes it: tensor(float)


class ModelMetadata(NamedTuple):
    """What the model's file says of itself."""

    producer_name: str
    graph_name: str
    domain: str
    description: str
    graph_description: str
    version: int
    custom_metadata_map: Dict[str, str]


def _node_arg(info: ValueInfo) -> NodeArg:
    # A size without a name is called INPUT:AXIS by the compiler and None by ONNX Runtime.
    shape = [
        None if size == f"{info.name}:{axis}" else size
        for axis, size in enumerate(info.shape or [])
    ]
    return NodeArg(info.name, shape, f"tensor({_ELEMENTS.get(info.elem_type, 'undefined')})")


class _Source:
    """The model: its bytes or its file, and what it says. A file is read again for new sizes."""

    def __init__(self, model: Model) -> None:
        self.path: Optional[str] = None
        if isinstance(model, (str, os.PathLike)):
            self.path = os.fspath(model)
        elif isinstance(model, (bytes, bytearray, memoryview)):
            self._data = bytes(model)
        elif hasattr(model, "SerializeToString"):
            self._data = model.SerializeToString()
        else:
            raise UsageError(
                f"a model is a path, bytes or an onnx.ModelProto, not a {type(model).__name__}"
            )
        self.file: OnnxFile = _onnx_file.read(self.read())

    def read(self) -> bytes:
        if self.path is None:
            return self._data
        try:
            with open(self.path, "rb") as file:
                return file.read()
        except OSError as error:
            raise DataError(
                f"cannot open the model file '{self.path}': {error.strerror}"
            ) from error

    def key(self, options: Sequence[str], log: str) -> str:
        beside = os.path.dirname(os.path.abspath(self.path)) if self.path else os.getcwd()
        external = self.file.external if self.path else set()

        def kernels() -> str:
            return kernel_text(self._data if self.path is None else self.path, options)

        return _cache.key(self.read(), beside, external, options, log, kernels)

    def compile(self, options: Sequence[str], folder: str) -> None:
        before = hashlib.sha256(self.read()).digest()
        run_compile(self._data if self.path is None else self.path, options, folder)
        if hashlib.sha256(self.read()).digest() != before:
            raise DataError(f"the model file '{self.path}' changed while it was compiled")


class InferenceSession:
    """A drop-in for onnxruntime.InferenceSession.

    `providers` choose the target: CPUExecutionProvider (also without providers) or
    CUDAExecutionProvider; others are skipped. `log` and `server` give tuned kernels; `precision`,
    `tolerance` and `require_tuned` are those of `mlc_tune.compile`. Threads may run it at once.
    """

    def __init__(
        self,
        path_or_bytes: Model,
        sess_options: Optional[Any] = None,
        providers: Optional[Sequence[Provider]] = None,
        provider_options: Optional[Sequence[Mapping[str, Any]]] = None,
        *,
        log: Optional[PathLike] = None,
        server: Optional[ServerLike] = None,
        precision: Optional[str] = None,
        tolerance: Optional[float] = None,
        require_tuned: bool = False,
        **_: Any,
    ) -> None:
        self._options = sess_options if sess_options is not None else SessionOptions()
        self._targets = targets_of(providers, provider_options)
        self._log = "" if log is None else os.path.abspath(os.fspath(log))
        self._choices: Dict[str, Any] = {
            "log": self._log or None,
            "server": server,
            "precision": precision,
            "tolerance": tolerance,
            "require_tuned": require_tuned,
        }
        self._source = _Source(path_or_bytes)
        file = self._source.file
        self._lock = threading.Lock()
        self._libraries: "OrderedDict[Tuple[Tuple[str, int], ...], Library]" = OrderedDict()
        self._fixed: Dict[str, int] = dict(getattr(self._options, "dims", {}))
        self._symbols = sorted(
            {s for info in file.inputs for s in info.shape or [] if isinstance(s, str)}
        )
        self._names = [info.name for info in file.inputs]
        self._output_names = [info.name for info in file.outputs]
        self._static: Optional[Library] = None
        if set(self._symbols) <= set(self._fixed):
            dims = {name: size for name, size in self._fixed.items() if name in self._symbols}
            self._static = self._library_for(dims)

    def run(
        self,
        output_names: Optional[Sequence[str]],
        input_feed: Mapping[str, Any],
        run_options: Optional[Any] = None,
    ) -> List[Any]:
        """Runs the model and returns the outputs, all or those that are named."""
        library = self._static or self._library_of(input_feed)
        outputs = library.call((), input_feed)
        if not output_names:
            return list(outputs)
        for name in output_names:
            if name not in self._output_names:
                raise InputError(
                    f"the model has no output {name!r}; its outputs: "
                    f"{', '.join(self._output_names)}"
                )
        return [outputs[name] for name in output_names]

    def get_inputs(self) -> List[NodeArg]:
        """The inputs as the model declares them."""
        return [_node_arg(info) for info in self._source.file.inputs]

    def get_outputs(self) -> List[NodeArg]:
        """The outputs; with the library's shapes if the model has no symbolic sizes."""
        if self._static is None:
            return [_node_arg(info) for info in self._source.file.outputs]
        declared = {info.name: _node_arg(info) for info in self._source.file.outputs}
        return [declared[o.name]._replace(shape=list(o.shape)) for o in self._static.outputs]

    def get_overridable_initializers(self) -> List[NodeArg]:
        """Always empty: weights are part of a library."""
        return []

    def get_providers(self) -> List[str]:
        """The provider that is used; after CUDAExecutionProvider also CPUExecutionProvider."""
        name = self._targets[0][0]
        return [CUDA_PROVIDER, CPU_PROVIDER] if name == CUDA_PROVIDER else [CPU_PROVIDER]

    def get_provider_options(self) -> Dict[str, Dict[str, str]]:
        """Options of each provider: the number of the GPU."""
        device = self._targets[0][2]
        return {
            name: {"device_id": str(device)} if name == CUDA_PROVIDER else {}
            for name in self.get_providers()
        }

    def get_modelmeta(self) -> ModelMetadata:
        """What the model's file says of itself."""
        file = self._source.file
        return ModelMetadata(
            file.producer_name,
            file.graph_name,
            file.domain,
            file.description,
            file.graph_description,
            file.version,
            dict(file.metadata),
        )

    def get_session_options(self) -> Any:
        """The options that the session was opened with."""
        return self._options

    def io_binding(self) -> IOBinding:
        """Buffers for inputs and outputs, for run_with_iobinding."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: Optional[Any] = None) -> None:
        """Runs the model on bound buffers and waits for the end."""
        iobinding.run(self._static or self._library_of(iobinding.inputs))

    def _library_of(self, feed: Mapping[str, Any]) -> Library:
        """The library for the sizes of the inputs."""
        dims = {name: size for name, size in self._fixed.items() if name in self._symbols}
        for info in self._source.file.inputs:
            if info.name not in feed:
                raise InputError(
                    f"input {info.name!r} is missing; the model's inputs: {', '.join(self._names)}"
                )
            shape = tuple(getattr(feed[info.name], "shape", ()))
            declared = info.shape or []
            if len(shape) != len(declared):
                raise InputError(
                    f"input {info.name!r} has {len(shape)} dimensions, the model has {declared}"
                )
            for size, symbol in zip(shape, declared):
                if isinstance(symbol, str) and dims.setdefault(symbol, size) != size:
                    raise InputError(
                        f"input {info.name!r} has the size {size} for {symbol!r}, but it is "
                        f"{dims[symbol]} elsewhere"
                    )
        return self._library_for(dims)

    def _library_for(self, dims: Mapping[str, int]) -> Library:
        key = tuple(sorted(dims.items()))
        with self._lock:
            library = self._libraries.get(key)
            if library is None:
                library = self._open(dims)
                self._libraries[key] = library
                if len(self._libraries) > MOST_LIBRARIES:
                    self._libraries.popitem(last=False)
            self._libraries.move_to_end(key)
            return library

    def _open(self, dims: Mapping[str, int]) -> Library:
        """Takes the first provider that this machine has."""
        while True:
            name, target, device = self._targets[0]
            try:
                return self._cached(dims, target, device)
            except UnavailableError as error:
                if len(self._targets) == 1:
                    raise
                self._targets.pop(0)
                warnings.warn(f"{name} is not available: {error}", stacklevel=5)

    def _cached(self, dims: Mapping[str, int], target: str, device: int) -> Library:
        threads = getattr(self._options, "intra_op_num_threads", 0) or None
        if device >= 0:
            threads = None  # of a GPU's library, threads mean nothing
        flags = compile_flags(target=target, threads=threads, dims=dims, **self._choices)
        name = self._source.key(flags, self._log)

        def into(folder: str) -> None:
            self._source.compile(flags, folder)

        folder, owner = _cache.library(name, into)
        try:
            return Library(folder, device=max(device, 0), owner=owner)
        except (DataError, ConfigurationError):
            if owner is not None:
                raise
        # A damaged file, or one of a machine that looked the same.
        folder, owner = _cache.library(name, into, again=True)
        return Library(folder, device=max(device, 0), owner=owner)
