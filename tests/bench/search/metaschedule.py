#!/usr/bin/python3
"""Seconds to equal latency: mlc-tune beside TVM MetaSchedule on this CPU, on single tasks and whole networks.

    metaschedule.py --bin build/release/bin --tvm PYTHON --work DIR [--cases NAME ...] [--trials 256]
        [--network-trials 300] [--network-passes 1] [--json FILE]

PYTHON has what tvm_tuner.py needs; this program needs numpy and onnx. Each case is tuned by both, one after the other. TVM's
seconds are those until its best trial is within 1 % of its last best one; of a network each task gets --network-passes rounds of
16 trials. Our libraries are compiled from the log as it was after 0, 1, 2, 4, ... trials and executed; counted are the seconds until the first one that
is as fast as TVM's model. At the end the untuned library, the tuned one and TVM's are timed in turns (least of five medians),
and the outputs are compared. Latencies are of whole models, with warm caches. A case whose result is in DIR is not run again.
"""
import argparse
import datetime
import json
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "models"))

import convolutional  # noqa: E402
import transformers  # noqa: E402
from builder import Builder  # noqa: E402

NEAR = 1.01


def conv(channels, size, out, kernel, stride=1, group=1):
    def make(name):
        b = Builder(name, 0)
        y = b.op("Relu", [b.conv(b.input("x", [1, channels, size, size]), "c", channels, out, kernel, stride, group)])
        return b.model([(y, [1, out, size // stride, size // stride])], opset=17)
    return make


def dense(rows, cin, cout):
    def make(name):
        b = Builder(name, 0)
        return b.model([(b.linear(b.input("x", [rows, cin]), "l", cin, cout), [rows, cout])], opset=17)
    return make


def products(count, rows, inner, columns):
    def make(name):
        b = Builder(name, 0)
        y = b.op("MatMul", [b.input("a", [count, rows, inner]), b.input("b", [count, inner, columns])])
        return b.model([(y, [count, rows, columns])], opset=17)
    return make


def softmax(rows, columns):
    def make(name):
        b = Builder(name, 0)
        return b.model([(b.op("Softmax", [b.input("x", [rows, columns])], axis=-1), [rows, columns])], opset=17)
    return make


TASKS = {
    "conv3x3_64_56": conv(64, 56, 64, 3),
    "conv3x3_256_14": conv(256, 14, 256, 3),
    "conv3x3_128_56_s2": conv(128, 56, 128, 3, 2),
    "conv1x1_64_56": conv(64, 56, 256, 1),
    "conv1x1_1024_14": conv(1024, 14, 256, 1),
    "conv7x7_3_224_s2": conv(3, 224, 64, 7, 2),
    "depthwise_144_56": conv(144, 56, 144, 3, 1, 144),
    "dense_128_768_768": dense(128, 768, 768),
    "dense_128_768_3072": dense(128, 768, 3072),
    "dense_1_2048_1000": dense(1, 2048, 1000),
    "products_12_128_64": products(12, 128, 64, 128),
    "softmax_1536_128": softmax(1536, 128),
}
NETWORKS = {
    "resnet18": lambda name: convolutional.resnet(name, [2, 2, 2, 2], False, 1, 224, 0, 64),
    "mobilenet_v2": lambda name: convolutional.mobilenet_v2(name, 1, 224, 0),
    "bert_2_layers": lambda name: transformers.bert(name, 1, 128, 0, layers=2),
}


def compiled(options, model, log, folder):
    """Compiles a library, and gives the seconds that it took."""
    shutil.rmtree(folder, ignore_errors=True)
    known = [] if log is None else ["--log", log]
    start = time.time()
    subprocess.run([options.bin / "mlc-compile", "--model", model, "--target", "cpu", "--threads", str(options.threads), *known,
                    "-o", folder], check=True, capture_output=True)
    return time.time() - start


def run_ms(options, folder, seconds):
    said = subprocess.run([options.bin / "mlc-run", folder, "--threads", str(options.threads), "--bench", str(seconds), "--json"],
                          check=True, capture_output=True)
    return json.loads(said.stdout)["latency_ms"]["median"]


def cut(log, records, out):
    """A copy of the log with the first records alone."""
    shutil.copy(log, out)
    with sqlite3.connect(out) as database:
        database.execute("DELETE FROM record WHERE id NOT IN (SELECT id FROM record ORDER BY id LIMIT ?)", (records,))
    database.close()
    return out


def ours(options, model, trials, untuned, tuned):
    log = options.work / "ours.db"
    for suffix in ("", "-wal", "-shm", ".lock"):
        pathlib.Path(str(log) + suffix).unlink(missing_ok=True)
    start = time.time()
    subprocess.run([options.bin / "mlc-tune", "--model", model, "--target", "cpu", "--threads", str(options.threads), "--trials",
                    str(trials), "--log", log, "--seed", str(options.seed), "--quiet"], check=True, capture_output=True)
    seconds = time.time() - start
    with sqlite3.connect(f"file:{log}?mode=ro", uri=True) as database:
        ends = [row[0] / 1e6 - start for row in database.execute("SELECT created_us FROM record ORDER BY id")]
    build = compiled(options, model, None, untuned)
    curve, step = [{"trials": 0, "seconds": 0.0, "ms": run_ms(options, untuned, 2)}], 1
    while step < 2 * len(ends):
        step = min(step, len(ends))
        compiled(options, model, cut(log, step, options.work / "cut.db"), tuned)
        curve.append({"trials": step, "seconds": ends[step - 1], "ms": run_ms(options, tuned, 2)})
        step = step * 2 if step < len(ends) else 2 * len(ends)
    return {"seconds": seconds, "trials": len(ends), "build_seconds": build, "curve": curve, "latency_ms": curve[-1]["ms"]}


def tvm(options, model, flags, folder):
    """What TVM's tuning gave. The result of an earlier call is kept."""
    out, said = folder / "tuned.json", None
    if not out.exists():
        said = subprocess.run([options.tvm, HERE / "tvm_tuner.py", model, folder, *flags, "--threads", str(options.threads), "--seed",
                               str(options.seed)], capture_output=True, text=True)
    return json.loads(out.read_text()) if out.exists() else {"failed": said.stderr[-300:]}


def in_turns(options, model, untuned, tuned, theirs):
    """The least median of five short runs of each, in ms."""
    def their_ms():
        said = subprocess.run([options.tvm, HERE / "tvm_tuner.py", model, theirs, "--time", "1", "--threads", str(options.threads)],
                              check=True, capture_output=True, text=True)
        return float(said.stdout.splitlines()[-1])
    sides = {"untuned": lambda: run_ms(options, untuned, 1), "tuned": lambda: run_ms(options, tuned, 1), "tvm": their_ms}
    medians = {name: [] for name in sides}
    for _ in range(5):
        for name, side in sides.items():
            medians[name].append(side())
    return {name: min(values) for name, values in medians.items()}


def agree(options, library, theirs):
    said = subprocess.run([options.bin / "mlc-run", library, "--inputs", theirs, "--check", theirs, "--rtol", "0.001"],
                          capture_output=True, text=True)
    return said.returncode == 0


def measure(options, name):
    kept = options.work / f"{name}.json"
    if kept.exists():
        return json.loads(kept.read_text())
    network = name in NETWORKS
    model, theirs = options.work / f"{name}.onnx", options.work / f"{name}.tvm"
    untuned, tuned = options.work / "untuned", options.work / "tuned"
    model.write_bytes((NETWORKS if network else TASKS)[name](name).SerializeToString())
    trials = options.network_trials if network else options.trials
    flags = (["--passes", str(options.network_passes), "--round", "16"] if network
             else ["--trials", str(trials)])
    row = {"name": name, "tvm": tvm(options, model, flags, theirs), "ours": ours(options, model, trials, untuned, tuned)}
    if "failed" not in row["tvm"]:
        row["turns_ms"] = in_turns(options, model, untuned, tuned, theirs)
        row["agree"] = agree(options, untuned, theirs) and agree(options, tuned, theirs)
    kept.write_text(json.dumps(row))
    return row


def summary(row):
    """TVM's ms and seconds to it, ours to the same, and the trials that we took; None where it was not reached.

    TVM's ms is the lesser of the compiled model's latency and the sum of its best trials: a noisy machine does not make it slow.
    """
    theirs = row["tvm"]
    if "failed" in theirs:
        return None
    whole = [(seconds, ms) for seconds, ms in theirs["curve"] if ms is not None]
    ms = min(theirs["latency_ms"], *([whole[-1][1]] if whole else []), row.get("turns_ms", {}).get("tvm", theirs["latency_ms"]))
    seconds = next((s for s, at in whole if at <= whole[-1][1] * NEAR), theirs["seconds"])
    equal = next((point for point in row["ours"]["curve"] if point["ms"] <= ms), None)
    return {"tvm_ms": ms, "tvm_seconds": seconds, "our_seconds": equal and equal["seconds"], "our_trials": equal and equal["trials"]}


def line(row):
    found, curve = summary(row), row["ours"]["curve"]
    turns = row.get("turns_ms", {"untuned": curve[0]["ms"], "tuned": curve[-1]["ms"]})
    own = f"{turns['untuned']:.3f} | {turns['tuned']:.3f}"
    if found is None:
        return f"| {row['name']} | failed | | {own} | | |"
    equal = "not reached | " if found["our_seconds"] is None else f"{found['our_seconds']:.1f} | {found['our_trials']}"
    return f"| {row['name']} | {found['tvm_ms']:.3f} | {found['tvm_seconds']:.0f} | {own} | {equal} |"


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--bin", type=pathlib.Path, required=True)
    flags.add_argument("--tvm", type=pathlib.Path, required=True)
    flags.add_argument("--work", type=pathlib.Path, required=True)
    flags.add_argument("--cases", nargs="+", choices=[*TASKS, *NETWORKS], default=[*TASKS, *NETWORKS])
    flags.add_argument("--trials", type=int, default=256)
    flags.add_argument("--network-trials", type=int, default=300)
    flags.add_argument("--network-passes", type=int, default=1)
    flags.add_argument("--threads", type=int, default=2)
    flags.add_argument("--seed", type=int, default=1)
    flags.add_argument("--json", type=pathlib.Path)
    options = flags.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    print("| case | TVM, ms | TVM, seconds to it | ours untuned, ms | ours tuned, ms | our seconds to TVM's ms | trials |")
    print("|---|---|---|---|---|---|---|")
    rows = []
    for name in options.cases:
        rows.append(measure(options, name))
        print(line(rows[-1]), flush=True)
    if options.json:
        cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
        about = f"{cpu}, {options.threads} threads, {datetime.date.today()}, seed {options.seed}; metaschedule.py"
        for row in rows:
            if "curve" in row["tvm"]:  # every change of the best
                curve = row["tvm"]["curve"]
                row["tvm"]["curve"] = [p for i, p in enumerate(curve) if i == 0 or p[1] != curve[i - 1][1]]
        options.json.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
