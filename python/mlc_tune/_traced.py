"""Follows a function of NumPy arrays: what it computes becomes the values of a workload.

The function is called once with stand-ins for its arrays, which note what NumPy does with them.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np

from . import _nodes
from ._errors import UsageError
from ._nodes import DType, Node, Shape, refuse


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """Stands for an array: has its shape and type, and no values."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def __repr__(self) -> str:
        return f"<an array of the reference: {self.dtype}{list(self.shape)}>"

    @property
    def shape(self) -> Shape:
        return self.node.shape

    @property
    def dtype(self) -> DType:
        return self.node.dtype

    @property
    def ndim(self) -> int:
        return self.node.ndim

    @property
    def size(self) -> int:
        return self.node.size

    @property
    def T(self) -> "Traced":
        return Traced(_nodes.transpose(self.node))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without dimensions has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator["Traced"]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> "Traced":
        return Traced(_nodes.index(self.node, _bare(key)))

    def __setitem__(self, key: Any, value: Any) -> None:
        refuse("assigns to elements of an array; make a new one with np.where or np.concatenate")

    def __bool__(self) -> bool:
        refuse("decides by values of an array, which it does not know yet; use np.where")

    def __int__(self) -> int:
        refuse("makes a number of an array, whose values it does not know yet")

    __index__ = __int__

    def __float__(self) -> float:
        refuse("makes a number of an array, whose values it does not know yet")

    def __array__(self, *_: Any, **__: Any) -> "np.ndarray[Any, Any]":
        refuse("calls something that needs the values of an array, which it does not know yet")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return _ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, _: Any, given: Any, options: Any) -> Any:
        if any(options.pop(name, None) is not None for name in ("out", "dtype", "where")):
            refuse(f"calls np.{function.__name__} with out, dtype or where")
        if function in _COMPOSED:
            return _COMPOSED[function](*given, **options)
        if function not in _FUNCTIONS:
            refuse(f"calls np.{function.__name__}")
        return Traced(_FUNCTIONS[function](*map(_bare, given), **options))

    def astype(self, dtype: Any, copy: bool = True) -> "Traced":
        return Traced(_nodes.cast(self.node, np.dtype(dtype)))

    def reshape(self, *shape: Any) -> "Traced":
        return Traced(_nodes.reshape(self.node, shape[0] if len(shape) == 1 else shape))

    def ravel(self) -> "Traced":
        return Traced(_nodes.reshape(self.node, -1))

    flatten = ravel

    def transpose(self, *axes: Any) -> "Traced":
        given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return Traced(_nodes.transpose(self.node, given or None))

    def sum(self, axis: Any = None, keepdims: bool = False) -> "Traced":
        return Traced(_nodes.reduce("sum", self.node, axis, keepdims))

    def mean(self, axis: Any = None, keepdims: bool = False) -> "Traced":
        return Traced(_nodes.reduce("mean", self.node, axis, keepdims))

    def max(self, axis: Any = None, keepdims: bool = False) -> "Traced":
        return Traced(_nodes.reduce("max", self.node, axis, keepdims))

    def min(self, axis: Any = None, keepdims: bool = False) -> "Traced":
        return Traced(_nodes.reduce("min", self.node, axis, keepdims))


def _bare(x: Any) -> Any:
    """Values in the place of their stand-ins, also within lists."""
    if isinstance(x, Traced):
        return x.node
    if isinstance(x, (list, tuple)) and any(isinstance(part, (Traced, list, tuple)) for part in x):
        return type(x)(_bare(part) for part in x)
    return x


