"""Tests of kernel_tuner_gpu.py and its engine: what they read and how they judge it.

    kernel_tuner_gpu_test.py BIN_FOLDER SOURCE_FOLDER
"""
import argparse
import itertools
import json
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
BIN, SOURCE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
sys.path.insert(0, str(SOURCE / "tests/bench/search"))

import kernel_tuner_engine as engine  # noqa: E402
import kernel_tuner_gpu as program  # noqa: E402


def cache(rows, end):
    text = ",\n".join(f'"{a}": {json.dumps({"a": a, "time": time})}' for a, time in rows)
    return '{"tune_params_keys": ["a"], "cache": {' + text + end


class Judging(unittest.TestCase):
    TABLE = {(1,): 2.0, (2,): 1.0, (3,): 1.01, (4,): 1.5}

    def test_the_first_choice_that_is_near_the_optimum(self):
        rows = [((1,), 200, 1.0), ((4,), 150, 2.0), ((3,), 101, 3.0), ((2,), 100, 4.0)]
        self.assertEqual(program.seconds_to(rows, self.TABLE), 3.0)
        self.assertEqual(program.seconds_to(rows, self.TABLE, goal=1), 4.0)

    def test_an_engine_that_times_it_as_slow_does_not_choose_it(self):
        rows = [((4,), 90, 1.0), ((2,), 100, 2.0)]
        self.assertIsNone(program.seconds_to(rows, self.TABLE))

    def test_failed_and_unknown_configs_are_no_choice(self):
        rows = [((2,), None, 1.0), ((9,), 50, 2.0), ((3,), 40, 3.0)]
        self.assertEqual(program.seconds_to(rows, self.TABLE), 3.0)

    def test_a_run_that_does_not_get_there_counts_as_endless(self):
        self.assertEqual(program.median([1.0, None, 3.0]), 3.0)
        self.assertIsNone(program.median([1.0, None, None]))

    def test_the_best_strategy_is_one_that_gets_there(self):
        result = {"strategies": {"a": {"median_s": None}, "b": {"median_s": 9.0}, "c": {"median_s": 4.0}}}
        self.assertEqual(program.best_strategy(result), "c")
        self.assertIsNone(program.best_strategy({"strategies": {"a": {"median_s": None}}}))


    def test_seconds_count_from_the_start_of_both(self):
        result = {"configs": 9, "near": 2, "own": {"near": 1}, "strategies": {"pso": {"median_s": 4.0}}, "started_s": 6.0,
                  "ours_median_s": 3.0, "ours": [{"seconds": 3.0}, {"seconds": None}]}
        self.assertEqual(program.row("k", result), "| k | 9 | 2 | 1 | pso | 4.0 | 10.0 | - | 3.0 | 0.30 | 1 of 2 |")


class Reading(unittest.TestCase):
    def test_a_cache_that_was_cut_or_closed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "k.cache.json")
            for end in (",", "}}", "}\n}\n"):
                path.write_text(cache([(1, 2.5), (2, "RuntimeFailedConfig")], end))
                self.assertEqual(program.table_of(path), {(1,): 2.5})

    def test_rows_of_a_log(self):
        record = {"kind": "record", "config": "user_kernel/2 b=4 a=1 entry=f source=eN=", "outcome": "ok", "median_ns": 7.5,
                  "created_us": 12_500_000}
        later = dict(record, outcome="wrong_result", created_us=13_000_000)
        lines = [json.dumps(line) for line in (later, {"kind": "workload"}, record)]
        self.assertEqual(program.rows_of_log(lines, ["a", "b"], 10.0), [[[1, 4], 7.5, 2.5], [[1, 4], None, 3.0]])


    def test_own_table_is_of_right_and_whole_measurements(self):
        lines = [{"config": "u/1 a=1 b=2 entry=f", "outcome": outcome, "ns": ns}
                 for outcome, ns in (("ok", 10), ("ok", 30), ("ok", 11), ("too_slow", 1))]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "k.times.jsonl")
            path.write_text("\n".join(["", *map(json.dumps, lines), '{"config": "cut']))
            self.assertEqual(program.own_table(path, ["b", "a"]), {(2, 1): 11})
            self.assertEqual(program.own_table(pathlib.Path(folder, "none"), ["a"]), {})


class Specifications(unittest.TestCase):
    def test_spaces_are_small_enough_to_be_measured_whole(self):
        for kernel in program.KERNELS:
            spec = json.loads(program.spec_of(kernel).read_text())
            space = engine.parameters(spec)
            legal = sum(all(eval(text, {}, dict(zip(space, values))) for text in engine.conditions(spec))  # pylint: disable=eval-used
                        for values in itertools.product(*space.values()))
            self.assertTrue(200 <= legal <= 700, f"{kernel}: {legal}")

    def test_vectors_have_the_sizes_of_the_workload(self):
        class Numpy:
            float32 = "f"

            class random:
                @staticmethod
                def default_rng(_):
                    return Numpy.random

                @staticmethod
                def standard_normal(size, dtype):
                    return size, dtype

        kernel = json.loads(program.spec_of("convolution").read_text())["KernelSpecification"]
        self.assertEqual(engine.arguments(kernel, Numpy), [(1038 * 1038, "f"), (225, "f"), (1024 * 1024, "f")])


class Simulated(unittest.TestCase):
    def test_seconds_are_the_sums_of_the_cache(self):
        results = [{"a": 1, "time": 2.0, "compile_time": 300.0, "verification_time": 0.0, "benchmark_time": 100.0},
                   {"a": 2, "time": "X", "__error__": "X", "compile_time": 500.0},
                   {"a": 1, "time": 2.0, "compile_time": -1, "verification_time": -1, "benchmark_time": -1}]
        rows = [engine.row(result, ["a"]) for result in engine.in_order(results, True, 0)]
        self.assertEqual([(r["config"], r["ms"], r["at_s"]) for r in rows], [([1], 2.0, 0.4), ([2], None, 0.9), ([1], 2.0, 0.9)])


class Ours(unittest.TestCase):
    def test_a_run_of_mlc_tune(self):
        example = SOURCE / "docs/examples/kernels/nbody.json"
        args = argparse.Namespace(bin=str(BIN), target="cpu", option=["--threads", "1"])
        with unittest.mock.patch.object(program, "spec_of", lambda kernel: example):
            run = program.tune(args, "nbody", 1, 4, 200)
        self.assertEqual(run["code"], 0, run["said"])
        self.assertGreaterEqual(len(run["rows"]), 4)
        times = [row[2] for row in run["rows"]]
        self.assertTrue(0 < times[0] <= times[-1] <= run["seconds"], times)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
