#!/usr/bin/env python3
"""Kernels of one's own from Python: the reference as a workload, tuning, calls, the cache, errors.

kernel_test.py BIN_FOLDER SOURCE_FOLDER
"""

import pathlib
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

import place
from small_models import PackageTest, np

import mlc_tune
from mlc_tune import _kernel, _nodes, _traced

# y = alpha * (b - 2 a), with the arrays in an order that is not that of the reference.
SCALED = """
void scaled(int block_x, int block_y, int block_z, const float* a, const float* b, float alpha,
            float* y) {
  (void)block_y, (void)block_z;
  for (int i = block_x * width; i < (block_x + 1) * width; ++i) {
#if form == 1
    y[i] = alpha * b[i] - 2 * alpha * a[i];
#else
    y[i] = alpha * (b[i] - 2 * a[i]);
#endif
  }
}
"""
OPTIONS = dict(
    parameters={"width": [8, 16, 32, 64], "form": [0, 1], "word": ["near", "far"]},
    grid=lambda a, b, alpha: f"{a.size} // width",
    restrictions=["width <= 32"],
    target="cpu",
    threads=1,
)


def difference(a, b, alpha):
    """The kernel's reference: `b` comes first, so the workload has the arrays in another order."""
    return alpha * (b - a * 2)


def arrays(count=64):
    rng = np.random.default_rng(1)
    return [rng.standard_normal(count).astype(np.float32) for _ in range(2)]


def needs_compiler(test):
    found = any(shutil.which(name) for name in ("cc", "gcc", "clang"))
    return unittest.skipUnless(found, "no C compiler here")(test)


class KernelTest(PackageTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=place.SCRATCH)
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.log = self.folder + "/tuning.db"

    def kernel(self, source=SCALED, reference=difference, **options):
        given = {**OPTIONS, "name": "scaled", "log": self.log, "trials": 8, **options}
        return mlc_tune.kernel(source, **given)(reference)

    @needs_compiler
    def test_a_kernel_is_tuned_checked_and_called(self):
        kernel = self.kernel()
        a, b = arrays()
        tuned = kernel.tune(a, b, 3, progress=False)
        self.assertIn(tuned.config["width"], (8, 16, 32))
        self.assertIn(tuned.config["word"], ("near", "far"))
        self.assertGreater(tuned.time_ms, 0)
        self.assertGreater(tuned.default_ms, 0)
        self.assertIn(f"#define width {tuned.config['width']}\n", tuned.header)
        self.assertIn(f"#define word {tuned.config['word']}\n", tuned.source)
        self.assert_close(tuned(a, b, 3), 3 * (b - 2 * a))
        self.assert_close(kernel(a[::-1], b, 3), 3 * (b - 2 * a[::-1]))  # not dense
        with self.assertRaisesRegex(mlc_tune.InputError, "was tuned for"):
            tuned(a, b, 4)
        with self.assertRaisesRegex(mlc_tune.InputError, "takes a, b, alpha: 2 are given"):
            tuned(a, b)
        records = list(mlc_tune.log(self.log))
        self.assertGreaterEqual(len(records), 8)
        self.assertEqual({r["outcome"] for r in records} - {"too_slow"}, {"ok"})

    @needs_compiler
    def test_another_process_calls_what_one_has_tuned(self):
        a, b = arrays(128)
        wanted = self.kernel()(a, b, 2)
        with mock.patch.object(_kernel, "follow", side_effect=AssertionError("it tunes again")):
            again = self.kernel()
            self.assert_close(again(a, b, 2), wanted)
            with self.assertRaisesRegex(AssertionError, "it tunes again"):
                again(a, b, 5)  # another number is another kernel
            with self.assertRaisesRegex(AssertionError, "it tunes again"):
                self.kernel(source=SCALED + "// changed\n")(a, b, 2)

    @needs_compiler
    def test_blocks_run_on_several_threads(self):
        kernel = self.kernel(threads=2)
        a, b = arrays(4096)
        self.assert_close(kernel(a, b, 1), b - 2 * a)

    @needs_compiler
    def test_several_outputs_and_types_are_returned(self):
        source = """
        void both(int x, int y, int z, const int* a, const double* b, double* sum, int* twice) {
          (void)y, (void)z;
          for (int i = x * width; i < (x + 1) * width; ++i) {
            sum[i] = a[i] + b[i];
            twice[i] = 2 * a[i];
          }
        }
        """
        kernel = self.kernel(
            source,
            lambda a, b: (a + b, a * np.int32(2)),
            name="both",
            parameters={"width": [4, 8]},
            restrictions=[],
            grid=lambda a, b: f"{a.size} // width",
            trials=2,
        )
        a = np.arange(32, dtype=np.int32)
        b = np.linspace(0, 1, 32)
        total, twice = kernel(a, b)
        self.assertEqual((total.dtype, twice.dtype), (np.float64, np.int32))
        self.assert_close(total, a + b)
        self.assert_close(twice, 2 * a)

    @needs_compiler
    def test_a_kernel_that_is_wrong_or_broken_is_an_error_with_its_reason(self):
        a, b = arrays()
        with self.assertRaisesRegex(mlc_tune.NoResultError, "wrong_result"):
            self.kernel(SCALED.replace("alpha *", "1 +")).tune(a, b, 3, trials=2, progress=False)
        with self.assertRaisesRegex(mlc_tune.NoResultError, "not C"):
            broken = self.kernel(SCALED.replace("#if form", "#error not C\n#if form"))
            broken.tune(a, b, 3, trials=2, progress=False)
        with self.assertRaisesRegex(mlc_tune.DataError, "Conditions.*'wide' is not known"):
            self.kernel(restrictions=["wide < 3"]).tune(a, b, 3, progress=False)

    def test_a_specification_can_be_written_to_a_file(self):
        a, b = arrays()
        made = self.kernel().specification(a, b, 3)
        arguments = made["KernelSpecification"]["Arguments"]
        self.assertEqual([row["Name"] for row in arguments], ["a", "b", "alpha", "output"])
        self.assertEqual([row.get("Operand") for row in arguments], [1, 0, None, 0])
        self.assertEqual(made["KernelSpecification"]["GlobalSize"]["X"], "64 // width")
        self.assertIn("sub(", made["KernelSpecification"]["Workload"])

    def test_wrong_uses_are_told(self):
        a, b = arrays()
        for error, text, call in (
            (mlc_tune.UsageError, "has the type complex64", lambda k: k.specification(a * 1j, b, 3)),
            (mlc_tune.UsageError, "is a str", lambda k: k.specification(a, b, "3")),
            (mlc_tune.UsageError, "missing a required argument", lambda k: k.specification(a)),
        ):
            with self.subTest(text), self.assertRaisesRegex(error, text):
                call(self.kernel())
        with self.assertRaisesRegex(mlc_tune.UsageError, "does not use its argument 'b'"):
            self.kernel(reference=lambda a, b, alpha: a * alpha).specification(a, b, 3)
        with self.assertRaisesRegex(mlc_tune.UsageError, "defaults of no parameter: depth"):
            self.kernel(defaults={"depth": 1})
        with self.assertRaisesRegex(mlc_tune.UsageError, "needs the threads of a block"):
            self.kernel('extern "C" __global__ void scaled() {}')
        with self.assertRaisesRegex(mlc_tune.DataError, "cannot read the source absent.c"):
            self.kernel("absent.c")


