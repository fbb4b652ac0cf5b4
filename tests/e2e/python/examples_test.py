#!/usr/bin/env python3
"""The programs, the notebook and the Triton model of docs/examples run as their page says.

  examples_test.py BIN_FOLDER SOURCE_FOLDER

Examples whose packages are missing are skipped, each with the name of the package.
"""

import contextlib
import importlib.util
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

import place
from small_models import expected_product, product

import mlc_tune
import numpy as np

EXAMPLES = place.SOURCE / "docs/examples"


def needs(*packages):
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    return unittest.skipIf(missing, f"not installed: {', '.join(missing)}")


def load(path, **modules):
    """An example as a module, with stand-ins for modules that a server would give it."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    with mock.patch.dict(sys.modules, modules):
        spec.loader.exec_module(module)
    return module


class ExamplesTest(unittest.TestCase):
    def setUp(self):
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        folder = tempfile.TemporaryDirectory(dir=place.SCRATCH)
        self.addCleanup(folder.cleanup)
        os.chdir(folder.name)
        self.folder = pathlib.Path(folder.name)
        self.x = np.arange(8, dtype=np.float32).reshape(2, 4)
        (self.folder / "model.onnx").write_bytes(product().SerializeToString())

    def run_example(self, name, *arguments):
        command = [sys.executable, str(EXAMPLES / name), *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_an_onnx_model_is_deployed(self):
        said = self.run_example("deploy_onnx.py", "model.onnx", "out", "5")
        self.assertIn("y: f32[2,3]: the mean is", said)
        y = mlc_tune.load("out")(self.x)["y"]
        np.testing.assert_allclose(y, expected_product(self.x), rtol=1e-5)

    @unittest.skipUnless(shutil.which("cc"), "no C compiler here")
    def test_a_kernel_is_tuned_and_called(self):
        said = self.run_example("tune_kernel.py", "6", "tuning.db")
        self.assertRegex(said, r"ms -> \d+\.\d+ ms with {'rows': \d+, 'lanes': \d+, 'columns': 1024}")
        self.assertIn("a row sums to 1.0000", said)

    @needs("torch", "torchvision", "onnx", "onnxscript")
    def test_a_model_of_torchvision_is_deployed(self):
        said = self.run_example("deploy_torchvision.py", "squeezenet1_1", "out", "64")
        self.assertIn("out holds", said)
        self.assertEqual(mlc_tune.load("out").outputs[0].shape, (1, 1000))

    def test_the_benchmark_prints_its_table(self):
        arguments = ("--seconds", "0.01", "--rounds", "2", "--json", "figures.json")
        said = self.run_example("benchmark.py", "model.onnx", *arguments)
        self.assertRegex(said, r"mlc-tune +\d")
        rows = json.loads((self.folder / "figures.json").read_text())["engines"]
        installed = importlib.util.find_spec("onnxruntime") is not None
        self.assertEqual(sorted(rows), ["ONNX Runtime"] * installed + ["mlc-tune"])
        self.assertLess(rows["mlc-tune"]["difference"], 1e-5)

    def test_the_benchmark_refuses_symbolic_sizes(self):
        (self.folder / "open.onnx").write_bytes(product(rows="batch").SerializeToString())
        command = [sys.executable, str(EXAMPLES / "benchmark.py"), "open.onnx"]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("input x has symbolic sizes", done.stderr)

    def test_the_cells_of_the_notebook_run(self):
        notebook = json.loads((EXAMPLES / "first_steps.ipynb").read_text())
        self.assertEqual(notebook["nbformat"], 4)
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        self.assertEqual([cell["outputs"] for cell in cells], [[]] * len(cells))
        names = {}
        for cell in cells:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                exec(compile("".join(cell["source"]), "cell", "exec"), names)
        self.assertEqual(names["deployed"].outputs[0].shape, (32, 64))

    @needs("fastapi", "httpx")
    def test_a_model_is_served_by_fastapi(self):
        from fastapi.testclient import TestClient

        mlc_tune.compile("model.onnx", output="out")
        client = TestClient(load(EXAMPLES / "serve_fastapi.py").application("out"))
        self.assertEqual(client.get("/model").json()["inputs"], {"x": ["f32", 2, 4]})
        answer = client.post("/infer", json={"inputs": {"x": self.x.tolist()}})
        self.assertEqual(answer.status_code, 200, answer.text)
        np.testing.assert_allclose(
            answer.json()["outputs"]["y"], expected_product(self.x), rtol=1e-5
        )
        for inputs, text in (
            ({"x": [[1, 2]]}, r"x.*f32\[2,4\]"),
            ({"z": [1]}, "no input 'z'"),
            ({"x": [[1], [1, 2]]}, "inhomogeneous"),
            ({"x": "word"}, "could not convert"),
            ({}, "0 are given|'x' is missing"),
        ):
            refused = client.post("/infer", json={"inputs": inputs})
            self.assertEqual(refused.status_code, 422, refused.text)
            self.assertRegex(refused.json()["detail"], text)

    def test_a_model_is_served_by_triton(self):
        # What Triton's Python backend gives a model, as far as this one uses it.
        utils = types.ModuleType("triton_python_backend_utils")
        utils.get_input_tensor_by_name = lambda request, name: request.get(name)
        utils.TritonError = Exception
        utils.Tensor = lambda name, array: (name, array)
        utils.InferenceResponse = lambda output_tensors, error=None: (output_tensors, error)
        module = load(
            EXAMPLES / "triton/classifier/1/model.py", triton_python_backend_utils=utils
        )
        mlc_tune.compile("model.onnx", output="1/library")
        model = module.TritonPythonModel()
        config = {"parameters": {"threads": {"string_value": "1"}}}
        about = {"model_repository": ".", "model_version": "1", "model_config": json.dumps(config)}
        model.initialize(about)
        good, bad = mock.Mock(), mock.Mock()
        good.as_numpy.return_value, bad.as_numpy.return_value = self.x, self.x[0]
        (tensors, none), (nothing, error) = model.execute([{"x": good}, {"x": bad}])
        model.finalize()
        self.assertIsNone(none)
        self.assertEqual(tensors[0][0], "y")
        np.testing.assert_allclose(tensors[0][1], expected_product(self.x), rtol=1e-5)
        self.assertEqual(nothing, [])
        self.assertIn("'x'", str(error))

    def test_the_page_names_every_example(self):
        named = set(re.findall(r"`docs/examples/([\w./]+?)/?`", (EXAMPLES / "README.md").read_text()))
        there = {path.name for path in EXAMPLES.iterdir()} - {"README.md", "__pycache__"}
        self.assertEqual({name.split("/")[0] for name in named}, there)


if __name__ == "__main__":
    unittest.main(argv=place.UNITTEST_ARGUMENTS)
