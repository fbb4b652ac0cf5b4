#!/usr/bin/env python3
"""The Python package on a GPU, with tensors and streams of PyTorch.

  python_test.py BIN_FOLDER PACKAGE_FOLDER     the folder that holds mlc_tune

Exits with 77 where PyTorch, a GPU or a CUDA compiler is missing.
"""

import base64
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
try:
    import numpy as np
    import torch
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)
if not torch.cuda.is_available():
    print("SKIPPED: PyTorch finds no GPU")
    sys.exit(77)

SCRATCH = tempfile.TemporaryDirectory(prefix="mlc-python-")
os.environ.update(MLC_BIN=os.path.abspath(sys.argv[1]), XDG_CACHE_HOME=SCRATCH.name)
sys.path.insert(0, os.path.abspath(sys.argv[2]))
import mlc_tune

# y = relu(x w), x of 64 x 4 floats: product(rows=64) of tests/e2e/python/small_models.py. A machine
# that builds nothing may lack the package onnx.
MODEL = base64.b64decode(
    "CAgSDHNtYWxsX21vZGVsczqPAQoRCgF4CgF3EgFoIgZNYXRNdWwKDAoBaBIBeSIEUmVsdRIFc21hbGwqOwgECAMQAU"
    "IBd0owAAAAvwAAwL4AAIC+AAAAvgAAAAAAAAA+AACAPgAAwD4AAAA/AAAgPwAAQD8AAGA/WhMKAXgSDgoMCAESCAoC"
    "CEAKAggEYhMKAXkSDgoMCAESCAoCCEAKAggDQgQKABAO"
)
WEIGHTS = torch.arange(12, dtype=torch.float32).reshape(4, 3) / 8 - 0.5


class GpuTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.library = mlc_tune.compile(MODEL, target="cuda")
        cls.weights = WEIGHTS.cuda()

    def assert_product(self, x, y):
        torch.testing.assert_close(
            y, torch.relu(x @ self.weights.to(x.device)), rtol=1e-3, atol=1e-4
        )

    def test_arrays_of_the_host_pass_through_the_gpu(self):
        x = np.random.default_rng(3).standard_normal((64, 4), np.float32)
        (y,) = self.library(x)
        self.assert_product(torch.from_numpy(x), torch.from_numpy(y))
        (y,) = self.library(torch.from_numpy(x))
        self.assert_product(torch.from_numpy(x), torch.from_numpy(y))

    def test_tensors_run_on_streams_of_the_caller(self):
        y = torch.empty(64, 3, device="cuda")
        for stream in (torch.cuda.current_stream(), torch.cuda.Stream()):
            with torch.cuda.stream(stream):
                x = torch.randn(64, 4, device="cuda")
                outputs = self.library(x, out=y, stream=stream)
                self.assertIs(outputs["y"], y)
                doubled = y * 2  # on the same stream: sees the run
            stream.synchronize()
            self.assert_product(x, y)
            torch.testing.assert_close(doubled, y * 2)

    def test_a_binding_reads_and_writes_the_same_tensors(self):
        x, y = torch.zeros(64, 4, device="cuda"), torch.empty(64, 3, device="cuda")
        stream = torch.cuda.Stream()
        run = self.library.session().bind([x], [y]).run
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            for _ in range(20):
                x.normal_()
                run(stream)
        stream.synchronize()
        self.assert_product(x, y)

    def test_wrong_tensors_are_refused(self):
        x, y = torch.zeros(64, 4, device="cuda"), torch.empty(64, 3, device="cuda")
        for call, text in (
            (lambda: self.library(x), "need out="),
            (lambda: self.library(x.half(), out=y), "f16"),
            (lambda: self.library(x.t().contiguous().t(), out=y), "not contiguous"),
            (lambda: self.library(x, out=y.cpu()), "not in the memory of a GPU"),
            (lambda: self.library(x.requires_grad_(), out=y), "DLPack"),
        ):
            with self.subTest(text=text), self.assertRaisesRegex(mlc_tune.InputError, text):
                call()

    def test_onnx_runtimes_interface_binds_addresses(self):
        session = mlc_tune.InferenceSession(MODEL, providers=["CUDAExecutionProvider"])
        x, y = torch.randn(64, 4, device="cuda"), torch.empty(64, 3, device="cuda")
        torch.cuda.synchronize()
        binding = session.io_binding()
        binding.bind_input("x", "cuda", 0, np.float32, x.shape, x.data_ptr())
        binding.bind_output("y", "cuda", 0, np.float32, y.shape, y.data_ptr())
        session.run_with_iobinding(binding)
        self.assert_product(x, y)
        (host,) = session.run(None, {"x": x.cpu().numpy()})
        torch.testing.assert_close(torch.from_numpy(host), y.cpu())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
