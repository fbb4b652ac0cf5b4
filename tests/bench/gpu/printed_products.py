#!/usr/bin/env python3
"""Large products of one GPU beside torch.matmul: kernels that warpgroup_bench prints, in one run.

    printed_products.py --bench build/release/bench/warpgroup_bench [--cases 4096:f16 ...] [--json FILE]

Each engine is one CUDA graph of launches on operands of 140 MB in all, taken in turns, so that operands do not
come from a cache; graphs take turns, too, and are timed between events. torch.matmul has its weights both ways,
the faster one counts. Data are normal random numbers. Results are held against float32. Weights are packed as the
kernels take them before any time is taken, as they are in a library.
"""
import argparse
import ctypes
import datetime
import glob
import itertools
import json
import re
import statistics
import subprocess
import sys
import time

import torch

CONFIG = "role_contraction/6 bm=128 bn=256 groups=2 alternate=0 stages=4 pending=1 band=%d split=1 storers=0 cluster=1"
BANDS = {2048: 0, 4096: 8, 8192: 8}
COLUMNS = 256  # of a tile
DRIVER = ctypes.CDLL("libcuda.so.1")
MAX_SHARED_MEMORY = 8  # the function attribute


def library(name):
    found = [path for folder in sys.path for path in glob.glob(f"{folder}/nvidia/cu*/lib/{name}.so*")]
    for path in [*found, f"{name}.so", *glob.glob(f"/usr/local/cuda/lib*/{name}.so*")]:
        try:
            return ctypes.CDLL(path)
        except OSError:
            pass
    raise RuntimeError(f"there is no {name}; install CUDA 12 or newer")


def check(code, what):
    if code != 0:
        raise RuntimeError(f"{what}: error {code}")


def image(source):
    nvrtc, program, size = library("libnvrtc"), ctypes.c_void_p(), ctypes.c_size_t()
    check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"k.cu", 0, None, None), "source")
    flags = (ctypes.c_char_p * 3)(b"--gpu-architecture=sm_90a", b"-default-device", b"--std=c++17")
    code = nvrtc.nvrtcCompileProgram(program, 3, flags)
    if code != 0:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        raise RuntimeError(log.value.decode()[:2000])
    check(nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)), "size of the binary")
    binary = ctypes.create_string_buffer(size.value)
    check(nvrtc.nvrtcGetCUBIN(program, binary), "binary")
    return binary.raw


