#!/usr/bin/env python3
"""Long attention of one GPU beside torch's scaled_dot_product_attention, in one run.

    attention.py --bench build/release/bench/kernel_text [--cases 1x16x2048x128 ...] [--all-configs] [--json FILE]

A case is BATCHxHEADSxLENGTHxWIDTH[:KEYHEADS][:causal][:bf16]. For each, the kernels are the default configs of the
families that take it (and with --all-configs every config of role_attention), and torch's with each of its
backends; the fastest counts. Each is one CUDA graph of launches on operands of 140 MB in all, taken in turns, so
that operands do not come from a cache; graphs take turns, too, and are timed between events. Data are normal random
numbers. Results are held against torch's in float32.
"""
import argparse
import concurrent.futures
import ctypes
import datetime
import json
import re
import statistics
import subprocess
import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as attention

from printed_products import (DRIVER, MAX_SHARED_MEMORY, captured, check, launch_arguments, library, maps_of,
                              microseconds)

CASES = ["1x16x2048x128", "4x12x1024x64", "16x16x512x64", "1x16x8192x128", "1x16x2048x128:causal", "4x12x1024x64:causal",
         "1x32x4096x64:8:causal", "1x16x8192x128:causal", "1x32x4096x64:8", "1x16x2048x128:bf16",
         "32x12x128x64", "32x12x197x64", "8x12x512x64", "1x12x1024x64:causal", "1x32x1024x64:8:causal"]
BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION,
            "efficient": SDPBackend.EFFICIENT_ATTENTION}


def image(source):
    """The binary, and what the assembler says of registers."""
    nvrtc, program, size = library("libnvrtc"), ctypes.c_void_p(), ctypes.c_size_t()
    check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"k.cu", 0, None, None), "source")
    names = [b"--gpu-architecture=sm_90a", b"-default-device", b"--std=c++17", b"--ptxas-options=-v"]
    code = nvrtc.nvrtcCompileProgram(program, len(names), (ctypes.c_char_p * len(names))(*names))
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(max(1, size.value))
    nvrtc.nvrtcGetProgramLog(program, log)
    if code != 0:
        raise RuntimeError(log.value.decode()[:2000])
    check(nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)), "size of the binary")
    binary = ctypes.create_string_buffer(size.value)
    check(nvrtc.nvrtcGetCUBIN(program, binary), "binary")
    return binary.raw, log.value.decode()


class Case:
    def __init__(self, text):
        parts = text.split(":")
        self.text = text
        self.batch, self.heads, self.length, self.width = map(int, parts[0].split("x"))
        self.causal, self.dtype = "causal" in parts, "bf16" if "bf16" in parts else "f16"
        self.key_heads = next((int(p) for p in parts[1:] if p.isdigit()), self.heads)
        pairs = self.length * (self.length + 1) / 2 if self.causal else self.length**2
        self.flops = 4 * self.batch * self.heads * pairs * self.width

    def workload(self):
        """With fewer heads of keys, as the compiler sees them: a batch for each, whose heads share them."""
        shared = self.heads // self.key_heads
        batch, heads = (self.key_heads, shared) if shared > 1 else (self.batch, self.heads)
        n, d = self.length, self.width
        kind = f"{self.dtype}[{batch},{heads},{n},{d}]"
        lines = [f"%0 = input() : {kind}"]
        for i in (1, 2):
            lines.append(f"%{i} = input() : {self.dtype}[{batch},{1 if shared > 1 else heads},{n},{d}]")
        k, v, last = 1, 2, 2
        if shared > 1:
            for i in (1, 2):
                lines.append(f"%{i + 2} = view(%{i}) {{offset=0}} : {kind}{{{n * d},0,{d},1}}")
            k, v, last = 3, 4, 4
        mask = ""
        if self.causal:
            lines.append(f"%{last + 1} = constant() {{value=-inf}} : {self.dtype}[{n},{n}]")
            lines.append(f"%{last + 2} = trilu(%{last + 1}) {{k=1,upper=1}} : {self.dtype}[{n},{n}]")
            mask, last = f", %{last + 2}", last + 2
        lines.append(f"%{last + 1} = attention(%0, %{k}, %{v}{mask}) {{scale={d ** -0.5}}} : {kind}")
        return "workload v1 tolerance=1e-2 {\n" + "\n".join(lines) + f"\nreturn %{last + 1}\n}}\n"


class Printed:
    """A kernel as kernel_text prints it."""

    @staticmethod
    def compiled(bench, case, config):
        text = subprocess.run([bench, "print", config], input=case.workload(), capture_output=True, text=True,
                              check=True).stdout
        return (text, *image(text))

    def __init__(self, text, binary, log, sets):
        self.log = log
        form = r"// (\w+): (\d+) blocks of (\d+) threads and (\d+) bytes; scratch (\d+) bytes; operands(.*)"
        entry, *numbers, operands = re.match(form, text).groups()
        self.blocks, self.threads, self.bytes, scratch = map(int, numbers)
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        check(DRIVER.cuModuleLoadData(ctypes.byref(module), binary), "module")
        check(DRIVER.cuModuleGetFunction(ctypes.byref(self.function), module, entry.encode()), "function")
        check(DRIVER.cuFuncSetAttribute(self.function, MAX_SHARED_MEMORY, self.bytes), "shared memory")
        self.scratch = torch.zeros(scratch + 1024, dtype=torch.uint8, device="cuda")
        self.calls = []
        for tensors in sets:
            bound = [tensors[int(i)] for i in operands.split()] + [self.scratch, self.scratch]
            self.calls.append(launch_arguments(bound, maps_of(text)))

    def registers(self):
        spills = re.findall(r"(\d+) bytes spill", self.log)
        return re.search(r"Used (\d+) registers", self.log).group(1) + (
            f" (spills {spills})" if any(s != "0" for s in spills) else "") + (
            " (warned)" if "warning" in self.log.lower() or "C75" in self.log else "")

    def __call__(self, i):
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        check(DRIVER.cuLaunchKernel(self.function, self.blocks, 1, 1, self.threads, 1, 1, self.bytes, stream,
                                    self.calls[i % len(self.calls)][0], None), "launch")