REFERENCES = {
    "softmax": lambda a: np.exp(a - a.max(1, keepdims=True))
    / np.exp(a - np.max(a, axis=1, keepdims=True)).sum(axis=-1, keepdims=True),
    "product": lambda a: (a @ a.T) @ a,
    "vector": lambda a: a @ a[0],
    "norm": lambda a: (a - np.mean(a, 0)) / np.sqrt(np.var(a, axis=0) + 1e-5),
    "window": lambda a: sum(a[i : 4 + i, 1::2] * float(i + 1) for i in range(3)),
    "backwards": lambda a: a[::-1, None, ..., 2],
    "choice": lambda a: np.where((a > 0.1) & ~np.isnan(a), np.tanh(a), np.clip(a, -0.5, 0)),
    "weights": lambda a: a * np.array([1, 2, 3, 4, 5, 6, 7, 8], np.float32),
    "parts": lambda a: np.concatenate([a.T, np.stack([a[:, 0], a[:, 1]])], axis=0),
    "pads": lambda a: np.pad(a, ((1, 1), (0, 2)))[:, 1:].reshape(-1, 3).astype(np.float64),
    "outer": lambda a: np.outer(a[0], a[1]) + np.dot(a[0], a[1]),
    "places": lambda a: np.argmax(a, axis=1),
    "powers": lambda a: np.power(np.abs(a) + 1, 1.5) ** 2 // 3 + np.log2(np.square(a) + 1),
}


class ReferenceTest(PackageTest):
    def test_a_reference_becomes_a_workload_of_the_same_shape_and_type(self):
        a = np.random.default_rng(2).standard_normal((6, 8)).astype(np.float32)
        for name, reference in REFERENCES.items():
            with self.subTest(name):
                wanted = reference(a)
                outputs, _ = _traced.trace(reference, [a])
                text, inputs = _nodes.workload_of(outputs, 1e-4)
                self.assertEqual(outputs[0].shape, wanted.shape)
                self.assertEqual(outputs[0].dtype, wanted.dtype)
                self.assertEqual(len(inputs), 1)
                # The programs read it.
                path = pathlib.Path(place.SCRATCH, name + ".workload")
                path.write_text(text)
                log = pathlib.Path(place.SCRATCH, "none.db")
                said = subprocess.run(
                    [place.BIN / "mlc-log", "best", log, path], capture_output=True, text=True
                ).stderr
                self.assertIn("none.db", said)  # the log is not there, which comes later
                self.assertNotIn(str(path), said)

    def test_what_has_no_form_as_a_workload_is_refused(self):
        a = np.ones((4, 4), np.float32)

        def assigns(a):
            made = np.zeros((4, 4), np.float32)
            made[0] = a[0]
            return made

        for reference, text in (
            (assigns, "needs the values of an array"),
            (lambda a: a if a.sum() > 0 else -a, "use np.where"),
            (lambda a: np.sort(a), "calls np.sort"),
            (lambda a: np.arctan(a), "calls np.arctan"),
            (lambda a: a @ a[:2], "multiplies matrices"),
            (lambda a: a * np.arange(400.0).reshape(100, 4), "400 numbers of its own|broadcast"),
            (lambda a: float(a[0, 0]), "makes a number of an array"),
            (lambda a: 3, "not made of its arrays"),
            (lambda a: a[7], "the index 7"),
            (lambda a: np.add(a, a, out=a), "with out"),
        ):
            with self.subTest(text), self.assertRaisesRegex(mlc_tune.UsageError, text):
                _traced.trace(reference, [a])


if __name__ == "__main__":
    unittest.main(argv=place.UNITTEST_ARGUMENTS)
