#!/usr/bin/env python3
"""One block of a Llama on random weights beside PyTorch: the prefill of LENGTH tokens, fp16.

    llama_block.py --bin build/release/bin --work DIR [--lengths 1024 4096] [--trials 250] [--json FILE]

Needs PyTorch, transformers and onnxscript. The block is 2048 wide, with 32 heads of queries, 8 of keys and 5632 gates.
PyTorch runs it in a CUDA graph, eager and compiled; times are medians between events. Ours is untuned, untuned with
attention in separate kernels, and, with --trials, tuned into DIR/llama.db. Where there is no GPU, the target is the CPU,
fp32, and PyTorch is left out: to try the script itself.
"""
import argparse
import datetime
import json
import pathlib
import statistics
import subprocess
import warnings

import torch
from transformers import LlamaConfig, LlamaModel

WARM_UP, REPLAYS = 10, 50


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.model = LlamaModel(LlamaConfig(
            hidden_size=2048, intermediate_size=5632, num_attention_heads=32, num_key_value_heads=8, num_hidden_layers=1,
            vocab_size=128, max_position_embeddings=8192, use_cache=False, attn_implementation="sdpa")).eval()

    def forward(self, x):
        return self.model(inputs_embeds=x, use_cache=False).last_hidden_state


def export(length, path):
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(Block(), (torch.randn(1, length, 2048) * 0.5,), str(path), dynamo=True, opset_version=20,
                          external_data=True)


def torch_us(length, compiled):
    """Microseconds of a replay: median, p10, p90."""
    model, x = Block().cuda().half(), (torch.randn(1, length, 2048) * 0.5).cuda().half()
    run = torch.compile(model) if compiled else model
    stream, graph, times = torch.cuda.Stream(), torch.cuda.CUDAGraph(), []
    with torch.no_grad():
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP):
                run(x)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            run(x)
        for step in range(WARM_UP + REPLAYS):
            begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
            begin.record()
            graph.replay()
            end.record()
            torch.cuda.synchronize()
            if step >= WARM_UP:
                times.append(1e3 * begin.elapsed_time(end))
    tenths = statistics.quantiles(times, n=10)
    return {"median_us": statistics.median(times), "p10_us": tenths[0], "p90_us": tenths[8]}


def ours_us(options, model, library, *flags):
    target = ["--target", "cuda", "--precision", "fp16"] if torch.cuda.is_available() else ["--target", "cpu"]
    subprocess.run([options.bin / "mlc-compile", "--model", model, *target, *flags, "-o", library], check=True,
                   capture_output=True)
    said = subprocess.run([options.bin / "mlc-run", library, "--bench", "2", "--json"], check=True, capture_output=True)
    latency = json.loads(said.stdout)["latency_ms"]
    return {f"{name}_us": 1e3 * latency[name] for name in ("median", "p10", "p90")}


def tune(options, model):
    target = ["--target", "cuda", "--precision", "fp16"] if torch.cuda.is_available() else ["--target", "cpu"]
    subprocess.run([options.bin / "mlc-tune", "--model", model, *target, "--trials", str(options.trials), "--log",
                    options.work / "llama.db"], check=True, capture_output=True)


def measure(options, length):
    model = options.work / f"llama{length}.onnx"
    export(length, model)
    row = {"length": length}
    if torch.cuda.is_available():
        row |= {"eager": torch_us(length, False), "compiled": torch_us(length, True)}
    row["untuned"] = ours_us(options, model, options.work / f"untuned{length}")
    row["untuned, attention apart"] = ours_us(options, model, options.work / f"apart{length}", "--skip-pass",
                                              "recognize_attention")
    if options.trials > 0:
        tune(options, model)
        row["tuned"] = ours_us(options, model, options.work / f"tuned{length}", "--log", options.work / "llama.db")
    return row


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--bin", type=pathlib.Path, required=True)
    flags.add_argument("--work", type=pathlib.Path, required=True)
    flags.add_argument("--lengths", type=int, nargs="+", default=[1024, 4096])
    flags.add_argument("--trials", type=int, default=0)
    flags.add_argument("--json", type=pathlib.Path)
    options = flags.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    card = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    print(f"{card}, {datetime.date.today()}, torch {torch.__version__}")
    rows = []
    for length in options.lengths:
        rows.append(measure(options, length))
        for name, figures in rows[-1].items():
            if name != "length":
                print(f"{length:6} tokens  {name:26} {figures['median_us']:9.1f} us  "
                      f"(p10 {figures['p10_us']:.1f}, p90 {figures['p90_us']:.1f})", flush=True)
    if options.json:
        about = f"{card}, {datetime.date.today()}, torch {torch.__version__}, {options.trials} trials; llama_block.py"
        options.json.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
