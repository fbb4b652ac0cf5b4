"""Estimators of scikit-learn as libraries, by skl2onnx.

    import mlc_tune.sklearn

    library = mlc_tune.sklearn.compile(estimator, x)
    labels, probabilities = library(x)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._compile import compile as _compile
from ._errors import UsageError
from ._exporters import exporting, required
from ._library import Library
from ._trees import without_trees

__all__ = ["compile", "export"]


def export(estimator: Any, example: Any) -> Any:
    """A fitted estimator or pipeline as an onnx.ModelProto, with the sizes of the example.

    The example is an array of rows and features, of the type float32, float64 or int64; each call
    of the library takes as many rows. Of a classifier, outputs are labels and probabilities.
    DataError if skl2onnx cannot export it; UnavailableError if a package is missing.
    """
    base = required("sklearn.base", "sklearn")
    skl2onnx = required("skl2onnx", "sklearn")
    kinds = required("skl2onnx.common.data_types", "sklearn")
    if not isinstance(estimator, base.BaseEstimator):
        raise UsageError(f"give an estimator of scikit-learn, not a {type(estimator).__name__}")
    tensors = {
        "float32": kinds.FloatTensorType,
        "float64": kinds.DoubleTensorType,
        "int64": kinds.Int64TensorType,
    }
    if not isinstance(example, np.ndarray) or example.ndim != 2 or example.dtype.name not in tensors:
        raise UsageError(
            "give the example as a NumPy array of rows and features, of the type float32, float64 "
            "or int64"
        )
    rows, features = example.shape
    # Of a fixed number of rows, some of skl2onnx's converters make models that are invalid.
    port = ("x", tensors[example.dtype.name]([None, features]))
    with exporting("estimator", "skl2onnx"):
        model = _converted(skl2onnx, estimator, port)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = rows
    del model.graph.value_info[:]
    without_trees(required("onnx", "sklearn"), model, rows)
    opsets = {opset.domain: opset for opset in model.opset_import}  # some are listed twice
    kept = [type(o)(domain=o.domain, version=o.version) for o in opsets.values()]
    del model.opset_import[:]
    model.opset_import.extend(kept)
    return model


def _converted(skl2onnx: Any, estimator: Any, port: Any) -> Any:
    try:
        # Probabilities as an array, where they would be a sequence of dictionaries.
        return skl2onnx.to_onnx(estimator, initial_types=[port], options={"zipmap": False})
    except NameError:  # the option is none of this estimator
        return skl2onnx.to_onnx(estimator, initial_types=[port])


def compile(estimator: Any, example: Any, **options: Any) -> Library:
    """Compiles an estimator for the sizes of the example, and loads the library.

    `options` are those of `mlc_tune.compile`. DataError if the estimator has operators that cannot
    be compiled, as those of support vector machines with kernels.
    """
    return _compile(export(estimator, example), **options)
