"""One peer in a process of its own: reads "run SECONDS" lines, answers with the latencies as JSON.

    engines.py onnxruntime MODEL.onnx INPUT_DIR THREADS
    engines.py torch|torch_compile NETWORK INPUT_DIR THREADS
"""
import json
import os
import sys
import time

import numpy as np


def read_inputs(directory):
    import onnx
    from onnx import numpy_helper

    arrays = []
    while os.path.exists(f"{directory}/input_{len(arrays)}.pb"):
        tensor = onnx.TensorProto()
        with open(f"{directory}/input_{len(arrays)}.pb", "rb") as f:
            tensor.ParseFromString(f.read())
        arrays.append(numpy_helper.to_array(tensor))
    return arrays


def onnxruntime(model, inputs, threads):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Workers spin during a run, and leave the cores to the next engine after it.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feeds = {i.name: a for i, a in zip(session.get_inputs(), inputs)}
    return lambda: session.run(None, feeds), f"onnxruntime {ort.__version__}"


def torch_network(name):
    import torch
    import torchvision

    if name in ("resnet18", "resnet50", "mobilenet_v2", "vit_b_16"):
        return getattr(torchvision.models, name)(weights=None)
    import transformers

    if name == "bert_base":
        return transformers.BertModel(transformers.BertConfig(), add_pooling_layer=False)
    return transformers.GPT2Model(transformers.GPT2Config(use_cache=False))


def torch_engine(name, inputs, threads, compiled):
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    model = torch_network(name).eval()
    tensors = [torch.from_numpy(a) for a in inputs]
    if tensors[0].ndim == 4:  # the faster layout of the two for images
        model = model.to(memory_format=torch.channels_last)
        tensors[0] = tensors[0].to(memory_format=torch.channels_last)
    if compiled:
        torch._inductor.config.freezing = True
        model = torch.compile(model)

    def run():
        with torch.inference_mode():
            return model(*tensors)

    return run, f"torch {torch.__version__}"


def main():
    kind, model, directory, threads = sys.argv[1:5]
    inputs, threads = read_inputs(directory), int(threads)
    if kind == "onnxruntime":
        run, version = onnxruntime(model, inputs, threads)
    else:
        run, version = torch_engine(model, inputs, threads, kind == "torch_compile")
    for _ in range(3):
        run()
    print(json.dumps({"ready": version}), flush=True)
    for line in sys.stdin:
        end = time.perf_counter() + float(line.split()[1])
        run()
        times = []
        while time.perf_counter() < end:
            start = time.perf_counter()
            run()
            times.append((time.perf_counter() - start) * 1e3)
        print(json.dumps({"latency_ms": times}), flush=True)


if __name__ == "__main__":
    main()
