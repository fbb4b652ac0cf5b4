"""Trees of an ONNX model by operators that can be compiled.

All trees descend at once: a matrix has the node that each row has reached in each tree, and each
level of the deepest tree replaces it by the children. Leaves are their own children.
"""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

import numpy as np

from ._errors import DataError

_KINDS = ("TreeEnsembleClassifier", "TreeEnsembleRegressor")


class _Forest:
    """The tables of a node, with nodes of all trees in one numbering."""

    def __init__(self, given: Dict[str, Any]) -> None:
        trees, names = given["nodes_treeids"], given["nodes_nodeids"]
        self.places = {key: i for i, key in enumerate(zip(trees, names))}
        modes = [mode.decode() for mode in given["nodes_modes"]]
        others = sorted(set(modes) - {"BRANCH_LEQ", "LEAF"})
        if others:
            raise DataError(f"trees with nodes of the mode {others[0]} are not supported")
        own = np.arange(len(modes), dtype=np.int64)
        self.yes, self.no = own.copy(), own.copy()
        for i, mode in enumerate(modes):
            if mode != "LEAF":
                self.yes[i] = self.places[trees[i], given["nodes_truenodeids"][i]]
                self.no[i] = self.places[trees[i], given["nodes_falsenodeids"][i]]
        self.features = np.asarray(given["nodes_featureids"], np.int64)
        self.values = np.asarray(given["nodes_values"], np.float32)
        inner = (self.yes != own) | (self.no != own)
        children = set(self.yes[inner]) | set(self.no[inner])
        self.roots = np.array([i for i in own if i not in children], np.int64)
        self.depth, reached = 0, self.roots
        while inner[reached].any():
            reached = np.unique(np.concatenate([self.yes[reached], self.no[reached]]))
            self.depth += 1

    def weights(self, given: Dict[str, Any], what: str, columns: int) -> Any:
        table = np.zeros((len(self.values), columns), np.float32)
        for tree, node, column, weight in zip(
            given[f"{what}_treeids"],
            given[f"{what}_nodeids"],
            given[f"{what}_ids"],
            given[f"{what}_weights"],
        ):
            table[self.places[tree, node], column] += weight
        return table


class _Writer:
    """Collects the nodes and constants that take the place of one node."""

    def __init__(self, onnx: Any, prefix: str) -> None:
        self._onnx, self._prefix = onnx, prefix
        self.nodes: List[Any] = []
        self.constants: List[Any] = []

    def constant(self, value: Any) -> str:
        name = f"{self._prefix}_c{len(self.constants)}"
        self.constants.append(self._onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        name = output or f"{self._prefix}_v{len(self.nodes)}"
        self.nodes.append(
            self._onnx.helper.make_node(kind, list(inputs), [name], name=name, **attributes)
        )
        return name


def _sums(w: _Writer, forest: _Forest, x: str, table: Any, rows: int) -> str:
    """The weights of the leaves that each row reaches, added up: rows x columns."""
    at = w.constant(np.tile(forest.roots, (rows, 1)))
    values, features = w.constant(forest.values), w.constant(forest.features)
    yes, no = w.constant(forest.yes), w.constant(forest.no)
    for _ in range(forest.depth):
        own = w.node("GatherElements", x, w.node("Gather", features, at), axis=1)
        below = w.node("LessOrEqual", own, w.node("Gather", values, at))
        at = w.node("Where", below, w.node("Gather", yes, at), w.node("Gather", no, at))
    leaves = w.node("Gather", w.constant(table), at)
    return w.node("ReduceSum", leaves, w.constant(np.array([1], np.int64)), keepdims=0)


def _transformed(w: _Writer, scores: str, how: str) -> str:
    if how == "NONE":
        return scores
    if how == "LOGISTIC":
        return w.node("Sigmoid", scores)
    if how == "SOFTMAX":
        return w.node("Softmax", scores, axis=-1)
    raise DataError(f"trees whose scores pass through {how} are not supported")


def _classifier(
    w: _Writer, forest: _Forest, given: Dict[str, Any], x: str, rows: int
) -> Tuple[str, str]:
    """Labels and scores."""
    labels = given.get("classlabels_int64s")
    if not labels:
        raise DataError("trees of labels that are no integers are not supported")
    table = forest.weights(given, "class", len(labels))
    base = np.asarray(given.get("base_values", []), np.float32)
    one_column = len(labels) == 2 and len(set(given["class_ids"])) == 1
    if one_column:
        table = table[:, [given["class_ids"][0]]]
    scores = _sums(w, forest, x, table, rows)
    if base.size:
        scores = w.node("Add", scores, w.constant(base))
    how = given.get("post_transform", b"NONE").decode()
    if not one_column:
        best = w.node("ArgMax", scores, axis=1, keepdims=0)
        scores = _transformed(w, scores, how)
    else:
        # The score of the second class alone: a probability if no weight is negative.
        chance = min(given["class_weights"]) >= 0
        limit = w.constant(np.float32(0.5 if chance else 0))
        one = w.constant(np.array([1], np.int64))
        flat = w.node("Squeeze", w.node("Greater", scores, limit), one)
        best = w.node("Cast", flat, to=7)  # int64
        whole = w.constant(np.float32(1 if chance else 0))
        both = w.node("Concat", w.node("Sub", whole, scores), scores, axis=1)
        scores = _transformed(w, both, how)
    return w.node("Gather", w.constant(np.array(labels, np.int64)), best), scores


def _regressor(w: _Writer, forest: _Forest, given: Dict[str, Any], x: str, rows: int) -> str:
    table = forest.weights(given, "target", given.get("n_targets", 1))
    how = given.get("aggregate_function", b"SUM").decode()
    if how not in ("SUM", "AVERAGE"):
        raise DataError(f"trees whose results are combined by {how} are not supported")
    if how == "AVERAGE":
        table = table / np.float32(len(forest.roots))
    scores = _sums(w, forest, x, table, rows)
    base = np.asarray(given.get("base_values", []), np.float32)
    if base.size:
        scores = w.node("Add", scores, w.constant(base))
    return _transformed(w, scores, given.get("post_transform", b"NONE").decode())


def without_trees(onnx: Any, model: Any, rows: int) -> None:
    """Replaces the ensembles of trees in a model of `rows` rows. DataError if one has a form that
    is not supported."""
    nodes = list(model.graph.node)
    del model.graph.node[:]
    for place, node in enumerate(nodes):
        if node.op_type not in _KINDS:
            model.graph.node.append(node)
            continue
        given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        forest, w = _Forest(given), _Writer(onnx, f"trees{place}")
        x = w.node("Cast", node.input[0], to=1)  # float32, as in scikit-learn
        if node.op_type == "TreeEnsembleRegressor":
            results: Tuple[str, ...] = (_regressor(w, forest, given, x, rows),)
        else:
            results = _classifier(w, forest, given, x, rows)
        for result, output in zip(results, node.output):
            if output:
                w.node("Identity", result, output=output)
        model.graph.node.extend(w.nodes)
        model.graph.initializer.extend(w.constants)
