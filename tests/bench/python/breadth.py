#!/usr/bin/env python3
"""Which models of torchvision, timm and transformers run by the backend of torch.compile, and how fast.

    breadth.py OUTPUT.jsonl [--bin build/release/bin] [--suites ...] [--ways mlc inductor onnxruntime] [--only REGEX]

Each model runs in a process for each way, with limits of time and memory. These and one of eager mode are timed in turns,
some milliseconds each, so that a busy machine is equally busy for all of them. --jobs N compiles N models at a time,
with --threads threads each. With --hold, no model is timed before all are compiled, which needs memory for all of them.
A record is a line of the output; a second run goes on where the first one ended, and --again VERDICT measures records of
this verdict anew. --table FILE.md and --json FILE.json write what docs/benchmarks shows; with --only '^$', they do so
without measuring. Needs torch, torchvision, timm, transformers, onnx and onnxscript, for the other ways a C++ compiler
and onnxruntime.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[2]
ONE_AT_A_TIME = threading.Lock()  # models that are timed; others may compile
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))


def descendants(parent):
    """Processes below one, by /proc: a compiler runs in a session of its own."""
    children = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found, rest = [], [parent]
    while rest:
        below = children.get(rest.pop(), [])
        found += below
        rest += below
    return found


def end(process):
    """Ends a process and all below it. It is stopped first, so that it starts no other meanwhile."""
    os.kill(process.pid, signal.SIGSTOP)
    for pid in (*descendants(process.pid), process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait()


class Runner:
    """A process that has compiled a model in one way, and times it when it is told to."""

    def __init__(self, name, way, folder, options):
        self.row = {"model": name, "way": way}
        size = int(options.memory * (1 << 30))

        def limits():
            os.nice(options.nice)
            if options.device == "cpu":  # a CUDA driver reserves much more than it uses
                resource.setrlimit(resource.RLIMIT_DATA, (size, size))

        self.said = tempfile.TemporaryFile("w+", dir=folder, errors="replace")
        self.process = subprocess.Popen(
            [sys.executable, "-B", str(HERE / "breadth_one.py"), name, way, options.device],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.said,
            text=True,
            preexec_fn=limits,
            env=os.environ | {"TMPDIR": folder},
        )
        self.late = False
        self.limit = options.limit
        self.clock = self.started_clock()

    def started_clock(self):
        clock = threading.Timer(self.limit, self.end)
        clock.start()
        return clock

    def end(self):
        self.late = self.process.poll() is None
        if self.late:
            end(self.process)

    def line(self):
        """The next line that it says; None if it has ended."""
        for line in self.process.stdout:
            if line[:1] == "{" or line[:1].isdigit():
                return line
        return None

    def compiled(self):
        """Waits for the record. Whether there is something to time."""
        line = self.line()
        self.clock.cancel()
        if line is not None:
            self.row |= json.loads(line)
            return "difference" in self.row
        code = self.process.wait()
        self.said.seek(0)
        word = (self.said.read().strip().splitlines() or ["no word"])[-1][:200]
        if self.late:
            self.row |= {"verdict": "out of time", "reasons": [f"more than {self.limit:.0f} s"]}
        else:
            self.row |= {"verdict": "crashed", "reasons": [f"exit code {code}: {word}"]}
        return False

    def time(self, seconds):
        """A median time in ms."""
        self.clock = self.started_clock()
        try:
            print(seconds, file=self.process.stdin, flush=True)
            return float(self.line())
        finally:
            self.clock.cancel()

    def close(self):
        self.clock.cancel()
        if self.process.poll() is None:
            end(self.process)
        for file in (self.process.stdin, self.process.stdout, self.said):
            with contextlib.suppress(OSError):  # what it did not read is lost
                file.close()


class Model:
    """The processes of a model, one for each way that was begun; eager mode is there to be timed beside the others."""

    def __init__(self, name, ways, options):
        self.name, self.options = name, options
        self.ways = ["eager", *ways] if options.seconds > 0 else list(ways)
        self.folder = tempfile.TemporaryDirectory(prefix="breadth-", ignore_cleanup_errors=True)
        self.runners, self.timed = [], []

    def compile(self, way):
        """Whether the model can be made here."""
        runner = Runner(self.name, way, self.folder.name, self.options)
        self.runners.append(runner)
        if runner.compiled():
            self.timed.append(runner)
        return runner.row["verdict"] != "no model"

    def time(self):
        """All ways in turns, the same number of samples for each."""
        if len(self.timed) < 2:
            return
        taken = {runner.row["way"]: [] for runner in self.timed}
        rounds = self.options.rounds
        try:
            with ONE_AT_A_TIME:
                for _ in range(rounds):
                    for runner in self.timed:
                        taken[runner.row["way"]].append(runner.time(self.options.seconds / rounds))
        except (OSError, TypeError):  # one of them ended: out of time, mostly
            return
        middle = {way: round(sorted(values)[rounds // 2], 4) for way, values in taken.items()}
        for runner in self.timed:
            runner.row |= {"ms": middle[runner.row["way"]], "eager_ms": middle.get("eager")}

    def rows(self):
        """A record for each way that was begun. What can not be made here can not be made in any way."""
        rows = [runner.row for runner in self.runners]
        missing = [row for row in rows if row["verdict"] == "no model"]
        if missing:
            rows = [missing[0] | {"way": way} for way in self.ways]
        return [row for row in rows if row["way"] != "eager"]

    def close(self):
        for runner in self.runners:
            runner.close()
        self.folder.cleanup()


def measure(name, ways, options):
    """The records of one model. Its processes compile one after the other, then they run in turns."""
    with contextlib.closing(Model(name, ways, options)) as model:
        for way in model.ways:
            if not model.compile(way):
                break
        model.time()
        return model.rows()


def measure_together(wanted, options, take):
    """The records of all models. All compile before any of them runs, so that no compiler disturbs a timing."""
    end = time.monotonic() + options.budget
    with contextlib.ExitStack() as stack:
        models = [stack.enter_context(contextlib.closing(Model(*pair, options))) for pair in wanted]

        def compile_one(pair):
            if time.monotonic() < end:
                pair[0].compile(pair[1])

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(compile_one, [(model, way) for model in models for way in model.ways]))
        for model in models:  # a run that is ended meanwhile has their values
            take(model.rows())
        for model in models:
            model.time()
            take(model.rows())
            model.close()


def read(path):
    """Records by model and way; the last of each counts."""
    if not path.exists():
        return {}
    rows = (json.loads(line) for line in path.read_text().splitlines() if line.strip())
    return {(row["model"], row["way"]): row for row in rows}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"))
    suites = ["torchvision", "timm", "transformers"]
    parser.add_argument("--suites", nargs="+", choices=suites, default=suites)
    ways = ["mlc", "inductor", "onnxruntime"]
    parser.add_argument("--ways", nargs="+", choices=[*ways, "inductor-graphs"], default=ways)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--only", default="", help="regular expression for suite/model")
    parser.add_argument("--again", nargs="+", default=[], metavar="VERDICT")
    parser.add_argument("--limit", type=float, default=600, help="seconds for a model, in each way")
    parser.add_argument("--memory", type=float, default=12, help="GiB of private memory for a process")
    parser.add_argument("--seconds", type=float, default=1.5, help="of samples for each way; 0: no times")
    parser.add_argument("--rounds", type=int, default=15, help="turns of all ways")
    parser.add_argument("--jobs", type=int, default=1, help="processes that compile at a time")
    parser.add_argument("--threads", type=int, default=0, help="of each process; 0: as many as it takes")
    parser.add_argument("--hold", action="store_true", help="compile all models before any is timed")
    parser.add_argument("--budget", type=float, default=float("inf"), help="seconds after which none is begun")
    parser.add_argument("--nice", type=int, default=5)
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    return parser.parse_args()


def main():
    options = arguments()
    os.environ |= {
        "MLC_BIN": str(options.bin.resolve()),
        "MLC_CONFIG": "",
        "PYTHONPATH": os.pathsep.join([str(SOURCE / "python"), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    if options.threads:
        os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(options.threads))
        if options.device == "cpu":
            os.environ["MLC_THREADS"] = str(options.threads)
    import breadth_models
    import breadth_table

    known = read(options.output)
    wanted = []
    for name in breadth_models.names(options.suites):
        rows = {way: known.get((name, way)) for way in options.ways}
        ways = [way for way, row in rows.items() if row is None or row["verdict"] in options.again]
        if ways and re.search(options.only, name):
            wanted.append((name, ways))
    lock = threading.Lock()

    def take(rows):
        for row in rows:
            with lock, options.output.open("a") as file:
                file.write(json.dumps(row) + "\n")
                known[row["model"], row["way"]] = row
                parts = [row.get(part, "") or "" for part in ("difference", "ms", "eager_ms", "reasons")]
                print(f"{row['model']:45} {row['way']:12} {row['verdict']:12}", *parts, flush=True)

    end = time.monotonic() + options.budget

    def one(pair):
        if time.monotonic() < end:
            take(measure(*pair, options))

    if options.hold:
        measure_together(wanted, options, take)
    else:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(one, wanted))
    breadth_table.write(list(known.values()), options.table, options.json)


if __name__ == "__main__":
    main()
