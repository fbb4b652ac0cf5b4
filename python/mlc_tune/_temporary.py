"""Temporary folders that go with the object that refers to them, without a warning."""

from __future__ import annotations

import shutil
import tempfile
import weakref

from . import _forks


class TemporaryFolder:
    def __init__(self) -> None:
        self.path: str = tempfile.mkdtemp(prefix="mlc-tune-")
        weakref.finalize(self, _remove, self.path, _forks.generation)


def _remove(path: str, generation: int) -> None:
    if generation == _forks.generation:  # else it is the parent's
        shutil.rmtree(path, ignore_errors=True)
