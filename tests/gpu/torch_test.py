#!/usr/bin/env python3
"""The backend of torch.compile on tensors of a GPU: values, memory, streams, CUDA graphs.

  torch_test.py BIN_FOLDER SOURCE_FOLDER

Exits with 77 where PyTorch, its exporter, a GPU or a CUDA compiler is missing.
"""

import os
import sys
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.abspath(sys.argv[2]), "tests", "e2e", "python"))
import place
# First: it ends the test where torch is missing.
from torch_support import Attention, ConvNet, Perceptron, TorchTest, eager_warnings, library_runs

import torch
from torch import nn
from torch.nn import functional as F

import mlc_tune
import mlc_tune.torch

if not torch.cuda.is_available():
    print("SKIPPED: PyTorch finds no GPU")
    sys.exit(77)

GPU = torch.device("cuda", 0)
torch.backends.cudnn.allow_tf32 = False


def randn(*size, **options):
    return torch.randn(*size, device=GPU, **options)


class GpuTest(TorchTest):
    def settled(self, model, *args, **options):
        """The compiled model, after the call that compiles a library and one that runs it."""
        compiled = torch.compile(model, backend="mlc", options=options)
        with torch.no_grad(), eager_warnings() as warned, library_runs() as runs:
            for _ in range(2):
                compiled(*args)
        self.assertEqual((warned, len(runs)), ([], 1))
        return compiled


