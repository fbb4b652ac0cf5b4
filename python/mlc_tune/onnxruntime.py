"""The interface of ONNX Runtime for Python on compiled models.

    import mlc_tune.onnxruntime as ort

    session = ort.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
    outputs = session.run(None, {"x": x})

A model is compiled when a session is opened, or at the first run with new sizes if it has symbolic
dimensions, and kept in the cache.
"""

from __future__ import annotations

from ._inference import InferenceSession, ModelMetadata, NodeArg
from ._io_binding import IOBinding, OrtValue
from ._session_options import ExecutionMode, GraphOptimizationLevel, RunOptions, SessionOptions
from ._session_options import get_available_providers, get_device

__all__ = [
    "ExecutionMode",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "OrtValue",
    "RunOptions",
    "SessionOptions",
    "get_available_providers",
    "get_device",
]
