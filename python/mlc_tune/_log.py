"""Queries of a tuning log: mlc-log."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any, Dict, Iterator, List, Mapping, Optional

from . import _programs
from ._constants import Constant
from ._errors import UnavailableError
from ._options import Model, Size, model_arguments, model_flags
from ._programs import PathLike, flag

Record = Dict[str, Any]


class Records(List[Record]):
    """Records of a log, one dictionary each."""

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with a row for each record. UnavailableError without pandas."""
        try:
            import pandas
        except ImportError as error:
            raise UnavailableError("to_pandas needs pandas: pip install pandas") from error
        return pandas.DataFrame(list(self))


class Log:
    """A tuning log or snapshot. Iteration gives every record, in the order of the log."""

    def __init__(self, path: PathLike) -> None:
        self.path: str = os.fspath(path)
        self.stats()  # says at once what is wrong with the file

    def __repr__(self) -> str:
        return f"<mlc_tune.Log {self.path!r}>"

    def _ask(self, verb: str, *arguments: str) -> Dict[str, Any]:
        # '--' ends the flags: a path or a digest may begin with a dash.
        *flags, last = arguments if arguments else ("",)
        positional = [last] if last else []
        return _programs.run_json("mlc-log", [verb, "--json", *flags, "--", self.path, *positional])

    def __iter__(self) -> Iterator[Record]:
        process = _programs.start(
            "mlc-log",
            ["export", "--", self.path],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None and process.stderr is not None
        ended = False
        try:
            for line in process.stdout:
                row = json.loads(line)
                if row.get("kind") == "record":
                    yield row
            ended = True
        finally:
            if not ended:
                process.kill()
            words = process.stderr.read()
            process.stdout.close()
            process.stderr.close()
            code = process.wait()
        if code != 0:
            raise _programs.failure_of("mlc-log", code, words)

    def records(self, workload: Optional[str] = None, *, target: Optional[str] = None) -> Records:
        """All records, or those of a workload (its digest), the fastest first."""
        if workload is None and target is None:
            return Records(self)
        if workload is not None:
            document = self._ask("list", *flag("target", target), workload)
            return Records(document["records"])
        return Records(row for row in self if row["target"] == target)

    def workloads(self) -> List[Dict[str, Any]]:
        """The workloads: digest, summary and text of each."""
        return list(self._ask("list")["workloads"])

    def best(
        self,
        model: Optional[Model] = None,
        *,
        workload: Optional[str] = None,
        n: int = 1,
        target: Optional[str] = None,
        dims: Optional[Mapping[str, Size]] = None,
        constants: Optional[Mapping[str, Constant]] = None,
        precision: Optional[str] = None,
        tolerance: Optional[float] = None,
    ) -> Records:
        """The `n` fastest records of each task of a model, of one workload, or of all workloads.

        `dims`, `constants`, `precision` and `tolerance` are those that the model was tuned with.
        """
        arguments = ["-n", str(n), *model_flags(dims, precision, tolerance, None, target)]
        if model is None:
            wanted = [workload] if workload else [row["workload"] for row in self.workloads()]
            documents = [self._ask("best", *arguments, one) for one in wanted]
        else:
            with model_arguments(model, constants) as given:
                documents = [self._ask("best", *arguments, *given, "")]
        return Records(
            {"summary": row.get("summary", ""), **record}
            for document in documents
            for row in document["best"]
            for record in row["records"]
        )

    def show(self, record: Any) -> Record:
        """Everything about one record, by its number or task_uid."""
        return self._ask("show", str(record))

    def explain(self, what: Any, *, target: Optional[str] = None) -> str:
        """Why a config is fast or slow, in words: of a record, or of the best of a workload."""
        return str(self._ask("explain", *flag("target", target), str(what))["text"])

    def untuned(self, *, target: Optional[str] = None) -> List[Dict[str, Any]]:
        """Tasks that builds wanted and the log has no record of: workload, summary, target, builds.

        The task that most builds wanted comes first.
        """
        return list(self._ask("untuned", *flag("target", target), "")["untuned"])

    def stats(self) -> Dict[str, Any]:
        """How many workloads, records, models and jobs the log holds."""
        return self._ask("stats")

    def to_pandas(self) -> Any:
        """A pandas.DataFrame of all records."""
        return Records(self).to_pandas()


def log(path: PathLike) -> Log:
    """Opens a tuning log or snapshot for reading."""
    return Log(path)
