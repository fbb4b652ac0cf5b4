"""The specification of a kernel with tunable parameters (docs/reference/kernel-spec.md), made of
Python values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from ._errors import UsageError
from ._nodes import workload_of
from ._traced import trace

Value = Union[int, float, str]
Config = Dict[str, Value]
# Along x, y and z: a number or an expression each; fewer than three leave 1.
Extents = Union[int, str, Sequence[Union[int, str]]]

_TYPES = {
    "float32": ("float", "float"),
    "float64": ("double", "double"),
    "float16": ("half", "unsigned short"),
    "int8": ("int8", "signed char"),
    "uint8": ("uint8", "unsigned char"),
    "int16": ("int16", "short"),
    "int32": ("int32", "int"),
    "int64": ("int64", "long long"),
}  # of NumPy: as specifications call it, and C
_NAMES: Dict[str, Any] = {
    "abs": abs, "bool": bool, "ceil": math.ceil, "float": float, "floor": math.floor, "int": int,
    "len": len, "list": list, "max": max, "min": min, "range": range, "round": round,
}  # fmt: skip


@dataclass(frozen=True)
class Argument:
    """One of the function's: a pointer to an input or an output, or a number."""

    name: str
    type: str  # of NumPy
    shape: Optional[Tuple[int, ...]]  # None for a number
    value: Optional[Value] = None  # of a number
    operand: int = 0  # its place among the inputs or outputs of the workload
    is_output: bool = False

    def to_json(self) -> Dict[str, Any]:
        row: Dict[str, Any] = {"Name": self.name, "Type": _TYPES[self.type][0]}
        if self.shape is None:
            return {**row, "MemoryType": "Scalar", "FillValue": self.value}
        access = "WriteOnly" if self.is_output else "ReadOnly"
        return {**row, "MemoryType": "Vector", "AccessType": access, "Operand": self.operand}

    def call_text(self, place: int) -> str:
        """The argument of a call in C; `place`: of the pointer among all buffers."""
        kind = _TYPES[self.type][1]
        if self.shape is None:
            return f"({kind}){self.value!r}"
        return f"({'' if self.is_output else 'const '}{kind}*)buffers[{place}]"


def argument_of(name: str, value: Any) -> Argument:
    """An argument of a call. UsageError for what no kernel can take."""
    if isinstance(value, np.ndarray):
        if value.dtype.name not in _TYPES:
            raise UsageError(f"the argument {name!r} has the type {value.dtype}: kernels take "
                             f"{', '.join(_TYPES)}")  # fmt: skip
        return Argument(name, value.dtype.name, value.shape)
    if isinstance(value, np.generic) and value.dtype.name in _TYPES and value.dtype.name != "float16":
        return Argument(name, value.dtype.name, None, value.item())
    if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
        return Argument(name, "int32" if -(2**31) <= value < 2**31 else "int64", None, value)
    if isinstance(value, float) and math.isfinite(value):
        return Argument(name, "float32", None, value)
    raise UsageError(
        f"the argument {name!r} is a {type(value).__name__}: kernels take NumPy arrays and numbers"
    )


@dataclass(frozen=True)
class Interface:
    """What a kernel computes of arguments of given shapes, types and numbers."""

    arguments: Tuple[Argument, ...]  # as the function takes them
    workload: str

    @property
    def outputs(self) -> List[Tuple[Tuple[int, ...], str]]:
        made = sorted((a for a in self.arguments if a.is_output), key=lambda a: a.operand)
        return [(a.shape or (), a.type) for a in made]


