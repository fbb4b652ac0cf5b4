#!/usr/bin/env python3
"""Convolutions of one GPU beside PyTorch: kernels that grid_bench prints, in one run.

    convolutions.py list --bench build/release/bench/grid_bench --kernels FILE [--configs 12]
    convolutions.py time --kernels FILE [--json FILE] [--seconds 150]

`list`, which needs no GPU, prints the kernels with the least estimates of each family to FILE, of bias and
convolution. `time` needs none of this project's programs: it compiles the kernels by NVRTC, packs their weights, holds
their results against PyTorch's, and times them and PyTorch's forms in turns, as CUDA graphs of launches on operands of
140 MB or more in all. Times are medians in us.
"""
import argparse
import concurrent.futures
import ctypes
import datetime
import json
import os
import re
import statistics
import subprocess
import time

# Channels x height x width - filters x kernel / step, of ResNet-50.
SHAPES = ("64x56x56-64x3/1", "128x28x28-128x3/1", "256x14x14-256x3/1", "512x7x7-512x3/1",
          "128x56x56-128x3/2", "256x28x28-256x3/2", "512x14x14-512x3/2",
          "256x56x56-512x1/2", "512x28x28-1024x1/2", "1024x14x14-2048x1/2")
FAMILIES = ("role_contraction:cluster=1", "role_contraction:cluster=2", "role_contraction:cluster=-2",
            "warpgroup_contraction")
SHARE = (1, 6, 6, 2)  # of the configs
COLD_BYTES = 140e6
GRAPH_SECONDS = 2e-3
MAX_SHARED_MEMORY = 8  # the function attribute
PIECES = 8  # of 16 bytes in a row of a step


