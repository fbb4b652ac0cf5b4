"""A backend of torch.compile, and what goes with it.

    import mlc_tune.torch

    model = torch.compile(model.eval(), backend="mlc", options={"log": "tuning.db"})
    with torch.inference_mode():
        y = model(x)

What a graph needs and a library cannot give is left to eager mode, with a warning that says why.
"""

from __future__ import annotations

import importlib.util
import os
import warnings
from typing import Any, Mapping, Optional, Sequence

import torch as _torch

from .. import _programs
from .._errors import UnavailableError, UsageError
from ._aot import compile_aot
from ._background import Tuning, submit
from ._graph import MOST_PLANS, Graph
from ._options import options_of
from ._reasons import EagerWarning
from ._tune import tune

__all__ = ["EagerWarning", "MOST_PLANS", "Tuning", "backend", "compile_aot", "submit", "tune"]


def backend(
    gm: "_torch.fx.GraphModule",
    example_inputs: Sequence[Any],
    *,
    options: Optional[Mapping[str, Any]] = None,
    mode: Optional[str] = None,
    name: Optional[str] = None,
) -> Graph:
    """The backend "mlc" of torch.compile.

    Options: `log`, `server`, `target`, `precision`, `threads` as in `mlc_tune.compile`, and `cache`
    (False: libraries stay in temporary folders). `name` is that of torch.compile, for its messages
    alone. UsageError for others, and for a `mode`. UnavailableError if a
    program or a package is missing.
    """
    if mode is not None:
        raise UsageError(f"the backend has no mode {mode!r}: give options instead")
    checked = options_of(options)
    _programs.program("mlc-compile")
    for package in ("onnx", "onnxscript"):
        if importlib.util.find_spec(package) is None:
            raise UnavailableError(
                f"the backend writes ONNX files with the package {package}: pip install {package}"
            )
    if checked.log and not os.path.exists(checked.log):
        warnings.warn(
            f"mlc: there is no tuning log {checked.log} yet: kernels are chosen without it until "
            "mlc_tune.torch.tune writes it",
            stacklevel=2,
        )
    return Graph(gm, checked)


# An installed package is found by its entry point, which torch registers by itself.
if "mlc" not in _torch.compiler.list_backends(exclude_tags=None):
    from torch._dynamo import register_backend as _register

    _register(compiler_fn=backend, name="mlc")
