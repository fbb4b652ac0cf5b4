#!/usr/bin/env python3
"""Products of vision and language models beside PyTorch, one kernel at a time, in one run on one GPU each.

    grid.py --bench build/release/bench/grid_bench [--cases REGEX] [--epilogues none ...] [--json FILE]
    grid.py --bench build/release/bench/grid_bench --shapes 2048x2048x2048 8192x8192x8192 --types f16 bf16

The grid has 60 shapes; a case is a shape, a type and what follows the product. grid_bench measures, for each case, the
configs with the least estimated time, checks their results and prints the fastest as CUDA C++. That kernel and PyTorch
(the forms that TORCH lists; torch.compile where something follows the product) take turns: each is a CUDA graph of
launches on random operands of 140 MB or more in all, which do not come from a cache, timed between events. Cases are
spread over the visible GPUs. Tables have medians in us; the last column is mlc over the fastest form of PyTorch.
"""
import argparse
import ctypes
import datetime
import json
import math
import os
import re
import statistics
import subprocess
import sys
import time

# Model: (widths as columns x depth, tokens)
MODELS = {
    "bert_base": ([(768, 768), (3072, 768), (768, 3072)], (128, 512, 4096)),
    "vit_b_16": ([(2304, 768), (768, 768), (3072, 768), (768, 3072)], (197, 1576, 6304)),
    "gpt2": ([(2304, 768), (768, 768), (3072, 768), (768, 3072)], (1024,)),
    "llama_1b": ([(3072, 2048), (2048, 2048), (11264, 2048), (2048, 5632)], (128, 1024, 4096)),
    "llama_8b": ([(6144, 4096), (4096, 4096), (14336, 4096), (4096, 14336)], (64, 512, 2048)),
    "qwen_1.5b": ([(2048, 1536), (1536, 1536), (8960, 1536), (1536, 8960)], (256, 16384)),
    "clip_text": ([(1536, 512), (2048, 512), (512, 2048)], (1232,)),
}
EPILOGUES = ("none", "bias", "gelu", "residual", "gate")
COLD_BYTES = 140e6
GRAPH_SECONDS = 3e-3
MAX_SHARED_MEMORY = 8  # the function attribute


def shapes(others):
    """(model, m, n, k) of the grid, or of other shapes MxNxK."""
    if others:
        return [("", *map(int, shape.split("x"))) for shape in others]
    return [(model, m, n, k) for model, (widths, tokens) in MODELS.items() for m in tokens for n, k in widths]


def parsed(case):
    size, dtype, epilogue = case.split(":")
    return (*map(int, size.split("x")), dtype, epilogue)


def torch_forms(torch, epilogue):
    """Name: function of a set of operands (rows, weights, transposed weights, bias, other, out)."""
    linear, functional = torch.nn.functional.linear, torch.nn.functional
    after = {"gelu": lambda s: functional.gelu(linear(s[0], s[2], s[3])),
             "residual": lambda s: linear(s[0], s[2], s[3]) + s[4],
             "gate": lambda s: torch.matmul(s[0], s[1]) * functional.silu(s[4])}
    if epilogue == "none":
        return {"matmul": lambda s: torch.matmul(s[0], s[1], out=s[5]),
                "transposed": lambda s: torch.matmul(s[0], s[2].t(), out=s[5])}
    if epilogue == "bias":
        return {"addmm": lambda s: torch.addmm(s[3], s[0], s[1], out=s[5]),
                "linear": lambda s: linear(s[0], s[2], s[3])}
    one = after[epilogue]
    flat = torch.compile(lambda *tensors: one(tensors), dynamic=False)
    return {"eager": one, "compile": lambda s: flat(*s)}


class Printed:
    """A kernel of grid_bench, with operands of its own for each launch in turn."""

    def __init__(self, torch, kernel, sets, depth):
        from printed_products import DRIVER, check, image, launch_arguments
        module, self.function, self.kernel = ctypes.c_void_p(), ctypes.c_void_p(), kernel
        self.launch = lambda *arguments: check(DRIVER.cuLaunchKernel(*arguments), "launch")
        self.stream = lambda: ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        check(DRIVER.cuModuleLoadData(ctypes.byref(module), image(kernel["text"])), "module")
        name = kernel["function"].encode()
        check(DRIVER.cuModuleGetFunction(ctypes.byref(self.function), module, name), "function")
        check(DRIVER.cuFuncSetAttribute(self.function, MAX_SHARED_MEMORY, kernel["block_bytes"]), "shared memory")
        zeros = lambda size: torch.zeros(size + 1024, dtype=torch.uint8, device="cuda")
        shared = [zeros(kernel["scratch_bytes"]), zeros(kernel["counter_bytes"])]
        types = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
        self.calls = []
        for _ in range(sets):
            tensors = [torch.randn(p["elements"], device="cuda", dtype=types[p["type"]]).mul_(depth**-0.25)
                       for p in kernel["parameters"]] + shared
            self.calls.append(launch_arguments(tensors, kernel["maps"]))

    def __call__(self, i):
        k = self.kernel
        self.launch(self.function, k["blocks"], 1, 1, k["threads"], 1, 1, k["block_bytes"], self.stream(),
                    self.calls[i % len(self.calls)][0], None)


def operand_sets(torch, m, n, k, dtype, count):
    kind = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "tf32": torch.float32}[dtype]
    random = lambda *dims: torch.randn(*dims, device="cuda", dtype=kind)
    sets = []
    for _ in range(count):
        weights = random(k, n) * k**-0.5
        results = torch.empty(m, n, device="cuda", dtype=kind)
        sets.append((random(m, k), weights, weights.t().contiguous(), random(n), random(m, n), results))
    return sets


