#!/usr/bin/env python3
"""Whole models on one GPU beside PyTorch: engines in processes of their own, in turns, in one run.

    compare.py --bin build/release/bin --libraries DIR [--cases resnet50:1:fp16 ...] [--kinds graph compile max-autotune]

DIR holds NAME_BATCH_PRECISION/, written by mlc-compile --target cuda. Times are medians of graph replays
between events, on random data. Prints one table, a row as soon as it is known; --json FILE keeps the samples.
max-autotune gets --max-autotune-limit seconds a model. Rows may be measured in several runs, on several GPUs
side by side (CUDA_VISIBLE_DEVICES).
"""
import argparse
import datetime
import json
import os
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = ("resnet50:1:fp16", "resnet50:1:fp32", "resnet50:1:tf32", "resnet50:32:fp32", "mobilenet_v2:1:fp16",
         "bert_base:1:fp16", "bert_base:1:fp32", "gpt2:1:fp16", "vit_b_16:1:fp16")


class LeftOut(RuntimeError):
    """A peer that gives no time; `cell` is what the table says."""

    def __init__(self, text, cell="-"):
        super().__init__(text)
        self.cell = cell


class Torch:
    """A process of its own, with all that its compiler starts and keeps; ready when constructed."""

    def __init__(self, name, batch, precision, kind, limit_s):
        self.folder = tempfile.TemporaryDirectory(prefix="compare_", ignore_cleanup_errors=True)
        environment = dict(os.environ, TMPDIR=self.folder.name, TORCHINDUCTOR_CACHE_DIR=f"{self.folder.name}/inductor",
                           TRITON_CACHE_DIR=f"{self.folder.name}/triton")
        self.errors = open(f"{self.folder.name}/errors", "w+", errors="replace")
        self.process = subprocess.Popen([sys.executable, f"{HERE}/torch_models.py", name, batch, precision, kind],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
                                        env=environment, start_new_session=True)
        begin = time.monotonic()
        ready, _, _ = select.select([self.process.stdout], [], [], limit_s)
        line = self.process.stdout.readline() if ready else ""
        if not line:
            why = self.last_error()
            self.end()
            if not ready:
                raise LeftOut(f"{kind} did not end in {limit_s:g} s", f"did not end in {limit_s:g} s")
            raise LeftOut(f"{kind} does not run: {why}")
        self.ready_s = time.monotonic() - begin

    def last_error(self):
        self.errors.seek(0)
        return (self.errors.read().strip().splitlines() or ["no reason given"])[-1][:300]

    def sample(self, seconds):
        self.process.stdin.write(f"run {seconds}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["latency_ms"]

    def end(self):
        """With the compiler's workers, which are of the same group."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.communicate()
        self.errors.close()
        self.folder.cleanup()


class Ours:
    def __init__(self, binaries, library):
        if not os.path.isdir(library):
            raise LeftOut(f"there is no {library}")
        self.ready_s = 0
        self.command = [f"{binaries}/mlc-run", library, "--json", "--bench"]

    def sample(self, seconds):
        run = subprocess.run(self.command + [str(seconds)], capture_output=True, text=True)
        if run.returncode != 0:
            raise LeftOut(run.stderr.strip()[-300:])
        return [json.loads(run.stdout)["latency_ms"]["median"]]

    def end(self):
        pass


def start(case, args):
    """The engines that run, and what the table says of the others. Compilers work one after another, before any time is taken."""
    name, batch, precision = case.split(":")
    engines, left_out = {}, {}
    for kind in ["mlc"] + args.kinds:
        limit_s = args.max_autotune_limit if kind == "max-autotune" else args.start
        try:
            if kind == "mlc":
                engines[kind] = Ours(args.bin, f"{args.libraries}/{name}_{batch}_{precision}")
            else:
                engines[kind] = Torch(name, batch, precision, kind, limit_s)
            print(f"{case}: {kind} is ready after {engines[kind].ready_s:.0f} s", file=sys.stderr)
        except (LeftOut, OSError) as error:
            left_out[kind] = getattr(error, "cell", "-")
            print(f"{case}: {kind} left out: {error}", file=sys.stderr)
    return engines, left_out


def measure(case, args):
    """Samples of every engine that runs, and the cells of those that do not."""
    engines, left_out = start(case, args)
    samples = {kind: [] for kind in engines}
    try:
        for _ in range(args.rounds):
            for kind, engine in engines.items():
                if kind in left_out:
                    continue
                try:
                    samples[kind] += engine.sample(args.seconds)
                except (LeftOut, ValueError, OSError) as error:
                    print(f"{case}: {kind} failed: {error}", file=sys.stderr)
                    left_out[kind] = "-"
                time.sleep(0.05)
    finally:
        for engine in engines.values():
            engine.end()
    return {kind: taken for kind, taken in samples.items() if kind not in left_out}, left_out


def row(case, columns, samples, left_out):
    medians = {kind: statistics.median(taken) for kind, taken in samples.items() if taken}
    best = min((m for kind, m in medians.items() if kind != "mlc"), default=None)
    ratio = f"{medians['mlc'] / best:.2f}" if best and "mlc" in medians else "-"
    cells = [f"{medians[kind]:.3f}" if kind in medians else left_out.get(kind, "-") for kind in columns]
    return "| " + " | ".join(case.split(":") + cells) + f" | {ratio} |"


def device_text():
    try:
        command = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        found = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return "no nvidia-smi"
    return "; ".join(sorted(set(found.stdout.strip().splitlines())))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--libraries", required=True)
    parser.add_argument("--cases", nargs="*", default=CASES)
    parser.add_argument("--kinds", nargs="*", default=["graph", "compile", "max-autotune"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--start", type=float, default=120, help="seconds that a peer may take to be ready")
    parser.add_argument("--max-autotune-limit", type=float, default=300, metavar="SECONDS", help="of max-autotune, a model (%(default)g)")
    parser.add_argument("--json")
    args = parser.parse_args()
    print(f"{datetime.date.today()}, {device_text()}; medians in ms")
    columns = ["mlc"] + args.kinds
    print("| model | batch | precision | " + " | ".join(columns) + " | mlc / best |\n|" + "---|" * (len(columns) + 4))
    kept = {}
    for case in args.cases:
        samples, left_out = measure(case, args)
        kept[case] = samples
        print(row(case, columns, samples, left_out), flush=True)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(kept, f)


if __name__ == "__main__":
    main()
