"""Progress of a job: a bar of tqdm if it is installed, else one line on a terminal, or nothing."""

from __future__ import annotations

import shutil
import sys
from typing import Any, Callable, Dict, Union

# Called with each event of the job, as `mlc-tune --json-lines` prints them.
ProgressCallback = Callable[[Dict[str, Any]], None]
Progress = Union[bool, ProgressCallback]


def text_of(event: Dict[str, Any]) -> str:
    text = f"{event.get('trials', 0)}/{event.get('trials_wanted', 0)} trials"
    if event.get("model_ms"):
        text += f", model {event['model_ms']:.3f} ms"
    if event.get("seconds_left"):
        text += f", {event['seconds_left']:.0f} s left"
    if event.get("detail"):
        text += f" ({event['detail']})"
    return text


class _Nothing:
    def show(self, event: Dict[str, Any]) -> None:
        pass

    def close(self) -> None:
        pass


class _Callback(_Nothing):
    def __init__(self, callback: ProgressCallback) -> None:
        self._callback = callback

    def show(self, event: Dict[str, Any]) -> None:
        self._callback(event)


class _Line(_Nothing):
    """One line that is written again; cut to the width of the terminal."""

    def __init__(self) -> None:
        self._length = 0

    def show(self, event: Dict[str, Any]) -> None:
        text = text_of(event)[: shutil.get_terminal_size().columns - 1]
        sys.stderr.write("\r" + text.ljust(self._length))
        sys.stderr.flush()
        self._length = len(text)

    def close(self) -> None:
        if self._length:
            sys.stderr.write("\n")


class _Bar(_Nothing):
    def __init__(self, tqdm: Any) -> None:
        self._bar = tqdm(total=0, unit="trial", desc="mlc-tune")

    def show(self, event: Dict[str, Any]) -> None:
        self._bar.total = event.get("trials_wanted", 0)
        self._bar.n = event.get("trials", 0)
        if event.get("model_ms"):
            self._bar.set_postfix_str(f"model {event['model_ms']:.3f} ms", refresh=False)
        self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


def shower(progress: Progress) -> _Nothing:
    """What shows the events: for False nothing, for a function calls of it."""
    if callable(progress):
        return _Callback(progress)
    if not progress:
        return _Nothing()
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line() if sys.stderr.isatty() else _Nothing()
    return _Bar(tqdm)