def packed(weights):
    """Columns in panels of a tile and 64 of k, the 16-byte piece p of row r at place p ^ (r % 8)."""
    k, n = weights.shape
    panels = weights.reshape(k // 64, 64, n // COLUMNS, COLUMNS).permute(2, 0, 3, 1)
    panels = panels.reshape(n // COLUMNS, k // 64, COLUMNS, 8, 8)
    rows, places = torch.arange(COLUMNS, device="cuda") % 8, torch.arange(8, device="cuda")
    pieces = (places[None, :] ^ rows[:, None])[None, None, :, :, None].expand(panels.shape)
    return torch.gather(panels, 3, pieces).contiguous()


def encoded(number_rows, addresses):
    """Tensor maps, given as their numbers in the order of mlc_tensor_map, for a launch with these addresses."""
    memory = ctypes.create_string_buffer(128 * len(number_rows) + 64)
    begin = -ctypes.addressof(memory) % 64  # maps are aligned to 64 bytes
    maps = [(ctypes.c_uint64 * 16).from_buffer(memory, begin + 128 * i) for i in range(len(number_rows))]
    for to, numbers in zip(maps, number_rows):
        numbers = iter(numbers)
        take = lambda count: list(itertools.islice(numbers, count))
        (offset,), sizes, pitches, (argument, kind, rank) = take(1), take(5), take(4), take(3)
        boxes, steps, (swizzle, promotion) = take(5), [1] + take(4), take(2)
        longs = lambda values: (ctypes.c_uint64 * len(values))(*values)
        words = lambda values: (ctypes.c_uint32 * len(values))(*values)
        code = DRIVER.cuTensorMapEncodeTiled(
            ctypes.byref(to), kind, rank, ctypes.c_void_p(addresses[argument] + offset), longs(sizes), longs(pitches),
            words(boxes), words(steps), 0, swizzle, promotion, 0)
        check(code, "tensor map")
    return maps


def launch_arguments(tensors, maps):
    """Pointers to the arguments of a launch, and what must outlive them."""
    values = [ctypes.c_uint64(t.data_ptr()) for t in tensors]
    values += encoded(maps, [value.value for value in values])
    return (ctypes.c_void_p * len(values))(*[ctypes.addressof(v) for v in values]), values, tensors


def maps_of(text):
    """The maps of a kernel that a benchmark prints as text."""
    return json.loads(re.search(r"^// maps (.*)$", text, re.M).group(1))


class Printed:
    """A kernel as warpgroup_bench prints it, with its launch in the first lines."""

    def __init__(self, bench, name, config, sets):
        text = subprocess.run([bench, "text", name, config], capture_output=True, text=True, check=True).stdout
        form = r"// (\d+)\S* blocks of (\d+)\S* threads and (\d+) bytes; scratch (\d+) bytes"
        self.blocks, self.threads, self.bytes, scratch = map(int, re.match(form, text).groups())
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        check(DRIVER.cuModuleLoadData(ctypes.byref(module), image(text)), "module")
        entry = re.search(r"^(\w+_p0)\($", text, re.M).group(1).encode()
        check(DRIVER.cuModuleGetFunction(ctypes.byref(self.function), module, entry), "function")
        check(DRIVER.cuFuncSetAttribute(self.function, MAX_SHARED_MEMORY, self.bytes), "shared memory")
        self.scratch = torch.zeros(scratch + 1024, dtype=torch.uint8, device="cuda")
        self.calls = []
        for rows, weights, results in sets:
            tensors = (rows, results, packed(weights), self.scratch, self.scratch)
            self.calls.append(launch_arguments(tensors, maps_of(text)))

    def __call__(self, i):
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        check(DRIVER.cuLaunchKernel(self.function, self.blocks, 1, 1, self.threads, 1, 1, self.bytes, stream,
                                    self.calls[i % len(self.calls)][0], None), "launch")


def captured(call, count):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        call(0)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for i in range(count):
                call(i)
    return graph


def microseconds(graph, count):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1000 / count


def measure(bench, size, dtype, rounds):
    kind = {"f16": torch.float16, "bf16": torch.bfloat16}[dtype]
    cold = max(2, int(140e6 // (6 * size * size)) + 1)
    random = lambda: torch.randn(size, size, device="cuda")
    sets = [(random().to(kind), (random() / size**0.5).to(kind), torch.empty(size, size, device="cuda", dtype=kind))
            for _ in range(cold)]
    transposed = [weights.t().contiguous().t() for _, weights, _ in sets]
    ours = Printed(bench, f"product_{size}x{size}x{size}_{dtype}", CONFIG % BANDS[size], sets)
    want = sets[0][0].float() @ sets[0][1].float()
    ours(0)
    error = ((sets[0][2].float() - want).abs().max() / want.abs().max()).item()
    if not error < 1e-2:
        raise RuntimeError(f"{size} {dtype}: an error of {error}")
    del want
    count = cold * max(1, int(4e-3 / (2 * size**3 / 600e12)) // cold)
    one = {"mlc": ours, "torch": lambda i: torch.matmul(*sets[i % cold][:2], out=sets[i % cold][2]),
           "torch, transposed": lambda i: torch.matmul(sets[i % cold][0], transposed[i % cold], out=sets[i % cold][2])}
    graphs = {name: captured(call, count) for name, call in one.items()}
    samples = {name: [] for name in graphs}
    for _ in range(rounds):
        for name, graph in graphs.items():
            samples[name].append(microseconds(graph, count))
            time.sleep(0.01)
    return {"size": size, "dtype": dtype, "error": error, "us": samples}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--cases", nargs="*", default=[f"{s}:{t}" for t in ("f16", "bf16") for s in BANDS])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json")
    args = parser.parse_args()
    about = f"{torch.cuda.get_device_name()}, {datetime.date.today()}, torch {torch.__version__}"
    print(about + "; medians in us\n\n| product | precision | mlc | torch | mlc / torch |\n|---|---|---|---|---|")
    rows = []
    for case in args.cases:
        size, dtype = case.split(":")
        rows.append(measure(args.bench, int(size), dtype, args.rounds))
        medians = {name: statistics.median(taken) for name, taken in rows[-1]["us"].items()}
        mine = medians.pop("mlc")
        best = min(medians.values())
        print(f"| {size}^3 | {dtype} | {mine:.1f} | {best:.1f} | {mine / best:.3f} |", flush=True)
        torch.cuda.empty_cache()
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"about": about, "rows": rows}, f, indent=1)


if __name__ == "__main__":
    main()
