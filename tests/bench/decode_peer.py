#!/usr/bin/env python3
"""Times a decoder on the CPU in a compiled library, ONNX Runtime, ONNX Runtime GenAI and llama.cpp: steps with a cache
of 512 tokens, and prompts.

    decode_peer.py BIN_FOLDER [--layers 8] [--threads 1,2] [--rounds 7] [--only TEXT] [--json FILE]

tests/models/make_model.py writes a decoder of Qwen2-0.5B's widths, of fewer layers and tokens in the vocabulary, with
the operators that the builder of ONNX Runtime GenAI writes, in f32 and with weights of 4 bits. The library has default
configs. ONNX Runtime runs as GenAI runs it: caches are bound, and each step writes them in place; once with f32 in the
products of few bits (accuracy level 1) and once with activations of 8 bits (level 4), and so do two libraries. llama.cpp
reads the same weights from a GGUF file; with 4 bits it rounds activations to 8 bits, and its caches are f16, its default.
All read a prompt of 512 tokens, then take the most likely token at each step. They take turns within a round; a figure
is the median time of a step, and the median of the rounds. Prompts of 128 and of 512 tokens are read once before the
time is taken; the library reads them in steps of its sizes, the others in one. All compute every token's logits;
"llama.cpp, last" only those of the last. Needs numpy, onnx and onnxruntime; onnxruntime-genai, and llama-cpp-python or
xllamacpp with gguf, are timed where they are installed.
"""
import argparse
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import onnx

from decode import llama_interface
from decode.peers import CACHE, STEPS, GenAi, Library, Llama, Runtime

MODELS = pathlib.Path(__file__).resolve().parent.parent / "models"
sys.path.insert(0, str(MODELS))
import decoders  # noqa: E402

PREFILLS = (128, 512)
CASES = {"f32": 32, "4 bits by 32": 4}
PACKAGES = ("onnxruntime", "onnxruntime-genai", "llama-cpp-python", "xllamacpp")


def installed(package):
    return importlib.util.find_spec(package) is not None


def make(options, bits, out, *more):
    out.parent.mkdir(exist_ok=True)
    subprocess.run([sys.executable, MODELS / "make_model.py", "qwen2", out, "--length", "sequence", "--form", "genai",
                    "--bits", str(bits), "--cache", str(CACHE), "--layers", str(options.layers), "--vocabulary",
                    str(options.vocabulary), *more], check=True)
    return out


def with_level(model, out, level):
    graph = onnx.load(model)
    for node in graph.graph.node:
        if node.op_type == "MatMulNBits":
            node.attribute.append(onnx.helper.make_attribute("accuracy_level", level))
    out.parent.mkdir(exist_ok=True)
    onnx.save(graph, out)
    return out


def weight_bytes(model):
    """Of a step: all weights but the embedding, of which a row is read."""
    return sum(len(w.raw_data) for w in onnx.load(model).graph.initializer if w.name != "embed")


def compiled(model, programs):
    folder = model.with_suffix(".library")
    subprocess.run([programs / "mlc-compile", "--model", model, "--dim", "sequence=1,128,512", "-o", folder,
                    "--target", "cpu"], check=True, capture_output=True)
    return folder


class Files:
    """The forms of a model that the peers read, by level of accuracy. Levels are {"": the model} of f32."""

    def __init__(self, bits, programs, folder, options):
        self.shape = decoders.dataclasses.replace(decoders.FAMILIES["qwen2"], layers=options.layers,
                                                  vocabulary=options.vocabulary)
        self.model = make(options, bits, folder / "model.onnx")
        grows = make(options, bits, folder / "grows.onnx", "--past", "past") if installed("onnxruntime_genai") else None
        self.models, self.growing = {"": self.model}, {"": grows and folder / "genai" / "model.onnx"}
        if bits != 32:
            self.models = {f" level {n}": with_level(self.model, folder / f"level{n}.onnx", n) for n in (1, 4)}
            self.growing = {f" level {n}": grows and with_level(grows, folder / f"genai{n}" / "model.onnx", n)
                            for n in (1, 4)}
        elif grows:
            self.growing[""].parent.mkdir()
            grows.rename(self.growing[""])
        self.libraries = {level: compiled(model, programs) for level, model in self.models.items()}
        self.gguf = None
        if llama_interface.path_of_library() and installed("gguf"):
            from decode.gguf_decoder import write_gguf
            self.gguf = write_gguf(self.model, folder / "model.gguf", self.shape, decoders.EPSILON, decoders.THETA, CACHE)


