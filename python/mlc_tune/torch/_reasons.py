"""Why a graph runs in eager mode."""

from __future__ import annotations

import warnings


class EagerWarning(UserWarning):
    """A graph runs in eager mode, as without the backend. The text says why."""


class Unsuited(Exception):
    """A graph cannot be compiled. `always` is False if that holds for these arguments alone."""

    def __init__(self, reason: str, always: bool = True) -> None:
        super().__init__(reason)
        self.always = always


def warn(graph: str, reason: str) -> None:
    warnings.warn(f"mlc: {graph} runs in eager mode: {reason}", EagerWarning, stacklevel=2)


def first_line(error: BaseException) -> str:
    """What began a chain of exceptions, in one line."""
    seen = set()
    while error.__cause__ is not None and id(error) not in seen:
        seen.add(id(error))
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
