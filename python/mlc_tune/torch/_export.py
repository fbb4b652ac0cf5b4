"""From a graph of Dynamo to an ONNX file.

Weights are constants of the file, sizes are numbers. Inputs that the graph writes are copied first:
an exporter drops writes without a word. Their new values are outputs.
"""

from __future__ import annotations

import contextlib
import copy
import logging
import threading
import warnings
from typing import Any, Collection, ContextManager, Dict, Iterator, List, Sequence, Tuple

import torch

from ._reasons import Unsuited, first_line
from ._store import Source

_OWN_LOCK = threading.RLock()
_REMARKS = ("torch.onnx", "torch.fx.experimental.symbolic_shapes")


def _is_item(node: "torch.fx.Node") -> bool:
    return node.op == "call_method" and node.target in ("item", "tolist")


def _enters_autocast(node: "torch.fx.Node") -> bool:
    return getattr(node.target, "__name__", "") == "_enter_autocast"


def turns_autocast_on(graph: "torch.fx.Graph") -> bool:
    """Whether a region of the graph does; models turn it off where they need full precision."""
    # Arguments: the kind of device, a type, whether it is on, and whether casts are kept.
    return any(_enters_autocast(node) and node.args[2] is not False for node in graph.nodes)


def _without_autocast(graph: "torch.fx.Graph") -> None:
    """Takes out where regions without autocast begin and end, which an exporter does not know."""
    for node in filter(_enters_autocast, list(graph.nodes)):
        for end in list(node.users):
            graph.erase_node(end)
        graph.erase_node(node)


def with_tensor_scalars(
    gm: "torch.fx.GraphModule",
) -> "Tuple[torch.fx.GraphModule, List[int]]":
    """The graph without autocast and without `item` of inputs, and the positions of these inputs:
    Dynamo passes a float that varies as a tensor without dimensions, which most operators take in
    place of a number."""
    graph = copy.deepcopy(gm.graph)
    _without_autocast(graph)
    scalars = []
    for place, node in enumerate(n for n in list(graph.nodes) if n.op == "placeholder"):
        if node.users and all(map(_is_item, node.users)):
            scalars.append(place)
            for user in list(node.users):
                user.replace_all_uses_with(node)
                graph.erase_node(user)
    return torch.fx.GraphModule(gm, graph), scalars


class Whole(torch.nn.Module):
    """The graph as a module of tensors alone: it owns weights and numbers, and writes no input."""

    def __init__(
        self,
        gm: "torch.fx.GraphModule",
        args: Sequence[Any],
        constants: Sequence[int],
        wanted: Sequence[int],
        written: Sequence[int],
        numbers: Collection[int] = (),
    ) -> None:
        """`numbers` are positions of tensors that the graph needs as numbers: of these values."""
        super().__init__()
        self.graph, scalars = with_tensor_scalars(gm)
        #: Positions of tensors that may become numbers.
        self.scalars = [i for i in scalars if i not in numbers]
        self.fixed: Dict[int, Any] = {}
        #: Positions of the arguments that `forward` takes.
        self.free: List[int] = []
        self.weights = {i: f"w{place}" for place, i in enumerate(constants)}
        self._wanted, self._written = list(wanted), set(written)
        for i, arg in enumerate(args):
            if i in self.weights:
                self.register_buffer(self.weights[i], arg.detach())
            elif i in numbers:
                self.fixed[i] = arg.item()
            elif isinstance(arg, torch.Tensor):
                self.free.append(i)
            else:
                self.fixed[i] = arg

    def forward(self, *tensors: Any) -> Tuple[Any, ...]:
        full: Dict[int, Any] = dict(self.fixed)
        full.update((i, getattr(self, name)) for i, name in self.weights.items())
        for i, tensor in zip(self.free, tensors):
            full[i] = tensor.clone() if i in self._written else tensor
        outputs = self.graph(*(full[i] for i in range(len(full))))
        results = [outputs[i] for i in self._wanted]
        return (*results, *(full[i] for i in sorted(self._written)))


def _export_lock() -> ContextManager[Any]:
    """An export changes global state that Dynamo reads, so one of them runs at a time in a process:
    with the lock of Dynamo, where this version of torch has it."""
    from torch._dynamo import convert_frame

    return getattr(convert_frame, "compile_lock", _OWN_LOCK)


@contextlib.contextmanager
def plain_mode() -> Iterator[None]:
    """Alone, without gradients, and without remarks of the exporter that no user can act on."""
    loggers = [logging.getLogger(name) for name in _REMARKS]
    with _export_lock():
        levels = [logger.level for logger in loggers]
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            with warnings.catch_warnings(), torch.inference_mode(False), torch.no_grad():
                warnings.simplefilter("ignore")
                yield
        finally:
            for logger, level in zip(loggers, levels):
                logger.setLevel(level)


class Writes(Exception):
    """The graph writes more arguments than were known; `places` are their positions."""

    def __init__(self, places: List[int]) -> None:
        super().__init__(str(places))
        self.places = places


class Numbers(Exception):
    """An operator of the graph takes no tensor in place of a number; `places` are the positions of
    the arguments that are to be numbers."""

    def __init__(self, places: List[int]) -> None:
        super().__init__(str(places))
        self.places = places


def _check(program: Any, whole: Whole) -> None:
    """Unsuited if values decide sizes; Writes if a write is left that an exporter would drop."""
    if program.range_constraints:
        raise Unsuited("values decide the size of a tensor or a number that it uses")
    signature = program.run_decompositions().graph_signature
    written = [s.target for s in signature.output_specs if s.kind.name.endswith("_MUTATION")]
    places = dict(zip(signature.user_inputs, whole.free))
    places.update((name, i) for i, name in whole.weights.items())
    unknown = [name for name in written if name not in places]
    if unknown:
        raise Unsuited(f"it writes {unknown[0]!r}, which is no input")
    if written:
        raise Writes([places[name] for name in written])


def save(program: Any, source: Source, **names: List[str]) -> None:
    """Writes the ONNX file of an exported program."""
    made = torch.onnx.export(program, dynamo=True, verbose=False, **names)
    model = made.model
    for graph in (model.graph, *model.functions.values()):
        for node in graph:
            # Where in the sources a node came from: equal graphs of two programs stay equal.
            node.metadata_props.clear()
            node.doc_string = None
    made.save(source.path)
    source.read()


def _sample(tensor: "torch.Tensor") -> "torch.Tensor":
    return torch.empty_strided(
        tensor.size(), tensor.stride(), dtype=tensor.dtype, device=tensor.device
    )


def export(whole: Whole, args: Sequence[Any], outputs: int) -> Source:
    """The ONNX file of the module: inputs x0, x1, ... and outputs y0, y1, ...

    Unsuited, with the reason, if it cannot be written. Writes if `whole` has to copy more inputs,
    Numbers if it may be written with numbers in place of tensors.
    """
    source = Source()
    try:
        with plain_mode():
            samples = tuple(_sample(args[i]) for i in whole.free)
            program = torch.export.export(whole, samples, strict=False)
            _check(program, whole)
            save(
                program,
                source,
                input_names=[f"x{i}" for i in range(len(whole.free))],
                output_names=[f"y{i}" for i in range(outputs)],
            )
    except (Unsuited, Writes):
        raise
    except Exception as error:  # any operator may fail in any way there
        if whole.scalars:
            raise Numbers(whole.scalars) from error
        raise Unsuited(f"it cannot be exported to ONNX: {first_line(error)}") from error
    return source
