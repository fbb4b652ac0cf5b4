"""From a case to a library: export, search, compilation, each bounded in time."""
import json
import os
import shutil
import sys

import steps
from steps import Failed, say

HERE = os.path.dirname(os.path.abspath(__file__))
AFTER_BUDGET_S = 40  # for what mlc-tune does after the last trial


def export(case, folder, place, limit_s):
    """By the first exporter that manages; its name."""
    for exporter in ("dynamo", "ts"):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        try:
            steps.output_of([sys.executable, f"{HERE}/export_case.py", case.text, folder, exporter], limit_s, place.environment)
            return exporter
        except Failed as error:
            say(case.text, f"not exported by {exporter}: {error}")
            last = error
    raise Failed(f"not exported: {last}")


def options(case, folder, place):
    threads = ["--threads", place.cpu_count] if place.device == "cpu" else []
    return ["--model", f"{folder}/model.onnx", "--target", place.device, "--precision", case.precision, *threads]


def tune(case, folder, log, place, args):
    """mlc-tune's report. What was measured before the time was over counts: then the report is the reason."""
    command = [f"{args.bin}/mlc-tune", *options(case, folder, place), "--trials", args.trials, "--log", log, "--time-budget",
               f"{args.tune_limit:g}s", "--quiet", "--json"]
    try:
        return json.loads(steps.output_of(command, args.tune_limit + AFTER_BUDGET_S, place.environment))
    except Failed as error:
        if not os.path.exists(log):
            raise
        say(case.text, f"the search was cut: {error}")
        return {"cut": str(error)}


def log_of(folder, args):
    """A log of the case's own, which begins as a copy of --log."""
    log = f"{folder}/tuning.db"
    if args.log:
        shutil.copyfile(args.log, log)
    return log


def library(case, folder, place, args):
    """The compiled library's folder, and mlc-compile's report."""
    found = f"{folder}/library"
    log = ["--log", f"{folder}/tuning.db"] if os.path.exists(f"{folder}/tuning.db") else []
    command = [f"{args.bin}/mlc-compile", *options(case, folder, place), *log, "-o", found, "--name", "m", "--json"]
    return found, json.loads(steps.output_of(command, args.compile_limit, place.environment))
