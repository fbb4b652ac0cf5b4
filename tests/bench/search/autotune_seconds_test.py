"""Tests of autotune_seconds.py with a peer and programs that only pretend."""
import argparse
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import autotune_seconds as program  # noqa: E402
import cases  # noqa: E402
import places  # noqa: E402

COMPILE = "#!/bin/sh\nfor last; do true; done\nsleep 0.1\n"
# A tuned library is faster: the log counts the runs of mlc-tune.
TUNE = """#!/bin/sh
sleep 0.1
while [ "$1" != --log ]; do shift; done
echo run >> "$2"
"""
RUN = """#!/bin/sh
runs=$(cat "$1/../tuning.db" 2> /dev/null | wc -l)
echo "{\\"latency_ms\\": {\\"median\\": $((9 - 2 * runs))}}"
"""


class Peer:
    def __init__(self, ms):
        self.ms = ms

    def sample(self, seconds):
        return [self.ms, self.ms]

    def end(self):
        pass


class Seconds(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for name, text in (("mlc-compile", COMPILE), ("mlc-tune", TUNE), ("mlc-run", RUN)):
            path = pathlib.Path(self.folder.name, name)
            path.write_text(text)
            path.chmod(0o755)
        args = argparse.Namespace(bin=self.folder.name, work=self.folder.name, compile_limit=60, rounds=2, seconds=0.1, steps=[1, 1, 1],
                                  kinds=["max-autotune"])
        self.saved = []
        self.subject = program.Subject(cases.parse("resnet50:1:fp16"), places.Place("cuda", "0", frozenset({0})), args,
                                       save=lambda: self.saved.append(len(self.subject.facts["steps"])))
        pathlib.Path(self.subject.folder, "library").mkdir(parents=True)

    def run_against(self, ms):
        self.subject.compile(0.0)
        self.subject.peers = {"max-autotune": Peer(ms)}
        self.subject.facts["max-autotune_s"] = 70.0
        self.subject.run()
        return self.subject.facts

    def test_an_untuned_library_that_is_fast_enough_needs_no_tuning(self):
        facts = self.run_against(9.5)
        self.assertEqual(len(facts["steps"]), 1)
        self.assertTrue(0.1 <= facts["seconds_to"] < 30, facts)
        self.assertIn("| resnet50 | 1 | fp16 |  | 9.500 | 70.0 | 9.000 |", program.row(self.subject))

    def test_tuning_goes_on_until_a_library_is_fast_enough_and_all_its_seconds_count(self):
        facts = self.run_against(5.5)
        self.assertEqual([step["ms"]["mlc"] for step in facts["steps"]], [9, 7, 5])
        self.assertGreaterEqual(facts["seconds_to"], facts["steps"][1]["tuned_s"])
        self.assertGreater(facts["steps"][2]["tuned_s"], facts["steps"][1]["tuned_s"])

    def test_without_success_there_is_no_figure(self):
        facts = self.run_against(1)
        self.assertNotIn("seconds_to", facts)
        self.assertFalse(facts["reached"])
        self.assertTrue(program.row(self.subject).endswith("| 3.000 | - |"))

    def test_every_step_is_saved(self):
        self.run_against(5.5)
        self.assertEqual(self.saved, [1, 1, 2, 2, 3, 3])

    def test_no_tuning_begins_that_would_end_too_late(self):
        self.subject.clock = program.Clock(program.AFTER_TUNING_S)
        facts = self.run_against(1)
        self.assertEqual(len(facts["steps"]), 1)
        self.assertFalse(facts["reached"])

    def test_a_clock_leaves_a_reserve(self):
        clock = program.Clock(100)
        self.assertTrue(39 < clock.left(400, reserve=60) <= 40)
        self.assertEqual(clock.left(10), 10)
        self.assertEqual(clock.left(10, reserve=200), 1)
        self.assertTrue(clock.has(90) and not clock.has(110))
        self.assertEqual(program.Clock().left(400, reserve=60), 400)

    def test_a_step_that_fails_is_a_fact(self):
        def fail():
            raise program.Failed("no such network")

        program.attempt(self.subject, fail)
        self.assertEqual(self.subject.facts["error"], "no such network")
        self.assertEqual(self.saved, [0])

    def test_without_a_peer_there_is_no_figure(self):
        self.subject.compile(0.0)
        self.subject.run()
        self.assertNotIn("seconds_to", self.subject.facts)


if __name__ == "__main__":
    unittest.main()