# By the name of NumPy's function: the operator, all of whose operands have the result's type.
_ARITHMETIC = {
    "absolute": "abs",
    "add": "add",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
    "ceil": "ceil",
    "cos": "cos",
    "divide": "div",
    "erf": "erf",
    "exp": "exp",
    "exp2": "exp2",
    "expit": "sigmoid",
    "fabs": "abs",
    "floor": "floor",
    "log": "log",
    "log1p": "log1p",
    "maximum": "max",
    "minimum": "min",
    "multiply": "mul",
    "negative": "neg",
    "power": "pow",
    "reciprocal": "reciprocal",
    "rint": "round",
    "sign": "sign",
    "sin": "sin",
    "sqrt": "sqrt",
    "subtract": "sub",
    "tanh": "tanh",
    "true_divide": "div",
}
# Operator, whether its operands change places, whether its result is negated.
_COMPARISONS = {
    "equal": ("equal", False, False),
    "not_equal": ("equal", False, True),
    "less": ("less", False, False),
    "less_equal": ("less_equal", False, False),
    "greater": ("less", True, False),
    "greater_equal": ("less_equal", True, False),
}
_LOGIC = {"logical_and": "and", "logical_or": "or", "logical_xor": "xor"}
_REDUCTIONS = {"add": "sum", "maximum": "max", "minimum": "min", "multiply": "prod"}
# In terms of others.
_OF_FLOATS: Dict[str, Callable[..., Any]] = {
    "expm1": lambda x: np.exp(x) - 1,
    "floor_divide": lambda x, y: np.floor(x / y),
    "hypot": lambda x, y: np.sqrt(x * x + y * y),
    "log10": lambda x: np.log(x) * (1 / math.log(10)),
    "log2": lambda x: np.log(x) * (1 / math.log(2)),
    "remainder": lambda x, y: x - np.floor(x / y) * y,
    "tan": lambda x: np.sin(x) / np.cos(x),
}


def _ufunc(ufunc: Any, method: str, inputs: Tuple[Any, ...], options: Dict[str, Any]) -> Any:
    name = ufunc.__name__
    if any(options.get(option) is not None for option in ("out", "dtype")):
        refuse(f"calls np.{name} with out or dtype, or assigns by an operator such as +=")
    operands = [_bare(x) for x in inputs]
    if method == "reduce" and name in _REDUCTIONS:
        axis, keepdims = options.get("axis", 0), options.get("keepdims", False)
        return Traced(_nodes.reduce(_REDUCTIONS[name], operands[0], axis, keepdims))
    if method != "__call__":
        refuse(f"calls np.{name}.{method}")
    if name == "square":
        return inputs[0] * inputs[0]
    if name in ("positive", "conjugate"):
        return inputs[0]
    if name in _OF_FLOATS and _nodes.common_type(*operands).kind == "f":
        return _OF_FLOATS[name](*inputs)
    return Traced(_elementwise(ufunc, operands))


def _elementwise(ufunc: Any, operands: Sequence[Any]) -> Node:
    name = ufunc.__name__
    if name == "matmul":
        return _nodes.matmul(*operands)
    if name in _COMPARISONS:
        op, exchanged, negated = _COMPARISONS[name]
        dtype = _nodes.common_type(*operands)
        ordered = reversed(operands) if exchanged else operands
        made = _nodes.pointwise(op, *[_nodes.lift(x, dtype) for x in ordered], dtype=np.bool_)
        return _nodes.pointwise("not", made) if negated else made
    if name in _LOGIC:
        return _nodes.pointwise(_LOGIC[name], *[_nodes.truth(x) for x in operands])
    if name == "logical_not" or (name == "invert" and operands[0].dtype == np.bool_):
        return _nodes.pointwise("not", _nodes.truth(operands[0]))
    if name == "isnan":
        return _nodes.pointwise("is_nan", operands[0], dtype=np.bool_)
    if name not in _ARITHMETIC:
        refuse(f"calls np.{name}")
    with np.errstate(all="ignore"):
        dtype = ufunc(*[_nodes.sample(x) for x in operands]).dtype
    return _nodes.pointwise(_ARITHMETIC[name], *[_nodes.lift(x, dtype) for x in operands])


