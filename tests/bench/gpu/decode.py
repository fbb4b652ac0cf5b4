#!/usr/bin/env python3
"""One step of a Llama decoder beside PyTorch on a GPU: batch 1, one new token after a cache of POSITIONS tokens, bf16.

    decode.py --bin build/release/bin --work DIR [--positions 1024] [--layers 16] [--trials 0] [--json FILE]
              [--weights bf16 int8 int4 fp8] [--without-torch]

Needs PyTorch, transformers, onnx and NumPy. The decoder has random weights: 2048 wide, 32 heads of queries, 8 of keys,
5632 gates, 32,000 tokens; ours is the same network by make_model.py. PyTorch's cache is static, its step compiled as
one graph and replayed as a CUDA graph, eager and compiled. Times are medians between events. The share of the copy
bandwidth is that of the bytes that a step must read (weights but the embedding, and caches) over the rate of a copy of
1 GiB, bytes read and written. With --trials ours is also tuned. Weights of 4 or 8 bits are those of products, in blocks
of 32 with one scale of bf16; our libraries take turns, ROUNDS times. Where there is no GPU the target is the CPU in
f32, and PyTorch is left out: to try the script itself.
"""
import argparse
import concurrent.futures
import datetime
import json
import pathlib
import statistics
import subprocess
import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM, StaticCache

HERE = pathlib.Path(__file__).resolve().parent
WIDTH, HEADS, KV_HEADS, GATES, VOCABULARY = 2048, 32, 8, 5632, 32000
WARM_UP, REPLAYS, ROUNDS = 10, 60, 3
BLOCK = 32  # weights with one scale: decoders.py
BITS = {"bf16": 16, "int8": 8, "fp8": 8, "int4": 4}


def figures(times_us):
    tenths = statistics.quantiles(times_us, n=10)
    return {"median_us": statistics.median(times_us), "p10_us": tenths[0], "p90_us": tenths[8]}


def between_events(run):
    times = []
    for step in range(WARM_UP + REPLAYS):
        begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        if step >= WARM_UP:
            times.append(1e3 * begin.elapsed_time(end))
    return figures(times)


def copy_rate():
    """Bytes read and written a second."""
    a = torch.randn(1 << 28, device="cuda")
    b = torch.empty_like(a)
    return 2 * a.numel() * 4 / (between_events(lambda: b.copy_(a))["median_us"] * 1e-6)


def bytes_of_step(options, weights="bf16"):
    head = WIDTH // HEADS
    layer = WIDTH * (2 * WIDTH + 2 * KV_HEADS * head + 3 * GATES)
    cache = 2 * KV_HEADS * head * options.positions
    a_weight = BITS[weights] / 8 + (0 if weights in ("bf16", "fp8") else 2 / BLOCK)
    return a_weight * (options.layers * layer + WIDTH * VOCABULARY) + 2 * options.layers * cache


def torch_step(options, compiled):
    config = LlamaConfig(hidden_size=WIDTH, intermediate_size=GATES, num_attention_heads=HEADS,
                         num_key_value_heads=KV_HEADS, num_hidden_layers=options.layers, vocab_size=VOCABULARY,
                         max_position_embeddings=8192, attn_implementation="sdpa")
    torch.manual_seed(1)
    with torch.device("cuda"):
        torch.set_default_dtype(torch.bfloat16)
        model = LlamaForCausalLM(config).eval()
        torch.set_default_dtype(torch.float32)
    cache = StaticCache(config=config, max_cache_len=options.positions)
    ids = torch.full((1, 1), 7, device="cuda")
    place = torch.tensor([options.positions - 24], device="cuda")

    def step():
        return model(input_ids=ids, past_key_values=cache, cache_position=place, position_ids=place[None]).logits

    run = torch.compile(step, fullgraph=True) if compiled else step
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.no_grad():
        step()  # makes the caches
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP):
                run()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            run()
        return between_events(graph.replay)


def target_flags():
    return ["--target", "cuda" if torch.cuda.is_available() else "cpu"]


def compiled(options, model, name, *flags):
    library = options.work / name
    subprocess.run([options.bin / "mlc-compile", "--model", model, *target_flags(), *flags, "-o", library], check=True,
                   capture_output=True)
    return library


def keep_profile(options, library):
    profile = subprocess.run([options.bin / "mlc-run", library, "--profile"], check=True, capture_output=True, text=True)
    (options.work / f"{library.name}.profile.txt").write_text(profile.stdout)


def time_of(options, library):
    said = subprocess.run([options.bin / "mlc-run", library, "--bench", "1", "--json"], check=True, capture_output=True)
    latency = json.loads(said.stdout)["latency_ms"]
    return {f"{part}_us": 1e3 * latency[part] for part in ("median", "p10", "p90")}


