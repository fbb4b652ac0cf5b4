"""Functions of JAX as libraries, by jax2onnx.

    import mlc_tune.jax

    library = mlc_tune.jax.compile(fn, x)
    y = library(x)[0]
"""

from __future__ import annotations

from typing import Any, Callable, List, Optional, Sequence

from ._compile import compile as _compile
from ._errors import UsageError
from ._exporters import exporting, required, shapes_of
from ._library import Library

__all__ = ["compile", "export"]


def export(
    fn: Callable[..., Any],
    *examples: Any,
    input_names: Optional[Sequence[str]] = None,
    output_names: Optional[Sequence[str]] = None,
) -> Any:
    """The function as an onnx.ModelProto, with the sizes of the examples.

    Examples are arrays, jax.ShapeDtypeStruct, or trees of them: inputs of the model are their
    leaves in JAX's order, and outputs those of the result. What the function closes over is
    constant, weights for example. DataError if jax2onnx cannot export it; UnavailableError if a
    package is missing.
    """
    jax, jax2onnx = required("jax", "jax"), required("jax2onnx", "jax")
    if not callable(fn):
        raise UsageError(f"give a function, not a {type(fn).__name__}")
    leaves, tree = jax.tree_util.tree_flatten(examples)
    if not leaves:
        raise UsageError("give an example of each argument: its shape and type are the input's")
    wide = bool(jax.config.jax_enable_x64)
    inputs: List[Any] = [
        jax.ShapeDtypeStruct(shape, jax.dtypes.canonicalize_dtype(dtype))
        for shape, dtype in shapes_of(leaves)
    ]

    def flat(*arguments: Any) -> Any:
        result = fn(*jax.tree_util.tree_unflatten(tree, arguments))
        return tuple(jax.tree_util.tree_leaves(result))

    try:
        with exporting("function", "jax2onnx"):
            return jax2onnx.to_onnx(
                flat,
                inputs=inputs,
                enable_double_precision=wide,
                input_names=list(input_names or (f"x{i}" for i in range(len(inputs)))),
                output_names=list(output_names) if output_names else None,
            )
    finally:
        # JAX keeps what it traced by jax2onnx's primitives, which it cannot run itself.
        jax.clear_caches()


def compile(
    fn: Callable[..., Any],
    *examples: Any,
    input_names: Optional[Sequence[str]] = None,
    output_names: Optional[Sequence[str]] = None,
    **options: Any,
) -> Library:
    """Compiles a function for the sizes of the examples, and loads the library.

    `options` are those of `mlc_tune.compile`; the other arguments are those of `export`.
    """
    model = export(fn, *examples, input_names=input_names, output_names=output_names)
    return _compile(model, **options)