def interface_of(
    reference: Callable[..., Any],
    names: Sequence[str],
    values: Sequence[Any],
    tolerance: float,
) -> Interface:
    """The reference decides the outputs, which follow the arguments in its order."""
    given = [argument_of(name, value) for name, value in zip(names, values)]
    outputs, inputs = trace(reference, values)
    text, order = workload_of(outputs, tolerance)
    places = {id(node): i for i, node in enumerate(order)}
    arguments = []
    for argument, node in zip(given, inputs):
        if node is not None and id(node) not in places:
            raise UsageError(f"the reference does not use its argument {argument.name!r}")
        place = places[id(node)] if node is not None else 0
        arguments.append(Argument(**{**vars(argument), "operand": place}))
    for i, node in enumerate(outputs):
        if node.dtype.name not in _TYPES:
            raise UsageError(f"the reference returns {node.dtype}: kernels write "
                             f"{', '.join(_TYPES)}; use astype")  # fmt: skip
        name = f"output{i}" if len(outputs) > 1 else "output"
        arguments.append(Argument(name, node.dtype.name, node.shape, None, i, True))
    return Interface(tuple(arguments), text)


def _extents(extents: Extents) -> Dict[str, str]:
    given = [extents] if isinstance(extents, (int, str)) else list(extents)
    if not 1 <= len(given) <= 3:
        raise UsageError(f"one to three extents are needed, not {len(given)}")
    return dict(zip("XYZ", [str(e) for e in given] + ["1"] * (3 - len(given))))


def _plain(value: Any) -> Value:
    """A number of NumPy as one of Python."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool):
        return int(plain)
    if isinstance(plain, (int, float, str)):
        return plain
    raise UsageError(f"a parameter has the value {value!r}: numbers and texts are possible")


@dataclass(frozen=True)
class Space:
    """The source of a kernel and what may be chosen in it."""

    name: str
    source: str
    language: str  # C, CUDA
    parameters: Mapping[str, Sequence[Any]]
    restrictions: Sequence[str]
    defaults: Mapping[str, Any]
    options: Sequence[str]

    def values(self, parameter: str) -> List[Value]:
        return [_plain(v) for v in self.parameters[parameter]]

    def to_json(
        self, interface: Interface, grid: Extents, block: Optional[Extents], shared: Union[int, str]
    ) -> Dict[str, Any]:
        parameters = []
        for name in self.parameters:
            row: Dict[str, Any] = {"Name": name, "Values": self.values(name)}
            if name in self.defaults:
                row["Default"] = _plain(self.defaults[name])
            parameters.append(row)
        kernel: Dict[str, Any] = {
            "Language": self.language,
            "KernelName": self.name,
            "Source": self.source,
            "GlobalSize": _extents(grid),
            "LocalSize": _extents(1 if block is None else block),
            "SharedMemory": str(shared),
            "Arguments": [argument.to_json() for argument in interface.arguments],
            "Workload": interface.workload,
        }
        if self.options:
            kernel["CompilerOptions"] = list(self.options)
        space: Dict[str, Any] = {"TuningParameters": parameters}
        if self.restrictions:
            space["Conditions"] = [{"Expression": text} for text in self.restrictions]
        return {"ConfigurationSpace": space, "KernelSpecification": kernel}

    def config_of(self, text: str) -> Config:
        """The values of a record's config, which has numbers of values unless all are integers."""
        knobs = dict(word.split("=", 1) for word in text.split(" entry=")[0].split()[1:])
        config: Config = {}
        for name in self.parameters:
            values = self.values(name)
            whole = all(isinstance(v, int) for v in values)
            config[name] = int(knobs[name]) if whole else values[int(knobs[name])]
        return config

    def blocks_of(self, config: Config, interface: Interface, grid: Extents) -> List[int]:
        """The blocks along x, y and z."""
        numbers = {a.name: a.value for a in interface.arguments if a.shape is None}
        known = {"__builtins__": {}, **_NAMES, **numbers, **config}
        return [int(eval(text, known)) for text in _extents(grid).values()]


def definitions(config: Mapping[str, Value]) -> str:
    """The values as macros of C."""
    return "".join(f"#define {name} {_c_text(value)}\n" for name, value in config.items())


def _c_text(value: Value) -> str:
    text = value if isinstance(value, str) else repr(value)
    return f"({text})" if text.startswith("-") else text
