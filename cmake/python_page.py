#!/usr/bin/env python3
"""Writes docs/reference/python.md from the signatures and texts of the Python package.

python_page.py SOURCE_FOLDER
"""

import enum
import importlib
import inspect
import pathlib
import re
import sys
import textwrap

HEAD = """# Python package

`import mlc_tune`: compile, tune and run models. [The how-to](../how-to/use-from-python.md) shows
how to use it. This page is generated from the package: `python3 cmake/python_page.py .` writes it
again.

- A *model* is a path, the bytes of an ONNX file, or an `onnx.ModelProto`.
- An *array* is a `numpy.ndarray`, an object with `__dlpack__` (PyTorch, CuPy, JAX) or with
  `__array__`.
- An option that is `None` is left to the program: its flag is not given, so the configuration file
  and the `MLC_*` variables apply.
- Programs are looked for in the folder that `MLC_BIN` names, then beside the package (a wheel has
  them), then on `PATH`.
"""
FUNCTIONS = ("compile", "load", "tune", "submit", "jobs", "log", "kernel")
# Callers get these from other calls.
MADE = ("Binding", "IOBinding", "Kernel", "OrtValue", "TuneResult", "TunedKernel")
ERRORS_HEAD = """
## Errors

All errors derive from `mlc_tune.Error`. The text says what happened, why, and what to do; `code` is
the [exit code](exit-codes.md). `UsageError` and `DataError` are also a `ValueError`.

| class | base | when |
|---|---|---|
"""
RUNTIME_HEAD = """
## mlc_tune.onnxruntime

The names that programs take from `onnxruntime`: `import mlc_tune.onnxruntime as ort`.
`InferenceSession` and `SessionOptions` are also in `mlc_tune`.
"""
FRAMEWORKS = ("jax", "keras", "sklearn", "tensorflow")
FRAMEWORKS_HEAD = """
## Other frameworks

One module for each of them, imported by its own name: `import mlc_tune.jax`.
[The how-to](../how-to/use-from-other-frameworks.md) shows how to use them; `mlc_tune.torch` has
[its own](../how-to/use-from-pytorch.md).
"""


class Plain:
    """An annotation that prints without quotation marks."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def paragraph(text):
    """Text of a docstring as Markdown, filled."""
    blocks = re.split(r"\n\s*\n", inspect.cleandoc(text or ""))
    text = "\n\n".join(
        textwrap.fill(" ".join(b.split()), 100, break_on_hyphens=False) for b in blocks
    )
    return re.sub(r"(?<!`)``(.+?)``(?!`)", r"`\1`", text)


def signature(name, thing, drop_self=False):
    """A call as a code block, cut at arguments."""
    found = inspect.signature(thing)
    parameters = list(found.parameters.values())[1 if drop_self else 0 :]
    parts, seen_star = [], False
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            seen_star = True
        if parameter.kind is parameter.KEYWORD_ONLY and not seen_star:
            parts.append("*")
            seen_star = True
        if parameter.name == "_":
            continue
        kind = Plain(parameter.annotation.strip("'"))
        parts.append(str(parameter.replace(annotation=kind)))
    returned = found.return_annotation
    returned = "None" if returned in (found.empty, None) else returned.strip("'")
    arrow = "" if returned == "None" else f" -> {returned}"
    text = f"{name}({', '.join(parts)}){arrow}"
    if len(text) <= 96:
        return f"    {text}\n"
    inner = "".join(f"        {part},\n" for part in parts)
    return f"    {name}(\n{inner}    ){arrow}\n"


def comments_of(cls):
    """Attributes that a `#:` comment describes."""
    lines = inspect.getsource(cls).splitlines()
    for text, line in zip(lines, lines[1:]):
        target = re.match(r"\s*self\.(\w+)", line)
        if text.strip().startswith("#: ") and target:
            yield target[1], text.strip()[3:]


def members(cls):
    """List items of attributes, properties and methods that are the class's own."""
    items = [f"- `{name}`: {text}" for name, text in comments_of(cls)]
    fields = getattr(cls, "_fields", None) or tuple(getattr(cls, "__dataclass_fields__", ()))
    if fields:
        items.append("- Fields: " + ", ".join(f"`{name}`" for name in fields) + ".")
    for name, thing in vars(cls).items():
        if name.startswith("_") or name in fields or name == "call":
            continue
        if isinstance(thing, staticmethod):
            thing = thing.__func__
        if isinstance(thing, property):
            items.append(f"- `{name}`: {' '.join((thing.__doc__ or '').split())}".rstrip(": "))
        elif inspect.isfunction(thing):
            drop = not isinstance(vars(cls)[name], staticmethod)
            call = (
                " ".join(signature(name, thing, drop).split())
                .replace("( ", "(")
                .replace(", )", ")")
            )
            items.append(f"- `{call}`: {' '.join((thing.__doc__ or '').split())}".rstrip(": "))
    wrapped = (
        textwrap.fill(
            item, 100, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False
        )
        for item in items
    )
    return "\n".join(wrapped) + ("\n" if items else "")


def section(name, thing, call=True):
    text = f"\n### {name}\n\n"
    if inspect.isclass(thing):
        own = "__call__" in vars(thing)
        if own and call:
            text += signature(name.lower(), vars(thing)["__call__"], True) + "\n"
        elif (
            call
            and name not in MADE
            and "__init__" in vars(thing)
            and len(inspect.signature(thing).parameters) > 0
        ):
            text += signature(name, thing.__init__, True) + "\n"
        text += paragraph(thing.__doc__) + "\n"
        listed = members(thing)
        return text + (f"\n{listed}" if listed else "")
    return text + signature(name, thing) + "\n" + paragraph(thing.__doc__) + "\n"


def write(source):
    """The page as text."""
    sys.path.insert(0, str(source / "python"))
    import mlc_tune
    import mlc_tune.onnxruntime as runtime

    public = {name: getattr(mlc_tune, name) for name in mlc_tune.__all__}
    errors = {
        n: t for n, t in public.items() if inspect.isclass(t) and issubclass(t, mlc_tune.Error)
    }
    text = HEAD + "\n## Functions\n"
    for name in FUNCTIONS:
        text += section(name, public[name])
    text += "\n## Classes\n"
    for name, thing in public.items():
        if name not in errors and name not in FUNCTIONS and name not in runtime.__all__:
            text += section(name, thing)
    text += ERRORS_HEAD
    for name, thing in sorted(errors.items(), key=lambda item: (item[1].code, item[0])):
        when = " ".join(inspect.getdoc(thing).split("\n\n")[0].split())
        text += f"| `{name}` | `{thing.__bases__[0].__name__}` | {when} |\n"
    text += RUNTIME_HEAD
    for name in runtime.__all__:
        text += section(name, getattr(runtime, name), not is_enum(getattr(runtime, name)))
    text += FRAMEWORKS_HEAD
    for framework in FRAMEWORKS:
        module = importlib.import_module(f"mlc_tune.{framework}")
        for name in module.__all__:
            text += section(f"mlc_tune.{framework}.{name}", getattr(module, name))
    return text


def is_enum(thing):
    return inspect.isclass(thing) and issubclass(thing, enum.Enum)


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    sys.dont_write_bytecode = True
    (source / "docs/reference/python.md").write_text(write(source))


if __name__ == "__main__":
    main()
