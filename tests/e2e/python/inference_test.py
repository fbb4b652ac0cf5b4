#!/usr/bin/env python3
"""InferenceSession: parity with ONNX Runtime's interface, and the cache of compiled models.

inference_test.py BIN_FOLDER SOURCE_FOLDER
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import place
from small_models import (
    WEIGHTS,
    PackageTest,
    expected_product,
    np,
    product,
    two_by_two,
    unsupported,
)

import mlc_tune
import mlc_tune.onnxruntime as ort
from mlc_tune import _cache, _inference

RNG = np.random.default_rng(11)
ONE_THREAD = ort.SessionOptions()
ONE_THREAD.intra_op_num_threads = 1

# Opens the model of argv[1] and prints how often the compiler ran, and an output.
CHILD = """
import sys, warnings
warnings.simplefilter("error")
import numpy as np
from mlc_tune import _inference
ran = []
compile = _inference.run_compile
_inference.run_compile = lambda *a: (ran.append(1), compile(*a))[1]
session = _inference.InferenceSession(sys.argv[1])
y = session.run(None, {"x": np.ones((2, 4), np.float32)})[0]
print(len(ran), *y[0])
"""


class InferenceTest(PackageTest):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="mlc-inference-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.environ["XDG_CACHE_HOME"] = self.folder + "/cache"
        self.path = self.folder + "/model.onnx"
        pathlib.Path(self.path).write_bytes(product().SerializeToString())
        self.x = RNG.standard_normal((2, 4), np.float32)

    def entries(self):
        return _cache.entries()

    def test_run_takes_names_and_gives_lists(self):
        session = ort.InferenceSession(two_by_two(), ONE_THREAD)
        a, b = RNG.standard_normal((2, 6), np.float32)
        both = session.run(None, {"a": a, "b": b})
        self.assertIsInstance(both, list)
        self.assert_close(both[0], a + b)
        self.assert_close(both[1], a - b)
        (one,) = session.run(["difference.1"], {"b": b, "a": a}, ort.RunOptions())
        self.assert_close(one, a - b)
        swapped = session.run(["difference.1", "sum"], {"a": a, "b": b})
        self.assert_close(swapped[1], a + b)
        for names, feed, text in (
            (["nothing"], {"a": a, "b": b}, "no output 'nothing'; its outputs: sum, difference.1"),
            (None, {"a": a}, "input 'b' is missing"),
            (None, {"a": a, "b": b, "c": b}, "no input 'c'"),
            (None, {"a": a, "b": b.astype(np.float64)}, "float64"),
        ):
            with self.subTest(text=text), self.assertRaisesRegex(mlc_tune.InputError, text):
                session.run(names, feed)

    def test_a_session_describes_its_model(self):
        session = ort.InferenceSession(self.path, providers=["CPUExecutionProvider"])
        (given,), (result,) = session.get_inputs(), session.get_outputs()
        self.assertEqual(given, ("x", [2, 4], "tensor(float)"))
        self.assertEqual((result.name, result.shape, result.type), ("y", [2, 3], "tensor(float)"))
        self.assertEqual(session.get_providers(), ["CPUExecutionProvider"])
        self.assertEqual(session.get_modelmeta().producer_name, "small_models")
        self.assertEqual(session.get_modelmeta().graph_name, "small")
        self.assertEqual(session.get_overridable_initializers(), [])

    def test_models_are_paths_bytes_and_messages(self):
        for model in (self.path, pathlib.Path(self.path), product(), product().SerializeToString()):
            session = ort.InferenceSession(model, ONE_THREAD)
            self.assert_close(session.run(None, {"x": self.x})[0], expected_product(self.x))
        self.assertEqual(len(self.entries()), 1, "equal bytes are one library")

    def test_symbolic_sizes_come_from_the_inputs(self):
        session = ort.InferenceSession(product(rows="batch"), ONE_THREAD)
        self.assertEqual(session.get_inputs()[0].shape, ["batch", 4])
        for rows in (1, 3, 1):
            x = RNG.standard_normal((rows, 4), np.float32)
            self.assert_close(session.run(None, {"x": x})[0], expected_product(x))
        self.assertEqual(len(self.entries()), 2)
        with self.assertRaisesRegex(mlc_tune.InputError, "dimensions"):
            session.run(None, {"x": self.x[0]})
        options = ort.SessionOptions()
        options.add_free_dimension_override_by_name("batch", 2)
        fixed = ort.InferenceSession(product(rows="batch"), options)
        self.assertEqual(fixed.get_outputs()[0].shape, [2, 3])
        self.assert_close(fixed.run(None, {"x": self.x})[0], expected_product(self.x))

    def test_options_without_effect_are_accepted(self):
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.execution_mode = ort.ExecutionMode.ORT_PARALLEL
        options.inter_op_num_threads = 2
        options.add_session_config_entry("session.load_model_format", "ONNX")
        session = ort.InferenceSession(self.path, sess_options=options)
        self.assertIs(session.get_session_options(), options)
        self.assert_close(session.run(None, {"x": self.x})[0], expected_product(self.x))
        with self.assertRaises(mlc_tune.UsageError):
            options.register_custom_ops_library("ops.so")

    def test_providers_choose_the_target(self):
        with self.assertRaisesRegex(mlc_tune.UsageError, "OtherProvider"):
            ort.InferenceSession(self.path, providers=["OtherProvider"])
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            ort.InferenceSession(self.path, providers=["OtherProvider", "CPUExecutionProvider"])
        self.assertIn("OtherProvider", str(said[0].message))
        if ort.get_device() == "GPU":
            self.skipTest("this machine has a driver")
        with self.assertRaises(mlc_tune.UnavailableError):
            ort.InferenceSession(self.path, providers=[("CUDAExecutionProvider", {"device_id": 0})])
        with self.assertWarnsRegex(UserWarning, "CUDAExecutionProvider is not available"):
            session = ort.InferenceSession(
                self.path, providers=["CUDAExecutionProvider", "CPUExecutionProvider"]
            )
        self.assertEqual(session.get_providers(), ["CPUExecutionProvider"])

    def test_buffers_are_bound(self):
        session = ort.InferenceSession(self.path, ONE_THREAD)
        binding = session.io_binding()
        binding.bind_cpu_input("x", self.x)
        binding.bind_output("y")
        session.run_with_iobinding(binding)
        self.assert_close(binding.copy_outputs_to_cpu()[0], expected_product(self.x))
        self.assert_close(binding.get_outputs()[0].numpy(), expected_product(self.x))

        result = ort.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32)
        other = ort.OrtValue.ortvalue_from_numpy(2 * self.x)
        binding.clear_binding_inputs()
        binding.clear_binding_outputs()
        binding.bind_input("x", "cpu", 0, np.float32, other.shape(), other.data_ptr())
        binding.bind_output("y", "cpu", 0, np.float32, result.shape(), result.data_ptr())
        session.run_with_iobinding(binding)
        self.assert_close(result.numpy(), expected_product(2 * self.x))
        binding.bind_ortvalue_input("x", ort.OrtValue.ortvalue_from_numpy(self.x))
        binding.bind_ortvalue_output("y", result)
        session.run_with_iobinding(binding)
        self.assert_close(result.numpy(), expected_product(self.x))
        binding.bind_output("z")
        with self.assertRaisesRegex(mlc_tune.InputError, "no output 'z'"):
            session.run_with_iobinding(binding)
        with self.assertRaises(mlc_tune.UsageError):
            binding.bind_output("y", "cuda")

    def test_bad_models_are_refused(self):
        whole = product().SerializeToString()
        cases = (
            b"",
            b"words",
            whole[:40],
            b"\x3a\xff\xff\xff\xff\x0f",
            b"\xff" * 20,
            unsupported(),
        )
        for model in cases:
            with self.subTest(model=str(model)[:30]), self.assertRaises(mlc_tune.DataError):
                ort.InferenceSession(model, ONE_THREAD)
        with self.assertRaisesRegex(mlc_tune.DataError, "No such file"):
            ort.InferenceSession(self.folder + "/none.onnx")
        with self.assertRaises(mlc_tune.UsageError):
            ort.InferenceSession(7)
        self.assertEqual(self.entries(), [], "nothing of them stays")

    def child(self, *more, **environment):
        return subprocess.Popen(
            [sys.executable, "-B", "-c", CHILD, self.path, *more],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )

    def test_processes_at_the_same_time_compile_a_model_once(self):
        children = [self.child() for _ in range(5)]
        said = [child.communicate() for child in children]
        self.assertEqual([child.returncode for child in children], [0] * 5, said)
        compilations = [int(out.split()[0]) for out, _ in said]
        self.assertEqual(sum(compilations), 1)
        self.assertEqual(len({out.split(maxsplit=1)[1] for out, _ in said}), 1)
        left = os.listdir(self.folder + "/cache/mlc-tune/libraries")
        self.assertEqual([name for name in left if name.startswith(".")], [])

    def test_another_model_option_or_weight_is_another_library(self):
        two = ort.SessionOptions()
        two.intra_op_num_threads = 2
        ort.InferenceSession(self.path, ONE_THREAD)
        ort.InferenceSession(self.path, ONE_THREAD)
        self.assertEqual(len(self.entries()), 1)
        ort.InferenceSession(self.path, two)
        self.assertEqual(len(self.entries()), 2)
        ort.InferenceSession(self.path, ONE_THREAD, tolerance=0.01)
        self.assertEqual(len(self.entries()), 3)

        outside = product()
        weight = outside.graph.initializer[0]
        weight.ClearField("raw_data")
        weight.data_location = 1
        entry = weight.external_data.add()
        entry.key, entry.value = "location", "weights.bin"
        pathlib.Path(self.path).write_bytes(outside.SerializeToString())
        for factor in (1, 2):
            pathlib.Path(self.folder, "weights.bin").write_bytes((factor * WEIGHTS).tobytes())
            session = ort.InferenceSession(self.path, ONE_THREAD)
            wanted = factor * expected_product(self.x)
            self.assert_close(session.run(None, {"x": self.x})[0], wanted)
        self.assertEqual(len(self.entries()), 5)

    def test_a_log_counts_with_its_content(self):
        log = self.folder + "/tuning.db"
        tune = {"trials": 2, "log": log, "target": "cpu", "threads": 1, "progress": False}
        mlc_tune.tune(self.path, **tune)
        for _ in range(3):
            ort.InferenceSession(self.path, ONE_THREAD, log=log)
        self.assertEqual(len(self.entries()), 1)
        with mock.patch.dict(os.environ, MLC_LOG=log):
            for _ in range(2):
                ort.InferenceSession(self.path, ONE_THREAD)
            self.assertEqual(len(self.entries()), 2)
            mlc_tune.tune(two_by_two(), **tune)
            ort.InferenceSession(self.path, ONE_THREAD)
            self.assertEqual(len(self.entries()), 3)

    def test_a_model_file_that_changes_is_seen(self):
        file = pathlib.Path(self.path)
        whole = product(rows="batch").SerializeToString()
        file.write_bytes(whole)
        session = ort.InferenceSession(self.path, ONE_THREAD)
        self.assert_close(session.run(None, {"x": self.x})[0], expected_product(self.x))
        file.write_bytes(whole[:20])
        self.assert_close(session.run(None, {"x": self.x})[0], expected_product(self.x))
        with self.assertRaises(mlc_tune.DataError):
            session.run(None, {"x": self.x[:1]})

        compile_model = _inference.run_compile

        def overtaken(model, *arguments):
            compile_model(model, *arguments)
            file.write_bytes(two_by_two().SerializeToString())

        file.write_bytes(product(rows=3).SerializeToString())
        with mock.patch.object(_inference, "run_compile", overtaken):
            with self.assertRaisesRegex(mlc_tune.DataError, "changed while it was compiled"):
                ort.InferenceSession(self.path, ONE_THREAD)

    def test_a_damaged_library_is_compiled_again(self):
        ort.InferenceSession(self.path, ONE_THREAD)
        (entry,) = self.entries()
        library = entry / "libmodel.so"
        library.write_bytes(library.read_bytes()[:1000])
        session = ort.InferenceSession(self.path, ONE_THREAD)
        self.assert_close(session.run(None, {"x": self.x})[0], expected_product(self.x))
        self.assertGreater(library.stat().st_size, 1000)

    def test_a_server_counts_by_the_kernels_that_it_has(self):
        def key(options, kernels):
            return _cache.key(b"model", self.folder, set(), options, "", kernels)

        def without_a_server():
            self.fail("nothing is asked")

        alone = key(["--target=cpu"], without_a_server)
        keys = [key(["--server=lab:1"], lambda text=text: text) for text in ("a", "b", "a")]
        self.assertEqual(keys[0], keys[2])
        self.assertEqual(len({alone, *keys}), 3)
        with mock.patch.dict(os.environ, MLC_SERVER="lab:1"):
            self.assertNotEqual(key([], lambda: "a"), key([], lambda: "b"))

    def assert_works_without_cache(self, text):
        with self.assertWarnsRegex(mlc_tune.CacheWarning, text):
            session = ort.InferenceSession(self.path, ONE_THREAD)
        self.assert_close(session.run(None, {"x": self.x})[0], expected_product(self.x))

    def test_a_cache_that_cannot_be_used_is_said_and_passed_over(self):
        blocked = pathlib.Path(self.folder, "file")
        blocked.write_text("")
        os.environ["XDG_CACHE_HOME"] = str(blocked)
        self.assert_works_without_cache("Not a directory")
        shared = pathlib.Path(self.folder, "shared/mlc-tune/libraries")
        shared.mkdir(parents=True)
        shared.chmod(0o777)
        os.environ["XDG_CACHE_HOME"] = self.folder + "/shared"
        self.assert_works_without_cache("other users can write")
        self.assertEqual(list(shared.iterdir()), [])
        if os.path.exists("/dev/full"):
            os.environ["XDG_CACHE_HOME"] = "/dev/full"
            self.assert_works_without_cache("cannot make the folder")

    def test_a_cache_on_a_full_disk_is_passed_over(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a small file system")
        small = self.folder + "/small"
        os.mkdir(small)
        script = (
            f"mount -t tmpfs -o size=16k tmpfs {small} && exec {sys.executable} -B -W always -c "
            '"$CHILD" "$MODEL"'
        )
        child = CHILD.replace('warnings.simplefilter("error")', "")
        found = subprocess.run(
            ["unshare", "--mount", "sh", "-c", script],
            capture_output=True,
            text=True,
            env={**os.environ, "XDG_CACHE_HOME": small, "CHILD": child, "MODEL": self.path},
        )
        if found.returncode != 0 and "unshare" in found.stderr or "mount:" in found.stderr:
            self.skipTest(f"no mount name space: {found.stderr.strip()}")
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertIn("CacheWarning", found.stderr)
        self.assertEqual(len(found.stdout.split()), 4)


if __name__ == "__main__":
    unittest.main(argv=place.UNITTEST_ARGUMENTS)
