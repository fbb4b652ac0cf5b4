#!/usr/bin/env python3
"""Whole models beside PyTorch, from the network's name to a row of the table: one command.

    compare.py --bin build/release/bin --work DIR --cases resnet50:32:fp16 bert_base:8:fp16:512 ... [--trials 200]
    compare.py --bin build/release/bin --libraries DIR [--cases resnet50:1:fp16 ...]

A case is NAME:BATCH:PRECISION[:LENGTH] (see cases.py). The first form exports the very network that PyTorch runs, with the same
random weights, searches, compiles, holds the results against PyTorch in single precision, and times both in turns, on random
data: PyTorch as an eager CUDA graph, compiled, and with max-autotune within a limit. Every GPU of the machine takes cases, with its
share of the CPUs. The second form takes libraries that mlc-compile wrote to DIR/NAME_BATCH_PRECISION[_LENGTH]; nothing is checked.

Times are medians between events in ms. Prints a row as soon as it is known; --json FILE keeps samples, differences, card and
versions, with --profile also the time of every kernel, and is written anew after every step. Ends with 1 if a case gave no time
or differs by more than its precision allows. --device cpu goes the same way without a GPU: to try the script itself.
"""
import argparse
import datetime
import json
import os
import queue
import statistics
import sys
import tempfile
import threading
import time

import cases
import chain
import places
import steps
from engines import Ours, Torch
from steps import Failed, say

CASES = ("resnet50:1:fp16", "resnet50:1:fp32", "resnet50:1:tf32", "resnet50:32:fp32", "mobilenet_v2:1:fp16",
         "bert_base:1:fp16", "bert_base:1:fp32", "gpt2:1:fp16", "vit_b_16:1:fp16")
KINDS = ("graph", "compile", "max-autotune")


class Record:
    """What is known of all cases; written to a file whenever something is added. Safe for several threads."""

    def __init__(self, path, about):
        self.path, self.lock = path, threading.Lock()
        self.content = {"about": about, "cases": {}}

    def add(self, case, **facts):
        with self.lock:
            self.content["cases"].setdefault(case.text, {}).update(facts)
            if self.path:
                with open(f"{self.path}.new", "w") as file:
                    json.dump(self.content, file, indent=1)
                os.replace(f"{self.path}.new", self.path)


class Run:
    """One case at one place."""

    def __init__(self, case, place, args, record):
        self.case, self.place, self.args, self.record = case, place, args, record
        self.folder = os.path.join(os.path.abspath(args.work), case.folder) if args.work else None
        self.engines, self.left_out, self.samples, self.seconds, self.difference = {}, {}, {}, {}, {}

    def step(self, name, call, *arguments):
        """The call's result; its time is kept."""
        begin = time.monotonic()
        try:
            return call(*arguments)
        finally:
            self.seconds[name] = round(time.monotonic() - begin, 2)
            say(self.case.text, f"{name} took {self.seconds[name]:.1f} s")
            self.record.add(self.case, gpu=self.place.gpu, seconds=dict(self.seconds))

    def leave_out(self, kind, error):
        self.left_out[kind] = getattr(error, "cell", "-")
        say(self.case.text, f"{kind} left out: {error}")
        self.record.add(self.case, **{f"error of {kind}": str(error)})

    def start_peers(self):
        """One after another, so that none disturbs what another one measures."""
        for kind in self.args.kinds:
            limit_s = self.args.max_autotune_limit if kind == "max-autotune" else self.args.start
            try:
                self.engines[kind] = self.step(f"start of {kind}", Torch, self.case, kind, self.place, limit_s)
            except (Failed, OSError, ValueError) as error:
                self.leave_out(kind, error)

    def export(self):
        self.record.add(self.case, exporter=chain.export(self.case, self.folder, self.place, self.args.export_limit))

    def library(self):
        """Made while no peer measures; the export, which leaves the GPU alone, while the peers start."""
        if self.args.libraries:
            self.start_peers()
            return f"{self.args.libraries}/{self.case.folder}"
        errors = []

        def exporting():
            self.place.enter()
            try:
                self.step("export", self.export)
            except Exception as error:
                errors.append(error)

        export = threading.Thread(target=exporting)
        export.start()
        self.start_peers()
        export.join()
        if errors:
            raise errors[0]
        log = chain.log_of(self.folder, self.args)
        if self.args.trials > 0:
            self.keep("search", self.step("search", chain.tune, self.case, self.folder, log, self.place, self.args))
        folder, report = self.step("compilation", chain.library, self.case, self.folder, self.place, self.args)
        self.keep("library", report)
        return folder

    def keep(self, name, report):
        """Figures of the whole; those of single tasks with the profile."""
        self.record.add(self.case, **{name: {key: value for key, value in report.items() if key != "tasks" or self.args.profile}})

    def check(self):
        for kind, engine in self.engines.items():
            try:
                self.difference[kind] = engine.difference(self.folder)
            except (Failed, ValueError, KeyError) as error:
                self.leave_out(kind, error)
        self.record.add(self.case, difference=dict(self.difference), allowed=cases.BOUNDS[self.case.precision])

    def take_turns(self):
        for _ in range(self.args.rounds):
            for kind, engine in self.engines.items():
                if kind in self.left_out:
                    continue
                try:
                    self.samples.setdefault(kind, []).extend(engine.sample(self.args.seconds))
                except (Failed, ValueError, KeyError) as error:
                    self.leave_out(kind, error)
                time.sleep(0.05)
        self.record.add(self.case, samples_ms={kind: s for kind, s in self.samples.items() if kind not in self.left_out})

    def profile(self):
        found = {}
        for kind, engine in self.engines.items():
            try:
                found[kind] = engine.profile()
            except (Failed, ValueError, KeyError) as error:
                say(self.case.text, f"no profile of {kind}: {error}")
        self.record.add(self.case, profile=found)

    def measure(self):
        """Whatever fails is left out of the row; the steps after it go on where they can."""
        try:
            try:
                library = self.library()
                self.engines = {"mlc": Ours(self.args.bin, library, self.place)} | self.engines
            except (Failed, OSError, ValueError) as error:
                self.leave_out("mlc", error)
            if self.folder and os.path.exists(f"{self.folder}/outputs/output_0.npy"):
                self.step("check", self.check)
            self.step("timing", self.take_turns)
            if self.args.profile:
                self.step("profile", self.profile)
        finally:
            for engine in self.engines.values():
                engine.end()

    @property
    def passed(self):
        return "mlc" not in self.left_out and self.difference.get("mlc", 0) <= cases.BOUNDS[self.case.precision]

    def row(self):
        medians = {kind: statistics.median(s) for kind, s in self.samples.items() if s and kind not in self.left_out}
        best = min((m for kind, m in medians.items() if kind != "mlc"), default=None)
        ratio = f"{medians['mlc'] / best:.2f}" if best and "mlc" in medians else "-"
        times = [f"{medians[kind]:.3f}" if kind in medians else self.left_out.get(kind, "-") for kind in ["mlc"] + self.args.kinds]
        error = f"{self.difference['mlc']:.1e}" if "mlc" in self.difference else "-"
        if not self.passed and error != "-":
            error = f"**{error}**"
        return "| " + " | ".join(self.case.cells + times + [ratio, error]) + " |"


