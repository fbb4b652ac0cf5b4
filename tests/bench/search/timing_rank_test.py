#!/usr/bin/env python3
"""Ranks, and what variants of a library are made of."""
import os
import random
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import timing_rank  # noqa: E402


def record(config, ns, cold=1.0, outcome="ok", workload="w"):
    return {"workload": workload, "target": "t", "config": config, "outcome": outcome, "median_ns": ns, "p10_ns": ns,
            "cold_ns": cold}


class TimingRankTest(unittest.TestCase):
    def test_ranks_correlate_whatever_the_distances(self):
        self.assertAlmostEqual(timing_rank.spearman([1, 2, 3], [10, 11, 500]), 1)
        self.assertAlmostEqual(timing_rank.spearman([1, 2, 3], [3, 2, 1]), -1)
        self.assertAlmostEqual(timing_rank.spearman([1, 2, 3, 4], [1, 2, 4, 3]), 0.8)
        self.assertEqual(timing_rank.ranks([5, 5, 1]), [1.5, 1.5, 0])
        self.assertEqual(timing_rank.spearman([1, 1], [1, 2]), 0)

    def test_an_interval_holds_the_value(self):
        values = [float(i) for i in range(30)]
        noisy = [v + random.Random(1).uniform(-9, 9) * (i % 3) for i, v in enumerate(values)]
        low, high = timing_rank.interval(values, noisy, random.Random(2))
        self.assertLess(low, timing_rank.spearman(values, noisy))
        self.assertGreater(high, timing_rank.spearman(values, noisy))

    def test_candidates_are_near_the_fastest_and_have_all_times(self):
        lines = [record("f/1 a=1", 100), record("f/1 a=1", 50), record("f/1 a=2", 120), record("f/1 a=3", 200),
                 record("f/1 a=4", 90, cold=0), record("f/1 a=5", 90, outcome="wrong_result"),
                 record("f/1 a=6", 110, workload="other"), record("user_kernel/1 x", 10), record("f/1 a=7", 110)]
        found = timing_rank.candidates(lines, "w", "t", 10)
        self.assertEqual([(r["config"], r["median_ns"]) for r in found],
                         [("f/1 a=1", 100), ("f/1 a=7", 110), ("f/1 a=2", 120)])
        self.assertEqual(len(timing_rank.candidates(lines, "w", "t", 2)), 2)

    def test_a_lock_file_takes_configs(self):
        lock = "mlc lock v1\ntarget t\ntask aa record:1 10 f/1 a=1 b=2\nnewer aa f/1 a=3\ntask bb default 0 g/1 c=1\n"
        self.assertEqual(timing_rank.with_configs(lock, {"aa": "f/1 a=9"}),
                         "mlc lock v1\ntarget t\ntask aa record:1 10 f/1 a=9\ntask bb default 0 g/1 c=1\n")


if __name__ == "__main__":
    unittest.main()
