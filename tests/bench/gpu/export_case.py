"""A case's network as an ONNX model, its data, and what PyTorch computes of them in single precision, on the CPU.

    export_case.py CASE FOLDER EXPORTER      EXPORTER: dynamo | ts

Writes FOLDER/model.onnx, FOLDER/inputs/input_0.npy and FOLDER/outputs/output_0.npy.
"""
import os
import sys
import warnings

import numpy
import torch

import cases
import whole_networks

EXPORTERS = {"dynamo": {"dynamo": True, "opset_version": 20, "external_data": True, "verbose": False},
             "ts": {"dynamo": False, "opset_version": 17}}


def save(folder, stem, tensor):
    os.makedirs(folder, exist_ok=True)
    numpy.save(f"{folder}/{stem}_0.npy", tensor.numpy())


def main():
    case, folder, exporter = cases.parse(sys.argv[1]), sys.argv[2], sys.argv[3]
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    network, data = whole_networks.make(case)
    with torch.inference_mode():
        save(f"{folder}/inputs", "input", data)
        result = network(data)
        if not result.isfinite().all():
            raise SystemExit("the network's results are not finite: nothing could be compared")
        save(f"{folder}/outputs", "output", result)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(network, (data,), f"{folder}/model.onnx", **EXPORTERS[exporter])


if __name__ == "__main__":
    main()
