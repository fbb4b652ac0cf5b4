#!/usr/bin/env python3
"""The benchmark of breadth survives what models do in its processes, goes on where it ended, and its
tables count each model once.

  breadth_test.py BIN_FOLDER SOURCE_FOLDER
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import place

sys.path.insert(0, str(place.SOURCE / "tests/bench/python"))
import breadth
import breadth_table

# A stand-in for the process of a model: what it does is its name.
ONE = """
import json, os, signal, subprocess, sys
name, way, device = sys.argv[1:]
if name == "crash":
    os.kill(os.getpid(), signal.SIGSEGV)
if name == "hang":
    # A compiler in a session of its own, which outlives its parent.
    child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], start_new_session=True)
    open(os.environ["CHILD"], "w").write(str(child.pid))
    signal.pause()
if name == "hungry":
    x = bytearray(1 << 31)
print("a remark")
row = {"model": name, "way": way, "verdict": "whole", "folder": os.environ["TMPDIR"]}
if name == "missing":
    row["verdict"] = "no model"
print(json.dumps(row | {"difference": 0.0} if name != "missing" else row), flush=True)
for line in sys.stdin:
    if (name, way) == ("fragile", "mlc"):
        sys.exit(3)
    print({"eager": 4.0, "mlc": 1.0, "inductor": 2.0}[way], flush=True)
"""


def row(model, way, verdict, **rest):
    return {"model": model, "way": way, "verdict": verdict, **rest}


class BreadthTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=place.SCRATCH)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "breadth_one.py").write_text(ONE)
        self.child = self.folder / "child"
        for patch in (
            mock.patch.object(breadth, "HERE", self.folder),
            mock.patch.dict(os.environ, CHILD=str(self.child)),
        ):
            patch.start()
            self.addCleanup(patch.stop)

    def measure(self, name, limit=60.0):
        return self.measured(name, ["mlc"], 0, limit)[0]

    def options(self, **others):
        plain = {"memory": 1, "nice": 0, "seconds": 0.1, "rounds": 3, "limit": 60.0, "device": "cpu"}
        return argparse.Namespace(**plain | {"jobs": 2, "budget": float("inf")} | others)

    def measured(self, name, ways, seconds, limit=60.0):
        return breadth.measure(name, ways, self.options(seconds=seconds, limit=limit))

    def together(self, names, **others):
        """The rows in the order in which they are taken."""
        taken = []

        def take(rows):
            taken.extend(dict(one) for one in rows)

        wanted = [(name, ["mlc", "inductor"]) for name in names]
        breadth.measure_together(wanted, self.options(**others), take)
        return taken

    def test_all_ways_are_timed_beside_eager_mode(self):
        mlc, inductor = self.measured("good", ["mlc", "inductor"], 0.1)
        self.assertEqual((mlc["way"], mlc["ms"], mlc["eager_ms"]), ("mlc", 1.0, 4.0))
        self.assertEqual((inductor["way"], inductor["ms"]), ("inductor", 2.0))
        for one in self.measured("fragile", ["mlc", "inductor"], 0.1):
            self.assertEqual((one["verdict"], "ms" in one), ("whole", False))
        rows = self.measured("missing", ["mlc", "inductor"], 0.1)
        self.assertEqual([one["verdict"] for one in rows], ["no model"] * 2)

    def test_no_model_is_timed_before_all_are_compiled(self):
        rows = self.together(["good", "missing", "fragile", "better"])
        self.assertEqual([one["model"] for one in rows[:8:2]], ["good", "missing", "fragile", "better"])
        self.assertFalse(any("ms" in one for one in rows[:8]))
        timed = {(one["model"], one["way"]): one.get("ms") for one in rows[8:]}
        self.assertEqual((timed["better", "mlc"], timed["better", "inductor"]), (1.0, 2.0))
        self.assertEqual(timed["fragile", "inductor"], None)
        self.assertEqual([one["verdict"] for one in rows if one["model"] == "missing"], ["no model"] * 4)

    def test_no_model_is_begun_after_the_budget(self):
        self.assertEqual(self.together(["good"], budget=-1.0), [])

    def test_a_record_is_a_line_of_the_process(self):
        record = self.measure("good")
        self.assertEqual(record["verdict"], "whole")
        self.assertFalse(os.path.exists(record["folder"]))

    def test_a_crash_and_a_lack_of_memory_are_records(self):
        crashed = self.measure("crash")
        self.assertEqual((crashed["model"], crashed["verdict"]), ("crash", "crashed"))
        self.assertIn("exit code -11", crashed["reasons"][0])
        self.assertIn("MemoryError", self.measure("hungry")["reasons"][0])

    def test_what_a_process_started_ends_with_it_out_of_time(self):
        # The limit passes at once or after the child has started: both must leave nothing behind.
        end = breadth.end

        def end_once_started(process):
            while not self.child.exists() or not self.child.read_text():
                self.assertIsNone(process.poll())
            self.started = int(self.child.read_text())
            end(process)

        with mock.patch.object(breadth, "end", end_once_started):
            record = self.measure("hang", limit=0.01)
        self.assertEqual(record["verdict"], "out of time")
        state = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(self.started)], capture_output=True, text=True
        ).stdout.strip()
        self.assertIn(state[:1], ("", "Z"))

    def test_the_last_record_of_a_model_counts(self):
        path = self.folder / "rows.jsonl"
        self.assertEqual(breadth.read(path), {})
        rows = [row("timm/a", "mlc", "crashed"), row("timm/a", "mlc", "whole")]
        path.write_text("".join(json.dumps(r) + "\n" for r in rows))
        self.assertEqual(breadth.read(path), {("timm/a", "mlc"): rows[1]})

    def test_tables_count_verdicts_values_and_times(self):
        good = {"right": True, "difference": 1e-6}
        rows = [
            row("timm/a", "mlc", "whole", ms=1.0, eager_ms=4.0, **good),
            row("timm/a", "inductor", "whole", ms=2.0, **good),
            row("timm/b", "mlc", "none", reasons=["no | operator"]),
            row("timm/b", "inductor", "whole", **good),
            row("timm/c", "mlc", "parts", right=False, difference=0.5, reasons=[]),
            row("torchvision/d", "mlc", "out of time", reasons=["more than 9 s"]),
            row("torchvision/e", "mlc", "no model", reasons=["none"]),
        ]
        table, document = self.folder / "t.md", self.folder / "t.json"
        breadth_table.write(rows, table, document)
        text = table.read_text()
        for line in (
            "| timm | mlc | 3 | 1 | 1 | 1 | 0 | 1 | 1.0e-06 |",
            "| torchvision | mlc | 1 | 0 | 0 | 0 | 1 | 0 |  |",
            "| all | mlc | 4 | 1 | 1 | 1 | 1 | 1 | 1.0e-06 |",
            "Of 2 models that inductor compiles right, mlc compiles 1 right.",
            "| timm | 0.25 (1) | 0.50 (1) |  |  |",
            "| no \\| operator | 1 | timm/b |",
            "| other values: 0.5 | 1 | timm/c |",
        ):
            self.assertIn(line + "\n", text)
        self.assertEqual(json.loads(document.read_text())["models"][0]["model"], "torchvision/d")


if __name__ == "__main__":
    unittest.main(argv=place.UNITTEST_ARGUMENTS)
