#!/usr/bin/env python3
"""Times whole networks with 8 bits in compiled libraries beside the same in f32, and in ONNX Runtime.

    network_bytes.py BIN_FOLDER [--threads 2] [--rounds 9] [--only TEXT] [--seconds 0.3] [--json FILE]

tests/models/make_model.py makes the networks, tests/models/quantize_model.py their 8-bit versions with ONNX Runtime's
quantizer. Libraries have the default configs. The four ways take turns within a round; a time is the median of the
rounds, a ratio the median of the rounds' ratios. The outputs of the two 8-bit ways are compared with f32: ONNX Runtime
rounds at other places than the library, so both errors are given. Needs numpy, onnx and onnxruntime.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import onnx
import onnxruntime

NETWORKS = ("resnet50", "mobilenet_v2", "bert_base")
MODELS = pathlib.Path(__file__).resolve().parent.parent / "models"


def read(path):
    return onnx.numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))


class Library:
    def __init__(self, programs, model, inputs, options):
        self.programs, self.folder, self.options, self.inputs = programs, model.with_suffix(""), options, inputs
        subprocess.run([programs / "mlc-compile", "--model", model, "-o", self.folder, "--target", "cpu"],
                       check=True, capture_output=True)

    def run(self, *more):
        command = [self.programs / "mlc-run", self.folder, "--threads", str(self.options.threads), "--inputs",
                   self.inputs, *more]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def milliseconds(self):
        return json.loads(self.run("--json", "--bench", str(self.options.seconds)))["latency_ms"]["median"]

    def output(self):
        outputs = self.folder.with_suffix(".out")
        self.run("--outputs", outputs)
        return read(outputs / "output_0.pb")


class Peer:
    def __init__(self, model, inputs, options):
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = options.threads
        # Workers spin during a run, and leave the cores to the next engine after it.
        settings.add_session_config_entry("session.force_spinning_stop", "1")
        self.session = onnxruntime.InferenceSession(model, settings, providers=["CPUExecutionProvider"])
        self.feeds = {value.name: read(inputs / f"input_{i}.pb")
                      for i, value in enumerate(self.session.get_inputs())}
        self.seconds = options.seconds

    def output(self):
        return self.session.run(None, self.feeds)[0]

    def milliseconds(self):
        samples = []
        while sum(samples) < self.seconds:
            start = time.perf_counter()
            self.session.run(None, self.feeds)
            samples.append(time.perf_counter() - start)
        return statistics.median(samples) * 1e3


def error(output, reference):
    return round(float(numpy.linalg.norm(output - reference) / numpy.linalg.norm(reference)), 4)


def measured(name, programs, folder, options):
    models = {"f32": folder / "f32.onnx", "bytes": folder / "bytes.onnx"}
    inputs = folder / "inputs"
    subprocess.run([sys.executable, MODELS / "make_model.py", name, models["f32"], "--inputs", inputs], check=True)
    subprocess.run([sys.executable, MODELS / "quantize_model.py", models["f32"], models["bytes"]], check=True,
                   capture_output=True)
    ways = {}
    for kind, model in models.items():
        ways["library_" + kind] = Library(programs, model, inputs, options)
        ways["onnxruntime_" + kind] = Peer(model, inputs, options)
    outputs = {way: engine.output() for way, engine in ways.items()}
    times = {way: [] for way in ways}
    for _ in range(options.rounds):
        for way, engine in ways.items():
            times[way].append(engine.milliseconds())

    def ratio(a, b):
        return round(statistics.median(x / y for x, y in zip(times[a], times[b])), 3)

    return {"network": name, **{way + "_ms": round(statistics.median(t), 2) for way, t in times.items()},
            "f32_over_bytes": ratio("library_f32", "library_bytes"),
            "onnxruntime_f32_over_bytes": ratio("onnxruntime_f32", "onnxruntime_bytes"),
            "bytes_over_onnxruntime": ratio("library_bytes", "onnxruntime_bytes"),
            "error": error(outputs["library_bytes"], outputs["library_f32"]),
            "onnxruntime_error": error(outputs["onnxruntime_bytes"], outputs["onnxruntime_f32"]), "samples_ms": {
                way: [round(x, 2) for x in t] for way, t in times.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--only", default="")
    parser.add_argument("--json")
    parser.add_argument("--keep", type=pathlib.Path, help="keep models and libraries in this folder")
    options = parser.parse_args()
    results, loads = [], [os.getloadavg()[0]]
    for name in NETWORKS:
        if options.only not in name:
            continue
        with tempfile.TemporaryDirectory() as temporary:
            folder = options.keep / name if options.keep else pathlib.Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            results.append(measured(name, options.programs.resolve(), folder, options))
        loads.append(os.getloadavg()[0])
        print(json.dumps({k: v for k, v in results[-1].items() if k != "samples_ms"}), flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(
            {"threads": options.threads, "rounds": options.rounds,
             "load_average": [round(min(loads), 1), round(max(loads), 1)],
             "onnxruntime": onnxruntime.__version__, "networks": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
