"""Outputs whose shape depends on data. A run writes the elements that there are to the begin of the
buffer, which has room for the most."""

from __future__ import annotations

import ctypes
from typing import Any, List, Optional, Sequence, Tuple

from . import _abi


class Cut:
    """Takes the elements that the session's last run has written from its buffers."""

    def __init__(self, api: _abi.ResultApi, session: int, count: int) -> None:
        self._result = api.result
        self._session = session
        self._count = count

    def __call__(self, values: Sequence[Any], copied: bool) -> List[Any]:
        """`copied`: what is smaller than its buffer does not keep the buffer."""
        results: List[Any] = []
        for value, shape in zip(values, self.shapes()):
            if tuple(value.shape) != shape:
                size = 1
                for length in shape:
                    size *= length
                value = value.reshape(-1)[:size].reshape(shape)
                value = value.copy() if copied else value
            results.append(value)
        return results

    def shapes(self) -> List[Tuple[int, ...]]:
        ports = (self._result(self._session, i).contents for i in range(self._count))
        return [tuple(port.dims[: port.rank]) if port.rank else () for port in ports]


def cut_of(api: _abi.Api, model: int, session: int) -> Optional[Cut]:
    """None if no output's shape depends on data."""
    newest = _abi.result_api(api)
    if newest is None:
        return None
    sizes = api.sizes.contents if api.sizes else None
    count = api.output_count(model)
    for i in range(count):
        port = sizes.output(session, i) if sizes else api.output(model, i)
        # Of such a model, results have ports of their own.
        if ctypes.addressof(port.contents) != ctypes.addressof(newest.result(session, i).contents):
            return Cut(newest, session, count)
    return None
