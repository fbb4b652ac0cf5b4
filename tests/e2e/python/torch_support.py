"""What the tests of torch.compile's backend share: comparison with eager mode, and small networks.

Ends the test that imports it, as skipped, if torch, onnx or onnxscript is missing.
"""

import contextlib
import os
import sys
import tempfile
import unittest
import warnings

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
from mlc_tune.torch import EagerWarning, _plan

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