def model_of(options, weights):
    model = options.work / f"step_{weights}.onnx"
    sizes = {"layers": options.layers, "width": WIDTH, "heads": HEADS, "kv-heads": KV_HEADS, "gates": GATES,
             "vocabulary": VOCABULARY, "cache": options.positions, "length": 1}
    if weights == "fp8":
        sizes["float8"] = "column"
    elif weights != "bf16":
        sizes["bits"] = BITS[weights]
    flags = [text for name, value in sizes.items() for text in (f"--{name}", str(value))]
    kind = "bf16" if torch.cuda.is_available() else "f32"
    command = [sys.executable, HERE.parent.parent / "models/make_model.py", "llama", model, "--form", "fixed", "--type", kind]
    subprocess.run([*command, *flags], check=True)
    return model


def untuned(options, weights):
    """The model and its library; several at once, as nothing is timed yet."""
    model = model_of(options, weights)
    library = compiled(options, model, f"untuned_{weights}")
    if options.trials == 0:
        model.unlink()
    return model, library


def tuned(options, weights, model):
    log = options.work / f"decode_{weights}.db"
    subprocess.run([options.bin / "mlc-tune", "--model", model, *target_flags(), "--trials", str(options.trials),
                    "--log", log], check=True, capture_output=True)
    library = compiled(options, model, f"tuned_{weights}", "--log", log)
    model.unlink()
    return library


def libraries(options):
    """The libraries by the names of their rows, and their weights."""
    made = {}
    with concurrent.futures.ThreadPoolExecutor(len(options.weights)) as pool:
        results = list(pool.map(lambda weights: untuned(options, weights), options.weights))
    for weights, (model, library) in zip(options.weights, results):
        kind = "" if weights == "bf16" else f"{weights}, "
        made[f"ours, {kind}untuned"] = weights, library
        if options.trials > 0:
            made[f"ours, {kind}tuned"] = weights, tuned(options, weights, model)
    return made


def measure(options, record):
    """Gives rows to `record` as soon as they are known."""
    made = libraries(options)
    rounds = {name: [] for name in made}
    for _ in range(ROUNDS):
        for name, (_, library) in made.items():
            rounds[name].append(time_of(options, library))
        for name, (weights, _) in made.items():
            own = rounds[name]
            record(name, {part: statistics.median(row[part] for row in own) for part in own[0]} | {"weights": weights})
    if torch.cuda.is_available() and not options.without_torch:
        for name, is_compiled in (("torch, eager", False), ("torch, compiled", True)):
            record(name, torch_step(options, is_compiled) | {"weights": "bf16"})
            torch.cuda.empty_cache()
    for _, library in made.values():
        keep_profile(options, library)


class Table:
    """The rows so far, with the share of the copy bandwidth; the JSON is written anew with every row."""

    def __init__(self, options, about):
        self.options, self.about, self.rows = options, about, {}
        self.rate = copy_rate() if torch.cuda.is_available() else None

    def add(self, name, row):
        if self.rate:
            row["share_of_copy_rate"] = bytes_of_step(self.options, row["weights"]) / (row["median_us"] * 1e-6) / self.rate
        self.rows[name] = row
        if self.options.json:
            content = {"about": f"{self.about}; decode.py", "copy_bytes_per_s": self.rate, "rows": self.rows}
            self.options.json.write_text(json.dumps(content, indent=1) + "\n")

    def print(self):
        for name, row in self.rows.items():
            share = f"  {row['share_of_copy_rate']:.0%} of the copy rate" if self.rate else ""
            print(f"{name:20} {row['median_us']:9.1f} us  (p10 {row['p10_us']:.1f}, p90 {row['p90_us']:.1f}){share}")


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--bin", type=pathlib.Path, required=True)
    flags.add_argument("--work", type=pathlib.Path, required=True)
    flags.add_argument("--positions", type=int, default=1024)
    flags.add_argument("--layers", type=int, default=16)
    flags.add_argument("--trials", type=int, default=0)
    flags.add_argument("--weights", nargs="+", choices=BITS, default=["bf16"])
    flags.add_argument("--without-torch", action="store_true")
    flags.add_argument("--json", type=pathlib.Path)
    options = flags.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    card = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    about = f"{card}, {datetime.date.today()}, torch {torch.__version__}, {options.layers} layers, {options.positions} positions"
    print(about, flush=True)
    table = Table(options, about)
    try:
        measure(options, table.add)
    finally:
        table.print()


if __name__ == "__main__":
    main()
