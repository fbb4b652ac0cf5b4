"""Tuning: jobs of mlc-tune, on this machine or at a server."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence

from . import _programs
from ._constants import Constant
from ._errors import CancelledError, InternalError, NoResultError
from ._options import (
    Model,
    Server,
    ServerLike,
    Size,
    model_arguments,
    model_flags,
    path_flag,
    server_flags,
)
from ._programs import PathLike, flag
from ._progress import Progress, shower


@dataclass(frozen=True)
class TuneResult:
    """How a job ended. Times are those of the whole model."""

    job: str
    state: str  # done, cancelled
    trials: int
    model_ms: float
    default_model_ms: float  # before tuning
    target: str
    log: str  # empty for a job of a server
    tasks: List[Dict[str, Any]] = field(repr=False)
    outcomes: Dict[str, int] = field(repr=False)
    raw: Dict[str, Any] = field(repr=False)  # the whole document mlc.tune/1

    @property
    def speedup(self) -> float:
        """Time before tuning over the time now; 0 if one of them is not known."""
        return self.default_model_ms / self.model_ms if self.model_ms else 0.0


def _result_of(event: Dict[str, Any], remote: bool) -> TuneResult:
    return TuneResult(
        job=event.get("job", ""),
        state=event.get("state", ""),
        trials=event.get("trials", 0),
        model_ms=event.get("model_ms", 0.0),
        default_model_ms=event.get("default_model_ms", 0.0),
        target=event.get("target", ""),
        log="" if remote else event.get("log", ""),
        tasks=event.get("tasks", []),
        outcomes=event.get("outcomes", {}),
        raw=event,
    )


def _tune_flags(
    trials: Optional[int],
    target: Optional[str],
    threads: Optional[int],
    dims: Optional[Mapping[str, Size]],
    precision: Optional[str],
    tolerance: Optional[float],
    time_budget: Optional[str],
    seed: Optional[int],
    label: Optional[str],
    fresh: bool,
    reproducible: bool,
    skip_passes: Sequence[str],
    model: Model,
) -> List[str]:
    arguments = flag("trials", trials) + flag("time-budget", time_budget) + flag("seed", seed)
    arguments += model_flags(dims, precision, tolerance, threads, target)
    if label is None and not isinstance(model, (str, os.PathLike)):
        label = "model"  # not the name of a temporary file
    arguments += flag("label", label) + (["--fresh"] if fresh else [])
    arguments += ["--reproducible"] if reproducible else []
    for name in skip_passes:
        arguments += flag("skip-pass", name)
    return arguments


def follow(arguments: Sequence[str], progress: Progress, remote: bool) -> TuneResult:
    """Runs mlc-tune to its end and shows its events.

    On an exception (Ctrl-C, or of the callback) it is asked to end, and everything that it
    measured is in the log.
    """
    last: Dict[str, Any] = {}
    view = shower(progress)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        process = _programs.start(
            "mlc-tune", [*arguments, "--json-lines"], stdout=subprocess.PIPE, stderr=said
        )
        assert process.stdout is not None
        try:
            for line in process.stdout:
                last = _event_of(line)
                if last.get("event") == "progress":
                    view.show(last)
            code = process.wait()
        except BaseException:
            _interrupt(process)
            raise
        finally:
            view.close()
            process.stdout.close()
        said.seek(0)
        words = said.read()
    if last.get("event") == "result" and last.get("state") == "cancelled":
        raise CancelledError(_programs.message_of("mlc-tune", code, words), code)
    if code != 0:
        raise _programs.failure_of("mlc-tune", code, words)
    if last.get("event") != "result":
        raise InternalError("mlc-tune ended without a result")
    return _result_of(last, remote)


def _event_of(line: str) -> Dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError as error:
        raise InternalError(f"mlc-tune printed no JSON: {error}") from error
    return event if isinstance(event, dict) else {}


def _interrupt(process: "subprocess.Popen[str]") -> None:
    """Asks the program to end, which it does as after Ctrl-C; a second Ctrl-C ends it at once.

    By SIGTERM: a process in the background may have SIGINT ignored, and its children then, too.
    """
    process.terminate()
    try:
        assert process.stdout is not None
        for _ in process.stdout:  # a full pipe would keep it from its end
            pass
        process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise


def tune(
    model: Model,
    *,
    trials: Optional[int] = None,
    log: Optional[PathLike] = None,
    server: Optional[ServerLike] = None,
    target: Optional[str] = None,
    threads: Optional[int] = None,
    dims: Optional[Mapping[str, Size]] = None,
    constants: Optional[Mapping[str, Constant]] = None,
    precision: Optional[str] = None,
    tolerance: Optional[float] = None,
    time_budget: Optional[str] = None,
    seed: Optional[int] = None,
    label: Optional[str] = None,
    fresh: bool = False,
    reproducible: bool = False,
    replay_only: bool = False,
    skip_passes: Sequence[str] = (),
    report: Optional[PathLike] = None,
    progress: Progress = True,
) -> TuneResult:
    """Tunes a model and waits for the end; the same call continues a job that was interrupted.

    `model` is a path, bytes or an onnx.ModelProto. `progress` is True, False or a function that
    gets each event. `constants` are those of `compile`, which needs the same ones. The others are
    the flags of mlc-tune; None leaves the choice to it. Ctrl-C raises KeyboardInterrupt after the
    job has ended; a job at a server continues without the caller. With `replay_only`, nothing is
    measured, and NoResultError says that the log lacks tasks of the model; `raw["replay"]` of a
    result says how much of the job's search the log has.
    """
    arguments = _tune_flags(
        trials,
        target,
        threads,
        dims,
        precision,
        tolerance,
        time_budget,
        seed,
        label,
        fresh,
        reproducible,
        skip_passes,
        model,
    )
    arguments += path_flag("log", log) + path_flag("report", report) + server_flags(server)
    arguments += ["--replay-only"] if replay_only else []
    with model_arguments(model, constants) as given:
        return follow([*given, *arguments], progress, server is not None)


class Job:
    """A job at a server, which runs without the caller."""

    def __init__(self, server: ServerLike, job: str) -> None:
        self._server = Server(server) if isinstance(server, str) else server
        #: The id of the job.
        self.id = job

    def __repr__(self) -> str:
        return f"<mlc_tune.Job {self.id} at {self._server.address}>"

    def status(self) -> Dict[str, Any]:
        """The job's row of `jobs`. NoResultError if the server does not list it any more."""
        for row in jobs(self._server):
            if row["job"].startswith(self.id):
                return row
        raise NoResultError(f"the server does not list the job {self.id}")

    def wait(self, progress: Progress = True) -> TuneResult:
        """Follows the job until it ends. Ctrl-C leaves it running."""
        return follow(["watch", self.id, *self._server.flags()], progress, True)

    def cancel(self) -> None:
        """Stops the job; what it measured is kept."""
        _programs.run("mlc-tune", ["cancel", self.id, *self._server.flags(), "--quiet"])