def _reduction(kind: str) -> Callable[..., Node]:
    def made(a: Any, axis: Any = None, keepdims: bool = False) -> Node:
        return _nodes.reduce(kind, a, axis, keepdims)

    return made


def _swapaxes(a: Any, axis1: int, axis2: int) -> Node:
    order = list(range(a.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return _nodes.transpose(a, order)


def _stack(arrays: Sequence[Any], axis: int = 0) -> Node:
    place = axis % (np.ndim(arrays[0]) + 1)
    return _nodes.concatenate([_nodes.expand_dims(x, place) for x in arrays], place)


def _dot(a: Any, b: Any) -> Any:
    if np.ndim(a) > 2 or np.ndim(b) > 2:
        refuse("calls np.dot with more than two dimensions; use np.matmul")
    return a * b if 0 in (np.ndim(a), np.ndim(b)) else np.matmul(a, b)


def _clip(a: Any, a_min: Any = None, a_max: Any = None) -> Any:
    raised = a if a_min is None else np.maximum(a, a_min)
    return raised if a_max is None else np.minimum(raised, a_max)


def _variance(a: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    if ddof != 0:
        refuse("calls np.var or np.std with ddof")
    centred = a - a.mean(axis, True)
    return (centred * centred).mean(axis, keepdims)


def _deviation(a: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    return np.sqrt(_variance(a, axis, ddof, keepdims))


# Of values, and of stand-ins.
_FUNCTIONS: Dict[Any, Callable[..., Node]] = {
    np.amax: _reduction("max"),
    np.amin: _reduction("min"),
    np.argmax: lambda a, axis=None: _nodes.arg("max", a, axis),
    np.argmin: lambda a, axis=None: _nodes.arg("min", a, axis),
    np.broadcast_to: _nodes.expand,
    np.concatenate: _nodes.concatenate,
    np.cumsum: _nodes.cumsum,
    np.expand_dims: _nodes.expand_dims,
    np.max: _reduction("max"),
    np.mean: _reduction("mean"),
    np.min: _reduction("min"),
    np.pad: _nodes.pad,
    np.prod: _reduction("prod"),
    np.ravel: lambda a: _nodes.reshape(a, -1),
    np.reshape: _nodes.reshape,
    np.squeeze: _nodes.squeeze,
    np.stack: _stack,
    np.sum: _reduction("sum"),
    np.swapaxes: _swapaxes,
    np.take: _nodes.take,
    np.transpose: _nodes.transpose,
    np.where: _nodes.where,
}
_COMPOSED: Dict[Any, Callable[..., Any]] = {
    np.clip: _clip,
    np.dot: _dot,
    np.ndim: lambda a: a.ndim,
    np.outer: lambda a, b: np.reshape(a, (-1, 1)) * np.reshape(b, (1, -1)),
    np.shape: lambda a: a.shape,
    np.size: lambda a: a.size,
    np.std: _deviation,
    np.var: _variance,
}


def trace(
    function: Callable[..., Any], arguments: Sequence[Any]
) -> Tuple[List[Node], List[Optional[Node]]]:
    """The outputs of a function, and by argument its input; None for a number.

    UsageError if the function has no form as a workload.
    """
    given = [
        Traced(_nodes.input_of(a.shape, a.dtype)) if isinstance(a, np.ndarray) else a
        for a in arguments
    ]
    try:
        made = function(*given)
    except UsageError:
        raise
    except Exception as error:
        cause = error.__cause__ or error.__context__
        if isinstance(cause, UsageError):
            raise cause from error
        raise UsageError(
            f"the reference cannot be called with arrays without values: {error}"
        ) from error
    outputs = list(made) if isinstance(made, (tuple, list)) else [made]
    if not outputs or not all(isinstance(o, Traced) for o in outputs):
        refuse("returns something that was not made of its arrays")
    return [o.node for o in outputs], [a.node if isinstance(a, Traced) else None for a in given]
