"""Values of a workload and its text: what a kernel of one's own computes, as workers read it.

A function makes one value of others. Numbers and short arrays become constants.
"""

from __future__ import annotations

import math
import operator
from typing import Any, Iterator, List, NoReturn, Optional, Sequence, Tuple, Union

import numpy as np

from ._errors import UsageError
from ._tensors import type_name

Shape = Tuple[int, ...]
DType = Any  # a numpy.dtype
# Longer lists of numbers are arguments: a workload has no data.
_MOST_NUMBERS = 64


class Node:
    """A value: what makes it, its shape and its type."""

    __slots__ = ("attributes", "dtype", "op", "operands", "shape")

    def __init__(
        self,
        op: str,
        operands: Sequence["Node"],
        shape: Sequence[int],
        dtype: DType,
        attributes: str = "",
    ) -> None:
        self.op = op
        self.operands = tuple(operands)
        self.shape: Shape = tuple(shape)
        self.dtype = np.dtype(dtype)
        self.attributes = attributes

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)


# A value, a number, or an array of numbers.
Operand = Union[Node, Any]


def refuse(what: str) -> NoReturn:
    raise UsageError(
        f"the reference {what}: it must be written in functions of NumPy that have a form as a "
        "workload (docs/how-to/tune-a-kernel.md lists them), or be the text of a workload"
    )


def _ints(values: Sequence[int]) -> str:
    return "[" + ",".join(str(int(v)) for v in values) + "]"


def input_of(shape: Sequence[int], dtype: DType) -> Node:
    return Node("input", (), shape, dtype)


def number(value: Any, dtype: DType) -> Node:
    as_float = float(value)
    if not math.isfinite(as_float):
        refuse(f"has the constant {as_float}")
    return Node("constant", (), (), dtype, f"{{value={as_float!r}}}")


def lift(value: Operand, dtype: Optional[DType] = None) -> Node:
    """The operand as a value of that type."""
    if isinstance(value, Node):
        return value if dtype is None else cast(value, dtype)
    array = np.asarray(value)
    kind = array.dtype if dtype is None else np.dtype(dtype)
    if array.size > 0 and (array == array.flat[0]).all():
        return expand(number(array.flat[0], kind), array.shape)
    if not 0 < array.size <= _MOST_NUMBERS:
        refuse(f"has an array of {array.size} numbers of its own; make it an argument of the kernel")
    numbers = [reshape(number(x, kind), (1,)) for x in array.flat]
    return reshape(concatenate(numbers), array.shape)


def common_type(*operands: Operand) -> DType:
    """The type that NumPy computes in."""
    return np.result_type(*[sample(x) for x in operands])


def sample(x: Operand) -> Any:
    """Something of the operand's type, with which NumPy says what it would do."""
    return np.ones(1, x.dtype) if isinstance(x, Node) else x


def cast(x: Node, dtype: DType) -> Node:
    return x if x.dtype == dtype else Node("cast", [x], x.shape, dtype)


def expand(x: Operand, shape: Union[int, Sequence[int]]) -> Node:
    node = lift(x)
    wanted = (shape,) if isinstance(shape, int) else tuple(shape)
    return node if node.shape == wanted else Node("expand", [node], wanted, node.dtype)


def pointwise(op: str, *operands: Node, dtype: Optional[DType] = None) -> Node:
    shape = np.broadcast_shapes(*[x.shape for x in operands])
    return Node(op, operands, shape, operands[-1].dtype if dtype is None else dtype)


def truth(x: Operand) -> Node:
    """Whether it is not zero."""
    node = lift(x)
    if node.dtype == np.bool_:
        return node
    return pointwise("not", pointwise("equal", node, number(0, node.dtype), dtype=np.bool_))


def where(condition: Operand, *values: Operand) -> Node:
    if len(values) != 2:
        refuse("calls np.where with a condition alone")
    dtype = common_type(*values)
    return pointwise("select", truth(condition), *[lift(x, dtype) for x in values])


def axes_of(x: Node, axis: Any) -> List[int]:
    given = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    axes = [operator.index(a) for a in given]
    for a in axes:
        if not -x.ndim <= a < x.ndim:
            refuse(f"names the axis {a} of an array of {x.ndim} dimensions")
    return sorted(a % x.ndim for a in axes)