def printed(args, case, family, share):
    command = [args.bench, case, "print", str(max(1, args.configs // share)), family]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {kernel["config"]: kernel for kernel in json.loads(done.stdout)["kernels"]}


def listed(args):
    cases = [f"{batch}x{shape}:{dtype}:bias" for batch in args.batches for shape in SHAPES for dtype in args.types]
    with open(args.kernels, "w") as f:
        for case in cases:
            kernels = {}
            for family, share in zip(FAMILIES, SHARE):
                kernels |= printed(args, case, family, share)
            if any(" reuse=" in config for config in kernels):
                for reuse in (0, 1):
                    kernels |= printed(args, case, f"{FAMILIES[0]}:reuse={reuse}", 2)
            for kernel in kernels.values():
                f.write(json.dumps({"case": case, **kernel}) + "\n")


def parsed(case):
    numbers = re.fullmatch(r"(\d+)x(\d+)x(\d+)x(\d+)-(\d+)x(\d+)/(\d+):(\w+):bias", case).groups()
    return (*map(int, numbers[:7]), numbers[7])


def packed(torch, weights, columns, dtype):
    """Filters in panels of a tile and 128 bytes of taps and channels, 16-byte piece p of row r at place p ^ (r % 8)."""
    n, k = weights.shape[0], weights[0].numel()
    size = 2 if dtype == "f16" else 4
    step, tiles = 128 // size, -(-n // columns)
    rows = torch.zeros(tiles * columns, -(-k // step) * step, device="cuda", dtype=weights.dtype)
    rows[:n, :k] = weights.permute(0, 2, 3, 1).reshape(n, k)
    panels = rows.reshape(tiles, columns, -1, PIECES, step // PIECES).permute(0, 2, 1, 3, 4)
    at = torch.arange(PIECES, device="cuda")[None, :] ^ torch.arange(columns, device="cuda")[:, None] % 8
    return torch.gather(panels, 3, at[None, None, :, :, None].expand(panels.shape)).contiguous()


class Operands:
    """One set: input, filters, bias; channels last."""

    def __init__(self, torch, case):
        b, c, h, w, n, r, step, dtype = parsed(case)
        kind = {"f16": torch.float16, "bf16": torch.bfloat16, "tf32": torch.float32}[dtype]
        last = torch.channels_last
        self.x = torch.randn(b, c, h, w, device="cuda", dtype=kind).to(memory_format=last)
        self.filters = (torch.randn(n, c, r, r, device="cuda", dtype=kind) * (c * r * r) ** -0.5).to(memory_format=last)
        self.bias = torch.randn(n, device="cuda", dtype=kind)
        p, q = (h + 2 * (r // 2) - r) // step + 1, (w + 2 * (r // 2) - r) // step + 1
        self.out = torch.zeros(b, n, p, q, device="cuda", dtype=kind).to(memory_format=last)
        self.step, self.pad = step, r // 2

    def bytes(self):
        return sum(t.numel() * t.element_size() for t in (self.x, self.filters, self.out))


class Kernel:
    def __init__(self, torch, driver, check, kernel, binary, sets, dtype):
        from printed_products import launch_arguments
        module, self.function, self.kernel = ctypes.c_void_p(), ctypes.c_void_p(), kernel
        self.driver, self.check = driver, check
        self.stream = lambda: ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        check(driver.cuModuleLoadData(ctypes.byref(module), binary), "module")
        check(driver.cuModuleGetFunction(ctypes.byref(self.function), module, kernel["function"].encode()), "function")
        check(driver.cuFuncSetAttribute(self.function, MAX_SHARED_MEMORY, kernel["block_bytes"]), "shared memory")
        zeros = lambda size: torch.zeros(size + 1024, dtype=torch.uint8, device="cuda")
        shared = [zeros(kernel["scratch_bytes"]), zeros(kernel["counter_bytes"])]
        columns = int(re.search(r"\bbn=(\d+)", kernel["config"]).group(1))
        self.calls = []
        for s in sets:
            tensors = []
            for i, parameter in enumerate(kernel["parameters"]):
                if parameter["out"]:
                    tensors.append(s.out)
                elif i + 1 == len(kernel["parameters"]):
                    tensors.append(packed(torch, s.filters, columns, dtype))
                else:
                    tensors.append(s.bias if parameter["elements"] == s.bias.numel() else s.x)
                if tensors[-1].numel() != parameter["elements"]:
                    raise RuntimeError(f"parameter {i} of {parameter} is given {tensors[-1].numel()} elements")
            self.calls.append(launch_arguments(tensors + shared, kernel["maps"]))

    def __call__(self, i):
        k = self.kernel
        self.check(self.driver.cuLaunchKernel(self.function, k["blocks"], 1, 1, k["threads"], 1, 1, k["block_bytes"],
                                              self.stream(), self.calls[i % len(self.calls)][0], None), "launch")


def torch_forms(torch, sets):
    conv = torch.nn.functional.conv2d
    pair = lambda v: (v, v)
    of = lambda i: sets[i % len(sets)]
    forms = {"conv": lambda i: conv(of(i).x, of(i).filters, None, of(i).step, of(i).pad),
             "conv and bias": lambda i: conv(of(i).x, of(i).filters, of(i).bias, of(i).step, of(i).pad),
             "fused bias and relu": lambda i: torch.cudnn_convolution_relu(
                 of(i).x, of(i).filters, of(i).bias, pair(of(i).step), pair(of(i).pad), pair(1), 1)}
    for name in list(forms):
        try:
            forms[name](0)
        except RuntimeError:  # not every form takes every type
            del forms[name]
    return forms


def timed(torch, case, kernels, binaries, rounds):
    from printed_products import DRIVER, captured, check, microseconds
    b, c, h, w, n, r, step, dtype = parsed(case)
    first = Operands(torch, case)
    count = max(2, int(COLD_BYTES // first.bytes()) + 1)
    sets = [first] + [Operands(torch, case) for _ in range(count - 1)]
    flops = 2 * first.out.numel() * c * r * r
    repeats = count * max(1, int(GRAPH_SECONDS / (4e-6 + flops / 400e12)) // count)
    reference = torch.nn.functional.conv2d(first.x.float(), first.filters.float(), first.bias.float(), step, r // 2)
    calls, errors = torch_forms(torch, sets), {}
    for kernel, binary in zip(kernels, binaries):
        try:
            call = Kernel(torch, DRIVER, check, kernel, binary.result(), sets, dtype)
            first.out.zero_()
            call(0)
            torch.cuda.synchronize()
            errors[kernel["config"]] = float((first.out.float() - reference).abs().max() / reference.abs().max())
            calls[kernel["config"]] = call
        except RuntimeError as e:
            errors[kernel["config"]] = str(e)[-300:]
            if "CUDA error" in str(e):  # nothing runs after it
                raise RuntimeError(f"{kernel['config']}: {str(e)[:200]}") from e
    graphs = {name: captured(call, repeats) for name, call in calls.items()}
    samples = {name: [] for name in graphs}
    for _ in range(rounds):
        for name, graph in graphs.items():
            samples[name].append(microseconds(graph, repeats))
    us = {name: round(statistics.median(taken), 3) for name, taken in samples.items()}
    return {"case": case, "flops": flops, "us": us, "errors": errors}


def report(row):
    torch_us = {name: us for name, us in row["us"].items() if name not in row["errors"]}
    best = {}
    for config, us in row["us"].items():
        if config in torch_us or not isinstance(row["errors"][config], float) or row["errors"][config] > 1e-2:
            continue
        family = config.split("/")[0]
        best[family] = min(best.get(family, (us, config)), (us, config))
    print(f"{row['case']}: {torch_us}")
    for family, (us, config) in sorted(best.items()):
        print(f"  {us:8.2f} us {row['flops'] / us / 1e6:6.0f} TFLOP/s  {config}")
    for config, error in row["errors"].items():
        if not isinstance(error, float) or not error < 1e-2:
            print(f"  wrong: {config}: {error}")
    print(flush=True)


def time_all(args):
    import torch
    from printed_products import image
    begin = time.time()
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = True
    cases = {}
    with open(args.kernels) as f:
        for line in f:
            kernel = json.loads(line)
            if re.search(args.cases, kernel["case"]):
                cases.setdefault(kernel["case"], []).append(kernel)
    rows = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool, torch.inference_mode():
        pending = {case: [pool.submit(image, k["text"]) for k in kernels] for case, kernels in cases.items()}
        for case, kernels in cases.items():
            if time.time() - begin > args.seconds:
                break
            torch.backends.cuda.matmul.allow_tf32 = ":tf32:" in case
            try:
                row = timed(torch, case, kernels, pending[case], args.rounds)
                report(row)
            except Exception as e:
                row = {"case": case, "error": str(e)[-600:]}
                print(row, flush=True)
            rows.append(row)
            torch.cuda.empty_cache()
            if args.json:
                with open(args.json, "w") as f:
                    json.dump({"date": str(datetime.date.today()), "device": torch.cuda.get_device_name(), "rows": rows},
                              f, indent=1)
        pool.shutdown(wait=False, cancel_futures=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("list", "time"))
    parser.add_argument("--bench", help="grid_bench")
    parser.add_argument("--kernels", required=True)
    parser.add_argument("--configs", type=int, default=12, help="of each family")
    parser.add_argument("--batches", nargs="*", type=int, default=[32, 128])
    parser.add_argument("--types", nargs="*", default=["f16"])
    parser.add_argument("--cases", default="", help="only cases that this regular expression finds")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=150, help="begin no case after these")
    parser.add_argument("--json")
    args = parser.parse_args()
    return listed(args) if args.what == "list" else time_all(args)


if __name__ == "__main__":
    main()
