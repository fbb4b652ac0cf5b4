"""PyTorch as a peer: each network as one CUDA graph, eager or compiled, one process a case.

    torch_models.py CASE KIND [DEVICE]      KIND: graph | compile | max-autotune; DEVICE: cuda | cpu

Reads one command a line and answers with one line of JSON: "run SECONDS" with latencies in milliseconds, "check FOLDER" with the
largest difference to the FOLDER's output over its largest magnitude, "profile" with microseconds and calls by kernel. One latency is
the time between two events around a burst of graph replays, over the number of replays. On a CPU there is no graph, and each run is
timed by itself: to try the benchmark.
"""
import json
import os
import sys
import time

import torch

import cases
import whole_networks

BURST = 10
PROFILED = 20


def first(result):
    return result if torch.is_tensor(result) else result[0]


def captured(call):
    """The call as one CUDA graph."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph


def bursts(graph, seconds):
    samples, until = [], time.monotonic() + seconds
    while time.monotonic() < until or len(samples) < 10:
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(BURST):
            graph.replay()
        end.record()
        end.synchronize()
        samples.append(begin.elapsed_time(end) / BURST)
    return samples


def runs(call, seconds):
    """Of a CPU."""
    samples, until = [], time.monotonic() + seconds
    while time.monotonic() < until or len(samples) < 3:
        begin = time.perf_counter()
        call()
        samples.append((time.perf_counter() - begin) * 1e3)
    return samples


def kernels(call, device):
    """Of one call, longest first; of a CPU the operators that PyTorch reports."""
    from torch.profiler import ProfilerActivity, profile

    gpu = device == "cuda"
    with profile(activities=[ProfilerActivity.CUDA if gpu else ProfilerActivity.CPU]) as record:
        for _ in range(PROFILED):
            call()
        if gpu:
            torch.cuda.synchronize()
    rows = [{"kernel": event.key[:160], "calls": event.count / PROFILED,
             "us": (event.self_device_time_total if gpu else event.self_cpu_time_total) / PROFILED}
            for event in record.key_averages()]
    return sorted((row for row in rows if row["us"] > 0), key=lambda row: -row["us"])


def difference(network, data, folder):
    import numpy

    want = torch.from_numpy(numpy.load(f"{folder}/output_0.npy"))
    got = first(network(data)).float().cpu()
    return ((got - want).abs().max() / want.abs().max()).item()


def answer(words, device, network, data, graph):
    """To one command."""
    call = (lambda: network(data)) if graph is None else graph.replay
    if words[0] == "run":
        seconds = float(words[1])
        return {"latency_ms": runs(call, seconds) if graph is None else bursts(graph, seconds)}
    if words[0] == "check":
        return {"difference": difference(network, data, words[1])}
    return {"profile": kernels(call, device)}


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever compilers print is no answer
    case, kind, device = cases.parse(sys.argv[1]), sys.argv[2], (sys.argv + ["cuda"])[3]
    if device == "cpu":
        torch.set_num_threads(len(os.sched_getaffinity(0)))
    network, data = whole_networks.prepared(case, device)
    if kind != "graph":
        torch._inductor.config.freezing = True
        options = {"mode": "max-autotune-no-cudagraphs"} if kind == "max-autotune" else {}
        network = torch.compile(network, **options)
    with torch.inference_mode():
        first(network(data))
        graph = captured(lambda: first(network(data))) if device == "cuda" else None
        print(json.dumps({"ready": torch.__version__}), file=answers, flush=True)
        for line in sys.stdin:
            try:
                said = answer(line.strip().split(maxsplit=1), device, network, data, graph)
            except Exception as error:  # the next command may still work
                said = {"error": str(error)[:300]}
            print(json.dumps(said), file=answers, flush=True)


if __name__ == "__main__":
    main()
