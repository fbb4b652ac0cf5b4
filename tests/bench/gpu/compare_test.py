"""Tests of compare.py.

  compare_test.py BIN_FOLDER SOURCE_FOLDER

The chain from a network's name to a row runs on the CPU, where torch, torchvision, transformers, onnx and onnxscript are installed.
"""
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
BIN, SOURCE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
HERE = SOURCE / "tests/bench/gpu"
sys.path.insert(0, str(HERE))

import cases  # noqa: E402
import compare  # noqa: E402
import places  # noqa: E402
import steps  # noqa: E402

NEEDED = ("torch", "torchvision", "transformers", "onnx", "onnxscript")
BERT = "bert@hidden_size=32,num_attention_heads=2,num_hidden_layers=1,intermediate_size=64,vocab_size=100:2:fp32:8"
FAKE_RUN = """#!/bin/sh
echo '{"latency_ms": {"median": 0.5}, "profile": [{"label": "k", "median_us": 2, "calls": 1}]}'
"""


def run(*arguments, limit_s=300):
    return subprocess.run([sys.executable, "-B", HERE / "compare.py", *map(str, arguments)], capture_output=True, text=True,
                          timeout=limit_s, check=False)


def written(folder, name, text):
    path = pathlib.Path(folder, name)
    path.write_text(text)
    path.chmod(0o755)


class Cases(unittest.TestCase):
    def test_all_parts(self):
        case = cases.parse("llama@num_hidden_layers=1,rope_theta=1e4,tie_word_embeddings=false:2:bf16:1024")
        self.assertEqual((case.name, case.batch, case.precision, case.length), ("llama", 2, "bf16", 1024))
        self.assertEqual(case.fields, {"num_hidden_layers": 1, "rope_theta": 1e4, "tie_word_embeddings": False})

    def test_folders_of_libraries(self):
        self.assertEqual(cases.parse("resnet50:1:fp16").folder, "resnet50_1_fp16")
        self.assertEqual(cases.parse("gpt2:1:fp16:1024").folder, "gpt2_1_fp16_1024")

    def test_refusals_name_the_part(self):
        for text, part in (("resnet50", "NAME:BATCH:PRECISION"), ("a:1:fp16:2:3", "NAME:BATCH:PRECISION"), ("a:0:fp16", "batch '0'"),
                           ("a:x:fp16", "batch 'x'"), ("a:1:fp8", "'fp8'"), ("a:1:fp16:-3", "length '-3'"), (":1:fp16", "no name"),
                           ("a@b:1:fp16", "NAME=VALUE")):
            with self.assertRaises(ValueError, msg=text) as refused:
                cases.parse(text)
            self.assertIn(part, str(refused.exception))

    def test_the_program_refuses_as_well(self):
        done = run("--cases", "resnet50:1")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("NAME:BATCH:PRECISION", done.stderr)


class Places(unittest.TestCase):
    def test_gpus_share_the_cpus(self):
        found = places.all_places("cuda", ["0", "1"])
        self.assertEqual([place.environment["CUDA_VISIBLE_DEVICES"] for place in found], ["0", "1"])
        for place in found:
            self.assertGreater(place.cpu_count, 0)
        if len(places.os.sched_getaffinity(0)) > 1:
            self.assertFalse(found[0].cpus & found[1].cpus)


class Steps(unittest.TestCase):
    def test_a_step_ends_in_time_with_its_children(self):
        with self.assertRaises(steps.Failed) as failed:
            steps.output_of(["sh", "-c", "sleep 100 & sleep 100"], 1)
        self.assertEqual(failed.exception.cell, "did not end in 1 s")

    def test_the_last_word_of_a_failure(self):
        with self.assertRaisesRegex(steps.Failed, "sh ended with 3: why"):
            steps.output_of(["sh", "-c", "echo first >&2; echo why >&2; exit 3"], 10)


class Rows(unittest.TestCase):
    def row_of(self, samples, left_out, difference):
        args = type("Args", (), {"kinds": ["graph", "compile"], "work": None})
        made = compare.Run(cases.parse("a:1:fp16:64"), None, args, None)
        made.samples, made.left_out, made.difference = samples, left_out, difference
        return made.row(), made.passed

    def test_the_quotient_is_to_the_best(self):
        row = self.row_of({"mlc": [1.0, 3.0, 2.0], "graph": [4.0], "compile": [5.0]}, {}, {"mlc": 1e-3})
        self.assertEqual(row, ("| a | 1 | fp16 | 64 | 2.000 | 4.000 | 5.000 | 0.50 | 1.0e-03 |", True))

    def test_what_was_left_out_says_so(self):
        row = self.row_of({"mlc": [1.0]}, {"graph": "-", "compile": "did not end in 9 s"}, {"mlc": 1e-3})
        self.assertEqual(row, ("| a | 1 | fp16 | 64 | 1.000 | - | did not end in 9 s | - | 1.0e-03 |", True))

    def test_a_wrong_result_does_not_pass(self):
        row, passed = self.row_of({"mlc": [1.0], "graph": [2.0], "compile": [4.0]}, {}, {"mlc": 0.5})
        self.assertFalse(passed)
        self.assertIn("**5.0e-01**", row)


class Programs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.json = f"{self.folder}/found.json"

    def found(self):
        return json.loads(pathlib.Path(self.json).read_text())

    def test_libraries_that_are_there(self):
        written(self.folder, "mlc-run", FAKE_RUN)
        pathlib.Path(self.folder, "a_1_fp16").mkdir()
        done = run("--bin", self.folder, "--libraries", self.folder, "--cases", "a:1:fp16", "b:1:fp16", "--kinds", "--rounds", 2,
                   "--device", "cpu", "--profile", "--json", self.json)
        self.assertIn("| a | 1 | fp16 |  | 0.500 | - | - |", done.stdout)
        self.assertIn("there is no", done.stderr)
        self.assertEqual(done.returncode, 1)  # b
        self.assertEqual(self.found()["cases"]["a:1:fp16"]["samples_ms"], {"mlc": [0.5, 0.5]})
        self.assertEqual(self.found()["cases"]["a:1:fp16"]["profile"]["mlc"][0]["label"], "k")

    def test_the_whole_chain(self):
        missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
        if missing:
            self.skipTest(f"{', '.join(missing)} missing")
        vision = "resnet18:1:fp32:32"
        done = run("--bin", BIN, "--work", f"{self.folder}/work", "--cases", vision, BERT, "--kinds", "graph", "--trials", 2,
                   "--device", "cpu", "--rounds", 1, "--seconds", 0.1, "--profile", "--json", self.json)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        for case in (vision, BERT):
            found = self.found()["cases"][case]
            self.assertLess(found["difference"]["mlc"], 1e-4)
            self.assertLess(found["difference"]["graph"], 1e-4)  # the same weights and data in another process
            self.assertGreater(found["difference"]["mlc"], 0)
            self.assertGreater(len(found["profile"]["mlc"]), 0)
            self.assertEqual(set(found["samples_ms"]), {"mlc", "graph"})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
