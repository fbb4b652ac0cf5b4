"""Options of the backend: ``torch.compile(model, backend="mlc", options={...})``."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields, replace
from typing import Any, List, Mapping, Optional, Tuple

from .._compile import compile_flags
from .._errors import UsageError
from .._options import Server, ServerLike


@dataclass(frozen=True)
class Options:
    """What the kernels are chosen by, and whether libraries stay for later processes."""

    log: Optional[str] = None
    server: Optional[ServerLike] = None
    target: Optional[str] = None
    precision: Optional[str] = None
    threads: Optional[int] = None
    cache: bool = True

    @property
    def kind(self) -> Tuple[Any, ...]:
        """Options that must be equal when a graph is tuned and compiled."""
        return (self.target, self.precision, self.threads)

    def on(self, target: str, tf32: bool) -> "Options":
        """These options for a device of tensors, where they leave the choice."""
        precision = self.precision or ("tf32" if tf32 else None)
        return replace(self, target=self.target or target, precision=precision)

    def tuned_by(self, log: Optional[str], server: Optional[ServerLike]) -> "Options":
        return replace(self, log=log, server=server)

    def flags(self) -> List[str]:
        """Flags of mlc-compile. A log that tuning has not made yet gives no kernels."""
        return compile_flags(
            log=self.log if self.log and os.path.exists(self.log) else None,
            server=self.server,
            target=self.target,
            threads=self.threads,
            precision=self.precision,
        )


def _text(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, str):
        raise UsageError(f"the option {name!r} of the backend is {value!r}: give a string")


def options_of(given: Optional[Mapping[str, Any]]) -> Options:
    """Checks the options. UsageError for an unknown one or a value of another type."""
    values = dict(given or {})
    known = [field.name for field in fields(Options)]
    for name in values:
        if name not in known:
            raise UsageError(f"the backend has no option {name!r}; its options: {', '.join(known)}")
    if values.get("log") is not None:
        if not isinstance(values["log"], (str, os.PathLike)):
            raise UsageError(f"the option 'log' is {values['log']!r}: give the path of a log")
        values["log"] = os.path.abspath(os.fspath(values["log"]))
    server = values.get("server")
    if server is not None and not isinstance(server, (str, Server)):
        raise UsageError(f"the option 'server' is {server!r}: give an address or a Server")
    _text("target", values.get("target"))
    _text("precision", values.get("precision"))
    threads = values.get("threads")
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int)):
        raise UsageError(f"the option 'threads' is {threads!r}: give a whole number")
    if not isinstance(values.get("cache", True), bool):
        raise UsageError(f"the option 'cache' is {values['cache']!r}: give True or False")
    return Options(**values)
