#!/usr/bin/env python3
"""Times a library that takes a range of sizes, beside libraries that are made for one size each.

    ranged_library.py BIN_FOLDER [--only NAME] [--sizes 20] [--seed 1] [--rounds 9] [--threads 2] [--log FILE] [--keep FOLDER]
                      [--json FILE]

Sizes are drawn evenly, without repetition. Both libraries are in one process, on the same inputs; they take turns within
a round, and which one begins changes. A size's figure is the median of the rounds' ratios. Outputs are compared. The code
of the range is set against the median and the largest of the libraries of one size: that of the kernels, and all of the
library but its weights. --keep leaves the libraries of one size in a folder and takes them from there. Needs numpy and
onnx.
"""

import argparse
import ctypes
import json
import os
import pathlib
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "python"))

from mlc_tune import _abi  # noqa: E402

# Name: arguments of make_model.py, the dimension, its range.
MODELS = {
    "resnet18, batch 1 to 64": (["resnet18", "--batch", "batch"], "batch", 1, 64),
    "resnet50, batch 1 to 64": (["resnet50", "--batch", "batch"], "batch", 1, 64),
    "bert_base of 2 layers, 1 to 512 tokens": (["bert_base", "--layers", "2", "--length", "seq"], "seq", 1, 512),
    "llama block, 1 to 512 tokens": (["llama_block", "--length", "seq"], "seq", 1, 512),
}
TYPES = {0: numpy.float32, 7: numpy.int32, 8: numpy.int64}
MOST_DIFFERENCE = 1e-4  # over the largest magnitude


def aligned(shape, dtype):
    count = int(numpy.prod(shape, dtype=numpy.int64)) * numpy.dtype(dtype).itemsize
    memory = numpy.zeros(count + 64, numpy.uint8)
    begin = -memory.ctypes.data % 64
    return memory[begin:begin + count].view(dtype).reshape(shape)


class Library:
    """A compiled library with one session."""

    def __init__(self, folder, threads):
        path = next(pathlib.Path(folder).glob("lib*.so"))
        handle = ctypes.CDLL(str(path))
        self.api = _abi.Api.in_dll(handle, "mlc_model_entry")
        self.report = json.loads((pathlib.Path(folder) / "report.json").read_text())
        self.bytes = path.stat().st_size - self.report["weights_bytes"]
        model, session = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.api.open(ctypes.addressof(self.api), None, ctypes.byref(model)))
        self.model = model.value
        options = _abi.SessionOptions(threads)
        self.check(self.api.create_session(self.model, ctypes.byref(options), ctypes.byref(session)))
        self.session = session.value

    def check(self, status):
        if status != 0:
            raise SystemExit(f"the library failed with status {status}")

    def resize(self, size):
        self.check(self.api.sizes.contents.set_sizes(self.session, (ctypes.c_int64 * 1)(size)))

    def ports(self, kind, is_ranged):
        at, owner = (self.api.sizes.contents, self.session) if is_ranged else (self.api, self.model)
        for i in range(getattr(self.api, f"{kind}_count")(self.model)):
            port = getattr(at, kind)(owner, i).contents
            yield tuple(port.dims[a] for a in range(port.rank)), TYPES[port.dtype], port.name.decode()

    def bind(self, inputs, outputs):
        self.table_in = (ctypes.c_void_p * max(1, len(inputs)))(*(a.ctypes.data for a in inputs))
        self.table_out = (ctypes.c_void_p * len(outputs))(*(a.ctypes.data for a in outputs))
        self.times = (ctypes.c_double * 64)()

    def run(self, runs=1):
        """The least time of some runs, in milliseconds."""
        self.check(self.api.run_timed(self.session, self.table_in, self.table_out, runs, self.times))
        return min(self.times[:runs]) / 1e6

    def close(self):
        self.api.destroy_session(self.session)
        self.api.close(self.model)


def inputs_of(library, seed):
    rng = numpy.random.default_rng(seed)
    arrays = []
    for shape, dtype, name in library.ports("input", False):
        array = aligned(shape, dtype)
        if dtype == numpy.float32:
            array[...] = rng.standard_normal(shape, numpy.float32)
        else:
            array[...] = 1 if "mask" in name else rng.integers(0, 1000, shape)
        arrays.append(array)
    return arrays