def torch_call(backend, case, sets):
    def call(i):
        q, k, v, _ = sets[i % len(sets)]
        with sdpa_kernel(backend):
            attention(q, k, v, is_causal=case.causal, enable_gqa=case.heads != case.key_heads)
    return call


def wanted(case, tensors):
    q, k, v = (t.float() for t in tensors[:3])
    with sdpa_kernel(SDPBackend.MATH):
        return torch.cat([attention(q[:, h:h + 1], k[:, j:j + 1], v[:, j:j + 1], is_causal=case.causal)
                          for h in range(case.heads) for j in [h * case.key_heads // case.heads]], 1)


def measure(bench, case, rounds, all_configs):
    kind = {"f16": torch.float16, "bf16": torch.bfloat16}[case.dtype]
    shape = lambda heads: (case.batch, heads, case.length, case.width)
    random = lambda heads: torch.randn(shape(heads), device="cuda").to(kind)
    size = 2 * case.batch * case.length * case.width * 2 * (case.heads + case.key_heads)
    sets = [(random(case.heads), random(case.key_heads), random(case.key_heads),
             torch.empty(shape(case.heads), device="cuda", dtype=kind)) for _ in range(max(2, int(140e6 // size) + 1))]
    run = lambda *args: subprocess.run([bench, *args], input=case.workload(), capture_output=True, text=True,
                                       check=True).stdout.split("\n")[:-1]
    configs = {line.split("\t")[0]: line.split("\t")[1] for line in run("defaults")}
    if all_configs:
        configs.update({config: "" for config in run("configs", "role_attention") if config not in configs})
    want = wanted(case, sets[0])
    calls, notes = {}, {}
    with concurrent.futures.ThreadPoolExecutor() as pool:
        compiled = list(pool.map(lambda config: Printed.compiled(bench, case, config), configs))
    for (config, estimate), parts in zip(configs.items(), compiled):
        kernel = Printed(*parts, sets)
        sets[0][3].fill_(float("nan"))
        kernel(0)
        torch.cuda.synchronize()
        error = ((sets[0][3].float() - want).abs().max() / want.abs().max()).item()
        notes[config] = {"estimate": estimate, "error": error, "registers": kernel.registers()}
        if not error < 1e-2:
            print(f"WRONG {case.text} {config}: an error of {error}", flush=True)
            continue
        calls[config] = kernel
    del want
    for name, backend in BACKENDS.items():
        call = torch_call(backend, case, sets)
        try:
            call(0)
            calls[f"torch {name}"] = call
        except RuntimeError:
            pass
    count = len(sets) * max(1, int(2e-3 / (case.flops / 500e12)) // len(sets))
    graphs = {name: captured(call, count) for name, call in calls.items()}
    samples = {name: [] for name in graphs}
    for _ in range(rounds):
        for name, graph in graphs.items():
            samples[name].append(microseconds(graph, count))
            time.sleep(0.005)
    return {"case": case.text, "flops": case.flops, "notes": notes, "us": samples}


def report(row, verbose):
    medians = {name: statistics.median(taken) for name, taken in row["us"].items()}
    peers = {name: us for name, us in medians.items() if name.startswith("torch")}
    ours = {name: us for name, us in medians.items() if not name.startswith("torch")}
    peer = min(peers, key=peers.get)
    old = [us for name, us in ours.items() if name.startswith("gpu_attention")]
    new = [(us, name) for name, us in ours.items() if name.startswith("role_attention")]
    us, name = min(new) if new else (float("nan"), "-")
    first = next((name for name in ours if name.startswith("role_attention")), "-")
    print(f"| {row['case']} | {old[0] if old else float('nan'):.1f} | {ours.get(first, float('nan')):.1f} | {us:.1f} | "
          f"{peers[peer]:.1f} {peer[6:]} | {us / peers[peer]:.3f} | {row['flops'] / us / 1e6:.0f} | {name} |", flush=True)
    if verbose:
        for name, us in sorted(medians.items(), key=lambda item: item[1]):
            print(f"    {us:8.1f} us {row['flops'] / us / 1e6:6.0f} TFLOP/s  {name}  {row['notes'].get(name, '')}",
                  flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--cases", nargs="*", default=CASES)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--all-configs", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--json")
    args = parser.parse_args()
    about = f"{torch.cuda.get_device_name()}, {datetime.date.today()}, torch {torch.__version__}"
    print(about + "; medians in us\n\n| case | gpu_attention | role_attention, default | role_attention, best | torch | "
          "ratio | TFLOP/s | config |\n|---|---|---|---|---|---|---|---|", flush=True)
    rows = []
    for text in args.cases:
        try:
            rows.append(measure(args.bench, Case(text), args.rounds, args.all_configs))
            report(rows[-1], args.verbose)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            print(f"FAILED {text}: {error} {getattr(error, 'stderr', '')}"[:1500], flush=True)
        torch.cuda.empty_cache()
        if args.json:
            with open(args.json, "w") as f:
                json.dump({"about": about, "rows": rows}, f, indent=1)


if __name__ == "__main__":
    main()
