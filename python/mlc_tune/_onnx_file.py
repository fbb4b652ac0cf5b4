"""What an ONNX file says of its inputs, outputs, origin and external data, without the package
onnx.

Reads protobuf's wire format and skips weights. Files are data of others: every length is checked,
and nesting is bounded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, Iterator, List, Optional, Set, Tuple, Union

from ._errors import DataError

MAX_DEPTH = 64
# Fields of messages that lead to tensors with external data: message -> field -> message.
_WAYS: Dict[str, Dict[int, str]] = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node"},
    "node": {5: "attribute"},
    "attribute": {
        5: "tensor",
        6: "graph",
        10: "tensor",
        11: "graph",
        22: "sparse",
        23: "sparse",
    },
    "sparse": {1: "tensor", 2: "tensor"},
}
Value = Union[int, memoryview]


@dataclass
class ValueInfo:
    """An input or output as the model declares it; a size is a name if it is symbolic."""

    name: str = ""
    elem_type: int = 0
    shape: Optional[List[Union[int, str, None]]] = None


@dataclass
class OnnxFile:
    inputs: List[ValueInfo] = field(default_factory=list)
    outputs: List[ValueInfo] = field(default_factory=list)
    graph_name: str = ""
    graph_description: str = ""
    description: str = ""
    domain: str = ""
    producer_name: str = ""
    version: int = 0
    metadata: Dict[str, str] = field(default_factory=dict)
    external: Set[str] = field(default_factory=set)  # locations of files with weights


def _varint(data: memoryview, at: int) -> Tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise DataError("the file is not a valid ONNX model: it ends within a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _fields(data: memoryview) -> Iterator[Tuple[int, Value]]:
    """(number, value) of each field of a message."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield number, value
            continue
        if kind == 2:
            length, at = _varint(data, at)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise DataError(f"the file is not a valid ONNX model: wire type {kind}")
        if length > len(data) - at:
            raise DataError("the file is not a valid ONNX model: it ends within a field")
        yield number, data[at : at + length]
        at += length


def _text(value: Value) -> str:
    return bytes(value).decode("utf-8", "replace") if isinstance(value, memoryview) else ""


def _sub(value: Value) -> memoryview:
    return value if isinstance(value, memoryview) else memoryview(b"")


def _signed(value: Value) -> int:
    number = value if isinstance(value, int) else 0
    return number - 2**64 if number >= 2**63 else number


def _value_info(data: memoryview) -> ValueInfo:
    info = ValueInfo()
    for number, value in _fields(data):
        if number == 1:
            info.name = _text(value)
        elif number == 2:
            for kind, tensor in _fields(_sub(value)):
                if kind == 1:
                    _tensor_type(_sub(tensor), info)
    # As the compiler calls a size without a name.
    if info.shape is not None:
        info.shape = [f"{info.name}:{i}" if s is None else s for i, s in enumerate(info.shape)]
    return info


def _tensor_type(data: memoryview, info: ValueInfo) -> None:
    for number, value in _fields(data):
        if number == 1 and isinstance(value, int):
            info.elem_type = value
        elif number == 2:
            info.shape = [_size(_sub(dim)) for n, dim in _fields(_sub(value)) if n == 1]


def _size(data: memoryview) -> Union[int, str, None]:
    size: Union[int, str, None] = None
    for number, value in _fields(data):
        if number == 1:
            size = _signed(value) if _signed(value) >= 0 else None
        elif number == 2:
            size = _text(value) or None
    return size


def _entry(data: memoryview) -> Tuple[str, str]:
    found = {number: _text(value) for number, value in _fields(data)}
    return found.get(1, ""), found.get(2, "")


def _external(kind: str, data: memoryview, found: Set[str], depth: int = 0) -> None:
    if depth > MAX_DEPTH:
        raise DataError("the file is not a valid ONNX model: its graphs are nested too deeply")
    for number, value in _fields(data):
        if kind == "tensor":
            if number == 13:
                key, location = _entry(_sub(value))
                if key == "location":
                    found.add(location)
        elif number in _WAYS[kind]:
            _external(_WAYS[kind][number], _sub(value), found, depth + 1)


def read(data: Union[bytes, memoryview]) -> OnnxFile:
    """Reads a model's bytes. DataError if they are no ONNX model."""
    view = memoryview(data)
    file = OnnxFile()
    graph: Optional[memoryview] = None
    for number, value in _fields(view):
        if number == 7:
            graph = _sub(value)
        elif number in (2, 4, 6):
            name = {2: "producer_name", 4: "domain", 6: "description"}[number]
            setattr(file, name, _text(value))
        elif number == 5:
            file.version = _signed(value)
        elif number == 14:
            key, text = _entry(_sub(value))
            file.metadata[key] = text
    if graph is None:
        raise DataError("the file is not a valid ONNX model: it has no graph")
    constants: Set[str] = set()
    for number, value in _fields(graph):
        if number == 2:
            file.graph_name = _text(value)
        elif number == 10:
            file.graph_description = _text(value)
        elif number == 5:
            constants |= {_text(name) for n, name in _fields(_sub(value)) if n == 8}
        elif number == 11:
            file.inputs.append(_value_info(_sub(value)))
        elif number == 12:
            file.outputs.append(_value_info(_sub(value)))
    # Until IR version 3, a weight is also an input.
    file.inputs = [info for info in file.inputs if info.name not in constants]
    _external("model", view, file.external)
    return file
