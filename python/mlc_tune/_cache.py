"""The cache of compiled models: a folder for each model, version, options and machine.

A library is code, so a cache that others can write is not used. Processes that want the same
library at the same time wait for the first one. If the cache cannot be written, the library stays
in a temporary folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import tempfile
import warnings
from typing import Callable, Iterator, List, Optional, Sequence, Set, Tuple, Union

from . import _programs
from ._errors import Error
from ._temporary import TemporaryFolder

FORMAT = "1"
_SETTINGS = ("MLC_", "CUDA_VISIBLE_DEVICES", "XDG_CONFIG_HOME")


class CacheWarning(UserWarning):
    """The cache cannot be used; the library is in a temporary folder."""


class CacheError(Exception):
    """Why the cache cannot be used."""


def folder() -> Optional[str]:
    """The folder of the cache; None if the environment names none."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        home = os.environ.get("HOME", "")
        if not os.path.isabs(home):
            return None
        base = os.path.join(home, ".cache")
    return os.path.join(base, "mlc-tune", "libraries")


def machine() -> str:
    """What kernels depend on: the processor and how many of its CPUs this process may use."""
    facts = [" ".join(os.uname()[i] for i in (0, 4)), str(len(os.sched_getaffinity(0)))]
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if not line.strip():
                    break  # the first CPU speaks for all
                if line.startswith(("vendor_id", "model name", "flags", "Features", "cpu family")):
                    facts.append(line.strip())
    except OSError:
        pass
    return "\n".join(facts)


def _settings() -> str:
    """Variables and the configuration file that the compiler reads by itself."""
    lines = [f"{k}={v}" for k, v in sorted(os.environ.items()) if k.startswith(_SETTINGS)]
    with contextlib.suppress(Error):
        lines.append(_programs.run("mlc-compile", ["--model=model.onnx", "--print-config"]))
    return "\n".join(lines)


def _compiler() -> str:
    path = _programs.program("mlc-compile")
    about = os.stat(path)
    return f"{_programs.version()} {about.st_size} {about.st_mtime_ns}"


def _add(digest: "hashlib._Hash", part: Union[bytes, memoryview]) -> None:
    digest.update(len(part).to_bytes(8, "little"))
    digest.update(part)


def file_digest(path: str) -> bytes:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.digest()


def key(
    model: Union[bytes, memoryview],
    beside: str,
    external: Set[str],
    options: Sequence[str],
    log: str,
    kernels: Callable[[], str],
) -> str:
    """The name of a library: SHA-256 of all that it depends on.

    `external` are files with weights below the folder `beside`. `log` is the path of a tuning log,
    which counts by its size and time. A server counts by what `kernels` gives: the text of the
    kernels that it has for the model.
    """
    digest = hashlib.sha256()
    settings = _settings()
    if not log and (set_log := re.search(r'^log = "(.+?)"', settings, re.M)):
        log = set_log[1]
    set_server = not log and re.search(r"^server = ", settings, re.M)
    if set_server or any(option.startswith("--server=") for option in options):
        _add(digest, kernels().encode("utf-8", "surrogateescape"))
    for part in (FORMAT, _compiler(), machine(), settings, *options):
        _add(digest, part.encode("utf-8", "surrogateescape"))
    _add(digest, model)
    base = os.path.realpath(beside)
    for location in sorted(external):
        path = os.path.realpath(os.path.join(base, location))
        # The compiler says what is wrong with other paths.
        if path.startswith(base + os.sep) and os.path.isfile(path):
            _add(digest, location.encode("utf-8", "surrogateescape"))
            _add(digest, file_digest(path))
    for path in (log, log + "-wal") if log else ():
        with contextlib.suppress(OSError):
            about = os.stat(path)
            _add(digest, f"{path} {about.st_size} {about.st_mtime_ns}".encode())
    return digest.hexdigest()


def _own(path: str) -> None:
    """Makes the cache's folder. CacheError if it belongs to another user or others write it."""
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        os.makedirs(path, mode=0o700, exist_ok=True)
        # The programs make the folder above, with the rights that the user's umask leaves.
        folders = [(os.path.dirname(path), 0o002), (path, 0o022)]
        abouts = [(one, os.stat(one), others) for one, others in folders]
    except OSError as error:
        raise CacheError(f"cannot make the folder {path}: {error.strerror}") from error
    for one, about, others in abouts:
        if about.st_uid != os.geteuid() or about.st_mode & others:
            raise CacheError(f"other users can write the folder {one}")
    if not os.access(path, os.W_OK | os.X_OK):
        raise CacheError(f"the folder {path} cannot be written")


@contextlib.contextmanager
def _locked(path: str) -> Iterator[None]:
    """Waits for other processes. Without locks (some network file systems) two may compile the
    same library; the later one is dropped."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise CacheError(f"cannot write {path}: {error.strerror}") from error
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _complete(path: str) -> bool:
    return os.path.isfile(os.path.join(path, "report.json"))


def _store(root: str, name: str, made: str) -> str:
    """Copies a compiled library into the cache, so that it is there as a whole or not at all.

    It was compiled elsewhere: on a full disk the linker, which maps its output, would be killed.
    """
    final = os.path.join(root, name)
    try:
        temporary = tempfile.mkdtemp(prefix=".new-", dir=root)
        try:
            copy = os.path.join(temporary, "model")
            shutil.copytree(made, copy, ignore=shutil.ignore_patterns("*.a"))
            with contextlib.suppress(OSError):  # a process without locks was faster
                os.rename(copy, final)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except (OSError, shutil.Error) as error:
        raise CacheError(f"cannot write {root}: {error}") from error
    if not _complete(final):
        raise CacheError(f"cannot move the library to {final}")
    return final


def library(
    name: str, compile_into: Callable[[str], object], again: bool = False
) -> Tuple[str, object]:
    """The folder of a library, compiled unless it is there, and what keeps the folder.

    `again` compiles it in any case, to replace a damaged one.
    """
    root = folder()
    made: Optional[TemporaryFolder] = None
    why = "neither XDG_CACHE_HOME nor HOME is an absolute path"
    if root is not None:
        try:
            _own(root)
            final = os.path.join(root, name)
            if not again and _complete(final):
                return final, None
            with _locked(final + ".lock"):
                if again:
                    shutil.rmtree(final, ignore_errors=True)
                if _complete(final):
                    return final, None
                made = TemporaryFolder()
                compile_into(os.path.join(made.path, "model"))
                return _store(root, name, os.path.join(made.path, "model")), None
        except CacheError as error:
            why = str(error)
    if made is None:
        made = TemporaryFolder()
        compile_into(os.path.join(made.path, "model"))
    warnings.warn(
        f"the cache of compiled models cannot be used, each process compiles the model: {why}",
        CacheWarning,
        stacklevel=4,
    )
    return os.path.join(made.path, "model"), made


def entries() -> List[pathlib.Path]:
    """Folders of the libraries in the cache."""
    root = folder()
    found = pathlib.Path(root).glob("[0-9a-f]*") if root else iter(())
    return sorted(path for path in found if path.is_dir())