def measured(args, case):
    command = [args.bench, case, str(args.configs), *args.families]
    done = subprocess.run(command, capture_output=True, text=True, timeout=args.timeout)
    if done.returncode != 0:
        raise RuntimeError(f"{case}: {done.stderr.strip()[-600:]}")
    return json.loads(done.stdout)


def compared(torch, args, case):
    from printed_products import captured, microseconds
    m, n, k, dtype, epilogue = parsed(case)
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    size = 4 if dtype in ("f32", "tf32") else 2
    bytes_of_one = size * (m * k + k * n + m * n * (2 if epilogue in ("residual", "gate") else 1))
    cold = max(2, int(COLD_BYTES // bytes_of_one) + 1)
    row = {"case": case, "us": {}} if args.torch_only else {**measured(args, case), "us": {}}
    sets = operand_sets(torch, m, n, k, dtype, cold)
    calls = {name: (lambda i, f=form: f(sets[i % cold])) for name, form in torch_forms(torch, epilogue).items()}
    if not args.torch_only:
        calls["mlc"] = Printed(torch, row.pop("kernel"), cold, k)
    count = cold * max(1, int(GRAPH_SECONDS / (4e-6 + 2 * m * n * k / 500e12)) // cold)
    with torch.inference_mode():
        graphs = {name: captured(call, count) for name, call in calls.items()}
    samples = {name: [] for name in graphs}
    for _ in range(args.rounds):
        for name, graph in graphs.items():
            samples[name].append(microseconds(graph, count))
            time.sleep(0.005)
    row["us"] = {name: round(statistics.median(taken), 3) for name, taken in samples.items()}
    return row


def work(args):
    """All cases of this GPU; a line of JSON each."""
    import torch
    begin = time.time()
    for case in args.work.split(","):
        if args.seconds and time.time() - begin > args.seconds:
            break
        try:
            row = compared(torch, args, case)
        except Exception as e:
            row = {"case": case, "error": str(e)[-600:]}
        row["device"] = torch.cuda.get_device_name()
        print(json.dumps(row), flush=True)
        torch.cuda.empty_cache()


def gpus():
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible:
        return visible.split(",")
    listed = subprocess.run(["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"], capture_output=True, text=True)
    return listed.stdout.split()


def spread(cases):
    """Rows of all cases, as they come from one child process for each GPU."""
    devices = gpus()
    children = []
    for i, device in enumerate(devices):
        own = cases[i::len(devices)]
        if own:
            command = [sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--work", ",".join(own)]
            environment = {**os.environ, "CUDA_VISIBLE_DEVICES": device}
            children.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment))
    for child in children:
        for line in child.stdout:
            if line.startswith("{"):
                yield json.loads(line)
        child.wait()


def mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios)))


def report(rows, model_of):
    print("| model | M x N x K | type | then | mlc | PyTorch | form | mlc / PyTorch | untuned / best | config |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    ratios = {}
    for row in rows:
        m, n, k, dtype, epilogue = parsed(row["case"])
        cells = f"| {model_of[(m, n, k)]} | {m} x {n} x {k} | {dtype} | {epilogue} |"
        if "error" in row:
            print(f"{cells} {row['error'][-200:]} |")
            continue
        peers = {name: us for name, us in row["us"].items() if name != "mlc"}
        form = min(peers, key=peers.get)
        if "mlc" not in row["us"]:
            print(f"{cells} - | {peers[form]:.2f} | {form} | - | - | - |")
            continue
        ratio = row["us"]["mlc"] / peers[form]
        ratios.setdefault(epilogue, []).append(ratio)
        us = {r["config"]: r["us"] for r in row["rows"] if "us" in r}
        untuned = us[row["untuned"]] / us[row["best"]] if row["untuned"] in us else math.nan
        print(f"{cells} {row['us']['mlc']:.2f} | {peers[form]:.2f} | {form} | {ratio:.3f} | {untuned:.2f} | {row['best']} |")
    print("\n| then | cases | geometric mean | largest |\n|---|---|---|---|")
    for epilogue, of in ratios.items():
        print(f"| {epilogue} | {len(of)} | {mean(of):.3f} | {max(of):.3f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", help="grid_bench")
    parser.add_argument("--shapes", nargs="*", default=[], metavar="MxNxK", help="these instead of the grid")
    parser.add_argument("--cases", default="", help="only cases that this regular expression finds")
    parser.add_argument("--epilogues", nargs="*", default=["none"], choices=EPILOGUES)
    parser.add_argument("--types", nargs="*", default=["f16"])
    parser.add_argument("--every", type=int, default=1, help="only every so manyth case")
    parser.add_argument("--families", nargs="*", default=[], help="all families that multiply matrices")
    parser.add_argument("--configs", type=int, default=8, help="of each family")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=0, help="begin no case after these")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for the kernels of a case")
    parser.add_argument("--torch-only", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if not args.torch_only and not args.bench:
        parser.error("--bench is needed")
    if args.work:
        return work(args)
    cases = [f"{m}x{n}x{k}:{t}:{e}" for e in args.epilogues for t in args.types for _, m, n, k in shapes(args.shapes)]
    cases = [case for case in cases if re.search(args.cases, case)][::args.every]
    rows = []
    for row in spread(cases):
        rows.append(row)
        print(f"{row['case']}: {row.get('us') or row['error']}", file=sys.stderr, flush=True)
        if args.json:
            with open(args.json, "w") as f:
                json.dump({"date": str(datetime.date.today()), "rows": rows}, f, indent=1)
    rows.sort(key=lambda row: cases.index(row["case"]))
    report(rows, {(m, n, k): model for model, m, n, k in shapes(args.shapes)})
    return None


if __name__ == "__main__":
    main()
