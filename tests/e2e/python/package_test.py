#!/usr/bin/env python3
"""The package as a whole: its reference page, its types, and the code of its how-to.

package_test.py BIN_FOLDER SOURCE_FOLDER
"""

import ast
import contextlib
import importlib
import importlib.util
import io
import os
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import place
from small_models import product

import mlc_tune
import mlc_tune.onnxruntime as ort

sys.path.insert(0, str(place.SOURCE / "cmake"))
import python_page

PAGE = place.SOURCE / "docs/reference/python.md"
HOW_TO = place.SOURCE / "docs/how-to/use-from-python.md"
# Sections whose code runs here, in this order; the others need a server, a GPU or a shell.
RUN = (
    "Compile and run",
    "Tune",
    "Read a log",
    "Use it in place of ONNX Runtime",
    "Make calls cheap",
    "Errors",
)


def blocks_of(section):
    """The code blocks of a section of the how-to."""
    text = HOW_TO.read_text().partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return [
        re.sub(r"^    ", "", block, flags=re.M)
        for block in re.findall(r"(?:^(?:    .*)?\n)+", text, re.M)
        if block.strip()
    ]


class PackageTest(unittest.TestCase):
    def test_the_reference_is_that_of_the_package(self):
        again = python_page.write(place.SOURCE)
        self.assertEqual(PAGE.read_text(), again, "python3 cmake/python_page.py . writes it")

    def test_every_public_name_is_in_the_reference(self):
        page = PAGE.read_text()
        self.assertEqual(sorted(mlc_tune.__all__), sorted(set(mlc_tune.__all__)))
        for module in (mlc_tune, ort):
            for name in module.__all__:
                self.assertTrue(hasattr(module, name), name)
                listed = f"\n### {name}\n" in page or f"\n| `{name}` |" in page
                self.assertTrue(listed, f"{name} is not listed")
                self.assertTrue(getattr(module, name).__doc__, f"{name} says nothing")
        for framework in python_page.FRAMEWORKS:
            for name in importlib.import_module(f"mlc_tune.{framework}").__all__:
                self.assertIn(f"\n### mlc_tune.{framework}.{name}\n", page)
        shown = {name for name in vars(mlc_tune) if not name.startswith("_")}
        others = {"annotations", "onnxruntime", *python_page.FRAMEWORKS}
        self.assertEqual(shown - set(mlc_tune.__all__) - others, set())

    def test_every_function_has_types(self):
        for path in (place.PACKAGE / "mlc_tune").glob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(), feature_version=(3, 9))):
                if not isinstance(node, ast.FunctionDef):
                    continue
                given = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
                untyped = [a.arg for a in given if a.annotation is None and a.arg != "self"]
                self.assertEqual(untyped, [], f"{path.name}: {node.name}")
                self.assertIsNotNone(node.returns, f"{path.name}: {node.name}")
        self.assertTrue((place.PACKAGE / "mlc_tune/py.typed").exists())

    def test_types_are_consistent(self):
        if importlib.util.find_spec("mypy") is None:
            self.skipTest("mypy is not installed")
        command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml"]
        command += ["--cache-dir", os.devnull, "mlc_tune"]
        said = subprocess.run(command, cwd=place.PACKAGE, capture_output=True, text=True)
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)

    def test_the_code_of_the_how_to_runs(self):
        run, names = 0, {}
        before = os.getcwd()
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.dict(sys.modules, pandas=mock.Mock()),
        ):
            try:
                os.chdir(folder)
                with open("model.onnx", "wb") as file:
                    file.write(product().SerializeToString())
                for section in RUN:
                    for block in blocks_of(section):
                        if "lab" in block:
                            continue
                        with self.subTest(section=section):
                            with contextlib.redirect_stdout(io.StringIO()):
                                exec(compile(block, section, "exec"), names)
                            run += 1
            finally:
                os.chdir(before)
        self.assertGreaterEqual(run, len(RUN))
        self.assertEqual(names["outputs"][0].shape, (2, 3))


if __name__ == "__main__":
    unittest.main(argv=place.UNITTEST_ARGUMENTS)