def reduce(kind: str, x: Operand, axis: Any = None, keepdims: bool = False) -> Node:
    node = lift(x)
    axes = axes_of(node, axis)
    if kind in ("sum", "prod", "mean") and node.dtype.kind in "bi":
        node = cast(node, np.dtype(np.float64 if kind == "mean" else np.int64))
    shape = [1 if i in axes else n for i, n in enumerate(node.shape) if keepdims or i not in axes]
    attributes = f"{{axes={_ints(axes)}, keepdims={int(keepdims)}, kind={kind}}}"
    return Node("reduce", [node], shape, node.dtype, attributes)


def arg(kind: str, x: Operand, axis: Optional[int] = None) -> Node:
    node = reshape(x, -1) if axis is None else lift(x)
    (place,) = axes_of(node, axis or 0)
    shape = [n for i, n in enumerate(node.shape) if i != place]
    attributes = f"{{axis={place}, keepdims=0, kind={kind}}}"
    return Node("arg", [node], shape, np.int64, attributes)


def cumsum(x: Operand, axis: Optional[int] = None) -> Node:
    node = reshape(x, -1) if axis is None else lift(x)
    (place,) = axes_of(node, axis or 0)
    return Node("cum_sum", [node], node.shape, node.dtype, f"{{axis={place}}}")


def take(x: Operand, indices: Operand, axis: Optional[int] = None) -> Node:
    node = reshape(x, -1) if axis is None else lift(x)
    places = lift(indices)
    (place,) = axes_of(node, axis or 0)
    shape = (*node.shape[:place], *places.shape, *node.shape[place + 1 :])
    return Node("gather", [node, places], shape, node.dtype, f"{{axis={place}}}")


def matmul(x: Operand, y: Operand) -> Node:
    dtype = common_type(x, y)
    a, b = lift(x, dtype), lift(y, dtype)
    if a.ndim == 0 or b.ndim == 0:
        refuse("multiplies a matrix with a number by @")
    left = a if a.ndim > 1 else reshape(a, (1, -1))
    right = b if b.ndim > 1 else reshape(b, (-1, 1))
    if left.shape[-1] != right.shape[-2]:
        refuse(f"multiplies matrices of {list(a.shape)} and {list(b.shape)}")
    batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    made = Node("matmul", [left, right], (*batch, left.shape[-2], right.shape[-1]), dtype)
    drop = ([-2] if a.ndim == 1 else []) + ([-1] if b.ndim == 1 else [])
    return squeeze(made, tuple(drop)) if drop else made


def reshape(x: Operand, shape: Union[int, Sequence[int]]) -> Node:
    node = lift(x)
    wanted = [shape] if isinstance(shape, int) else [operator.index(n) for n in shape]
    if -1 in wanted:
        known = math.prod(n for n in wanted if n != -1)
        wanted[wanted.index(-1)] = node.size // known if known else 0
    if math.prod(wanted) != node.size or min(wanted, default=0) < 0:
        refuse(f"reshapes {list(node.shape)} to {wanted}")
    return node if tuple(wanted) == node.shape else Node("reshape", [node], wanted, node.dtype)


def transpose(x: Operand, axes: Any = None) -> Node:
    node = lift(x)
    order = list(range(node.ndim))[::-1] if axes is None else [a % node.ndim for a in axes]
    if order == sorted(order):
        return node
    shape = [node.shape[a] for a in order]
    return Node("transpose", [node], shape, node.dtype, f"{{perm={_ints(order)}}}")


def concatenate(arrays: Sequence[Operand], axis: Optional[int] = 0) -> Node:
    dtype = common_type(*arrays)
    parts = [lift(x, dtype) if axis is not None else reshape(lift(x, dtype), -1) for x in arrays]
    (place,) = axes_of(parts[0], axis or 0)
    shape = list(parts[0].shape)
    shape[place] = sum(x.shape[place] for x in parts)
    return parts[0] if len(parts) == 1 else Node("concat", parts, shape, dtype, f"{{axis={place}}}")


def expand_dims(x: Operand, axis: Any) -> Node:
    node = lift(x)
    given = (axis,) if isinstance(axis, int) else axis
    rank = node.ndim + len(given)
    places = {a % rank for a in given}
    sizes = iter(node.shape)
    return reshape(node, [1 if i in places else next(sizes) for i in range(rank)])


