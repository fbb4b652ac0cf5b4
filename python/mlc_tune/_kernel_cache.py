"""The values that were found for kernels, so that later processes call them without a job.

A file holds values only, no code: they count for the same specification on the same machine.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from typing import Any, Dict, Mapping, Optional

from . import _cache, _programs


def _path(specification: Mapping[str, Any], options: Mapping[str, Any]) -> Optional[str]:
    libraries = _cache.folder()
    if libraries is None:
        return None
    facts = {name: str(options.get(name)) for name in ("server", "target", "threads")}
    parts = [specification, facts, _cache.machine(), _programs.version()]
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    return os.path.join(os.path.dirname(libraries), "kernels", f"{digest}.json")


def load(specification: Mapping[str, Any], options: Mapping[str, Any]) -> Optional[Dict[str, Any]]:
    """The task of the job that found them: `config`, `best_ns`, `default_ms`."""
    path = _path(specification, options)
    try:
        if path is None or os.stat(path).st_uid != os.geteuid():
            return None
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        usable = isinstance(found, dict) and {"config", "best_ns", "default_ms"} <= set(found)
        return found if usable else None
    except (OSError, ValueError):
        return None


def store(
    specification: Mapping[str, Any], options: Mapping[str, Any], task: Mapping[str, Any]
) -> None:
    """Keeps them. Where no file can be written, the next process asks the log again."""
    path = _path(specification, options)
    if path is None:
        return
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        number, temporary = tempfile.mkstemp(dir=os.path.dirname(path))
        with os.fdopen(number, "w", encoding="utf-8") as file:
            json.dump(dict(task), file)
        os.replace(temporary, path)
    except OSError:
        pass
