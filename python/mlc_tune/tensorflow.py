"""Functions and modules of TensorFlow as libraries, by tf2onnx.

    import mlc_tune.tensorflow

    library = mlc_tune.tensorflow.compile(fn, x)
    y = library(x)[0]
"""

from __future__ import annotations

from typing import Any, Callable, Dict

import numpy as np

from ._compile import compile as _compile
from ._errors import UsageError
from ._exporters import exporting, required, shapes_of
from ._library import Library

__all__ = ["compile", "export"]


def export(fn: Callable[..., Any], *examples: Any) -> Any:
    """A function, tf.function or callable tf.Module as an onnx.ModelProto, with the sizes of the
    examples.

    Examples are arrays, tensors or tf.TensorSpec: one for each positional argument. Variables are
    constants of the model. DataError if tf2onnx cannot export it; UnavailableError if a package is
    missing.
    """
    tf = required("tensorflow", "tensorflow")
    convert = required("tf2onnx.convert", "tensorflow")
    if not callable(fn):
        raise UsageError(f"give a function or a module, not a {type(fn).__name__}")
    if not examples:
        raise UsageError("give an example of each argument: its shape and type are the input's")
    signature = [
        tf.TensorSpec(shape, dtype, name=f"x{i}")
        for i, (shape, dtype) in enumerate(shapes_of(examples))
    ]
    with exporting("function", "tf2onnx"):
        function = tf.function(lambda *arguments: fn(*arguments), input_signature=signature)
        handlers: Dict[str, Any] = {"Erfc": (_complement_of_erf, [])}
        model, _ = convert.from_function(
            function, input_signature=signature, custom_op_handlers=handlers
        )
        return model


def _complement_of_erf(context: Any, node: Any, name: str, _arguments: Any) -> None:
    """Erfc, of which tf.nn.gelu is made and which ONNX lacks, as 1 - Erf."""
    from tf2onnx import utils

    result = node.output[0]
    one = np.ones((), utils.map_onnx_to_numpy_type(context.get_dtype(result)))
    first = context.make_const(name + "_one", one).output[0]
    node.type, node.domain = "Erf", ""
    context.insert_new_node_on_output(
        "Sub", result, name=name + "_complement", inputs=[first, result]
    )


def compile(fn: Callable[..., Any], *examples: Any, **options: Any) -> Library:
    """Compiles a function or a module for the sizes of the examples, and loads the library.

    `options` are those of `mlc_tune.compile`. For models of Keras, use `mlc_tune.keras.compile`.
    """
    return _compile(export(fn, *examples), **options)
