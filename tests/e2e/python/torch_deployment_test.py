#!/usr/bin/env python3
"""The backend of torch.compile around its values: options, processes, deployment, tuning.

  torch_deployment_test.py BIN_FOLDER SOURCE_FOLDER

Any interpreter with torch, onnx and onnxscript runs it.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import zipfile
from unittest import mock

import place
# First: it ends the test where torch is missing.
from torch_support import Attention, Perceptron, TorchTest, eager_warnings, library_runs

import torch
from torch import nn

import mlc_tune
import mlc_tune.torch
from mlc_tune import _programs
from mlc_tune.torch import _background


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

    def test_a_graph_of_sizes_that_vary_gets_what_tuning_found(self):
        model, x = Perceptron(24).eval(), torch.randn(16, 4)
        compiled = torch.compile(model, backend="mlc", options={"threads": 1})
        with torch.no_grad(), library_runs() as runs:
            for size in (16, 9, 9):  # from the second size on, sizes are arguments of the graph
                compiled(x[:size])
            before = runs[-1].library
            mlc_tune.torch.tune(
                compiled,
                (x[:9],),
                trials=4,
                log=place.SCRATCH + "/sizes.db",
                threads=1,
                progress=False,
            )
            self.assert_same(compiled(x[:9]), model(x[:9]))
            self.assertIsNot(runs[-1].library, before)

    def test_jobs_of_a_server_give_libraries_while_the_model_runs(self):
        address, target = self.start_lab()
        model, x = Perceptron(40).eval(), torch.randn(16, 4)
        options = {"threads": 1, "server": address, "target": target}
        compiled = torch.compile(model, backend="mlc", options=options)
        with torch.no_grad(), library_runs() as runs, mock.patch.object(_background, "_PAUSE", 0.1):
            for _ in range(2):
                compiled(x)
            before = runs[-1].library
            tuning = mlc_tune.torch.submit(compiled, (x,), trials=4, **options)
            self.assert_same(compiled(x), model(x))
            (result,) = tuning.wait(timeout=120)
            self.assertEqual((result.state, result.job), ("done", tuning.jobs[0].id))
            self.assertTrue(tuning.done())
            self.assert_same(compiled(x), model(x))
            self.assertIsNot(runs[-1].library, before)
            tuned = runs[-1].library.path
            # A later process asks the same server, and gets what is now its best.
            torch.compiler.reset()
            again = torch.compile(model, backend="mlc", options=options)
            for _ in range(2):
                self.assert_same(again(x), model(x))
            self.assertEqual(runs[-1].library.path, tuned)

            endless = mlc_tune.torch.submit(Perceptron(48).eval(), (x,), trials=10**6, **options)
            with self.assertRaises(TimeoutError):
                endless.wait(timeout=0.01)
            endless.cancel()
            with self.assertRaises(mlc_tune.CancelledError):
                endless.wait(timeout=120)

    def start_lab(self):
        """A server with a worker: its address, and the target."""
        folder = tempfile.mkdtemp(dir=place.SCRATCH)
        address = f"unix:{folder}/socket"
        words = self.enterContext(open(folder + "/words", "w"))
        server = [place.BIN / "mlc-server", "--log", folder + "/server.db", "--listen", address]
        worker = [place.BIN / "mlc-worker", "--server", address, "--state", folder + "/state"]
        os.mkdir(folder + "/state")
        for program in (server, [*worker, "--threads", "1", "--builders", "1"]):
            process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=words, text=True)
            self.addCleanup(process.communicate)
            self.addCleanup(process.terminate)
            if program == server:
                self.assertIn("listening", process.stdout.readline())
        ask = ["workers", f"--server={address}", "--json"]
        while not _programs.run_json("mlc-tune", ask)["workers"]:
            self.assertIsNone(process.poll())
        return address, "cpu"

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
