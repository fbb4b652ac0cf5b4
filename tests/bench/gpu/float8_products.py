#!/usr/bin/env python3
"""Products of float8 (e4m3) of one GPU beside torch._scaled_mm, in one run.

    float8_products.py --bench build/release/bench/grid_bench [--cases 8192x8192x8192 ...] [--json FILE]

grid_bench prints the kernels with the least estimated times; the fastest by events counts. It and torch._scaled_mm,
with use_fast_accum as it says, take turns: each is a CUDA graph of launches on operands of 140 MB in all, which do not
come from a cache. Sums are in the matrix unit (fast) or added up outside of it after every 128 of k (exact), in
PyTorch and here. Data are normal random numbers; results are bf16, of one scale. The errors are the largest difference
from the product of the same numbers in double precision over its largest element, of rows drawn at random.
"""
import argparse
import ctypes
import datetime
import json
import math
import re
import statistics
import subprocess
import time

import torch
from printed_products import DRIVER, MAX_SHARED_MEMORY, captured, check, image, launch_arguments, microseconds

STEP = 128  # elements of k of a panel
PIECE = 16
COLD_BYTES = 140e6
KINDS = {"fast": ("e4m3", True), "exact": ("e4m3a", False)}


def packed(weights, columns):
    """Panels of `columns` columns and 128 of k, the 16-byte piece p of row r at place p ^ (r % 8)."""
    k, n = weights.shape
    tiles = -(-n // columns)
    whole = torch.zeros(-(-k // STEP) * STEP, tiles * columns, dtype=torch.uint8, device="cuda")
    whole[:k, :n] = weights.view(torch.uint8)
    panels = whole.reshape(-1, STEP, tiles, columns).permute(2, 0, 3, 1)
    panels = panels.reshape(tiles, -1, columns, STEP // PIECE, PIECE)
    rows, places = torch.arange(columns, device="cuda") % 8, torch.arange(8, device="cuda")
    pieces = (places[None, :] ^ rows[:, None])[None, None, :, :, None].expand(panels.shape)
    return torch.gather(panels, 3, pieces).contiguous()


class Printed:
    """A kernel of grid_bench; its parameters are rows, scale, results and packed columns."""

    def __init__(self, kernel, sets, scale):
        self.kernel, module, self.function = kernel, ctypes.c_void_p(), ctypes.c_void_p()
        check(DRIVER.cuModuleLoadData(ctypes.byref(module), image(kernel["text"])), "module")
        check(DRIVER.cuModuleGetFunction(ctypes.byref(self.function), module, kernel["function"].encode()), "function")
        check(DRIVER.cuFuncSetAttribute(self.function, MAX_SHARED_MEMORY, kernel["block_bytes"]), "shared memory")
        columns = int(re.search(r"bn=(\d+)", kernel["config"]).group(1))
        zeros = lambda size: torch.zeros(size + 1024, dtype=torch.uint8, device="cuda")
        shared = [zeros(kernel["scratch_bytes"]), zeros(kernel["counter_bytes"])]
        self.calls = []
        for rows, weights, results in sets:
            of_type = {"f8e4m3fn": rows, "f32": scale, "bf16": results}
            tensors = [of_type[p["type"]] for p in kernel["parameters"][:-1]] + [packed(weights, columns), *shared]
            self.calls.append(launch_arguments(tensors, kernel["maps"]))

    def __call__(self, i):
        k, stream = self.kernel, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        check(DRIVER.cuLaunchKernel(self.function, k["blocks"], 1, 1, k["threads"], 1, 1, k["block_bytes"], stream,
                                    self.calls[i % len(self.calls)][0], None), "launch")


def error_of(one_set, scale):
    rows, weights, results = one_set
    some = torch.randperm(rows.shape[0], device="cuda")[:256]
    want = rows[some].double() @ weights.double() * scale.double()
    return ((results[some].double() - want).abs().max() / want.abs().max()).item()


def fastest(kernels, sets, scale, count):
    """The fastest of the printed kernels that is right, as a call, and what each took."""
    taken, best = {}, None
    for kernel in kernels:
        try:
            call = Printed(kernel, sets, scale)
            sets[0][2].zero_()
            call(0)
            error = error_of(sets[0], scale)
            if not error < 3e-2:
                raise RuntimeError(f"an error of {error}")
            graph = captured(call, count)
            us = min(microseconds(graph, count) for _ in range(4))
        except RuntimeError as e:
            taken[kernel["config"]] = str(e)[:300]
            continue
        taken[kernel["config"]] = round(us, 3)
        if best is None or us < best[0]:
            best = us, error, call, kernel["config"]
    if best is None:
        raise RuntimeError(f"no kernel ran: {taken}")
    return best, taken


def measure(args, case):
    m, n, k = map(int, case.split("x"))
    cold = max(2, math.ceil(COLD_BYTES / (m * k + k * n + 2 * m * n)))
    random = lambda *dims: torch.randn(*dims, device="cuda").to(torch.float8_e4m3fn)
    sets = [(random(m, k), random(n, k).t(), torch.empty(m, n, device="cuda", dtype=torch.bfloat16))
            for _ in range(cold)]
    scale, one = torch.full((1,), k**-0.5, device="cuda"), torch.ones(1, device="cuda")
    count = cold * max(1, int(4e-3 / (2 * m * n * k / 1200e12)) // cold)
    row = {"case": case, "us": {}, "error": {}, "configs": {}, "best": {}}
    calls = {}
    for kind, (dtype, fast) in KINDS.items():
        command = [args.bench, f"{case}:{dtype}:none", "print", str(args.configs), "role_contraction"]
        printed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["kernels"]
        (_, error, ours, config), row["configs"][kind] = fastest(printed, sets, scale, count)
        calls[f"mlc {kind}"], row["error"][f"mlc {kind}"], row["best"][kind] = ours, error, config

        def peer(i, fast=fast):
            a, b, out = sets[i % cold]
            torch._scaled_mm(a, b, scale, one, out_dtype=torch.bfloat16, use_fast_accum=fast, out=out)
        calls[f"torch {kind}"] = peer
        peer(0)
        row["error"][f"torch {kind}"] = error_of(sets[0], scale)
    graphs = {name: captured(call, count) for name, call in calls.items()}
    samples = {name: [] for name in graphs}
    for _ in range(args.rounds):
        for name, graph in graphs.items():
            samples[name].append(microseconds(graph, count))
            time.sleep(0.01)
    row["us"] = {name: round(statistics.median(taken), 3) for name, taken in samples.items()}
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True, help="grid_bench")
    parser.add_argument("--cases", nargs="*", default=["8192x8192x8192", "4096x7168x2048", "4096x2048x7168"])
    parser.add_argument("--configs", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json")
    args = parser.parse_args()
    about = f"{torch.cuda.get_device_name()}, {datetime.date.today()}, torch {torch.__version__}"
    print(about + "; medians in us\n\n| M x N x K | sums | mlc | torch | mlc / torch | TFLOP/s | error | error of torch |")
    print("|---|---|---|---|---|---|---|---|")
    rows = []
    for case in args.cases:
        rows.append(measure(args, case))
        m, n, k = map(int, case.split("x"))
        for kind in KINDS:
            us, error = rows[-1]["us"], rows[-1]["error"]
            mine, peer = us[f"mlc {kind}"], us[f"torch {kind}"]
            print(f"| {case.replace('x', ' x ')} | {kind} | {mine:.1f} | {peer:.1f} | {mine / peer:.3f} | "
                  f"{2 * m * n * k / mine / 1e6:.0f} | {error[f'mlc {kind}']:.1e} | {error[f'torch {kind}']:.1e} |",
                  flush=True)
        torch.cuda.empty_cache()
        if args.json:
            with open(args.json, "w") as f:
                json.dump({"about": about, "rows": rows}, f, indent=1)


if __name__ == "__main__":
    main()
