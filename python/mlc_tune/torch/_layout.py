"""How the outputs of a graph lie in memory: each call gives them as eager mode does.

A view of an input stays one, outputs that share memory share it, strides are those of eager mode.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Sequence, Tuple

import torch

from ._reasons import Unsuited

# From arguments, results of the library and memory that outputs share to an output.
Maker = Callable[[Sequence[Any], Sequence["torch.Tensor"], Sequence["torch.Tensor"]], Any]


def storage_of(tensor: "torch.Tensor") -> int:
    """Where the tensor's memory begins; 0 if it has none."""
    return int(tensor.untyped_storage().data_ptr())


def _own_part(tensor: "torch.Tensor") -> Tuple[slice, ...]:
    """Indices of elements that lie apart and have all values. Unsuited if others overlap."""
    index = []
    rest = []
    for size, stride in zip(tensor.size(), tensor.stride()):
        index.append(slice(0, 1) if stride == 0 else slice(None))
        if stride != 0 and size > 1:
            rest.append((stride, size))
    reach = 1
    for stride, size in sorted(rest):
        if stride < reach:
            raise Unsuited("elements of an output overlap each other")
        reach += (size - 1) * stride
    return tuple(index)


class Layout:
    """The outputs of one call in eager mode, and how to make them again from results."""

    def __init__(self, args: Sequence[Any], outputs: Sequence[Any]) -> None:
        #: Positions of the outputs that a library must compute.
        self.wanted: List[int] = []
        self._shared: List[Tuple[int, "torch.dtype"]] = []  # memory: elements, type
        inputs: Dict[int, List[int]] = {}
        for i, arg in enumerate(args):
            if isinstance(arg, torch.Tensor) and storage_of(arg):
                inputs.setdefault(storage_of(arg), []).append(i)
        owners: Dict[int, List[int]] = {}
        for i, output in enumerate(outputs):
            if isinstance(output, torch.Tensor) and storage_of(output) not in inputs:
                owners.setdefault(storage_of(output), []).append(i)
        self._groups: Dict[int, int] = {}
        self._makers: List[Maker] = [
            self._maker(i, args, outputs, inputs, owners) for i in range(len(outputs))
        ]

    def _maker(
        self,
        i: int,
        args: Sequence[Any],
        outputs: Sequence[Any],
        inputs: Dict[int, List[int]],
        owners: Dict[int, List[int]],
    ) -> Maker:
        output = outputs[i]
        if not isinstance(output, torch.Tensor):
            if output is not None and not isinstance(output, (bool, int, float, str)):
                raise Unsuited(f"it gives a {type(output).__name__}")
            return lambda _args, _results, _shared: output
        if output.is_neg() or output.is_conj():
            raise Unsuited("an output is a negated or conjugated view")
        if output.numel() == 0:
            raise Unsuited("an output is empty", always=False)
        if storage_of(output) in inputs:
            return _of_input(inputs[storage_of(output)], args, output)
        place = len(self.wanted)
        self.wanted.append(i)
        if len(owners[storage_of(output)]) > 1:
            return self._of_shared(place, output)
        if output.is_contiguous():
            return lambda _args, results, _shared: results[place]
        size, stride, part = output.size(), output.stride(), _own_part(output)

        def strided(_args: Any, results: Sequence["torch.Tensor"], _shared: Any) -> Any:
            made = torch.empty_strided(
                size, stride, dtype=results[place].dtype, device=results[place].device
            )
            made[part].copy_(results[place][part])
            return made

        return strided

    def _of_shared(self, place: int, output: "torch.Tensor") -> Maker:
        storage = storage_of(output)
        if storage not in self._groups:
            self._groups[storage] = len(self._shared)
            count = output.untyped_storage().nbytes() // output.element_size()
            self._shared.append((count, output.dtype))
        group = self._groups[storage]
        if self._shared[group][1] != output.dtype:
            raise Unsuited("two outputs share memory but not their type")
        size, stride, offset = output.size(), output.stride(), output.storage_offset()
        part = _own_part(output)

        def view(_args: Any, results: Sequence["torch.Tensor"], shared: Sequence[Any]) -> Any:
            made = shared[group].as_strided(size, stride, offset)
            made[part].copy_(results[place][part])
            return made

        return view

    def outputs(self, args: Sequence[Any], results: Sequence["torch.Tensor"]) -> Tuple[Any, ...]:
        shared = [
            torch.empty(count, dtype=dtype, device=results[0].device)
            for count, dtype in self._shared
        ]
        return tuple([make(args, results, shared) for make in self._makers])


def _of_input(places: Sequence[int], args: Sequence[Any], output: "torch.Tensor") -> Maker:
    """A view of one of the arguments at `places`, which share their memory."""
    for at in places:
        if output is args[at]:
            return lambda args, _results, _shared: args[at]
    at, arg = places[0], args[places[0]]
    if len(places) > 1:  # in a later call, they may not
        raise Unsuited("it gives a view of memory that two inputs share", always=False)
    if output.dtype != arg.dtype:
        raise Unsuited("it gives a view of an input as another type")
    size, stride = output.size(), output.stride()
    offset = output.storage_offset() - arg.storage_offset()
    return lambda args, _results, _shared: args[at].as_strided(
        size, stride, args[at].storage_offset() + offset
    )
