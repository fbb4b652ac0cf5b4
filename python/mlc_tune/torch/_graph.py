"""A graph of Dynamo: it chooses between libraries, one for each set of sizes, and eager mode.

The first call with new sizes runs in eager mode. It shows what the graph writes, how its outputs lie
in memory and which values they have; the library must give the same values.
"""

from __future__ import annotations

import threading
from typing import Any, Dict, Hashable, List, Optional, Sequence, Set

import torch

from .._errors import Error, UsageError
from ._options import Options
from ._plan import Plan, check_tensor
from ._reasons import Unsuited, warn

#: Libraries of one graph, for as many sets of sizes; further sizes run in eager mode.
MOST_PLANS = 16
# A weight that changes as often becomes an input of the library.
_MOST_CHANGES = 3


class _Weights:
    """Arguments that are constants of the libraries, and how to notice that one was changed."""

    def __init__(self, args: Sequence[Any], indices: Sequence[int]) -> None:
        self.indices = list(indices)
        #: Positions of all other arguments.
        self.others = sorted(set(range(len(args))) - set(indices))
        self._rows = [(i, args[i], args[i]._version, args[i].data_ptr()) for i in indices]

    def changed(self, args: Sequence[Any]) -> List[int]:
        return [
            i
            for i, tensor, version, address in self._rows
            if args[i] is not tensor
            or tensor._version != version
            or tensor.data_ptr() != address
        ]


class Graph:
    """What Dynamo calls in place of the graph. Threads may call it at the same time."""

    def __init__(self, gm: "torch.fx.GraphModule", options: Options) -> None:
        self._gm = gm
        self._options = options
        self._lock = threading.Lock()
        self._plans: Dict[Hashable, Optional[Plan]] = {}  # None: eager mode
        self._eager = False
        self._weights: Optional[_Weights] = None
        self._changes: Dict[int, int] = {}
        self._inputs: Set[int] = set()  # weights that became inputs
        self._warned: Set[str] = set()
        self._names = [str(node.target) for node in gm.graph.nodes if node.op == "placeholder"]
        count = sum(node.op.startswith("call_") for node in gm.graph.nodes)
        self._enters_autocast = any(
            getattr(node.target, "__name__", "") == "_enter_autocast" for node in gm.graph.nodes
        )
        self._title = f"a graph of {count} operators"

    @property
    def plans(self) -> List[Plan]:
        with self._lock:
            return [plan for plan in self._plans.values() if plan is not None]

    def __call__(self, *args: Any) -> Any:
        if self._eager:
            return self._gm(*args)
        weights = self._weights
        if weights is None or weights.changed(args):
            return self._first(args)
        key = self._key(args, weights)
        plan = self._plans.get(key, self)
        if plan is self:
            return self._first(args)
        if plan is None or plan.overlaps(args):
            return self._gm(*args)
        return plan.run(args)

    def _key(self, args: Sequence[Any], weights: _Weights) -> Hashable:
        """What a library depends on besides weights: sizes, strides, numbers, wanted gradients."""
        parts: List[Hashable] = []
        for i in weights.others:
            arg = args[i]
            parts.append((arg.shape, arg.stride()) if isinstance(arg, torch.Tensor) else arg)
        if torch.is_grad_enabled():
            parts.append(
                tuple(arg.requires_grad for arg in args if isinstance(arg, torch.Tensor))
            )
        return tuple(parts)

    def _first(self, args: Sequence[Any]) -> Any:
        """A call for which there is no plan: runs in eager mode, and makes one from what it shows."""
        with self._lock:
            weights = self._current_weights(args)
            key = self._key(args, weights)
            if self._eager or key in self._plans:  # of another thread
                return self._gm(*args)
            if len(self._plans) >= MOST_PLANS:
                self._warn(f"it has libraries for {MOST_PLANS} sets of sizes, the most of a graph")
                return self._gm(*args)
            try:
                self._check_arguments(args)
            except Unsuited as reason:
                self._refuse(key, reason)
                return self._gm(*args)
            fixed = set(weights.indices)
            before = [
                arg.detach().clone() if isinstance(arg, torch.Tensor) and i not in fixed else arg
                for i, arg in enumerate(args)
            ]
            versions = self._versions(args)
            state = torch.get_rng_state()
            outputs = self._gm(*args)
            written = [i for i, version in self._versions(args).items() if version != versions[i]]
            if fixed.intersection(written):
                self._inputs.update(fixed.intersection(written))
                self._weights = None
                return outputs
            try:
                if not torch.equal(state, torch.get_rng_state()):
                    raise Unsuited("it draws random numbers, as dropout does in training")
                self._plans[key] = self._plan(before, args, outputs, written)
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
        """Whether the argument may be a constant. Dynamo names buffers; a wrong guess costs time
        alone, since changes are noticed."""
        if not isinstance(arg, torch.Tensor) or i in self._inputs or arg.is_inference():
            return False
        return isinstance(arg, torch.nn.Parameter) or "_buffers_" in self._names[i]

    def _check_arguments(self, args: Sequence[Any]) -> None:
        if torch.is_autocast_enabled("cpu") or self._enters_autocast:
            raise Unsuited("autocast is left to it; the option 'precision' lowers the precision")
        for arg in args:
            if isinstance(arg, torch.Tensor):
                check_tensor(arg)
                if arg.numel() == 0:
                    raise Unsuited("a tensor is empty", always=False)
            elif arg is not None and not isinstance(arg, (bool, int, float, str)):
                raise Unsuited(f"an argument is a {type(arg).__name__}")

    def _plan(
        self, before: Sequence[Any], args: Sequence[Any], outputs: Any, written: Sequence[int]
    ) -> Plan:
        assert self._weights is not None
        tensors = [t for t in outputs if isinstance(t, torch.Tensor)]
        if any(t.requires_grad for t in (*tensors, *(args[i] for i in written))):
            raise Unsuited(
                "gradients are wanted: for inference, call the model under torch.no_grad() or "
                "torch.inference_mode()"
            )
        try:
            return Plan(
                self._gm, before, args, outputs, self._weights.indices, written, self._options
            )
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
