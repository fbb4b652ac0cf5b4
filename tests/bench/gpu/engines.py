"""The engines of one case, each in processes of its own, ready when constructed."""
import json
import os
import select
import subprocess
import sys
import tempfile
import time

import steps
from steps import Failed

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLE_LIMIT_S = 120  # beyond the seconds asked for


class Torch:
    """A process with all that its compiler starts and keeps."""

    def __init__(self, case, kind, place, limit_s):
        self.kind = kind
        self.folder = tempfile.TemporaryDirectory(prefix="compare_", ignore_cleanup_errors=True)
        environment = dict(place.environment, TMPDIR=self.folder.name, TORCHINDUCTOR_CACHE_DIR=f"{self.folder.name}/inductor",
                           TRITON_CACHE_DIR=f"{self.folder.name}/triton",
                           TORCHINDUCTOR_COMPILE_THREADS=str(min(16, place.cpu_count)))
        self.errors = open(f"{self.folder.name}/errors", "w+", errors="replace")
        self.process = subprocess.Popen([sys.executable, f"{HERE}/torch_models.py", case.text, kind, place.device],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
                                        env=environment, start_new_session=True)
        begin = time.monotonic()
        try:
            self.version = self.answer(limit_s)["ready"]
        except BaseException:
            self.end()
            raise
        self.ready_s = time.monotonic() - begin

    def answer(self, limit_s):
        ready, _, _ = select.select([self.process.stdout], [], [], limit_s)
        if not ready:
            raise Failed(f"{self.kind} did not end in {limit_s:g} s", f"did not end in {limit_s:g} s")
        line = self.process.stdout.readline()
        if not line:
            self.errors.seek(0)
            raise Failed(f"{self.kind} does not run: {steps.last_line(self.errors.read())}")
        found = json.loads(line)
        if "error" in found:
            raise Failed(f"{self.kind}: {found['error']}")
        return found

    def ask(self, command, limit_s=SAMPLE_LIMIT_S):
        try:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
        except OSError as error:
            raise Failed(f"{self.kind} has ended: {error}") from None
        return self.answer(limit_s)

    def sample(self, seconds):
        return self.ask(f"run {seconds}", seconds + SAMPLE_LIMIT_S)["latency_ms"]

    def difference(self, folder):
        return self.ask(f"check {folder}/outputs")["difference"]

    def profile(self):
        return self.ask("profile")["profile"]

    def end(self):
        steps.end(self.process)
        self.errors.close()
        self.folder.cleanup()


class Ours:
    """A library, run by a process a sample."""

    def __init__(self, binaries, library, place):
        if not os.path.isdir(library):
            raise Failed(f"there is no {library}")
        self.ready_s = 0
        self.place = place
        threads = ["--threads", place.cpu_count] if place.device == "cpu" else []
        self.command = [f"{binaries}/mlc-run", library, "--json", *threads]

    def run(self, *options, limit_s=SAMPLE_LIMIT_S):
        return json.loads(steps.output_of([*self.command, *options], limit_s, self.place.environment))

    def sample(self, seconds):
        return [self.run("--bench", seconds, limit_s=seconds + SAMPLE_LIMIT_S)["latency_ms"]["median"]]

    def difference(self, folder):
        """A difference beyond any tolerance is still a figure: the caller judges it."""
        found = self.run("--inputs", f"{folder}/inputs", "--check", f"{folder}/outputs", "--rtol", 1e30)
        return max(output["max_relative_difference"] for output in found["check"]["outputs"])

    def profile(self):
        return self.run("--profile")["profile"]

    def end(self):
        pass
