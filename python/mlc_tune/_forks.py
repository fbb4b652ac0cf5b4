"""Counts the forks that led to this process: threads of a session stay behind in its parent.

A number, since a system call a run would take a tenth of the time of a small model.
"""

from __future__ import annotations

import os

generation = 0


def _count() -> None:
    global generation
    generation += 1


os.register_at_fork(after_in_child=_count)
