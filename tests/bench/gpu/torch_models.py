"""PyTorch on a GPU as a peer: each network as one CUDA graph, eager or compiled, one process a case.

    torch_models.py NETWORK BATCH PRECISION KIND      KIND: graph | compile | max-autotune

Reads "run SECONDS" lines, answers with the latencies in milliseconds as JSON. One latency is the time
between two events around a burst of graph replays, over the number of replays.
"""
import json
import os
import sys
import time

import torch

BURST = 10


def network_of(name):
    import torchvision

    if name.startswith(("resnet", "mobilenet", "vit")):
        return getattr(torchvision.models, name)(weights=None), None
    import transformers

    if name == "bert_base":
        return transformers.BertModel(transformers.BertConfig(), add_pooling_layer=False), 30522
    return transformers.GPT2Model(transformers.GPT2Config(use_cache=False)), 50257


def prepare(name, batch, precision):
    torch.manual_seed(0)
    tf32 = precision == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = True
    network, vocabulary = network_of(name)
    dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(precision, torch.float32)
    network = network.eval().cuda().to(dtype)
    if vocabulary:
        data = torch.randint(0, vocabulary, (batch, 128), device="cuda")
    else:
        network = network.to(memory_format=torch.channels_last)
        data = torch.randn(batch, 3, 224, 224, device="cuda", dtype=dtype).to(memory_format=torch.channels_last)
    return network, data


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


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever compilers print is no answer
    name, batch, precision, kind = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
    network, data = prepare(name, batch, precision)
    if kind != "graph":
        torch._inductor.config.freezing = True
        options = {"mode": "max-autotune-no-cudagraphs"} if kind == "max-autotune" else {}
        network = torch.compile(network, **options)
    with torch.inference_mode():
        graph = captured(lambda: first(network(data)))
        print(json.dumps({"ready": torch.__version__}), file=answers, flush=True)
        for line in sys.stdin:
            print(json.dumps({"latency_ms": bursts(graph, float(line.split()[1]))}), file=answers, flush=True)


if __name__ == "__main__":
    main()
