#!/usr/bin/env python3
"""The backend of torch.compile: values and memory of outputs are those of eager mode.

  torch_test.py BIN_FOLDER SOURCE_FOLDER

Any interpreter with torch, onnx and onnxscript runs it.
"""

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
import zipfile

import place

tempfile.tempdir = os.environ["TMPDIR"] = place.SCRATCH

try:
    import onnxscript  # noqa: F401  the exporter of torch needs it
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError as error:
    print(f"SKIPPED: the backend of torch.compile needs torch, onnx and onnxscript: {error}")
    sys.exit(77)

import mlc_tune
import mlc_tune.torch
from mlc_tune.torch import EagerWarning, _graph, _plan

torch.manual_seed(7)


@contextlib.contextmanager
def eager_warnings():
    """The warnings of graphs that run in eager mode."""
    found = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield found
    found += [str(w.message) for w in caught if issubclass(w.category, EagerWarning)]


@contextlib.contextmanager
def library_runs():
    """Counts runs of plans: how often a library, not eager mode, gave the outputs."""
    runs = []
    run = _plan.Plan.run

    def counted(plan, args):
        runs.append(plan)
        return run(plan, args)

    _plan.Plan.run = counted
    try:
        yield runs
    finally:
        _plan.Plan.run = run


class TorchTest(unittest.TestCase):
    def setUp(self):
        torch.compiler.reset()

    def assert_same(self, got, wanted):
        if isinstance(wanted, torch.Tensor):
            self.assertEqual(got.dtype, wanted.dtype)
            self.assertEqual(got.shape, wanted.shape)
            self.assertEqual(got.stride(), wanted.stride())
            torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)
        elif isinstance(wanted, dict):
            self.assertEqual(list(got), list(wanted))
            for name in wanted:
                self.assert_same(got[name], wanted[name])
        elif isinstance(wanted, (tuple, list)):
            self.assertEqual(len(got), len(wanted))
            for one, other in zip(got, wanted):
                self.assert_same(one, other)
        else:
            self.assertEqual(got, wanted)

    def check(self, model, *calls, runs=None, **options):
        """Calls the compiled model twice with each of `calls`, and compares with eager mode.

        `runs` is how many of these calls must run by a library: by default the second of each.
        """
        compiled = torch.compile(model, backend="mlc", options=options)
        with torch.no_grad(), eager_warnings() as warned, library_runs() as counted:
            for args in calls:
                for _ in range(2):
                    got = compiled(*args)
                    self.assert_same(got, model(*args))
        if runs is None:
            self.assertEqual(warned, [])
        self.assertEqual(len(counted), len(calls) if runs is None else runs)
        return warned


class Perceptron(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.a, self.b = nn.Linear(4, width), nn.Linear(width, 3)

    def forward(self, x):
        return self.b(F.relu(self.a(x)))


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 4, 3, stride=2),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Dropout(0.5),
        )

    def forward(self, x):
        return self.layers(x)


class Attention(nn.Module):
    def __init__(self, width=16, heads=2):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x, mask=None):
        b, n, d = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return x + self.out(y.transpose(1, 2).reshape(b, n, d))


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

    def test_operators_that_cannot_be_exported_or_compiled(self):
        def linked(x):
            return torch.linalg.svdvals(x) + 1

        self.left(linked, "exported to ONNX.*svd", torch.randn(3, 3))
        torch.compiler.reset()
        self.left(torch.linalg.det, "mlc-compile.*Det", torch.randn(2, 3, 3))

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
        device = "cuda" if torch.cuda.is_available() else "meta"
        model = nn.Linear(4, 3).to(device)
        compiled = torch.compile(model, backend="mlc")
        with torch.no_grad(), eager_warnings() as warned:
            x = torch.randn(2, 4, device=device)
            for _ in range(2):
                got = compiled(x)
                self.assertEqual((got.device.type, got.shape), (device, (2, 3)))
                if device == "cuda":
                    self.assert_same(got.cpu(), model(x).cpu())
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


class OptionTest(TorchTest):
    def test_options_are_checked(self):
        x = torch.randn(3)
        for options, text in (
            ({"logs": "x"}, "no option 'logs'; its options: log, server, target"),
            ({"threads": "two"}, "'threads'"),
            ({"cache": "yes"}, "'cache'"),
            ({"precision": 16}, "'precision'"),
            ({"log": 3}, "'log'"),
            ({"server": 3}, "'server'"),
            ({"precision": "fp13"}, "fp13"),
        ):
            with self.subTest(text=text):
                torch.compiler.reset()
                with self.assertRaisesRegex(Exception, text):
                    torch.compile(lambda x: x + 1, backend="mlc", options=options)(x)

    def test_a_mode_is_refused(self):
        with self.assertRaisesRegex(Exception, "no mode 'max-autotune'"):
            torch.compile(torch.relu, backend="mlc", mode="max-autotune")(torch.ones(2))

    def test_a_log_that_is_missing_is_said(self):
        x, log = torch.randn(3), place.SCRATCH + "/none.db"
        compiled = torch.compile(lambda x: x + 1, backend="mlc", options={"log": log})
        with self.assertWarnsRegex(UserWarning, "no tuning log .*none.db yet"):
            self.assert_same(compiled(x), x + 1)
        with library_runs() as runs:
            self.assert_same(compiled(x), x + 1)
        self.assertEqual(len(runs), 1)

    def test_a_server_that_is_not_there_is_said(self):
        x = torch.randn(3)
        compiled = torch.compile(lambda x: x + 1, backend="mlc", options={"server": "127.0.0.1:1"})
        with eager_warnings() as warned:
            for _ in range(2):
                self.assert_same(compiled(x), x + 1)
        self.assertEqual(len(warned), 1)
        self.assertIn("127.0.0.1:1", warned[0])


