#!/usr/bin/env python3
"""Programs from Python: tuning with progress and Ctrl-C, jobs at a server, logs, errors.

programs_test.py BIN_FOLDER SOURCE_FOLDER
"""

import contextlib
import io
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import place
from small_models import PackageTest, expected_product, np, product, reshaped, unsupported

import mlc_tune
from mlc_tune import _programs, _progress

# Tunes argv[1] with argv[2] as log until Ctrl-C, which raises KeyboardInterrupt.
INTERRUPTED = """
import signal, sys, mlc_tune
signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it may be ignored
def said(event):
    if event["trials"] > 0:
        print("measures", flush=True)
try:
    mlc_tune.tune(sys.argv[1], trials=1000000, log=sys.argv[2], target="cpu", threads=1,
                  progress=said)
except KeyboardInterrupt:
    print("KeyboardInterrupt", flush=True)
"""


class ProgramsTest(PackageTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="mlc-programs-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.model = cls.folder + "/product.onnx"
        pathlib.Path(cls.model).write_bytes(product().SerializeToString())
        cls.log = cls.folder + "/tuning.db"
        cls.events = []
        cls.result = mlc_tune.tune(
            cls.model,
            trials=4,
            log=cls.log,
            target="cpu",
            threads=1,
            seed=1,
            label="a product",
            report=cls.folder + "/report.html",
            progress=cls.events.append,
        )

    def test_tuning_tells_its_progress_and_result(self):
        self.assertTrue(self.events)
        self.assertEqual({event["event"] for event in self.events}, {"progress"})
        result = self.result
        self.assertEqual((result.state, result.log), ("done", self.log))
        self.assertGreater(result.trials, 0)
        self.assertGreater(result.model_ms, 0)
        self.assertGreater(result.speedup, 0)
        self.assertIn("target v1 cpu", result.target)
        self.assertEqual(result.raw["schema"], "mlc.tune/1")
        self.assertTrue(os.path.getsize(self.folder + "/report.html"))

    def test_a_tuned_model_is_compiled_from_the_log(self):
        library = mlc_tune.compile(
            self.model, log=self.log, target="cpu", threads=1, require_tuned=True
        )
        x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
        self.assert_close(library(x)[0], expected_product(x))
        self.assertTrue(all(task["tuned"] for task in library.report["tasks"]))
        with self.assertRaisesRegex(mlc_tune.NoResultError, "no usable record"):
            mlc_tune.compile(product(rows=5), log=self.log, threads=1, require_tuned=True)

    def test_a_log_gives_records(self):
        log = mlc_tune.log(self.log)
        records = list(log)
        self.assertEqual(len(records), log.stats()["records"])
        self.assertEqual({record["outcome"] for record in records}, {"ok"})
        (workload,) = log.workloads()
        self.assertEqual(len(log.records(workload["workload"])), len(records))
        self.assertEqual(len(log.records(target=records[0]["target"])), len(records))
        best = min(record["median_ns"] for record in records)
        for found in (
            log.best(self.model),
            log.best(product()),
            log.best(workload=workload["workload"]),
            log.best(),
        ):
            self.assertEqual([record["median_ns"] for record in found], [best])
            self.assertIn("matmul", found[0]["summary"])
        uid = records[0]["task_uid"]
        self.assertEqual(log.show(uid)["config"], records[0]["config"])
        self.assertIn("median", log.explain(uid))
        self.assertEqual(log.stats()["jobs"][0]["label"], "a product")
        with self.assertRaises(mlc_tune.NoResultError):
            log.show(999)
        for record in log:  # an iteration may end early
            break

    def test_constants_are_no_inputs_of_the_library(self):
        x = np.linspace(-1, 1, 6, dtype=np.float32)
        file = self.folder + "/s=2.npy"
        np.save(file, np.array([2], np.float32))
        column = np.array([[3], [2]], ">i8").T[0]  # neither contiguous nor of this byte order
        for shape, s in (
            ([2, 3], 2),
            ("2,-1", [2.0]),
            (column, file),
            (range(3, 1, -1), np.float32([2])),
        ):
            with self.subTest(shape=shape, s=s):
                library = mlc_tune.compile(
                    reshaped(), constants={"shape": shape, "s": s}, target="cpu", threads=1
                )
                self.assertEqual([port.name for port in library.inputs], ["x"])
                rows = 2 if library.outputs[0].shape == (2, 3) else 3
                self.assert_close(library(x)[0], 2 * np.maximum(x, 0).reshape(rows, -1))
        self.assertEqual(library.outputs[0].shape, (3, 2))

    def test_tuning_and_logs_take_constants(self):
        same = {"constants": {"shape": [2, 3]}, "target": "cpu"}
        log = self.folder + "/constants.db"
        mlc_tune.tune(reshaped(), trials=2, log=log, threads=1, progress=False, **same)
        library = mlc_tune.compile(reshaped(), log=log, threads=1, require_tuned=True, **same)
        self.assertEqual([port.name for port in library.inputs], ["x", "s"])
        records = mlc_tune.log(log).best(reshaped(), constants={"shape": [2, 3]})
        self.assertEqual(len(records), len(library.report["tasks"]))
        with self.assertRaisesRegex(mlc_tune.DataError, "bind the input"):
            mlc_tune.log(log).best(reshaped())

    def test_wrong_constants_are_named(self):
        cases = (
            ({"shape": [2, 2.5]}, mlc_tune.DataError, "'2.5' is no number of type i64"),
            ({"shape": object()}, mlc_tune.UsageError, "give a number"),
            ({"shape": np.array(["a"])}, mlc_tune.UsageError, "an array of <U1"),
            ({"shape": range(100_000)}, mlc_tune.UsageError, "many numbers"),
            ({"shape": [1, 2, 3]}, mlc_tune.DataError, "its shape needs 2"),
            ({"shape": np.array([2, 3], np.int32)}, mlc_tune.DataError, "shape"),
            ({"axes": 1}, mlc_tune.DataError, "no such input, but x, shape, s"),
        )
        for constants, kind, text in cases:
            with self.subTest(text=text), self.assertRaises(kind) as caught:
                mlc_tune.compile(reshaped(), constants=constants, target="cpu")
            self.assertIn(text, str(caught.exception))

    def test_records_become_a_table_where_pandas_is(self):
        log = mlc_tune.log(self.log)
        frame = mock.Mock()
        with mock.patch.dict(sys.modules, pandas=frame):
            self.assertIs(log.to_pandas(), frame.DataFrame.return_value)
        self.assertEqual(frame.DataFrame.call_args.args[0], list(log))
        with mock.patch.dict(sys.modules, pandas=None):
            with self.assertRaisesRegex(mlc_tune.UnavailableError, "pip install pandas"):
                log.best(self.model).to_pandas()

    def test_every_failure_has_the_error_of_its_exit_code(self):
        absent = self.folder + "/none"
        pathlib.Path(self.folder, "words").write_text("words")
        cases = (
            (mlc_tune.DataError, lambda: mlc_tune.compile(absent), "No such file"),
            (mlc_tune.DataError, lambda: mlc_tune.compile(b"words"), "not a valid ONNX model"),
            (mlc_tune.DataError, lambda: mlc_tune.compile(unsupported()), "NoSuchOperator"),
            (mlc_tune.DataError, lambda: mlc_tune.tune(absent, trials=1), "No such file"),
            (mlc_tune.UsageError, lambda: mlc_tune.tune(self.model, trials=0), "--trials"),
            (mlc_tune.UsageError, lambda: mlc_tune.compile(7), "not a int"),
            (
                mlc_tune.UsageError,
                lambda: mlc_tune.compile(self.model, precision="fp4"),
                "--precision",
            ),
            (
                mlc_tune.UsageError,
                lambda: mlc_tune.compile(self.model, dims={"n": 2.5}),
                "whole number",
            ),
            (mlc_tune.DataError, lambda: mlc_tune.compile(self.model, dims={"n": 2}), "--dim n"),
            (
                mlc_tune.OutputError,
                lambda: mlc_tune.compile(self.model, output="/proc/none"),
                "cannot write",
            ),
            (mlc_tune.NoResultError, lambda: mlc_tune.log(absent), "no tuning log"),
            (mlc_tune.LogError, lambda: mlc_tune.log(self.folder + "/words"), "words"),
            (mlc_tune.UnavailableError, lambda: mlc_tune.jobs("unix:" + absent), "mlc-server"),
        )
        for kind, call, text in cases:
            with self.subTest(error=kind.__name__, text=text), self.assertRaises(kind) as caught:
                call()
            self.assertIs(type(caught.exception), kind)
            self.assertEqual(caught.exception.code, kind.code)
            self.assertIn(text, str(caught.exception))
            self.assertNotIn("target: cpu", str(caught.exception), "remarks are no errors")

    def test_every_documented_exit_code_has_an_error(self):
        page = (place.SOURCE / "docs/reference/exit-codes.md").read_text()
        rows = [line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| ")]
        codes = [int(row) for row in rows if row.isdigit() and row != "0"]
        self.assertGreater(len(codes), 8)
        for code in codes:
            error = _programs.failure_of("mlc-tune", code, f"remark\nmlc-tune: why {code}\nmore")
            self.assertIsNot(type(error), mlc_tune.Error, code)
            self.assertEqual((error.code, str(error)), (code, f"mlc-tune: why {code}\nmore"))
        killed = _programs.failure_of("mlc-tune", -9, "")
        self.assertIsInstance(killed, mlc_tune.InternalError)
        self.assertIn("signal 9", str(killed))

    def test_programs_are_found_by_variable_beside_the_package_and_on_the_path(self):
        empty = self.folder + "/empty"
        os.makedirs(empty, exist_ok=True)
        with mock.patch.dict(os.environ, MLC_BIN=empty):
            with self.assertRaisesRegex(mlc_tune.UnavailableError, "MLC_BIN"):
                mlc_tune.compile(self.model)
        with mock.patch.dict(os.environ, MLC_BIN="", PATH=str(place.BIN)):
            found = pathlib.Path(_programs.program("mlc-compile"))
            self.assertIn(found.parent, (place.BIN, place.PACKAGE / "mlc_tune/bin"))
        with mock.patch.dict(os.environ, MLC_BIN="", PATH=empty):
            if not (place.PACKAGE / "mlc_tune/bin").exists():
                with self.assertRaisesRegex(mlc_tune.UnavailableError, "set MLC_BIN"):
                    mlc_tune.compile(self.model)

    def interrupted(self, to_group):
        """Ends a tuning process by SIGINT once it measures; returns what it printed."""
        log = f"{self.folder}/interrupted-{to_group}.db"
        model = self.folder + "/larger.onnx"  # of many tasks: not tuned within seconds
        maker = place.SOURCE / "tests/models/make_model.py"
        subprocess.run([sys.executable, maker, "resnet18", model, "--reduced"], check=True)
        process = subprocess.Popen(
            [sys.executable, "-c", INTERRUPTED, model, log],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        line = process.stdout.readline()
        self.assertEqual(line, "measures\n", process.stderr.read() if not line else "")
        (os.killpg if to_group else os.kill)(process.pid, signal.SIGINT)
        out, err = process.communicate()
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(out.splitlines()[-1], "KeyboardInterrupt", err)
        # No process uses the log any more, and it holds what was measured.
        self.assertGreater(mlc_tune.log(log).stats()["records"], 0)
        stats = mlc_tune.log(log).stats()
        self.assertNotEqual(stats["jobs"][0]["state"], "running")

    def test_ctrl_c_ends_the_job_and_keeps_what_it_measured(self):
        self.interrupted(to_group=False)  # kill -INT
        self.interrupted(to_group=True)  # a terminal

    def test_an_error_of_the_callback_ends_the_job(self):
        def fails(event):
            raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            mlc_tune.tune(
                product(rows=7),
                trials=1000,
                log=self.folder + "/callback.db",
                target="cpu",
                threads=1,
                progress=fails,
            )
        mlc_tune.log(self.folder + "/callback.db")  # not in use

    def test_progress_is_a_line_on_a_terminal_and_a_bar_with_tqdm(self):
        event = {"trials": 3, "trials_wanted": 8, "model_ms": 1.5, "detail": "", "seconds_left": 9}
        screen = io.StringIO()
        screen.isatty = lambda: True
        with mock.patch.dict(sys.modules, {"tqdm": None, "tqdm.auto": None}):
            with contextlib.redirect_stderr(screen):
                view = _progress.shower(True)
                view.show(event)
                view.close()
            file = io.StringIO()
            with contextlib.redirect_stderr(file):
                _progress.shower(True).show(event)
        self.assertEqual(screen.getvalue(), "\r3/8 trials, model 1.500 ms, 9 s left\n")
        self.assertEqual(file.getvalue(), "")
        bars = mock.Mock()
        with mock.patch.dict(sys.modules, {"tqdm": mock.Mock(), "tqdm.auto": bars}):
            view = _progress.shower(True)
            view.show(event)
            view.close()
        bar = bars.tqdm.return_value
        self.assertEqual((bar.n, bar.total), (3, 8))
        bar.close.assert_called_once()

    def test_jobs_run_at_a_server_without_their_caller(self):
        address = f"unix:{self.folder}/socket"
        os.mkdir(self.folder + "/state")
        words = open(self.folder + "/server.log", "w+")
        self.addCleanup(words.close)
        server = subprocess.Popen(
            [place.BIN / "mlc-server", "--log", self.folder + "/server.db", "--listen", address],
            stdout=subprocess.PIPE,
            stderr=words,
            text=True,
        )
        self.addCleanup(server.communicate)
        self.addCleanup(server.terminate)
        self.assertIn("listening", server.stdout.readline())
        worker = subprocess.Popen(
            [place.BIN / "mlc-worker", "--server", address, "--name", "wanda", "--threads", "1"]
            + ["--builders", "1", "--state", self.folder + "/state"],
            stderr=words,
        )
        self.addCleanup(worker.wait)
        self.addCleanup(worker.terminate)
        # The class of the target is known by its text, whether the worker is there yet or not.
        target = self.result.target.partition(" fma_gflops")[0]
        job = mlc_tune.submit(product(), server=address, trials=4, threads=1, target=target)
        self.assertRegex(job.id, "^[0-9a-f]{32}$")
        self.assertEqual(job.status()["model"], "model")
        events = []
        result = job.wait(progress=events.append)
        self.assertEqual((result.state, result.job, result.log), ("done", job.id, ""))
        self.assertEqual(job.status()["state"], "done")

        endless = mlc_tune.submit(
            product(rows=9),
            server=mlc_tune.Server(address),
            trials=100000,
            threads=1,
            target=target,
        )
        endless.cancel()
        with self.assertRaises(mlc_tune.CancelledError):
            endless.wait(progress=False)
        self.assertEqual(len(mlc_tune.jobs(address)), 2)


if __name__ == "__main__":
    unittest.main(argv=place.UNITTEST_ARGUMENTS)