def ways(files, programs, options, threads):
    result = {}
    for level in files.models:
        result["library" + level] = Library(programs, files.libraries[level], options, threads)
        result["onnxruntime" + level] = Runtime(files.models[level], options, threads)
        if files.growing[level]:
            result["genai" + level] = GenAi(files.growing[level].parent, files.shape, options, threads)
    if files.gguf:
        result["llama.cpp"] = Llama(files.gguf, options, threads)
        result["llama.cpp, last"] = Llama(files.gguf, options, threads, last=True)
    return result


def measured(case, files, programs, options, threads):
    all_ways = ways(files, programs, options, threads)
    tokens = {name: way.tokens() for name, way in all_ways.items()}
    first = next(iter(tokens.values()))
    result = {"case": case, "threads": threads, "layers": options.layers,
              "weights_mb": round(weight_bytes(files.model) / 1e6, 1)}
    result["equal_tokens"] = {
        name: next((i for i, two in enumerate(zip(first, other)) if two[0] != two[1]), STEPS)
        for name, other in tokens.items()}
    steps = {name: way for name, way in all_ways.items() if not name.endswith(", last")}
    result["step"] = in_turns(steps, options.rounds, lambda way: way.step_ms())
    for count in PREFILLS:
        result[f"prompt of {count}"] = in_turns(all_ways, options.rounds, lambda way: way.prompt_ms(count))
    return result


def in_turns(all_ways, rounds, ms):
    times = {name: [] for name in all_ways}
    for _ in range(rounds):
        for name, way in all_ways.items():
            times[name].append(ms(way))
    peers = [name for name in all_ways if not name.startswith("library") and not name.endswith(", last")]
    best = [min(times[name][i] for name in peers) for i in range(rounds)]
    over = {name: round(statistics.median(b / t for b, t in zip(best, t)), 3)
            for name, t in times.items() if name.startswith("library")}
    return {"ms": {name: round(statistics.median(t), 2) for name, t in times.items()},
            "least_ms": {name: round(min(t), 2) for name, t in times.items()}, "tokens_s_over_best_peer": over,
            "samples_ms": {name: [round(x, 2) for x in t] for name, t in times.items()}}


def without_samples(value):
    return {k: without_samples(v) if isinstance(v, dict) else v for k, v in value.items() if k != "samples_ms"}


def versions():
    found = {}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    if llama_interface.path_of_library():
        found["llama.cpp"] = llama_interface.functions().llama_print_system_info().decode()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--vocabulary", type=int, default=32000)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="")
    parser.add_argument("--json")
    options = parser.parse_args()
    programs, results, loads = options.programs.resolve(), [], [os.getloadavg()[0]]
    for case, bits in CASES.items():
        if options.only not in case:
            continue
        with tempfile.TemporaryDirectory() as folder:
            files = Files(bits, programs, pathlib.Path(folder), options)
            for threads in options.threads.split(","):
                results.append(measured(case, files, programs, options, int(threads)))
                loads.append(os.getloadavg()[0])
                print(json.dumps(without_samples(results[-1])), flush=True)
                if options.json:
                    write_results(options, results, loads)


def write_results(options, results, loads):
    document = {"rounds": options.rounds, "load_average": [round(min(loads), 1), round(max(loads), 1)],
                "versions": versions(), "cases": results}
    pathlib.Path(options.json).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
