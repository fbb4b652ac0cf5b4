#!/usr/bin/env python3
"""Writes the 8-bit version of a model that ONNX Runtime's own quantizer makes of it.

    quantize_model.py resnet50.onnx resnet50_int8.onnx [--samples 4]

The form is QDQ: QuantizeLinear and DequantizeLinear around each operator, activations of u8 with one scale, weights of
i8 with one a channel. Ranges come from random inputs, as weights of make_model.py are random, too. Needs the Python
packages onnx, numpy and onnxruntime.
"""
import argparse
import pathlib
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

MOST_ID = 1000


class Samples(CalibrationDataReader):
    def __init__(self, model, count, length=1):
        session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        self.inputs, self.left, self.random = session.get_inputs(), count, np.random.default_rng(1)
        self.length = length  # of named dimensions

    def sample(self, value):
        shape = [size if isinstance(size, int) else self.length for size in value.shape]
        if value.type == "tensor(float)":
            return self.random.standard_normal(shape, np.float32)
        dtype = np.int64 if value.type == "tensor(int64)" else np.int32
        # Masks are all ones, types all zeros.
        most = {"attention_mask": (1, 2), "token_type_ids": (0, 1)}.get(value.name, (0, MOST_ID))
        return self.random.integers(*most, shape).astype(dtype)

    def get_next(self):
        if self.left == 0:
            return None
        self.left -= 1
        return {value.name: self.sample(value) for value in self.inputs}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--samples", type=int, default=4)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        prepared = str(pathlib.Path(folder) / "prepared.onnx")
        quant_pre_process(args.model, prepared, skip_symbolic_shape=True)
        quantize_static(prepared, args.out, Samples(prepared, args.samples), quant_format=QuantFormat.QDQ,
                        per_channel=True, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    onnx.checker.check_model(args.out)


if __name__ == "__main__":
    main()