# Calls a model twice, and prints how often the compiler ran, and the sum of the outputs.
CHILD = """
import sys, torch
import mlc_tune.torch
from mlc_tune.torch import _store
ran = []
compile = _store.run_compile
_store.run_compile = lambda *a: (ran.append(1), compile(*a))[1]
torch.manual_seed(3)
model = torch.nn.Linear(4, 3).eval()
run = torch.compile(model, backend="mlc", options={"cache": sys.argv[1] == "cache"})
with torch.no_grad():
    x = torch.ones(2, 4)
    assert torch.allclose(run(x), model(x)) and torch.allclose(run(x), model(x))
print(len(ran))
"""


class ProcessTest(TorchTest):
    def compiled(self, how):
        words = [sys.executable, "-c", CHILD, how]
        return int(subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout)

    def test_processes_share_libraries(self):
        self.assertEqual([self.compiled("cache") for _ in range(2)], [1, 0])
        self.assertEqual(self.compiled("none"), 1)

    def test_an_installed_package_needs_no_import(self):
        site = tempfile.mkdtemp(dir=place.SCRATCH)
        sys.path.insert(0, str(place.PACKAGE / "backend"))
        import mlc_wheel

        with zipfile.ZipFile(pathlib.Path(site, mlc_wheel.build_wheel(site))) as wheel:
            wheel.extractall(site)
        code = (
            "import torch; run = torch.compile(torch.nn.ReLU(), backend='mlc');"
            "print(run(torch.ones(2)).sum()); import mlc_tune.torch"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": site},
            stdout=subprocess.PIPE,
            text=True,
        )
        self.assertEqual((done.returncode, done.stdout), (0, "tensor(2.)\n"))

    def test_threads_share_a_graph(self):
        model = Perceptron().eval()
        compiled = torch.compile(model, backend="mlc", dynamic=True)
        wrong = []

        def work(seed):
            generator = torch.Generator().manual_seed(seed)
            with torch.no_grad():
                for i in range(30):
                    x = torch.randn(2 + i % 3, 4, generator=generator)
                    if not torch.allclose(compiled(x), model(x), atol=1e-4):
                        wrong.append(seed)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_a_child_process_runs_the_library(self):
        model = Perceptron().eval()
        compiled = torch.compile(model, backend="mlc")
        x = torch.randn(2, 4)
        with torch.no_grad():
            for _ in range(2):
                compiled(x)
            child = os.fork()
            if child == 0:
                os._exit(0 if torch.allclose(compiled(x), model(x), atol=1e-4) else 1)
            self.assertEqual(os.waitpid(child, 0)[1], 0)


