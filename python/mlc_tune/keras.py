"""Models of Keras as libraries, by the export of Keras to ONNX.

    import mlc_tune.keras

    library = mlc_tune.keras.compile(model, x)
    y = library(x)[0]
"""

from __future__ import annotations

import os
import tempfile
from typing import Any

from ._compile import compile as _compile
from ._errors import UsageError
from ._exporters import exporting, required, shapes_of
from ._library import Library

__all__ = ["compile", "export"]


def export(model: Any, *examples: Any) -> Any:
    """A model of Keras 3 as an onnx.ModelProto, with the sizes of the examples.

    Examples are arrays or tensors, one for each input of the model. Keras needs tf2onnx where
    TensorFlow or JAX runs it, and onnxscript where PyTorch does. DataError if Keras cannot export
    the model; UnavailableError if a package is missing.
    """
    keras, onnx = required("keras", "keras"), required("onnx", "keras")
    if not isinstance(model, keras.Model):
        raise UsageError(f"give a keras.Model, not a {type(model).__name__}")
    required("onnxscript" if keras.backend.backend() == "torch" else "tf2onnx", "keras")
    if not examples:
        raise UsageError("give an example of each input: its shape and type are the input's")
    specs = [
        keras.InputSpec(shape=shape, dtype=dtype.name, name=f"x{i}")
        for i, (shape, dtype) in enumerate(shapes_of(examples))
    ]
    count = len(getattr(model, "inputs", None) or specs)
    if count != len(specs):
        raise UsageError(f"the model has {count} input(s), {len(specs)} example(s) are given")
    # A functional model takes its inputs as one argument of any structure.
    inputs = getattr(model, "input", None)
    packed = inputs is not None
    signature = [keras.tree.pack_sequence_as(inputs, specs)] if packed else specs
    with tempfile.TemporaryDirectory(prefix="mlc-tune-") as folder:
        path = os.path.join(folder, "model.onnx")
        with exporting("model", "Keras"):
            model.export(path, format="onnx", verbose=False, input_signature=signature)
        return onnx.load(path)


def compile(model: Any, *examples: Any, **options: Any) -> Library:
    """Compiles a model for the sizes of the examples, and loads the library.

    `options` are those of `mlc_tune.compile`.
    """
    return _compile(export(model, *examples), **options)
