#!/usr/bin/env python3
"""Networks that nobody tried before, on a GPU: exported, compiled, compared with onnxruntime in values and with PyTorch in time.

    breadth_gpu.py --bin build/release/bin --work DIR [--precisions fp32 fp16] [--kinds graph compile] [--trials 0] [--only swin_t llama]

Every network of ../peers/networks.py is exported by torch (TorchScript, opset 17), compiled with default configs, or with the kernels of
so many trials, checked on the GPU against onnxruntime's outputs in single precision, and timed beside PyTorch in one CUDA graph
(graph: eager; compile: torch.compile). Models are exported and compiled side by side, GPU work is done one after another. Ends with 1
if a network is refused or differs by more than 1e-4 (fp32), 5e-3 (tf32) or 2e-2 (fp16) of its largest value.
"""
import argparse
import concurrent.futures
import json
import os
import shutil
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [HERE, f"{HERE}/../peers"]
from cases import BOUNDS  # noqa: E402


def command(arguments):
    done = subprocess.run(arguments, capture_output=True, text=True)
    return done.returncode, done.stdout, (done.stderr.strip() or "no word").splitlines()[-1][:160]


def export_one(name, folder):
    """In a process of its own: the model, its inputs and onnxruntime's outputs. What went wrong, or ''."""
    os.makedirs(folder)
    import torch

    torch.set_num_threads(2)
    from breadth import Reference, export

    try:
        array = export(name, "ts", f"{folder}/model.onnx")
    except Exception as error:  # an exporter's refusal says nothing about us
        return f"not exported: {str(error).strip().splitlines()[0][:80]}"
    Reference(f"{folder}/model.onnx", array, folder, 2)
    return ""


def options(args, folder, precision):
    return ["--model", f"{folder}/model.onnx", "--target", args.target, "--precision", precision]


def compile_one(args, folder, precision):
    log = [] if args.trials == 0 else ["--log", f"{folder}/{precision}.db"]
    return command([f"{args.bin}/mlc-compile", *options(args, folder, precision), *log, "-o", f"{folder}/{precision}", "--name", "m"])


def check_one(args, folder, precision):
    """A row's cells: difference and latency; whether it passed."""
    bound = BOUNDS[precision]
    code, said, why = command([f"{args.bin}/mlc-run", f"{folder}/{precision}", "--inputs", f"{folder}/inputs", "--check",
                               f"{folder}/outputs", "--rtol", str(bound), "--bench", "0.2", "--json"])
    try:
        result = json.loads(said)
        difference = max(o["max_relative_difference"] for o in result["check"]["outputs"])
        return f"{difference:.1e}", result["latency_ms"]["median"], code == 0
    except (ValueError, KeyError):
        return f"**{why}**", None, False


def torch_ms(name, precision, kind):
    import torch

    import networks
    from torch_models import bursts, captured, first

    for backend in (torch.backends.cuda.matmul, torch.backends.cudnn):
        backend.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True
    network, data = networks.make(name)
    dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(precision, torch.float32)
    network = network.eval().cuda().to(dtype)
    data = data.cuda()
    if data.is_floating_point():
        data = data.to(dtype)
        if data.dim() == 4:
            network, data = network.to(memory_format=torch.channels_last), data.to(memory_format=torch.channels_last)
    if kind == "compile":
        torch._inductor.config.freezing = True
        network = torch.compile(network)
    with torch.inference_mode():
        return statistics.median(bursts(captured(lambda: first(network(data))), 0.2))


def peer(name, precision, kind):
    code, said, _ = command([sys.executable, os.path.abspath(__file__), "--peer", name, precision, kind])
    return float(said) if code == 0 else None


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--work", required=True)
    parser.add_argument("--target", default="cuda")
    parser.add_argument("--precisions", nargs="+", choices=sorted(BOUNDS), default=["fp32", "fp16"])
    parser.add_argument("--kinds", nargs="*", choices=["graph", "compile"], default=["graph"])
    parser.add_argument("--trials", type=int, default=0)
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    return parser.parse_args()


def main():
    if sys.argv[1:2] == ["--peer"]:
        print(torch_ms(*sys.argv[2:5]))
        return 0
    args = arguments()
    import networks

    names = args.only or list(networks.NETWORKS)
    shutil.rmtree(args.work, ignore_errors=True)
    folder = {name: f"{args.work}/{name}" for name in names}
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        exported = dict(zip(names, pool.map(export_one, names, folder.values())))
    cases = [(name, precision) for name in names if not exported[name] for precision in args.precisions]
    for name, precision in cases if args.trials else []:
        command([f"{args.bin}/mlc-tune", *options(args, folder[name], precision), "--trials", str(args.trials), "--log",
                 f"{folder[name]}/{precision}.db", "-q"])
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        compiled = dict(zip(cases, pool.map(lambda case: compile_one(args, folder[case[0]], case[1]), cases)))
    columns = ["network", "precision", "difference", "mlc, ms", *args.kinds, *(["quotient"] if args.kinds else [])]
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    failures = 0
    for name in names:
        if exported[name]:
            print(f"| {name} | | {exported[name]} |")
    for name, precision in cases:
        code, _, why = compiled[name, precision]
        difference, mlc, passed = (f"**refused: {why}**", None, False) if code else check_one(args, folder[name], precision)
        failures += not passed
        peers = {kind: peer(name, precision, kind) for kind in args.kinds} if mlc else {}
        times = [f"{peers[kind]:.3f}" if peers.get(kind) else "-" for kind in args.kinds]
        best = min((ms for ms in peers.values() if ms), default=None)
        quotient = [f"{mlc / best:.2f}" if best and mlc else "-"] if args.kinds else []
        cells = [name, precision, difference if passed else f"**{difference}**", f"{mlc:.3f}" if mlc else "-", *times, *quotient]
        print("| " + " | ".join(cells) + " |", flush=True)
    print(f"\n{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
