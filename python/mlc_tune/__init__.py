"""mlc-tune in Python: compile, tune and run ONNX models.

import mlc_tune

mlc_tune.tune("model.onnx", trials=2000, log="tuning.db")
library = mlc_tune.compile("model.onnx", log="tuning.db")
y = library(x)[0]
"""

from __future__ import annotations

from importlib import metadata as _metadata

from ._arguments import Outputs
from ._cache import CacheWarning
from ._compile import compile
from ._errors import (
    CancelledError,
    ConfigurationError,
    DataError,
    Error,
    FailedTrialsError,
    InputError,
    InternalError,
    LogError,
    NoResultError,
    NotPermittedError,
    OutputError,
    TemporaryError,
    UnavailableError,
    UsageError,
)
from ._inference import InferenceSession
from ._kernel import Kernel, TunedKernel, kernel
from ._library import Library, load
from ._log import Log, Records, log
from ._options import Server
from ._session import Binding, Session
from ._session_options import SessionOptions
from ._tensors import TensorInfo
from ._tune import Job, TuneResult, jobs, submit, tune

try:
    __version__ = _metadata.version("mlc-tune")
except _metadata.PackageNotFoundError:  # from a source tree
    __version__ = "0+tree"

__all__ = [
    "Binding",
    "CacheWarning",
    "CancelledError",
    "ConfigurationError",
    "DataError",
    "Error",
    "FailedTrialsError",
    "InferenceSession",
    "InputError",
    "InternalError",
    "Job",
    "Kernel",
    "Library",
    "Log",
    "LogError",
    "NoResultError",
    "NotPermittedError",
    "OutputError",
    "Outputs",
    "Records",
    "Server",
    "Session",
    "SessionOptions",
    "TemporaryError",
    "TensorInfo",
    "TuneResult",
    "TunedKernel",
    "UnavailableError",
    "UsageError",
    "compile",
    "jobs",
    "kernel",
    "load",
    "log",
    "submit",
    "tune",
]
