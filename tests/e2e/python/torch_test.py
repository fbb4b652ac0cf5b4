#!/usr/bin/env python3
"""The backend of torch.compile: values and memory of outputs are those of eager mode.

  torch_test.py BIN_FOLDER SOURCE_FOLDER

Any interpreter with torch, onnx and onnxscript runs it.
"""

import unittest

import place
# First: it ends the test where torch is missing.
from torch_support import Attention, ConvNet, Perceptron, TorchTest, eager_warnings, library_runs

import torch
from torch import nn
from torch.nn import functional as F

from mlc_tune.torch import _graph


class ValueTest(TorchTest):
    def test_networks_give_the_values_of_eager_mode(self):
        mask = torch.tril(torch.ones(6, 6, dtype=torch.bool))
        for model, args in (
            (Perceptron(), (torch.randn(2, 4),)),
            (ConvNet(), (torch.randn(2, 3, 12, 12),)),
            (Attention(), (torch.randn(2, 6, 16),)),
            (Attention(), (torch.randn(2, 6, 16), mask)),
        ):
            with self.subTest(model=type(model).__name__):
                torch.compiler.reset()
                self.check(model.eval(), args)

    def test_sizes_that_vary_get_a_library_each(self):
        model = Perceptron().eval()
        calls = [(torch.randn(n, 4),) for n in (2, 5, 3, 5, 2, 1)]
        self.check(model, *calls, runs=7)
        torch.compiler.reset()
        self.check(Attention().eval(), *((torch.randn(2, n, 16),) for n in (3, 4, 7)))

    def test_outputs_keep_their_structure(self):
        def model(x, *, scale=2.0, extra=None):
            y = F.relu(x) * scale
            return {"y": y, "none": extra, "both": (y + 1, [y - 1]), "rows": x.shape[0], "f": 0.5}

        compiled = torch.compile(model, backend="mlc")
        with eager_warnings() as warned, library_runs() as runs:
            for rows in (2, 2, 3, 3, 4, 4):
                x = torch.randn(rows, 3)
                self.assert_same(compiled(x, scale=3.0), model(x, scale=3.0))
        self.assertEqual((warned, len(runs)), ([], 3))

    def test_a_number_that_varies_is_an_input(self):
        model = lambda x, k: x * k + k  # noqa: E731
        calls = [(torch.randn(3), k) for k in (1.5, 2.5, 3.5, -0.25)]
        # The first value is a constant of its graph; all others share one library.
        self.check(model, *calls, runs=6)

    def test_a_number_that_no_tensor_may_replace_is_a_constant(self):
        model = lambda x, k: F.layer_norm(x, (4,), eps=k) * k  # noqa: E731
        calls = [(torch.randn(3, 4), k) for k in (0.5, 1.5, 2.5)]
        # Each value has a library of its own, which the second call with it runs.
        self.check(model, *calls, *calls, runs=9)

    def test_numbers_of_all_types_are_taken(self):
        def model(x):
            return x + x, x.abs(), (x > 1), x.sum()

        for dtype in (torch.float64, torch.int64, torch.int32, torch.uint8):
            with self.subTest(dtype=dtype):
                torch.compiler.reset()
                self.check(model, (torch.arange(12).reshape(3, 4).to(dtype),))
        torch.compiler.reset()
        self.check(lambda a, b: (a & b, a | ~b), (torch.rand(3, 4) > 0.5, torch.rand(3, 4) > 0.5))

    def test_half_precision_is_taken(self):
        for dtype in (torch.float16, torch.bfloat16):
            with self.subTest(dtype=dtype):
                torch.compiler.reset()
                x = torch.randn(3, 4).to(dtype)
                self.check(lambda x: F.relu(x) * 2, (x,))

    def test_inputs_may_lie_in_memory_in_any_way(self):
        model = Perceptron().eval()
        big = torch.randn(8, 9)
        for x in (
            torch.randn(4, 3).t(),
            torch.randn(1, 4).expand(3, 4),
            big[1:7:2, 2:6],
            big.view(-1)[5:17].view(3, 4),
        ):
            with self.subTest(stride=x.stride()):
                torch.compiler.reset()
                self.check(model, (x,))
        torch.compiler.reset()
        images = torch.randn(2, 3, 12, 12).contiguous(memory_format=torch.channels_last)
        self.check(ConvNet().eval(), (images,))

    def test_one_program_for_every_precision(self):
        model = Perceptron().eval()
        for precision in ("fp32", "bf16"):
            torch.compiler.reset()
            compiled = torch.compile(model, backend="mlc", options={"precision": precision})
            x = torch.randn(2, 4)
            with torch.no_grad(), library_runs() as runs:
                for _ in range(2):
                    torch.testing.assert_close(compiled(x), model(x), rtol=0.05, atol=0.05)
            self.assertEqual(len(runs), 1)


