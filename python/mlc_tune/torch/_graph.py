"""A graph of Dynamo: it chooses between libraries, one for each set of sizes, and eager mode.

The first call with new sizes runs in eager mode. It shows what the graph writes, how its outputs
lie in memory and which values they have; the library must give the same values.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from typing import Any, Dict, Hashable, List, Optional, Sequence, Set

import torch

from .._errors import Error, UsageError
from .._library import Library
from ._device import device_of, is_captured, random_state
from ._export import Numbers, Writes, turns_autocast_on
from ._options import Options
from ._plan import Plan, check_tensor
from ._reasons import Unsuited, warn

#: Libraries of one graph, for as many sets of sizes; further sizes run in eager mode.
MOST_PLANS = 16
# A weight that changes as often becomes an input of the library.
_MOST_CHANGES = 3
# Buffers of up to _COMPARED bytes are compared at each call, and _SAMPLED bytes of other tensors.
_COMPARED, _SAMPLED = 1 << 16, 256
_compare = ctypes.PyDLL(None).memcmp
_compare.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]


class _Weights:
    """Arguments that are constants of the libraries, and how to notice that one was changed.

    Versions count writes, but not those of batch norm to its statistics nor those by `.data`: small
    tensors are compared, and a part of large ones.
    """

    def __init__(self, args: Sequence[Any], indices: Sequence[int]) -> None:
        self.indices = list(indices)
        #: Positions of all other arguments.
        self.others = sorted(set(range(len(args))) - set(indices))
        self._rows = [(i, args[i], args[i]._version, args[i].data_ptr()) for i in indices]
        self._contents = []
        for i in indices:
            size = args[i].numel() * args[i].element_size()
            if not args[i].is_contiguous() or args[i].device.type != "cpu":
                continue
            parameter = isinstance(args[i], torch.nn.Parameter)
            whole = size <= (_SAMPLED if parameter else _COMPARED)
            begin = args[i].data_ptr() + (0 if whole else (size - _SAMPLED) // 2)
            length = size if whole else _SAMPLED
            self._contents.append((i, begin, length, ctypes.string_at(begin, length)))

    def changed(self, args: Sequence[Any]) -> List[int]:
        other = [
            i
            for i, tensor, version, address in self._rows
            if args[i] is not tensor or tensor._version != version or tensor.data_ptr() != address
        ]
        if other or not self._contents:
            return other
        return [i for i, at, size, content in self._contents if _compare(at, content, size)]


_live: "weakref.WeakSet[Graph]" = weakref.WeakSet()
_live_lock = threading.Lock()


def live_graphs() -> "List[Graph]":
    """All graphs of this process, so that tuning can give them better libraries."""
    with _live_lock:
        return list(_live)


class _WritesWeights(Writes):
    """The graph writes arguments that were taken for constants."""


class Graph:
    """What Dynamo calls in place of the graph. Threads may call it at the same time."""

    def __init__(self, gm: "torch.fx.GraphModule", options: Options, keep: bool = False) -> None:
        """`keep`: plans keep their ONNX files, to be tuned."""
        self._gm = gm
        self._options = options
        self._keep = keep
        self._lock = threading.Lock()
        self._plans: Dict[Hashable, Optional[Plan]] = {}  # None: eager mode
        self._eager = False
        self._weights: Optional[_Weights] = None
        self._changes: Dict[int, int] = {}
        self._inputs: Set[int] = set()  # weights that became inputs
        self._numbers: Set[int] = set()  # tensors whose values are constants
        self._warned: Set[str] = set()
        self._names = [str(node.target) for node in gm.graph.nodes if node.op == "placeholder"]
        count = sum(node.op.startswith("call_") for node in gm.graph.nodes)
        self._turns_autocast_on = turns_autocast_on(gm.graph)
        self._title = f"a graph of {count} operators"
        with _live_lock:
            _live.add(self)

    @property
    def plans(self) -> List[Plan]:
        with self._lock:
            return [plan for plan in self._plans.values() if plan is not None]

    def improve(
        self, digest: str, options: Options, library: Library, device: "torch.device"
    ) -> None:
        """Uses another library from the next call on, if one of the plans has this ONNX file and
        device, and options differ only in where tuning keeps its results. Later plans use these
        options, too.
        """
        with self._lock:
            plans = [
                plan
                for plan in self._plans.values()
                if plan is not None
                and (plan.digest, plan.options.kind, plan.device) == (digest, options.kind, device)
            ]
            for plan in plans:
                plan.use(library)
            if plans:
                self._options = self._options.tuned_by(options.log, options.server)

    def __call__(self, *args: Any) -> Any:
        if self._eager:
            return self._gm(*args)
        weights = self._weights
        if weights is None or weights.changed(args):
            return self._first(args)
        key = self._key(args, weights)
        plan = self._plans.get(key)
        if plan is None:
            return self._gm(*args) if key in self._plans else self._first(args)
        if plan.overlaps(args):
            return self._gm(*args)
        return plan.run(args)

    def _key(self, args: Sequence[Any], weights: _Weights) -> Hashable:
        """What a library depends on besides weights: sizes, strides, numbers, wanted gradients."""
        parts: List[Hashable] = []
        for i in weights.others:
            arg = args[i]
            if i in self._numbers:
                parts.append(arg.item())
                continue
            parts.append((arg.shape, arg.stride()) if isinstance(arg, torch.Tensor) else arg)
        if torch.is_grad_enabled():
            parts.append(tuple(arg.requires_grad for arg in args if isinstance(arg, torch.Tensor)))
        return tuple(parts)

    def _first(self, args: Sequence[Any]) -> Any:
        """A call without a plan: runs in eager mode, and makes one from what it shows."""
        if is_captured():
            self._warn("a CUDA graph is captured: call the model with these sizes before")
            return self._gm(*args)
        with self._lock:
            weights = self._current_weights(args)
            key = self._key(args, weights)
            if self._eager or key in self._plans:  # of another thread
                return self._gm(*args)
            if len(self._plans) >= MOST_PLANS:
                self._warn(f"it has libraries for {MOST_PLANS} sets of sizes, the most of a graph")
                return self._gm(*args)
            try:
                device = self._check_arguments(args)
            except Unsuited as reason:
                self._refuse(key, reason)
                return self._gm(*args)
            fixed = set(weights.indices)
            before = [
                arg.detach().clone() if isinstance(arg, torch.Tensor) and i not in fixed else arg
                for i, arg in enumerate(args)
            ]
            versions = self._versions(args)
            state = random_state(device)
            outputs = self._gm(*args)
            written = {i for i, version in self._versions(args).items() if version != versions[i]}
            try:
                if not all(map(torch.equal, state, random_state(device))):
                    raise Unsuited("it draws random numbers, as dropout does in training")
                plan = self._plan(before, args, outputs, written)
                key = self._key(args, weights)  # which numbers may be part of since
                self._plans[key] = plan
            except _WritesWeights as weight:
                # Their old values are gone: the next call makes the plan.
                self._inputs.update(weight.places)
                self._weights = None
            except Unsuited as reason:
                self._refuse(key, reason)
            return outputs

    @staticmethod
    def _versions(args: Sequence[Any]) -> Dict[int, int]:
        """Counts of writes; a tensor of inference mode has none, and its writes are found later."""
        return {
            i: arg._version
            for i, arg in enumerate(args)
            if isinstance(arg, torch.Tensor) and not arg.is_inference()
        }

    def _current_weights(self, args: Sequence[Any]) -> _Weights:
        changed = self._weights.changed(args) if self._weights else []
        if self._weights is None or changed:
            self._plans.clear()
            for i in changed:
                self._changes[i] = self._changes.get(i, 0) + 1
                if self._changes[i] >= _MOST_CHANGES:
                    self._inputs.add(i)
            self._weights = _Weights(args, [i for i, arg in enumerate(args) if self._fixed(i, arg)])
        return self._weights

    def _fixed(self, i: int, arg: Any) -> bool:
        """Whether the argument may be a constant. Dynamo names buffers; a buffer that is
        none costs time alone, since changes are noticed."""
        if not isinstance(arg, torch.Tensor) or i in self._inputs or arg.is_inference():
            return False
        return isinstance(arg, torch.nn.Parameter) or "_buffers_" in self._names[i]

    def _check_arguments(self, args: Sequence[Any]) -> "torch.device":
        """The device of the arguments. Unsuited if a library cannot take them."""
        device = device_of(args)
        if torch.is_autocast_enabled(device.type) or self._turns_autocast_on:
            raise Unsuited("autocast is left to it; the option 'precision' lowers the precision")
        for arg in args:
            if isinstance(arg, torch.Tensor):
                check_tensor(arg)
                if arg.numel() == 0:
                    raise Unsuited("a tensor is empty", always=False)
            elif arg is not None and not isinstance(arg, (bool, int, float, str)):
                raise Unsuited(f"an argument is a {type(arg).__name__}")
        return device

    def _plan(
        self, before: Sequence[Any], args: Sequence[Any], outputs: Any, written: Set[int]
    ) -> Plan:
        assert self._weights is not None
        tensors = [t for t in outputs if isinstance(t, torch.Tensor)]
        if any(t.requires_grad for t in (*tensors, *(args[i] for i in written))):
            raise Unsuited(
                "gradients are wanted: for inference, call the model under torch.no_grad() or "
                "torch.inference_mode()"
            )
        while True:
            weights = written.intersection(self._weights.indices)
            if weights:
                raise _WritesWeights(sorted(weights))
            try:
                plan = Plan(
                    self._gm,
                    before,
                    args,
                    outputs,
                    self._weights.indices,
                    written,
                    self._options,
                    self._numbers,
                )
                if not self._keep:
                    plan.source = None
                return plan
            except Writes as more:
                written |= set(more.places)
            except Numbers as more:
                self._numbers |= set(more.places)
            except UsageError:
                raise  # an option is wrong
            except Error as error:
                raise Unsuited(str(error)) from error

    def _refuse(self, key: Hashable, reason: Unsuited) -> None:
        if reason.always:
            self._eager = True
            self._plans.clear()
        else:
            self._plans[key] = None
        self._warn(str(reason))

    def _warn(self, reason: str) -> None:
        if reason not in self._warned:
            self._warned.add(reason)
            warn(self._title, reason)
