#!/usr/bin/env python3
"""Seconds from a network's ONNX file to a library that is as fast as what torch's max-autotune makes of the network.

    autotune_seconds.py --bin build/release/bin --work DIR [--cases resnet50:1:fp16 ...] [--together 3] [--limit 200] [--all 500]
                        [--json FILE]

A case is that of tests/bench/gpu/compare.py, whose parts export the network that PyTorch runs and time both sides. For each case
mlc-compile makes a library with an empty log and without a cache of device code, while nothing else runs. Then max-autotune
compiles the same network; with --together several do so at a time on one card, which lengthens their own seconds and may disturb
their choices. At the end both are timed in turns. A library that is not fast enough is followed by others: mlc-tune goes on for the
seconds of --steps, each time with a library after it, until one is.

Our seconds are those of mlc-compile, and of mlc-tune before it; those of max-autotune are from the start of the process to the first
replay. Both leave out the export and PyTorch's import of the model's classes. --device cpu goes the same way without a GPU.

Every step is written to --json when it ends. With --all the program ends by itself after so many seconds: peers that are not ready
--reserve seconds before are given up, so that the others are timed, and no tuning begins that would end later.
"""
import argparse
import datetime
import json
import os
import pathlib
import statistics
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "gpu"))

import cases  # noqa: E402
import chain  # noqa: E402
import places  # noqa: E402
import steps  # noqa: E402
from engines import Ours, Torch  # noqa: E402
from steps import Failed, say  # noqa: E402

# Of a library and its timing after a tuning.
AFTER_TUNING_S = 15
CASES = ("bert_base:1:fp16:128", "bert_base:32:fp16:128", "vit_b_16:1:fp16", "vit_b_16:32:fp16", "resnet50:1:fp16", "resnet50:32:fp16")


class Clock:
    """What is left of --all seconds."""

    def __init__(self, all_s=None):
        self.end = time.monotonic() + all_s if all_s else float("inf")

    def left(self, most, reserve=0.0):
        return max(1.0, min(most, self.end - reserve - time.monotonic()))

    def has(self, seconds):
        return self.end - time.monotonic() >= seconds


class Subject:
    """One case with what is known of it."""

    def __init__(self, case, place, args, clock=Clock(), save=lambda: None):
        self.case, self.place, self.args, self.clock, self.save = case, place, args, clock, save
        self.folder = os.path.join(os.path.abspath(args.work), case.folder)
        self.facts = {"steps": []}
        self.peers = {}

    def export(self):
        try:
            self.facts["exporter"] = chain.export(self.case, self.folder, self.place, self.clock.left(self.args.export_limit))
        except (Failed, OSError) as error:
            self.facts["error"] = str(error)

    def compile(self, tuned_s):
        """A library after so many seconds of tuning; the seconds to it in all."""
        log = f"{self.folder}/tuning.db"
        command = [f"{self.args.bin}/mlc-compile", *chain.options(self.case, self.folder, self.place), "--cubin-cache", "off",
                   *(["--log", log] if tuned_s else []), "-o", f"{self.folder}/library", "--name", "m"]
        begin = time.monotonic()
        steps.output_of(command, self.clock.left(self.args.compile_limit), self.place.environment)
        seconds = tuned_s + time.monotonic() - begin
        self.facts["steps"].append({"tuned_s": round(tuned_s, 2), "seconds": round(seconds, 2)})
        say(self.case.text, f"library after {seconds:.1f} s")
        self.save()

    def tune(self, budget_s):
        """Its seconds, also of what the program does before and after the search."""
        command = [f"{self.args.bin}/mlc-tune", *chain.options(self.case, self.folder, self.place), "--trials", 100000, "--log",
                   f"{self.folder}/tuning.db", "--time-budget", f"{budget_s:g}s", "--whole-model", 0, "--cubin-cache", "off", "--quiet"]
        begin = time.monotonic()
        steps.output_of(command, self.clock.left(budget_s + chain.AFTER_BUDGET_S), self.place.environment)
        return time.monotonic() - begin

    def start_peer(self, kind):
        begin = time.monotonic()
        try:
            self.peers[kind] = Torch(self.case, kind, self.place, self.clock.left(self.args.limit, self.args.reserve))
        except (Failed, OSError, ValueError, KeyError) as error:
            self.facts[f"error of {kind}"] = str(error)
        self.facts[f"{kind}_s"] = round(time.monotonic() - begin, 1)
        say(self.case.text, f"{kind} after {self.facts[f'{kind}_s']} s {self.facts.get(f'error of {kind}', '')}")

    def times(self):
        """Medians in ms of all sides, in turns."""
        engines = {"mlc": Ours(self.args.bin, f"{self.folder}/library", self.place)} | self.peers
        samples = {name: [] for name in engines}
        for _ in range(self.args.rounds):
            for name, engine in engines.items():
                samples[name] += engine.sample(self.args.seconds)
        return {name: statistics.median(found) for name, found in samples.items()}

    def judge(self):
        """Whether the newest library is as fast as the peers' best."""
        ms = self.times()
        self.facts["steps"][-1]["ms"] = {name: round(value, 4) for name, value in ms.items()}
        self.save()
        theirs = min((value for name, value in ms.items() if name != "mlc"), default=None)
        return theirs is None or ms["mlc"] <= theirs

    def run(self):
        """Tunes on until a library is fast enough."""
        tuned_s, reached = 0.0, self.judge()
        for budget_s in self.args.steps:
            if reached or not self.clock.has(budget_s + AFTER_TUNING_S):
                break
            tuned_s += self.tune(budget_s)
            self.compile(tuned_s)
            reached = self.judge()
        self.facts["reached"] = reached
        if reached and self.peers:
            self.facts["seconds_to"] = self.facts["steps"][-1]["seconds"]

    def end(self):
        for engine in self.peers.values():
            engine.end()
        self.peers = {}