class MemoryTest(TorchTest):
    def test_a_view_of_an_input_stays_a_view(self):
        compiled = torch.compile(lambda x: (x.t(), x[1:], x * 2), backend="mlc")
        for _ in range(3):
            x = torch.randn(3, 4)
            turned, rest, twice = compiled(x)
            x.zero_()
            self.assertEqual(turned.abs().sum() + rest.abs().sum(), 0)
            self.assertNotEqual(twice.abs().sum(), 0)

    def test_a_view_is_one_of_the_right_input(self):
        compiled = torch.compile(lambda x, y: (x + y, y.t()), backend="mlc")
        for shared in (True, True, False, False):
            x = torch.randn(3, 4)
            y = x.view(3, 4) if shared else torch.randn(3, 4)
            total, turned = compiled(x, y)
            self.assert_same((total, turned), (x + y, y.t()))
            y.zero_()
            self.assertEqual(turned.abs().sum(), 0)

    def test_outputs_that_share_memory_share_it(self):
        def model(x):
            y = x + 1
            return y, y.view(-1), y[:, 1:3], y.expand(2, 3, 4)

        self.check(model, (torch.randn(3, 4),))
        compiled = torch.compile(model, backend="mlc")
        for _ in range(3):
            whole, flat, part, twice = compiled(torch.ones(3, 4))
            whole.fill_(9)
            for view in (flat, part, twice):
                self.assertEqual(view.unique().tolist(), [9])

    def test_outputs_have_the_strides_of_eager_mode(self):
        def model(x):
            y = x + 1
            return y.t(), (y * 2)[:, :1].expand(3, 4), (y * 3)[:, 1:3]

        self.check(model, (torch.randn(3, 4),))

    def test_an_input_that_is_written_is_written(self):
        def model(x, y):
            x.add_(y)
            y[0] = 7
            return x * 2, x.t(), y

        compiled = torch.compile(model, backend="mlc")
        with library_runs() as runs:
            for _ in range(3):
                x, y = torch.randn(3, 4), torch.randn(3, 4)
                a, b = x.clone(), y.clone()
                got, wanted = compiled(x, y), model(a, b)
                self.assert_same((x, y), (a, b))
                self.assert_same(got, wanted)
                self.assertIs(got[2], y)
                x.zero_()
                self.assertEqual(got[1].abs().sum(), 0)
        self.assertEqual(len(runs), 2)

    def test_a_write_to_memory_of_two_inputs_is_left_to_eager_mode(self):
        def model(x, y):
            x.add_(1)
            return x + y

        compiled = torch.compile(model, backend="mlc")
        for shared in (False, False, True, True):
            x = torch.randn(4)
            y = x.view(4) if shared else torch.randn(4)
            a = x.clone()
            b = a.view(4) if shared else y.clone()
            self.assert_same(compiled(x, y), model(a, b))
            self.assert_same(x, a)

    def test_buffers_that_are_written_count(self):
        class Counter(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("count", torch.zeros((), dtype=torch.int64))
                self.norm = nn.BatchNorm1d(4)

            def forward(self, x):
                self.count += 1
                return self.norm(x) + self.count

        for training in (False, True):
            with self.subTest(training=training):
                torch.compiler.reset()
                model, other = Counter().train(training), Counter().train(training)
                compiled = torch.compile(model, backend="mlc")
                with torch.no_grad(), library_runs() as runs:
                    for call in range(1, 6):
                        x = torch.randn(3, 4)
                        self.assert_same(compiled(x), other(x))
                        self.assertEqual(model.count.item(), call)
                        for name, buffer in model.named_buffers():
                            self.assert_same(buffer, other.get_buffer(name))
                # What ONNX calls the running variance in training is another one.
                self.assertEqual(len(runs), 0 if training else 3)

    def test_tensors_of_inference_mode_are_written_as_well(self):
        def model(x):
            x.relu_()
            return x + 1

        compiled = torch.compile(model, backend="mlc")
        with torch.inference_mode(), library_runs() as runs:
            for values in ([1.0, 2.0], [-1.0, 2.0], [-1.0, -2.0]):
                x = torch.tensor(values)
                self.assert_same(compiled(x), F.relu(torch.tensor(values)) + 1)
                self.assert_same(x, F.relu(torch.tensor(values)))
        self.assertEqual(len(runs), 2)


class WeightTest(TorchTest):
    def changed(self, change, calls=2):
        model = Perceptron().eval()
        compiled = torch.compile(model, backend="mlc")
        x = torch.randn(2, 4)
        with torch.no_grad(), eager_warnings() as warned, library_runs() as runs:
            for _ in range(calls):
                compiled(x)
            before = model(x)
            change(model)
            self.assertNotEqual((model(x) - before).abs().max(), 0)
            for _ in range(2):
                self.assert_same(compiled(x), model(x))
            self.assertEqual(len(runs), calls)
        self.assertEqual(warned, [])

    def test_other_weights_are_noticed(self):
        self.changed(lambda model: model.load_state_dict(Perceptron().state_dict()))

    def test_a_write_to_a_weight_is_noticed(self):
        self.changed(lambda model: model.a.weight.mul_(2))

    def test_another_tensor_in_a_weight_is_noticed(self):
        def change(model):
            model.b.bias.data = torch.ones(3)

        self.changed(change)

    def test_writes_that_do_not_count_are_noticed(self):
        self.changed(lambda model: model.a.weight.data.mul_(2))

    def test_statistics_of_batch_norm_are_noticed(self):
        model = nn.BatchNorm1d(4).eval()
        compiled = torch.compile(model, backend="mlc")
        with torch.no_grad(), library_runs() as runs:
            for _ in range(4):
                x = torch.randn(3, 4)
                self.assert_same(compiled(x), model(x))
            # Without gradients, this write does not count as one.
            F.batch_norm(torch.randn(5, 4), model.running_mean, model.running_var, training=True)
            for _ in range(2):
                self.assert_same(compiled(x), model(x))
            self.assertEqual(len(runs), 4)

    def test_weights_that_change_all_the_time_become_inputs(self):
        model = Perceptron().eval()
        compiled = torch.compile(model, backend="mlc")
        with torch.no_grad(), library_runs() as runs:
            for _ in range(9):
                x = torch.randn(2, 4)
                self.assert_same(compiled(x), model(x))
                model.a.weight.add_(0.1)
            self.assertGreaterEqual(len(runs), 4)

    def test_weights_made_in_inference_mode_are_noticed(self):
        with torch.inference_mode():
            model = Perceptron().eval()
            compiled = torch.compile(model, backend="mlc")
            for _ in range(4):
                x = torch.randn(2, 4)
                self.assert_same(compiled(x), model(x))
                model.a.weight.mul_(1.5)


class EagerTest(TorchTest):
    """What a library cannot give is left to eager mode, with one warning."""

    def left(self, model, pattern, *args, grad=False, **options):
        compiled = torch.compile(model, backend="mlc", options=options)
        with torch.set_grad_enabled(grad), eager_warnings() as warned, library_runs() as runs:
            for _ in range(3):
                state = torch.get_rng_state()
                got = compiled(*args)
                torch.set_rng_state(state)
                self.assert_same(got, model(*args))
        self.assertEqual(len(warned), 1, warned)
        self.assertRegex(warned[0], pattern)
        self.assertEqual(runs, [])
        return got

    def test_training(self):
        model = Perceptron()
        got = self.left(model, "gradients are wanted.*torch.no_grad", torch.randn(2, 4), grad=True)
        got.sum().backward()
        self.assertIsNotNone(model.a.weight.grad)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        optimizer.step()
        x = torch.randn(2, 4)
        compiled = torch.compile(model, backend="mlc")
        with torch.no_grad(), library_runs() as runs:
            for _ in range(2):
                self.assert_same(compiled(x), model(x))
        self.assertEqual(len(runs), 1)

    def test_inputs_that_need_gradients(self):
        x = torch.randn(2, 3, requires_grad=True)
        self.left(lambda x: F.relu(x) * 2, "gradients are wanted", x, grad=True)
        torch.compiler.reset()
        with torch.no_grad():
            self.check(lambda x: F.relu(x) * 2, (x,))

    def test_gradients_that_nobody_wants_are_no_reason(self):
        model = Perceptron().eval()

        @torch.no_grad()
        def run(x):
            return model(x)

        compiled = torch.compile(run, backend="mlc")
        with eager_warnings() as warned, library_runs() as runs:
            for _ in range(2):
                x = torch.randn(2, 4)
                self.assert_same(compiled(x), run(x))
        self.assertEqual((warned, len(runs)), ([], 1))

    def test_random_numbers(self):
        model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)).train()
        self.left(model, "random numbers", torch.randn(8, 4))
        torch.compiler.reset()
        self.left(lambda x: x + torch.rand(3), "random numbers", torch.randn(3))

    def test_autocast(self):
        model = Perceptron().eval()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            got = self.left(model, "autocast", torch.randn(2, 4))
        self.assertEqual(got.dtype, torch.bfloat16)

        def inside(x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return model(x)

        torch.compiler.reset()
        self.left(inside, "autocast", torch.randn(2, 4))

    def test_regions_without_autocast(self):
        model = Perceptron().eval()

        def full(x):
            with torch.autocast("cpu", enabled=False):
                return model(x) + x.sum()

        self.check(lambda x: full(x) * 2 + full(x + 1), (torch.randn(2, 4),))

        def within(x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return full(model.a(x).float()[:, :4])

        torch.compiler.reset()
        self.left(within, "autocast", torch.randn(2, 4))

    def test_operators_that_cannot_be_exported_or_compiled(self):
        def linked(x):
            return torch.linalg.svdvals(x) + 1

        self.left(linked, "exported to ONNX.*svd", torch.randn(3, 3))
        torch.compiler.reset()
        self.left(torch.linalg.det, "mlc-compile.*Det", torch.randn(2, 7, 7))  # 6 rows at most

    def test_complex_and_empty_tensors(self):
        self.left(lambda x: x * 2, "complex64", torch.randn(3, dtype=torch.complex64))
        torch.compiler.reset()
        self.left(lambda x: x * 2, "empty", torch.randn(0, 3))

    def test_sizes_that_values_decide(self):
        def model(x):
            return x[x > 0] * 2

        compiled = torch.compile(model, backend="mlc")
        for _ in range(3):
            x = torch.randn(9)
            self.assert_same(compiled(x), model(x))

    def test_more_sizes_than_libraries(self):
        model = lambda x: F.relu(x) + 1  # noqa: E731
        compiled = torch.compile(model, backend="mlc", dynamic=True)
        most, _graph.MOST_PLANS = _graph.MOST_PLANS, 3
        try:
            with eager_warnings() as warned, library_runs() as runs:
                for n in (2, 3, 4, 5, 6, 2, 3, 4, 5, 6):
                    x = torch.randn(n, 3)
                    self.assert_same(compiled(x), model(x))
        finally:
            _graph.MOST_PLANS = most
        self.assertEqual(len(runs), 3)
        self.assertEqual(len(warned), 1)
        self.assertIn("sets of sizes", warned[0])

    def test_other_devices(self):
        device = "meta"  # tests/gpu/torch_test.py has those of a GPU
        model = nn.Linear(4, 3).to(device)
        compiled = torch.compile(model, backend="mlc")
        with torch.no_grad(), eager_warnings() as warned:
            x = torch.randn(2, 4, device=device)
            for _ in range(2):
                got = compiled(x)
                self.assertEqual((got.device.type, got.shape), (device, (2, 3)))
        self.assertEqual(len(warned), 1)
        self.assertIn(f"on the device {device}", warned[0])

    def test_graph_breaks_and_a_network_without_a_graph(self):
        class Broken(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = Perceptron(), nn.Linear(3, 3)

            def forward(self, x):
                h = self.a(x)
                if h.sum() > 0:
                    h = h * 2
                return self.b(h).t()

        with library_runs() as runs:
            self.check(Broken().eval(), (torch.ones(2, 4),), runs=2)
        torch.compiler.reset()
        lstm = nn.LSTM(4, 3).eval()
        compiled = torch.compile(lstm, backend="mlc")
        with torch.no_grad():
            x = torch.randn(5, 2, 4)
            for _ in range(2):
                self.assert_same(compiled(x), lstm(x))


if __name__ == "__main__":
    unittest.main(argv=place.UNITTEST_ARGUMENTS)