def compare(ranged, exact, size, rounds):
    ranged.resize(size)
    inputs = inputs_of(exact, size)
    shapes = list(exact.ports("output", False))
    assert [s for s, *_ in ranged.ports("output", True)] == [s for s, *_ in shapes]
    outputs = [[aligned(shape, dtype) for shape, dtype, _ in shapes] for _ in range(2)]
    for library, out in zip((ranged, exact), outputs):
        library.bind(inputs, out)
        library.run()
    for a, b in zip(*outputs):
        difference = numpy.abs(a - b).max() / max(numpy.abs(b).max(), 1e-30)
        if not difference <= MOST_DIFFERENCE:
            raise SystemExit(f"size {size}: results differ by {difference}")
    runs = max(1, min(32, int(20 / exact.run())))
    pairs = []
    for i in range(rounds):
        order = (ranged, exact) if i % 2 == 0 else (exact, ranged)
        taken = {library: library.run(runs) for library in order}
        pairs.append((taken[ranged], taken[exact]))
    return {"size": size, "ratio": statistics.median(a / b for a, b in pairs),
            "ranged_ms": statistics.median(a for a, _ in pairs), "exact_ms": statistics.median(b for _, b in pairs)}


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder = args, pathlib.Path(folder)

    def compile(self, model, dim, out):
        if (out / "report.json").exists():
            return Library(out, self.args.threads), 0
        command = [str(pathlib.Path(self.args.bin) / "mlc-compile"), "--model", str(model), "--target", "cpu", "--threads",
                   str(self.args.threads), "--dim", dim, "--name", "m", "-o", str(out)]
        if self.args.log:
            command += ["--log", self.args.log]
        started = time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return Library(out, self.args.threads), time.monotonic() - started

    def measure(self, name):
        arguments, dim, least, most = MODELS[name]
        model = self.folder / "model.onnx"
        subprocess.run([sys.executable, str(SOURCE / "tests/models/make_model.py"), arguments[0], str(model), *arguments[1:]],
                       check=True)
        classes = f"@{self.args.classes}" if self.args.classes else ""
        ranged, seconds = self.compile(model, f"{dim}={least}..{most}{classes}", self.folder / "ranged")
        result = {"model": name, "compile_seconds": round(seconds, 1), "sizes": []}
        codes, rests = [], []
        kept = pathlib.Path(self.args.keep) / arguments[0] if self.args.keep else self.folder
        drawn = random.Random(self.args.seed).sample(range(least, most + 1), self.args.sizes)
        for size in sorted(drawn):
            exact, _ = self.compile(model, f"{dim}={size}", kept / f"size{size}")
            row = compare(ranged, exact, size, self.args.rounds)
            codes.append(exact.report["code_bytes"])
            rests.append(exact.bytes)
            exact.close()
            result["sizes"].append(row)
            print(f"  {size:4d}  {row['ranged_ms']:9.3f} ms  {row['exact_ms']:9.3f} ms  {row['ratio']:.3f}", flush=True)
        ratios = [row["ratio"] for row in result["sizes"]]
        code = ranged.report["code_bytes"]
        result |= {"geometric_mean": statistics.geometric_mean(ratios), "most": max(ratios), "code_bytes": code,
                   "weights_bytes": ranged.report["weights_bytes"], "exact_weights_bytes": exact.report["weights_bytes"],
                   "arena_bytes": ranged.report["arena_bytes"], "plans": len(ranged.report["plans"]),
                   "code_over_median": code / statistics.median(codes), "code_over_most": code / max(codes),
                   "library_over_median": ranged.bytes / statistics.median(rests)}
        ranged.close()
        print(f"{name}: ratio {result['geometric_mean']:.3f} (geometric mean), {result['most']:.3f} (most); code "
              f"{code / 1e6:.2f} MB, {result['code_over_median']:.2f} of the median, {result['code_over_most']:.2f} of the "
              f"largest of one size; library without weights {ranged.bytes / 1e6:.2f} MB, "
              f"{result['library_over_median']:.2f} of the median; compiled in {seconds:.0f} s", flush=True)
        return result


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("--only", default="", help="models whose name has this text")
    parser.add_argument("--sizes", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--classes", default="", help="of the range, divided by commas; default: the usual ones")
    parser.add_argument("--log", default="", help="of records, for all libraries; default: kernels are not tuned")
    parser.add_argument("--keep", default="", help="a folder for the libraries of one size")
    parser.add_argument("--json", default="")
    args = parser.parse_args()
    results = []
    for name in MODELS:
        if args.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            results.append(Bench(args, folder).measure(name))
    document = {"processor": processor(), "threads": args.threads, "tuned": bool(args.log), "seed": args.seed,
                "rounds": args.rounds, "load": os.getloadavg()[0], "models": results}
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
