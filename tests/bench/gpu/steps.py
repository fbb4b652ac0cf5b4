"""Programs in a process group of their own, ended with all that they started when their time is over."""
import os
import signal
import subprocess
import sys
import threading
import time

BEGIN = time.monotonic()
SAYING = threading.Lock()


class Failed(RuntimeError):
    """A step that gives nothing; `cell` is what the table says."""

    def __init__(self, text, cell="-"):
        super().__init__(text)
        self.cell = cell


def say(about, text):
    with SAYING:
        print(f"{time.monotonic() - BEGIN:7.1f} s  {about}: {text}", file=sys.stderr, flush=True)


def end(process):
    """With its children, which are of the same group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.communicate()


def last_line(text):
    return (text.strip().splitlines() or ["no reason given"])[-1][:300]


def output_of(command, limit_s, environment=None):
    """What the command prints; Failed if it fails or takes longer."""
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, errors="replace", env=environment, start_new_session=True)
    name = os.path.basename(str(command[0]))
    try:
        said, errors = process.communicate(timeout=max(1, limit_s))
    except BaseException as error:
        end(process)
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        raise Failed(f"{name} did not end in {limit_s:g} s", f"did not end in {limit_s:g} s") from None
    if process.returncode != 0:
        raise Failed(f"{name} ended with {process.returncode}: {last_line(errors)}")
    return said
