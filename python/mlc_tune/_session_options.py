"""Options of ONNX Runtime's sessions: which count here, and which are accepted without effect."""

from __future__ import annotations

import ctypes
import enum
import warnings
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ._errors import UsageError

CPU_PROVIDER, CUDA_PROVIDER = "CPUExecutionProvider", "CUDAExecutionProvider"
Provider = Union[str, Tuple[str, Mapping[str, Any]]]


class GraphOptimizationLevel(enum.IntEnum):
    """Accepted without effect: the compiler always optimizes."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    """Accepted without effect: kernels run one after the other, each on all threads."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class SessionOptions:
    """Options of a session.

    These count: `intra_op_num_threads` (threads of the kernels; 0: one for each core of one socket)
    and `add_free_dimension_override_by_name` (the size of a symbolic dimension). All others are
    accepted without effect.
    """

    def __init__(self) -> None:
        self.intra_op_num_threads = 0
        self.inter_op_num_threads = 0
        self.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL
        self.execution_mode = ExecutionMode.ORT_SEQUENTIAL
        self.enable_cpu_mem_arena = True
        self.enable_mem_pattern = True
        self.enable_mem_reuse = True
        self.enable_profiling = False
        self.log_severity_level = 2
        self.log_verbosity_level = 0
        self.logid = ""
        self.optimized_model_filepath = ""
        self.profile_file_prefix = ""
        self.use_deterministic_compute = False
        self._dims: Dict[str, int] = {}
        self._entries: Dict[str, str] = {}

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Sets the size of a symbolic dimension."""
        self._dims[name] = size

    def add_free_dimension_override_by_denotation(self, denotation: str, size: int) -> None:
        """Accepted without effect."""

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Kept for get_session_config_entry, without effect."""
        self._entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        """The value that was added for the key."""
        return self._entries[key]

    def register_custom_ops_library(self, path: str) -> None:
        """Raises UsageError: operators come from ONNX alone."""
        raise UsageError("operators of your own are not supported: express them in ONNX operators")

    @property
    def dims(self) -> Dict[str, int]:
        """The overrides of symbolic dimensions by name."""
        return dict(self._dims)


class RunOptions:
    """Accepted without effect."""

    def __init__(self) -> None:
        self.log_severity_level = 2
        self.log_verbosity_level = 0
        self.logid = ""
        self.only_execute_path_to_fetches = False
        self.terminate = False
        self.training_mode = False

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Accepted without effect."""


def _has_driver() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def get_available_providers() -> List[str]:
    """CUDAExecutionProvider if there is an NVIDIA driver, and CPUExecutionProvider."""
    return [CUDA_PROVIDER, CPU_PROVIDER] if _has_driver() else [CPU_PROVIDER]


def get_device() -> str:
    """GPU or CPU: the device of the first available provider."""
    return "GPU" if _has_driver() else "CPU"


def targets_of(
    providers: Optional[Sequence[Provider]], options: Optional[Sequence[Mapping[str, Any]]]
) -> List[Tuple[str, str, int]]:
    """(provider, target, number of the GPU) of each known provider, in the caller's order."""
    wanted: List[Tuple[str, Mapping[str, Any]]] = []
    for i, provider in enumerate(providers or [CPU_PROVIDER]):
        name, own = (provider, {}) if isinstance(provider, str) else provider
        wanted.append((name, options[i] if options and i < len(options) else own))
    found = []
    for name, own in wanted:
        if name == CPU_PROVIDER:
            found.append((name, "cpu", -1))
        elif name == CUDA_PROVIDER:
            device = int(own.get("device_id", 0))
            found.append((name, f"cuda:{device}", device))
    unknown = [name for name, _ in wanted if name not in (CPU_PROVIDER, CUDA_PROVIDER)]
    if not found:
        raise UsageError(
            f"none of the providers {', '.join(unknown)} is here: give {CPU_PROVIDER} or "
            f"{CUDA_PROVIDER}"
        )
    if unknown:
        warnings.warn(f"providers without effect: {', '.join(unknown)}", stacklevel=4)
    return found