class DeploymentTest(TorchTest):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp(dir=place.SCRATCH)

    def test_a_module_becomes_a_library(self):
        model, x = Perceptron().eval(), torch.randn(2, 4)
        library = mlc_tune.torch.compile_aot(
            model, (x,), output=self.folder + "/mlp", output_names=["scores"], threads=1
        )
        self.assert_same(torch.from_numpy(library(x.numpy())["scores"]), model(x).detach())
        loaded = mlc_tune.load(self.folder + "/mlp")
        self.assertEqual([info.shape for info in loaded.inputs], [(2, 4)])

    def test_an_exported_program_takes_other_sizes(self):
        model, x = Attention().eval(), torch.randn(2, 6, 16)
        program = torch.export.export(model, (x,), dynamic_shapes={"x": {1: torch.export.Dim("n")}})
        for rows in (6, 5):
            y = torch.randn(2, rows, 16)
            library = mlc_tune.torch.compile_aot(program, (y,), output=f"{self.folder}/{rows}")
            self.assert_same(torch.from_numpy(library(y.numpy())[0]), model(y).detach())
        for wrong in (torch.randn(3, 6, 16), torch.randn(6, 16)):
            with self.assertRaisesRegex(mlc_tune.InputError, "input 'x' is .*the exported program"):
                mlc_tune.torch.compile_aot(program, (wrong,), output=self.folder + "/wrong")

    def test_arguments_by_name_and_nested_ones(self):
        class Nested(nn.Module):
            def forward(self, pair, *, scale):
                return pair["a"] * scale + pair["b"][0]

        a, b, scale = torch.randn(3), torch.randn(3), torch.randn(3)
        library = mlc_tune.torch.compile_aot(
            Nested().eval(),
            ({"a": a, "b": [b]},),
            example_kwargs={"scale": scale},
            output=self.folder + "/nested",
        )
        got = library(a.numpy(), b.numpy(), scale.numpy())[0]
        self.assert_same(torch.from_numpy(got), a * scale + b)

    def test_models_that_are_no_library_are_refused(self):
        class Counter(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("count", torch.zeros(()))

            def forward(self, x):
                self.count += 1
                return x + self.count

        class Decompose(nn.Module):
            def forward(self, x):
                return torch.linalg.svdvals(x)

        x = torch.randn(3, 3)
        for model, kind, text in (
            (Counter().eval(), mlc_tune.DataError, "the model writes count"),
            (Decompose().eval(), mlc_tune.DataError, "exported to ONNX.*svd"),
            (nn.Dropout(), mlc_tune.UsageError, "training mode"),
            (torch.relu, mlc_tune.UsageError, "torch.nn.Module"),
        ):
            with self.subTest(text=text), self.assertRaisesRegex(kind, text):
                mlc_tune.torch.compile_aot(model, (x,), output=self.folder + "/none")
        self.assertEqual(os.listdir(self.folder), [])


class TuningTest(TorchTest):
    def test_compiled_models_run_what_tuning_found(self):
        log = place.SCRATCH + "/tuning.db"
        model, x = Perceptron(32).eval(), torch.randn(16, 4)
        compiled = torch.compile(model, backend="mlc", options={"threads": 1})
        other = torch.compile(model, backend="mlc", options={"threads": 1, "precision": "bf16"})
        with torch.no_grad(), library_runs() as runs:
            for _ in range(2):
                compiled(x), other(x)
            before = [plan.library for plan in runs]
            results = mlc_tune.torch.tune(
                compiled, (x,), trials=4, log=log, threads=1, progress=False
            )
            self.assertEqual([result.state for result in results], ["done"])
            self.assertGreaterEqual(results[0].trials, 4)
            runs.clear()
            self.assert_same(compiled(x), model(x))
            other(x)
            after = [plan.library for plan in runs]
            self.assertIsNot(after[0], before[0])
            self.assertIs(after[1], before[1])
            # Sizes that come later use the log, too.
            runs.clear()
            for _ in range(2):
                self.assert_same(compiled(x[:5]), model(x[:5]))
            self.assertEqual(len(runs), 1)

    def test_what_cannot_be_tuned_is_said(self):
        with self.assertRaisesRegex(mlc_tune.UsageError, "'log' or 'server'"):
            mlc_tune.torch.tune(Perceptron(), (torch.randn(2, 4),))
        with eager_warnings(), self.assertRaisesRegex(mlc_tune.NoResultError, "warnings say why"):
            mlc_tune.torch.tune(
                torch.linalg.svdvals, (torch.randn(3, 3),), log=place.SCRATCH + "/none.db"
            )


class DocumentTest(TorchTest):
    def test_the_code_of_the_how_to_runs(self):
        text = (place.SOURCE / "docs/how-to/use-from-pytorch.md").read_text()
        names, before = {}, os.getcwd()
        try:
            os.chdir(tempfile.mkdtemp())
            for section in ("Run", "Tune", "Deploy"):
                lines = text.partition(f"\n## {section}\n")[2].partition("\n## ")[0].splitlines()
                code = "\n".join(line[4:] for line in lines if line.startswith("    "))
                with eager_warnings() as warned:
                    exec(code.replace("trials=2000", "trials=4, progress=False"), names)
                self.assertEqual(warned, [])
            self.assertEqual(names["library"](names["x"].numpy())[0].shape, (8, 16))
        finally:
            os.chdir(before)


class TransformersTest(TorchTest):
    def setUp(self):
        super().setUp()
        try:
            import transformers
        except ImportError as error:
            self.skipTest(f"no package transformers: {error}")
        self.transformers = transformers

    def test_bert(self):
        config = self.transformers.BertConfig(
            vocab_size=60,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=48,
            max_position_embeddings=32,
        )
        model = self.transformers.BertModel(config).eval()
        mask = torch.ones(2, 7, dtype=torch.int64)
        mask[1, 4:] = 0
        self.transformed(model, input_ids=torch.randint(60, (2, 7)), attention_mask=mask)

    def test_llama(self):
        config = self.transformers.LlamaConfig(
            vocab_size=60,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            intermediate_size=48,
            max_position_embeddings=32,
        )
        model = self.transformers.LlamaForCausalLM(config).eval()
        self.transformed(model, input_ids=torch.randint(60, (2, 7)), use_cache=False)

    def transformed(self, model, **named):
        compiled = torch.compile(model, backend="mlc")
        with torch.no_grad(), eager_warnings() as warned, library_runs() as runs:
            for _ in range(2):
                got, wanted = compiled(**named), model(**named)
                self.assertEqual(list(got), list(wanted))
                for name in wanted:
                    self.assert_same(got[name], wanted[name])
        self.assertEqual(warned, [])
        self.assertGreaterEqual(len(runs), 1)


if __name__ == "__main__":
    unittest.main(argv=place.UNITTEST_ARGUMENTS)
