#!/usr/bin/env python3
"""Libraries for GPUs in Python, on a machine without one: with the driver that stands in for it,
whose kernels compute nothing. What is checked are memory, streams and errors.

  device_test.py BIN_FOLDER SOURCE_FOLDER
"""

import os
import sys
import unittest

import place
from small_models import PackageTest, np, product

DRIVER = place.BIN.parent / "tests/fake_cuda"
if not (DRIVER / "libcuda.so.1").exists():
    print(f"SKIPPED: {DRIVER} has no driver: ninja fake_cuda")
    sys.exit(77)
if str(DRIVER) not in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
    os.environ["LD_LIBRARY_PATH"] = str(DRIVER)  # the loader reads it when a process starts
    os.execv(sys.executable, [sys.executable, "-B", *sys.argv])

import mlc_tune
import mlc_tune.onnxruntime as ort
from mlc_tune import _cuda

os.environ["MLC_CUDA_HOME"] = str(place.SOURCE / "build/cuda")


class OnDevice:
    """A tensor in the memory of a GPU, which that driver keeps on the host."""

    def __init__(self, array, number=0):
        self.array, self.number, self.streams = array, number, []

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return (2, self.number)


class Stream:
    """A stream as PyTorch has it."""

    cuda_stream = 77


class DeviceTest(PackageTest):
    @classmethod
    def setUpClass(cls):
        try:
            cls.library = mlc_tune.compile(product(), target="h200", precision="fp16")
        except mlc_tune.UnavailableError as error:
            print(f"SKIPPED: {error}")
            sys.exit(77)

    def tensors(self):
        x, y = self.library.inputs[0].empty(), self.library.outputs[0].empty()
        x[...] = 1
        return OnDevice(x), OnDevice(y)

    def test_arrays_of_the_host_are_taken_and_given(self):
        self.assertEqual(self.library.device, 0)
        (y,) = self.library(np.ones((2, 4), np.float32))
        self.assertEqual((y.shape, y.dtype), ((2, 3), np.float32))

    def test_tensors_of_the_gpu_run_on_the_callers_stream(self):
        for stream, told in ((None, 1), (0, 1)):  # 1 is the default stream of DLPack
            x, y = self.tensors()
            outputs = self.library(x, out=y, stream=stream)
            self.assertIs(outputs["y"], y)
            self.assertEqual((x.streams, y.streams), ([told], [told]))
        session = self.library.session()
        x, y = self.tensors()
        binding = session.bind(x, y)
        binding.run()
        binding.run(stream=0)
        _cuda.synchronize(0)

    def test_wrong_tensors_are_refused(self):
        x, y = self.tensors()
        host = self.library.outputs[0].empty()
        for call, text in (
            (lambda: self.library(x), "need out="),
            (lambda: self.library(x, out=host), "not in the memory of a GPU, but others are"),
            (lambda: self.library(OnDevice(x.array, 1), out=y), "on GPU 1, the model on GPU 0"),
            (lambda: self.library(OnDevice(x.array[::-1]), out=y), "not contiguous"),
            (lambda: self.library(OnDevice(host), out=y), "is f32[2,3], the model has f32[2,4]"),
            (lambda: self.library(x, out=x), "is f32[2,4], the model has f32[2,3]"),
            (lambda: self.library(x, out=y, stream="s"), "is no stream"),
        ):
            with self.subTest(text=text), self.assertRaises(mlc_tune.InputError) as caught:
                call()
            self.assertIn(text, str(caught.exception))

    def test_streams_are_numbers_or_those_of_other_libraries(self):
        from mlc_tune._tensors import stream_handle

        self.assertEqual([stream_handle(s) for s in (None, 0, 5, Stream())], [0, 0, 5, 77])

    def test_a_session_of_onnx_runtime_takes_the_gpu(self):
        self.assertEqual(ort.get_device(), "GPU")
        session = ort.InferenceSession(
            product(), providers=["CUDAExecutionProvider"], precision="fp16"
        )
        self.assertEqual(session.get_providers()[0], "CUDAExecutionProvider")
        self.assertEqual(session.run(None, {"x": np.ones((2, 4), np.float32)})[0].shape, (2, 3))
        x, y = (tensor.array for tensor in self.tensors())
        binding = session.io_binding()
        binding.bind_input("x", "cuda", 0, np.float32, x.shape, x.ctypes.data)
        binding.bind_output("y", "cuda", 0, np.float32, y.shape, y.ctypes.data)
        session.run_with_iobinding(binding)
        with self.assertRaisesRegex(mlc_tune.UsageError, "in the memory of a GPU"):
            binding.copy_outputs_to_cpu()

    def test_after_a_fork_the_driver_is_not_used(self):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                self.library.session()
            except mlc_tune.ConfigurationError as error:
                code = 0 if "forked" in str(error) else 2
            finally:
                os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)


if __name__ == "__main__":
    unittest.main(argv=place.UNITTEST_ARGUMENTS)