class ValueTest(GpuTest):
    def test_networks_give_the_values_of_eager_mode(self):
        mask = torch.tril(torch.ones(6, 6, dtype=torch.bool, device=GPU))
        for model, args in (
            (Perceptron(), (randn(2, 4),)),
            (ConvNet(), (randn(2, 3, 12, 12),)),
            (Attention(), (randn(2, 6, 16),)),
            (Attention(), (randn(2, 6, 16), mask)),
        ):
            with self.subTest(model=type(model).__name__, inputs=len(args)):
                torch.compiler.reset()
                self.check(model.eval().to(GPU), args)

    def test_results_stay_on_the_gpu(self):
        compiled = self.settled(Perceptron().eval().to(GPU), randn(2, 4))
        with torch.no_grad():
            self.assertEqual(compiled(randn(2, 4)).device, GPU)

    def test_sizes_that_vary_get_a_library_each(self):
        calls = [(randn(n, 4),) for n in (2, 5, 3, 5, 2, 1)]
        self.check(Perceptron().eval().to(GPU), *calls, runs=7)

    def test_half_precision(self):
        for dtype in (torch.float16, torch.bfloat16):
            with self.subTest(dtype=dtype):
                torch.compiler.reset()
                model = Attention().eval().to(GPU, dtype)
                x = randn(2, 6, 16, dtype=dtype)
                compiled = self.settled(model, x)
                with torch.no_grad():
                    torch.testing.assert_close(compiled(x), model(x), rtol=3e-2, atol=3e-2)

    def test_tf32_where_pytorch_uses_it(self):
        torch.set_float32_matmul_precision("high")
        try:
            model, x = Attention(64).eval().to(GPU), randn(2, 6, 64)
            compiled = self.settled(model, x)
            with torch.no_grad():
                torch.testing.assert_close(compiled(x), model(x), rtol=1e-2, atol=1e-2)
        finally:
            torch.set_float32_matmul_precision("highest")

    def test_a_number_that_varies_is_an_input(self):
        calls = [(randn(3), k) for k in (1.5, 2.5, 3.5, -0.25)]
        self.check(lambda x, k: x * k + k, *calls, runs=6)

    def test_inputs_may_lie_in_memory_in_any_way(self):
        big = randn(9, 9)
        for x in (randn(4, 3).t(), randn(1, 4).expand(3, 4), big[1:7:2, 2:6], big.view(-1)[5:17].view(3, 4)):
            with self.subTest(stride=x.stride(), offset=x.storage_offset()):
                torch.compiler.reset()
                self.check(Perceptron().eval().to(GPU), (x,))

    def test_several_graphs(self):
        class Broken(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = Perceptron(), nn.Linear(3, 3)

            def forward(self, x):
                h = self.a(x)
                if h.sum() > 0:
                    h = h * 2
                return self.b(h).t()

        self.check(Broken().eval().to(GPU), (torch.ones(2, 4, device=GPU),), runs=2)

    def test_a_library_for_deployment_has_the_device_of_its_inputs(self):
        model, x = Perceptron().eval().to(GPU), randn(2, 4)
        with mlc_tune.torch.compile_aot(model, (x,), output=os.path.join(place.SCRATCH, "aot")) as library:
            self.assertEqual(library.device, 0)
            y = torch.empty(2, 3, device=GPU)
            library(x, out=y, stream=torch.cuda.current_stream())
            torch.testing.assert_close(y, model(x).detach())


class MemoryTest(GpuTest):
    def test_an_input_that_is_written_is_written(self):
        def model(x, y):
            x.add_(y)
            y[0] = 7
            return x * 2, x.t(), y

        compiled = torch.compile(model, backend="mlc")
        with library_runs() as runs:
            for _ in range(3):
                x, y = randn(3, 4), randn(3, 4)
                a, b = x.clone(), y.clone()
                got, wanted = compiled(x, y), model(a, b)
                self.assert_same((x, y), (a, b))
                self.assert_same(got, wanted)
                self.assertIs(got[2], y)
        self.assertEqual(len(runs), 2)

    def test_buffers_that_are_written_count(self):
        class Counter(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("count", torch.zeros((), dtype=torch.int64))
                self.norm = nn.BatchNorm1d(4)

            def forward(self, x):
                self.count += 1
                return self.norm(x) + self.count

        model, other = Counter().eval().to(GPU), Counter().eval().to(GPU)
        compiled = torch.compile(model, backend="mlc")
        with torch.no_grad(), library_runs() as runs:
            for call in range(1, 6):
                x = randn(3, 4)
                self.assert_same(compiled(x), other(x))
                self.assertEqual(model.count.item(), call)
        self.assertEqual(len(runs), 3)

    def test_weights_that_change_are_noticed(self):
        model = Perceptron().eval().to(GPU)
        x = randn(2, 4)
        compiled = self.settled(model, x)
        with torch.no_grad():
            model.a.weight.mul_(2)
            for _ in range(2):
                self.assert_same(compiled(x), model(x))

    def test_results_of_many_calls_are_apart(self):
        model = Perceptron().eval().to(GPU)
        compiled = self.settled(model, randn(2, 4))
        with torch.no_grad():
            inputs = [randn(2, 4) for _ in range(30)]
            results = [compiled(x) for x in inputs]  # as many sets of addresses
            for x, y in zip(inputs, results):
                self.assert_same(y, model(x))
            del results
            for _ in range(30):  # addresses that come again
                x = randn(2, 4)
                self.assert_same(compiled(x), model(x))

    def test_views_and_shared_memory(self):
        def model(x):
            y = x + 1
            return y, y.view(-1), y[:, 1:3], x.t(), (y * 2).t()

        self.check(model, (randn(3, 4),))


class StreamTest(GpuTest):
    def test_runs_are_queued_on_the_current_stream(self):
        model = Perceptron().eval().to(GPU)
        x = torch.zeros(2, 4, device=GPU)
        compiled = self.settled(model, x)
        stream = torch.cuda.Stream()
        with torch.no_grad(), torch.cuda.stream(stream):
            compiled(x)
            for value in (1.0, -2.0, 3.0):
                torch.cuda._sleep(int(2e8))  # about 0.1 s
                x.fill_(value)
                y = compiled(x)
                doubled = y * 2
                self.assertFalse(stream.query(), "the call waits for the GPU")
                stream.synchronize()
                self.assert_same(y, model(x))
                self.assert_same(doubled, y * 2)

    def test_threads_with_streams_of_their_own(self):
        model = Perceptron().eval().to(GPU)
        compiled = self.settled(model, randn(2, 4))
        wrong = []

        def run():
            with torch.no_grad(), torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(50):
                    x = randn(2, 4)
                    if not torch.allclose(compiled(x), model(x), rtol=1e-4, atol=1e-4):
                        wrong.append(x)

        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def captured(self, compiled, x):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                compiled(x)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = compiled(x)
        return graph, y

    def test_calls_are_captured_into_cuda_graphs(self):
        model = Attention().eval().to(GPU)
        x, other = randn(2, 6, 16), randn(2, 6, 16)
        compiled = self.settled(model, x)
        with torch.no_grad():
            first, y = self.captured(compiled, x)
            second, z = self.captured(compiled, other)
            for _ in range(5):
                x.normal_()
                other.normal_()
                first.replay()
                second.replay()
                plain = compiled(x + 1)  # between replays, in memory of its own
                self.assert_same(y, model(x))
                self.assert_same(z, model(other))
                self.assert_same(plain, model(x + 1))

    def test_sizes_that_are_new_in_a_capture_are_left_to_eager_mode(self):
        model = lambda x: F.relu(x) * 2 + 1  # noqa: E731
        compiled = torch.compile(model, backend="mlc", dynamic=True)
        for n in (4, 4, 5, 5):
            compiled(randn(n, 3))
        x = randn(7, 3)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with eager_warnings() as warned, torch.cuda.graph(graph):
            y = compiled(x)
        self.assertEqual(len(warned), 1)
        self.assertIn("a CUDA graph is captured", warned[0])
        x.normal_()
        graph.replay()
        self.assert_same(y, model(x))


class EagerTest(GpuTest):
    def left(self, model, pattern, *args, **options):
        compiled = torch.compile(model, backend="mlc", options=options)
        with torch.no_grad(), eager_warnings() as warned, library_runs() as runs:
            for _ in range(3):
                self.assert_same(compiled(*args), model(*args))
        self.assertEqual((len(warned), runs), (1, []), warned)
        self.assertRegex(warned[0], pattern)

    def test_tensors_on_several_devices(self):
        self.left(lambda x, y: (x + 1, y * 2), r"several devices \(cpu, cuda:0\)", randn(3), torch.randn(3))

    def test_results_on_another_device(self):
        self.left(lambda x: (x * 2).cpu(), "on the device cuda:0|exported", randn(3))

    def test_random_numbers(self):
        compiled = torch.compile(lambda x: F.dropout(x, 0.5), backend="mlc")
        with eager_warnings() as warned:
            for _ in range(2):
                compiled(randn(8))
        self.assertRegex(warned[0], "random numbers")

    def test_autocast(self):
        model = Perceptron().eval().to(GPU)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            self.left(model, "autocast", randn(2, 4))

    def test_a_target_that_is_a_cpu(self):
        self.left(lambda x: F.relu(x) + 1, "is a CPU", randn(3), target="cpu")


if __name__ == "__main__":
    unittest.main(argv=place.UNITTEST_ARGUMENTS)