def row(subject):
    facts = subject.facts
    last = (facts["steps"] or [{}])[-1]
    ms = last.get("ms", {})
    peer = [f"{ms[kind]:.3f}" if kind in ms else "-" for kind in subject.args.kinds]
    seconds = [str(facts.get(f"{kind}_s", "-")) if kind in ms else f"over {facts[f'{kind}_s']}" if f"{kind}_s" in facts else "-"
               for kind in subject.args.kinds]
    ours = [f"{ms['mlc']:.3f}" if "mlc" in ms else "-", f"{facts['seconds_to']:.1f}" if "seconds_to" in facts else "-"]
    return "| " + " | ".join(subject.case.cells + [cell for pair in zip(peer, seconds) for cell in pair] + ours) + " |"


def all_at_once(calls):
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def measure(subjects, args):
    for begin in range(0, len(subjects), args.exports):
        all_at_once([subject.export for subject in subjects[begin:begin + args.exports]])
    subjects = [subject for subject in subjects if "error" not in subject.facts]
    for subject in subjects:
        attempt(subject, lambda subject=subject: subject.compile(0.0))
    subjects = [subject for subject in subjects if "error" not in subject.facts]
    for begin in range(0, len(subjects), args.together):
        group = subjects[begin:begin + args.together]
        for kind in args.kinds:
            all_at_once([lambda subject=subject, kind=kind: subject.start_peer(kind) for subject in group])
            group[0].save()
        for subject in group:
            if subject.clock.has(AFTER_TUNING_S):
                attempt(subject, subject.run)
            print(row(subject), flush=True)
        for subject in group:
            subject.end()


def attempt(subject, step):
    """What fails is a fact of the subject, and written with what was found before."""
    try:
        step()
    except (Failed, OSError, ValueError, KeyError) as error:
        subject.facts["error"] = str(error)
    subject.save()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--work", required=True)
    parser.add_argument("--cases", nargs="+", default=CASES)
    parser.add_argument("--kinds", nargs="*", default=["max-autotune"], choices=("graph", "compile", "max-autotune"))
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--together", type=int, default=1, help="peers that compile at a time (%(default)s)")
    parser.add_argument("--exports", type=int, default=3, help="exports at a time (%(default)s)")
    parser.add_argument("--steps", type=float, nargs="*", default=[10, 15, 25], help="seconds of tuning, one after the other")
    parser.add_argument("--limit", type=float, default=400, help="seconds of a peer to be ready (%(default)g)")
    parser.add_argument("--all", type=float, help="seconds after which the program ends (default: none)")
    parser.add_argument("--reserve", type=float, default=60, help="of --all, for the timing (%(default)g)")
    parser.add_argument("--export-limit", type=float, default=150)
    parser.add_argument("--compile-limit", type=float, default=120)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3, help="of a sample (%(default)g)")
    parser.add_argument("--json")
    args = parser.parse_args()
    clock = Clock(args.all)
    place = places.all_places(args.device, None)[0]
    place.enter()
    about = {"date": str(datetime.date.today()), **places.machine(), "command": sys.argv[1:]}

    def save():
        if args.json:
            content = {"about": about, "cases": {subject.case.text: subject.facts for subject in subjects}}
            pathlib.Path(f"{args.json}.new").write_text(json.dumps(content, indent=1))
            os.replace(f"{args.json}.new", args.json)

    subjects = [Subject(cases.parse(text), place, args, clock, save) for text in args.cases]

    of_peers = [cell for kind in args.kinds for cell in (f"{kind}, ms", "its s")]
    columns = ["network", "batch", "precision", "length", *of_peers, "ours, ms", "our s to it"]
    print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|", flush=True)
    measure(subjects, args)
    save()
    return 0 if all("seconds_to" in subject.facts for subject in subjects) else 1


if __name__ == "__main__":
    sys.exit(main())