def work_at(place, waiting, args, record, finished):
    place.enter()
    while True:
        try:
            case = waiting.get_nowait()
        except queue.Empty:
            return
        run = Run(case, place, args, record)
        try:
            run.measure()
        except Exception as error:  # of one case: the others go on
            run.leave_out("mlc", error)
        with steps.SAYING:
            print(run.row(), flush=True)
            finished.append(run)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--work", help="folder of models, logs and libraries; default: one that is deleted")
    parser.add_argument("--libraries", help="take libraries from here instead of making them")
    parser.add_argument("--cases", nargs="+", default=CASES)
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=list(KINDS))
    parser.add_argument("--trials", type=int, default=200, help="of the search for each case; 0: none (%(default)s)")
    parser.add_argument("--log", help="log that the searches begin with; with --trials 0 the library's kernels")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--gpus", nargs="+", help="as CUDA_VISIBLE_DEVICES has them; default: all that are visible")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3, help="of a sample (%(default)g)")
    parser.add_argument("--profile", action="store_true", help="keep the time of each kernel in the JSON")
    parser.add_argument("--json")
    limits = parser.add_argument_group("limits in seconds, of one case")
    limits.add_argument("--export-limit", type=float, default=150, metavar="S", help="an exporter (%(default)g)")
    limits.add_argument("--start", type=float, default=120, metavar="S", help="a peer, to be ready (%(default)g)")
    limits.add_argument("--max-autotune-limit", type=float, default=300, metavar="S", help="max-autotune, to be ready (%(default)g)")
    limits.add_argument("--tune-limit", type=float, default=120, metavar="S", help="the search (%(default)g)")
    limits.add_argument("--compile-limit", type=float, default=150, metavar="S", help="mlc-compile (%(default)g)")
    return parser.parse_args()


def main():
    args = arguments()
    if args.work and args.libraries:
        sys.exit("compare.py: give --work or --libraries, not both")
    try:
        wanted = [cases.parse(text) for text in dict.fromkeys(args.cases)]
    except ValueError as error:
        sys.exit(f"compare.py: {error}")
    temporary = None if args.work or args.libraries else tempfile.TemporaryDirectory(prefix="compare_work_")
    args.work = args.work or (temporary.name if temporary else None)
    about = {"date": str(datetime.date.today()), **places.machine(), "command": sys.argv[1:]}
    record, waiting, finished = Record(args.json, about), queue.Queue(), []
    for case in wanted:
        waiting.put(case)
    print(f"{about['date']}, {about['card']}, PyTorch {about.get('torch')}; medians in ms", flush=True)
    columns = ["model", "batch", "precision", "length", "mlc", *args.kinds, "mlc / best", "difference"]
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns), flush=True)
    threads = [threading.Thread(target=work_at, args=(place, waiting, args, record, finished))
               for place in places.all_places(args.device, args.gpus)[:len(wanted)]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if temporary:
        temporary.cleanup()
    return 0 if len(finished) == len(wanted) and all(run.passed for run in finished) else 1


if __name__ == "__main__":
    sys.exit(main())
