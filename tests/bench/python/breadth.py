#!/usr/bin/env python3
"""Which models of torchvision, timm and transformers run by the backend of torch.compile, and how fast.

    breadth.py OUTPUT.jsonl [--bin build/release/bin] [--suites ...] [--ways mlc inductor onnxruntime] [--only REGEX]

Each model runs in a process of its own, with limits of time and memory, once for each way. A record is a line of the output;
a second run goes on where the first one ended, and --again VERDICT measures records of this verdict anew. --table FILE.md and
--json FILE.json write what docs/benchmarks shows; with --only '^$', they do so without measuring. Needs torch, torchvision,
timm, transformers, onnx and onnxscript, for the other ways a C++ compiler and onnxruntime.
"""

import argparse
import concurrent.futures
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

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[2]
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


def measure(name, way, options):
    """The record of one model, whatever its process does. Its temporary files go with it."""
    with tempfile.TemporaryDirectory(prefix="breadth-", ignore_cleanup_errors=True) as folder:
        return measure_in(folder, name, way, options)


def measure_in(folder, name, way, options):
    row = {"model": name, "way": way}
    size = int(options.memory * (1 << 30))

    def limits():
        os.nice(options.nice)
        resource.setrlimit(resource.RLIMIT_DATA, (size, size))

    command = [sys.executable, "-B", str(HERE / "breadth_one.py"), name, way, str(options.seconds)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        preexec_fn=limits,
        env=os.environ | {"TMPDIR": folder},
    ) as process:
        try:
            out, err = process.communicate(timeout=options.limit)
        except subprocess.TimeoutExpired:
            end(process)
            return row | {"verdict": "out of time", "reasons": [f"more than {options.limit:.0f} s"]}
        except BaseException:
            end(process)
            raise
    lines = out.strip().splitlines()
    if process.returncode == 0 and lines and lines[-1].startswith("{"):
        return json.loads(lines[-1])
    said = (err.strip().splitlines() or ["no word"])[-1]
    return row | {"verdict": "crashed", "reasons": [f"exit code {process.returncode}: {said[:200]}"]}


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
    parser.add_argument("--ways", nargs="+", choices=ways, default=ways)
    parser.add_argument("--only", default="", help="regular expression for suite/model")
    parser.add_argument("--again", nargs="+", default=[], metavar="VERDICT")
    parser.add_argument("--limit", type=float, default=600, help="seconds for a model")
    parser.add_argument("--memory", type=float, default=12, help="GiB of private memory for a process")
    parser.add_argument("--seconds", type=float, default=0.3, help="of a round of timing; 0: no times")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time; times count with one alone")
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
    import breadth_models
    import breadth_table

    known = read(options.output)
    wanted = []
    for way in options.ways:
        for name in breadth_models.names(options.suites):
            row = known.get((name, way))
            if re.search(options.only, name) and (row is None or row["verdict"] in options.again):
                wanted.append((name, way))
    lock = threading.Lock()

    def one(pair):
        row = measure(*pair, options)
        with lock, options.output.open("a") as file:
            file.write(json.dumps(row) + "\n")
            known[pair] = row
            print(f"{pair[0]:45} {pair[1]:12} {row['verdict']:12} {row.get('difference', '')} {row.get('reasons', '') or ''}", flush=True)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(one, wanted))
    breadth_table.write(list(known.values()), options.table, options.json)


if __name__ == "__main__":
    main()
