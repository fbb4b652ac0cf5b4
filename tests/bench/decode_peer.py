#!/usr/bin/env python3
"""Times a decoder on the CPU in a compiled library and in ONNX Runtime: steps with a cache of 512 tokens, and prompts.

    decode_peer.py BIN_FOLDER [--layers 8] [--threads 2] [--rounds 7] [--only TEXT] [--json FILE]

tests/models/make_model.py writes a decoder of Qwen2-0.5B's widths, of fewer layers and tokens in the vocabulary, with
the operators that the builder of ONNX Runtime GenAI writes, in f32 and with weights of 4 bits. The library has default
configs. ONNX Runtime runs as GenAI runs it: caches are bound, and each step writes them in place; once with f32 in the
products of few bits (accuracy level 1) and once with activations of 8 bits (level 4), and so do two libraries. All read a prompt of 512 tokens,
then take the most likely token at each step. They take turns within a round; a figure is the median time of a step,
and the median of the rounds. Prompts of 128 and of 512 tokens are read once before the time is taken; the library reads
them in steps of its sizes, ONNX Runtime in one. Needs numpy, onnx and onnxruntime.
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

PROMPT, STEPS = 512, 24
PREFILLS = (128, 512)
CACHE = PROMPT + 2 * STEPS
MODELS = pathlib.Path(__file__).resolve().parent.parent / "models"
CASES = {"f32": 32, "4 bits by 32": 4}


def prompt(vocabulary):
    return numpy.random.default_rng(3).integers(0, vocabulary, PROMPT)


class Library:
    def __init__(self, programs, model, options):
        self.folder = model.with_suffix(".library")
        subprocess.run([programs / "mlc-compile", "--model", model, "--dim", "sequence=1,128,512", "-o", self.folder,
                        "--target", "cpu"], check=True, capture_output=True)
        self.prompt = prompt(options.vocabulary)
        self.command = [programs / "mlc-run", self.folder, "--threads", str(options.threads), "--json"]

    def run(self, tokens, steps, warmups):
        ids = ",".join(str(token) for token in self.prompt[:tokens])
        done = subprocess.run([*self.command, "--generate", str(steps), "--prompt", ids, "--warmup", str(warmups)],
                              check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    def tokens(self):
        return self.run(PROMPT, STEPS, 0)["tokens"]

    def step_ms(self):
        return self.run(PROMPT, STEPS, 0)["step_ms"]["median"]

    def prompt_ms(self, tokens):
        return self.run(tokens, 1, 1)["prompt_ms"]


class Peer:
    def __init__(self, model, options):
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = options.threads
        settings.add_session_config_entry("session.force_spinning_stop", "1")
        self.session = onnxruntime.InferenceSession(str(model), settings, providers=["CPUExecutionProvider"])
        self.binding = self.session.io_binding()
        self.binding.bind_output("logits")  # the first of the outputs
        for value in self.session.get_inputs():
            if value.name.startswith("past"):
                cache = onnxruntime.OrtValue.ortvalue_from_numpy(numpy.zeros(value.shape, numpy.float32))
                self.binding.bind_ortvalue_input(value.name, cache)
                self.binding.bind_ortvalue_output(value.name.replace("past_key_values", "present"), cache)
        self.prompt = prompt(options.vocabulary)
        self.first = self.step(self.prompt, PROMPT)

    def read(self, tokens, end):
        self.binding.bind_cpu_input("input_ids", numpy.asarray(tokens, numpy.int64)[None])
        self.binding.bind_cpu_input("seqlens_k", numpy.array([end - 1], numpy.int32))
        self.binding.bind_output("logits")
        self.session.run_with_iobinding(self.binding)

    def step(self, tokens, end):
        self.read(tokens, end)
        return int(self.binding.get_outputs()[0].numpy()[0, -1].argmax())

    def tokens(self):
        tokens, self.times = [self.first], []
        for i in range(1, STEPS):
            start = time.perf_counter()
            tokens.append(self.step([tokens[-1]], PROMPT + i))
            self.times.append((time.perf_counter() - start) * 1e3)
        return tokens

    def step_ms(self):
        self.tokens()
        return statistics.median(self.times)

    def prompt_ms(self, tokens):
        self.read(self.prompt[:tokens], tokens)
        start = time.perf_counter()
        self.read(self.prompt[:tokens], tokens)
        return (time.perf_counter() - start) * 1e3


def with_level(model, out, level):
    graph = onnx.load(model)
    for node in graph.graph.node:
        if node.op_type == "MatMulNBits":
            node.attribute.append(onnx.helper.make_attribute("accuracy_level", level))
    onnx.save(graph, out)
    return out


def weight_bytes(model):
    """Of a step: all weights but the embedding, of which a row is read."""
    return sum(len(w.raw_data) for w in onnx.load(model).graph.initializer if w.name != "embed")


def measured(case, bits, programs, folder, options):
    model = folder / "model.onnx"
    subprocess.run([sys.executable, MODELS / "make_model.py", "qwen2", model, "--length", "sequence", "--form", "genai",
                    "--bits", str(bits), "--cache", str(CACHE), "--layers", str(options.layers), "--vocabulary",
                    str(options.vocabulary)], check=True)
    ways, pairs = {"library": Library(programs, model, options)}, {"library": "onnxruntime"}
    if bits == 32:
        ways["onnxruntime"] = Peer(model, options)
    else:
        levels = {level: with_level(model, folder / f"level{level}.onnx", level) for level in (1, 4)}
        ways["library_level_4"] = Library(programs, levels[4], options)
        ways |= {f"onnxruntime_level_{level}": Peer(path, options) for level, path in levels.items()}
        pairs = {"library": "onnxruntime_level_1", "library_level_4": "onnxruntime_level_4"}
    tokens = {name: way.tokens() for name, way in ways.items()}
    result = {"case": case, "layers": options.layers, "weights_mb": round(weight_bytes(model) / 1e6, 1)}
    for ours, peer in pairs.items():
        same = next((i for i, two in enumerate(zip(tokens[ours], tokens[peer])) if two[0] != two[1]), STEPS)
        result[f"{ours}_equal_tokens"] = f"{same} of {STEPS}"
    result["step"] = in_turns(ways, options.rounds, lambda way: way.step_ms())
    result["step"]["weights_gb_s"] = round(weight_bytes(model) / 1e6 / result["step"]["library_ms"], 2)
    for count in PREFILLS:
        result[f"prompt of {count}"] = in_turns(ways, options.rounds, lambda way: way.prompt_ms(count))
    return result


def in_turns(ways, rounds, ms):
    times = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            times[name].append(ms(way))
    peers = [name for name in ways if name.startswith("onnxruntime")]
    best = [min(times[name][i] for name in peers) for i in range(rounds)]
    over = {f"{name}_tokens_s_over_best_peer": round(statistics.median(b / t for b, t in zip(best, times[name])), 3)
            for name in ways if name not in peers}
    return {**{name + "_ms": round(statistics.median(t), 2) for name, t in times.items()}, **over,
            "samples_ms": {name: [round(x, 2) for x in t] for name, t in times.items()}}


def without_samples(value):
    return {k: without_samples(v) if isinstance(v, dict) else v for k, v in value.items() if k != "samples_ms"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--vocabulary", type=int, default=32000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="")
    parser.add_argument("--json")
    options = parser.parse_args()
    results, loads = [], [os.getloadavg()[0]]
    for case, bits in CASES.items():
        if options.only not in case:
            continue
        with tempfile.TemporaryDirectory() as folder:
            results.append(measured(case, bits, options.programs.resolve(), pathlib.Path(folder), options))
        loads.append(os.getloadavg()[0])
        print(json.dumps(without_samples(results[-1])), flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(
            {"threads": options.threads, "rounds": options.rounds,
             "load_average": [round(min(loads), 1), round(max(loads), 1)],
             "onnxruntime": onnxruntime.__version__, "cases": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