def submit(
    model: Model,
    *,
    server: ServerLike,
    trials: Optional[int] = None,
    target: Optional[str] = None,
    threads: Optional[int] = None,
    dims: Optional[Mapping[str, Size]] = None,
    constants: Optional[Mapping[str, Constant]] = None,
    precision: Optional[str] = None,
    tolerance: Optional[float] = None,
    time_budget: Optional[str] = None,
    seed: Optional[int] = None,
    label: Optional[str] = None,
    fresh: bool = False,
    reproducible: bool = False,
    priority: Optional[int] = None,
    skip_passes: Sequence[str] = (),
) -> Job:
    """Submits a job to a server and returns at once. The options are those of `tune`."""
    arguments = _tune_flags(
        trials,
        target,
        threads,
        dims,
        precision,
        tolerance,
        time_budget,
        seed,
        label,
        fresh,
        reproducible,
        skip_passes,
        model,
    )
    arguments += flag("priority", priority) + server_flags(server) + ["--detach", "--json"]
    with model_arguments(model, constants) as given:
        reply = _programs.run_json("mlc-tune", [*given, *arguments])
    return Job(server, reply["job"])


def jobs(server: ServerLike) -> List[Dict[str, Any]]:
    """The jobs of a server, one dictionary each: job, state, owner, trials, model, ..."""
    document = _programs.run_json("mlc-tune", ["jobs", *server_flags(server), "--json"])
    return list(document["jobs"])
