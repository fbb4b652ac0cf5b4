"""Tuning at a server while the model runs: a graph gets its better library when its job ends."""

from __future__ import annotations

import threading
import time
import warnings
from concurrent.futures import Future
from concurrent.futures import TimeoutError as _Late
from typing import Any, List, Mapping, Optional, Sequence, Tuple

from .. import _tune
from .._errors import CancelledError, Error, UnavailableError
from .._options import ServerLike
from .._tune import Job, TuneResult
from ._plan import Plan
from ._tune import improve, plans_of

# Between two questions to the server. Each is a short program; one that watches would outlive us.
_PAUSE = 5.0


class Tuning:
    """Jobs at a server, one for each graph of a model. Any thread may call it.

    A thread of this process asks the server how far they are. It ends with the process; the jobs do
    not, and a later process gets their kernels by the option `server`.
    """

    def __init__(self, tuned: Sequence[Tuple[Plan, Job]], server: ServerLike) -> None:
        #: In the order of the graphs.
        self.jobs: List[Job] = [job for _, job in tuned]
        self._end: "Future[List[TuneResult]]" = Future()
        self._thread = threading.Thread(
            target=self._follow, args=(list(tuned), server), name="mlc-tune", daemon=True
        )
        self._thread.start()

    def __repr__(self) -> str:
        state = "done" if self.done() else "running"
        return f"<mlc_tune.torch.Tuning of {len(self.jobs)} graphs, {state}>"

    def done(self) -> bool:
        """Whether all jobs have ended and the libraries are in use."""
        return self._end.done()

    def wait(self, timeout: Optional[float] = None) -> List[TuneResult]:
        """Waits for the end and returns a result for each graph. Raises what went wrong first, a
        CancelledError for jobs that were cancelled, and TimeoutError after `timeout` seconds."""
        try:
            return self._end.result(timeout)
        except _Late:  # another class before Python 3.11
            raise TimeoutError(f"the jobs have not ended after {timeout} s") from None

    def cancel(self) -> None:
        """Stops the jobs. What they measured is kept, and better libraries are used."""
        for job in self.jobs:
            if job.status()["state"] == "running":
                job.cancel()

    def _follow(self, tuned: List[Tuple[Plan, Job]], server: ServerLike) -> None:
        results: List[TuneResult] = []
        wrong: Optional[Error] = None
        for plan, job in tuned:
            try:
                _until_ended(job)
                improve(plan, None, server)
                results.append(job.wait(progress=False))
            except Error as error:
                wrong = wrong or error
        if wrong is None:
            self._end.set_result(results)
            return
        if not isinstance(wrong, CancelledError):
            warnings.warn(f"mlc: tuning in the background failed: {wrong}", stacklevel=1)
        self._end.set_exception(wrong)


def _until_ended(job: Job) -> None:
    """Waits for the end of a job, also while its server restarts."""
    while True:
        try:
            if job.status()["state"] != "running":
                return
        except UnavailableError:
            pass
        time.sleep(_PAUSE)


def submit(
    model: Any,
    example_inputs: Sequence[Any],
    *,
    server: ServerLike,
    example_kwargs: Optional[Mapping[str, Any]] = None,
    trials: Optional[int] = None,
    target: Optional[str] = None,
    precision: Optional[str] = None,
    threads: Optional[int] = None,
    time_budget: Optional[str] = None,
    priority: Optional[int] = None,
) -> Tuning:
    """Submits a job to a server for each graph of a model, and returns while they run.

    The options are those of `tune`. When a job ends, modules that are compiled in this process with
    the same `target`, `precision` and `threads` use the better library from their next call on.
    """
    plans = plans_of(
        model,
        example_inputs,
        dict(example_kwargs or {}),
        {"target": target, "precision": precision, "threads": threads},
    )
    tuned = []
    for plan in plans:
        assert plan.source is not None
        job = _tune.submit(
            plan.source.path,
            server=server,
            trials=trials,
            time_budget=time_budget,
            priority=priority,
            label="torch",
            target=plan.options.target,
            precision=plan.options.precision,
            threads=plan.options.threads,
        )
        tuned.append((plan, job))
    return Tuning(tuned, server)