def squeeze(x: Operand, axis: Any = None) -> Node:
    node = lift(x)
    ones = [i for i, n in enumerate(node.shape) if n == 1] if axis is None else axes_of(node, axis)
    return reshape(node, [n for i, n in enumerate(node.shape) if i not in ones])


def pad(x: Node, width: Any, mode: Any = "constant", constant_values: Any = 0) -> Node:
    if mode not in ("constant", "reflect", "edge", "wrap"):
        refuse(f"pads by {mode!r}")
    widths = np.broadcast_to(np.asarray(width), (x.ndim, 2)).tolist()
    pads = [w[0] for w in widths] + [w[1] for w in widths]
    shape = [n + before + after for n, (before, after) in zip(x.shape, widths)]
    value = f", value={float(constant_values)!r}" if mode == "constant" else ""
    return Node("pad", [x], shape, x.dtype, f"{{mode={mode}, pads={_ints(pads)}{value}}}")


def index(x: Node, key: Any) -> Node:
    """Basic indexing: numbers, slices, None and an ellipsis."""
    if isinstance(key, Node):
        return take(x, key, 0)
    keys = list(key) if isinstance(key, tuple) else [key]
    rest = [slice(None)] * (x.ndim - sum(k is not None and k is not Ellipsis for k in keys))
    dots = [i for i, k in enumerate(keys) if k is Ellipsis]
    at = dots[0] if dots else len(keys)
    keys[at : at + len(dots)] = rest
    starts: List[int] = []
    steps: List[int] = []
    sizes: List[int] = []
    shape: List[int] = []
    for k in keys:
        if k is None:
            shape.append(1)
            continue
        if len(sizes) == x.ndim:
            raise IndexError(f"more indices than the {x.ndim} dimensions of the array")
        extent = x.shape[len(sizes)]
        if isinstance(k, slice):
            start, stop, step = k.indices(extent)
            size = len(range(start, stop, step))
            shape.append(size)
        else:
            start, step, size = _place(k, extent), 1, 1
        starts.append(start if size else 0)
        steps.append(step)
        sizes.append(size)
    made = x
    if tuple(sizes) != x.shape or any(step != 1 for step in steps):
        attributes = f"{{starts={_ints(starts)}, steps={_ints(steps)}}}"
        made = Node("slice", [x], sizes, x.dtype, attributes)
    return reshape(made, shape)


def _place(key: Any, extent: int) -> int:
    try:
        place = operator.index(key)
    except TypeError:
        refuse(f"has an index that is a {type(key).__name__}; use np.take")
    if not -extent <= place < extent:
        raise IndexError(f"the index {place} of a dimension of {extent}")
    return place % extent


def _in_order(outputs: Sequence[Node]) -> List[Node]:
    """Sources in order of first use, then the rest, operands before users: as workloads are."""
    sources: List[Node] = []
    rest: List[Node] = []
    seen = set()
    for output in outputs:
        stack: List[Tuple[Node, Iterator[Node]]] = []
        if id(output) not in seen:
            seen.add(id(output))
            stack.append((output, iter(output.operands)))
        while stack:
            node, operands = stack[-1]
            operand = next((o for o in operands if id(o) not in seen), None)
            if operand is not None:
                seen.add(id(operand))
                stack.append((operand, iter(operand.operands)))
                continue
            (sources if node.op in ("input", "constant") else rest).append(node)
            stack.pop()
    return sources + rest


def workload_of(outputs: Sequence[Node], tolerance: float) -> Tuple[str, List[Node]]:
    """The text of the workload with these outputs, and its inputs in their order."""
    nodes = _in_order(outputs)
    numbers = {id(node): i for i, node in enumerate(nodes)}
    lines = []
    for node in nodes:
        operands = ", ".join(f"%{numbers[id(o)]}" for o in node.operands)
        kind = f"{type_name(node.dtype)}[{','.join(map(str, node.shape))}]"
        attributes = f" {node.attributes}" if node.attributes else ""
        lines.append(f"  %{numbers[id(node)]} = {node.op}({operands}){attributes} : {kind}\n")
    returned = ", ".join(f"%{numbers[id(o)]}" for o in outputs)
    text = f"workload v1 tolerance={tolerance!r} {{\n{''.join(lines)}  return {returned}\n}}\n"
    return text, [node for node in nodes if node.op == "input"]
