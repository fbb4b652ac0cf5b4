"""Tunes the graphs of a model, and gives the better libraries to compiled models."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

import torch

from .. import _tune
from .._errors import NoResultError, UsageError
from .._options import ServerLike
from .._programs import PathLike
from .._progress import Progress
from .._tune import TuneResult
from ._graph import Graph, live_graphs
from ._options import options_of
from ._plan import Plan


def plans_of(
    model: Any, inputs: Sequence[Any], named: Mapping[str, Any], options: Mapping[str, Any]
) -> List[Plan]:
    """Runs the model, and returns a plan for each of its graphs that a library can run.
    NoResultError if there is none."""
    checked = options_of(options)
    graphs: List[Graph] = []

    def collect(gm: "torch.fx.GraphModule", _examples: Sequence[Any]) -> Graph:
        graphs.append(Graph(gm, checked, keep=True))
        return graphs[-1]

    # A compiled module keeps the one that it was made of.
    compiled = torch.compile(getattr(model, "_orig_mod", model), backend=collect, dynamic=False)
    with torch.no_grad():
        for _ in range(2):  # a graph that writes its weights has a plan after the second call
            compiled(*inputs, **named)
    plans = list({plan.digest: plan for graph in graphs for plan in graph.plans}.values())
    if not plans:
        raise NoResultError("no graph of the model can be tuned: warnings say why")
    return plans


def tune(
    model: Any,
    example_inputs: Sequence[Any],
    *,
    example_kwargs: Optional[Mapping[str, Any]] = None,
    trials: Optional[int] = None,
    log: Optional[PathLike] = None,
    server: Optional[ServerLike] = None,
    target: Optional[str] = None,
    precision: Optional[str] = None,
    threads: Optional[int] = None,
    time_budget: Optional[str] = None,
    progress: Progress = True,
) -> List[TuneResult]:
    """Tunes each graph of a model into a log or at a server; returns a result for each.

    `model` is a module or function, compiled or not. It runs twice, without gradients. Modules that
    are compiled in this process with the same `target`, `precision` and `threads` use the better
    library from their next call on. `trials` counts for each graph. NoResultError if eager mode
    runs all graphs.
    """
    if (log is None) == (server is None):
        raise UsageError("give 'log' or 'server': where the results of tuning are kept")
    choices: Dict[str, Any] = {"target": target, "precision": precision, "threads": threads}
    plans = plans_of(model, example_inputs, dict(example_kwargs or {}), choices)
    results = []
    for plan in plans:
        assert plan.source is not None
        chosen = plan.options  # of the device of the plan's tensors
        results.append(
            _tune.tune(
                plan.source.path,
                trials=trials,
                log=log,
                server=server,
                time_budget=time_budget,
                label="torch",
                progress=progress,
                target=chosen.target,
                precision=chosen.precision,
                threads=chosen.threads,
            )
        )
        improve(plan, log, server)
    return results


def improve(tuned: Plan, log: Optional[PathLike], server: Optional[ServerLike]) -> None:
    """Compiles a graph again, and lets all equal graphs run the new library."""
    assert tuned.source is not None
    better = options_of({"log": log, "server": server})
    options = tuned.options.tuned_by(better.log, better.server)
    library = tuned.source.library(options, tuned.device)
    for graph in live_graphs():
        graph.improve(tuned.digest, options, library, tuned.device)
