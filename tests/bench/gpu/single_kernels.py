#!/usr/bin/env python3
"""Single kernels on one GPU: fused products beside PyTorch, memory-bound kernels beside a copy, in one run.

    single_kernels.py --bin build/release/bin --work DIR [--trials 200] [--only products|memory]

Products: gelu(x w + b), twenty of them in one CUDA graph, each with operands of its own, so that weights do not
come from a cache. Memory-bound kernels: 256 MB in, 256 MB out, as a share of what a device-to-device copy of as
many bytes reaches. Models are written, tuned and compiled here; times are medians of graph replays between events.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

PRODUCTS = ((128, 768, 768), (128, 3072, 768), (128, 768, 3072), (1, 4096, 4096), (16, 4096, 4096))  # M, N, K
COPIES = 20
ROWS, COLUMNS = 65536, 1024


def value(name, dims, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, dims)


def save(path, nodes, inputs, outputs, weights=()):
    graph = helper.make_graph(nodes, "bench", inputs, outputs, [numpy_helper.from_array(a, n) for n, a in weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)


def product_model(path, m, n, k):
    rng = np.random.default_rng(0)
    nodes, inputs, outputs, weights = [], [], [], []
    for i in range(COPIES):
        weights += [(f"w{i}", (rng.standard_normal((k, n)) / k**0.5).astype(np.float16)),
                    (f"b{i}", rng.standard_normal(n).astype(np.float16))]
        inputs.append(value(f"x{i}", [m, k], TensorProto.FLOAT16))
        outputs.append(value(f"y{i}", [m, n], TensorProto.FLOAT16))
        nodes += [helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"p{i}"]),
                  helper.make_node("Add", [f"p{i}", f"b{i}"], [f"s{i}"]),
                  helper.make_node("Gelu", [f"s{i}"], [f"y{i}"])]
    save(path, nodes, inputs, outputs, weights)


def memory_models(work):
    x, y = value("x", [ROWS, COLUMNS]), value("y", [ROWS, COLUMNS])
    scale = [("g", np.ones(COLUMNS, np.float32)), ("b", np.zeros(COLUMNS, np.float32))]
    models = {
        "softmax": ([helper.make_node("Softmax", ["x"], ["y"])], [x], [y], ()),
        "layer_norm": ([helper.make_node("LayerNormalization", ["x", "g", "b"], ["y"])], [x], [y], scale),
        "pointwise": ([helper.make_node("Mul", ["x", "g"], ["t"]), helper.make_node("Add", ["t", "b"], ["u"]),
                       helper.make_node("Relu", ["u"], ["y"])], [x], [y], scale),
        "transpose": ([helper.make_node("Transpose", ["x"], ["y"], perm=[1, 0])], [x], [value("y", [COLUMNS, ROWS])], ()),
    }
    for name, model in models.items():
        save(f"{work}/{name}.onnx", *model)
    return list(models)


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()[-400:]}")
    return done.stdout


def ours(args, name, trials):
    """Latency of the tuned library, in milliseconds."""
    model, log, library = f"{args.work}/{name}.onnx", f"{args.work}/kernels.db", f"{args.work}/{name}_library"
    options = ["--model", model, "--target", "cuda", "--log", log]
    run([f"{args.bin}/mlc-tune", *options, "--trials", str(trials), "-q"])
    run([f"{args.bin}/mlc-compile", *options, "-o", library, "--name", name])
    samples = [json.loads(run([f"{args.bin}/mlc-run", library, "--bench", "0.3", "--json"]))["latency_ms"]["median"]
               for _ in range(3)]
    return statistics.median(samples)


def torch_ms(kind, *numbers):
    return float(run([sys.executable, os.path.abspath(__file__), "--torch", kind, *map(str, numbers)]))


def torch_main(kind, numbers):
    import torch
    from torch_models import bursts, captured

    if kind == "copy":
        x = torch.randn(ROWS, COLUMNS, device="cuda")
        y = torch.empty_like(x)
        call = lambda: y.copy_(x)
    else:
        m, n, k = map(int, numbers)
        sets = [(torch.randn(m, k, device="cuda", dtype=torch.float16),
                 torch.randn(k, n, device="cuda", dtype=torch.float16) / k**0.5,
                 torch.randn(n, device="cuda", dtype=torch.float16)) for _ in range(COPIES)]
        if kind == "linear":  # weights as PyTorch's own layers keep them
            sets = [(x, w.t().contiguous(), b) for x, w, b in sets]
            one = lambda x, w, b: torch.nn.functional.gelu(torch.nn.functional.linear(x, w, b))
        else:
            one = lambda x, w, b: torch.nn.functional.gelu(torch.addmm(b, x, w))
        if kind in ("compile", "max-autotune"):
            one = torch.compile(one, mode="max-autotune-no-cudagraphs" if kind == "max-autotune" else None)
        call = lambda: [one(*s) for s in sets]
    with torch.inference_mode():
        print(statistics.median(bursts(captured(call), 0.3)))


def products(args):
    print("gelu(x w + b), fp16; microseconds of one\n")
    kinds = ("eager", "linear", "compile", "max-autotune")
    print("| M | N | K | mlc | " + " | ".join(kinds) + " | mlc / best |\n|" + "---|" * (len(kinds) + 5))
    for m, n, k in PRODUCTS:
        name = f"product_{m}x{n}x{k}"
        product_model(f"{args.work}/{name}.onnx", m, n, k)
        times = {kind: torch_ms(kind, m, n, k) * 1000 / COPIES for kind in kinds}
        mine = ours(args, name, args.trials) * 1000 / COPIES
        cells = [f"{t:.2f}" for t in (mine, *times.values())]
        print(f"| {m} | {n} | {k} | " + " | ".join(cells) + f" | {mine / min(times.values()):.2f} |", flush=True)


def memory(args):
    copy = torch_ms("copy")
    gigabytes = 2 * 4 * ROWS * COLUMNS / 1e9
    print(f"\ncopy of 256 MB: {gigabytes / copy * 1000:.0f} GB/s read and written\n")
    print("| kernel, 256 MB in and out | ms | GB/s | share of the copy |\n|---|---|---|---|")
    for name in memory_models(args.work):
        ms = ours(args, name, min(args.trials, 60))
        print(f"| {name} | {ms:.3f} | {gigabytes / ms * 1000:.0f} | {copy / ms:.2f} |", flush=True)


def main():
    if len(sys.argv) > 2 and sys.argv[1] == "--torch":
        return torch_main(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--work", required=True)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--only", choices=("products", "memory"))
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    if args.only != "memory":
        products(args)
    if args.only != "products":
        memory(args)


if __name__ == "__main__":
    main()
