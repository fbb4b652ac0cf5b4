"""Libraries of PyTorch models for programs without PyTorch."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

import torch

from .. import _onnx_file
from .._compile import compile as _compile
from .._errors import DataError, InputError, UsageError
from .._library import Library
from .._programs import PathLike
from ._device import CPU, target_of
from ._export import plain_mode, save
from ._reasons import first_line
from ._store import Source

Model = Union["torch.nn.Module", "torch.export.ExportedProgram"]


def _program(
    model: Model, inputs: Sequence[Any], named: Mapping[str, Any]
) -> "torch.export.ExportedProgram":
    if isinstance(model, torch.export.ExportedProgram):
        return model
    if not isinstance(model, torch.nn.Module):
        raise UsageError(
            f"give a torch.nn.Module or a torch.export.ExportedProgram, not a "
            f"{type(model).__name__}"
        )
    if any(module.training for module in model.modules()):
        raise UsageError("a part of the model is in training mode: call model.eval() first")
    return torch.export.export(model, tuple(inputs), dict(named), strict=False)


def _check_writes(program: "torch.export.ExportedProgram") -> None:
    """A library has no state: what a model writes would be lost."""
    written = [
        str(spec.target)
        for spec in program.run_decompositions().graph_signature.output_specs
        if spec.kind.name.endswith("_MUTATION")
    ]
    if written:
        raise DataError(
            f"the model writes {', '.join(written)}, and a library keeps nothing from call to "
            "call: pass it in and return it instead"
        )


def _tensors_of(value: Any) -> Iterator["torch.Tensor"]:
    """Tensors of nested arguments, in the order of an exported program's inputs."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from _tensors_of(one)
    elif isinstance(value, dict):
        yield from _tensors_of(list(value.values()))


def _dims(source: Source, inputs: Sequence[Any], named: Mapping[str, Any]) -> Dict[str, int]:
    """Sizes of the names that stand for sizes, as the example inputs have them."""
    with open(source.path, "rb") as file:
        declared = _onnx_file.read(file.read()).inputs
    tensors = list(_tensors_of((tuple(inputs), dict(named))))
    if len(tensors) != len(declared):
        raise InputError(f"the model has {len(declared)} inputs, {len(tensors)} tensors are given")
    dims: Dict[str, int] = {}
    for info, tensor in zip(declared, tensors):
        wanted = info.shape or []
        if len(wanted) != tensor.dim() or any(
            size != (dims.setdefault(name, size) if isinstance(name, str) else name)
            for name, size in zip(wanted, tensor.shape)
        ):
            raise InputError(
                f"input {info.name!r} is {list(tensor.shape)}, the exported program has {wanted}"
            )
    return dims


def compile_aot(
    model: Model,
    example_inputs: Sequence[Any],
    *,
    output: PathLike,
    example_kwargs: Optional[Mapping[str, Any]] = None,
    input_names: Optional[List[str]] = None,
    output_names: Optional[List[str]] = None,
    **options: Any,
) -> Library:
    """Compiles a model into the folder `output`, and loads the library.

    `model` is a module in evaluation mode or an exported program. The library has the sizes of the
    example inputs, which need not be those of the export if the program has dynamic sizes. It is
    for the device of these inputs, unless `target` is given.
    `options` are those of `mlc_tune.compile`. DataError, with the reason, if the model cannot be
    compiled.
    """
    named = dict(example_kwargs or {})
    source = Source()
    try:
        with plain_mode():
            program = _program(model, example_inputs, named)
            _check_writes(program)
            names = {"input_names": input_names, "output_names": output_names}
            save(program, source, **{k: v for k, v in names.items() if v is not None})
    except (DataError, UsageError):
        raise
    except Exception as error:  # any operator may fail in any way there
        raise DataError(f"the model cannot be exported to ONNX: {first_line(error)}") from error
    dims = _dims(source, example_inputs, named)
    device = next((t.device for t in _tensors_of((tuple(example_inputs), named)) if t.is_cuda), CPU)
    options = {"target": target_of(device), "device": device.index or 0, **options}
    return _compile(source.path, output=output, dims=dims or None, **options)
