"""Errors of the package: one class for each exit code of docs/reference/exit-codes.md."""

from __future__ import annotations

from typing import Dict, Optional, Type


class Error(Exception):
    """A fault of the user, the environment or a program: what happened, why, and what to do.

    `code` is the exit code of the program that failed, or the code that it would end with.
    """

    code: int = 1

    def __init__(self, message: str, code: Optional[int] = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code


class InternalError(Error):
    """Exit code 1, or a program that a signal ended: a bug. Report it with the message."""

    code = 1


class UsageError(Error, ValueError):
    """Exit code 2: an option or its value is wrong."""

    code = 2


class NoResultError(Error):
    """Exit code 3: no correct kernel, no record, or no such record."""

    code = 3


class FailedTrialsError(Error):
    """Exit code 4: more than half of a job's trials failed."""

    code = 4


class DataError(Error, ValueError):
    """Exit code 65: a model, library or data file is missing, broken or not supported."""

    code = 65


class InputError(DataError):
    """An array does not fit the model's input or output: name, shape, type or memory."""


class UnavailableError(Error):
    """Exit code 69: a program, server, worker or device is not available."""

    code = 69


class OutputError(Error):
    """Exit code 73: an output cannot be written."""

    code = 73


class LogError(Error):
    """Exit code 74: the log is damaged or cannot be read."""

    code = 74


class TemporaryError(Error):
    """Exit code 75: try again after the cause is gone (disk or memory full, quota, log in use)."""

    code = 75


class NotPermittedError(Error):
    """Exit code 77: not permitted."""

    code = 77


class ConfigurationError(Error):
    """Exit code 78: wrong version, wrong machine or wrong configuration."""

    code = 78


class CancelledError(Error):
    """Exit code 130: the job was cancelled, or the program was interrupted by someone else."""

    code = 130


_BY_CODE: Dict[int, Type[Error]] = {
    kind.code: kind
    for kind in (
        InternalError,
        UsageError,
        NoResultError,
        FailedTrialsError,
        DataError,
        UnavailableError,
        OutputError,
        LogError,
        TemporaryError,
        NotPermittedError,
        ConfigurationError,
        CancelledError,
    )
}


def error_of(code: int, message: str) -> Error:
    """The error for an exit code; codes of newer programs give the base class."""
    return _BY_CODE.get(code, Error)(message, code)
