#!/usr/bin/env python3
"""Outputs whose shape depends on data, in Python: a detector's end, selections, buffers, sizes.

counted_test.py BIN_FOLDER SOURCE_FOLDER
"""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import place
from small_models import PackageTest, TensorProto, helper, model, np, numpy_helper

import mlc_tune

RNG = np.random.default_rng(11)
BOXES, CLASSES, MOST = 40, 3, 5


def detector():
    """The selected boxes with their scores, in rows of (batch, class, box), and how many there are."""
    nodes = [
        helper.make_node(
            "NonMaxSuppression", ["boxes", "scores", "most", "overlap", "least"], ["selected"]
        ),
        helper.make_node("Gather", ["selected", "two"], ["index"], axis=1),
        helper.make_node("Squeeze", ["boxes", "zero"], ["all"]),
        helper.make_node("Gather", ["all", "index"], ["found"], axis=0),
        helper.make_node("GatherND", ["scores", "selected"], ["score"]),
        helper.make_node("Unsqueeze", ["score", "one"], ["column"]),
        helper.make_node("Concat", ["found", "column"], ["rows"], axis=1),
        helper.make_node("Shape", ["rows"], ["shape"]),
    ]
    weights = [
        ("most", np.array([MOST])),
        ("overlap", np.array([0.4], np.float32)),
        ("least", np.array([0.6], np.float32)),
        ("two", np.array(2)),
        ("zero", np.array([0])),
        ("one", np.array([1])),
    ]
    ports = [("boxes", TensorProto.FLOAT, [1, BOXES, 4])]
    ports += [("scores", TensorProto.FLOAT, [1, CLASSES, BOXES])]
    outputs = [("selected", TensorProto.INT64, ["n", 3])]
    outputs += [("rows", TensorProto.FLOAT, ["n", 5]), ("shape", TensorProto.INT64, [2])]
    return model(nodes, ports, outputs, weights)


def area(box):
    return (box[2] - box[0]) * (box[3] - box[1])


def overlap(a, b):
    sides = [min(a[d + 2], b[d + 2]) - max(a[d], b[d]) for d in range(2)]
    if min(sides) <= 0:
        return 0
    shared = sides[0] * sides[1]
    return shared / (area(a) + area(b) - shared)


def expected(boxes, scores):
    rows = []
    for c in range(CLASSES):
        kept = []
        for i in sorted(range(BOXES), key=lambda i: -scores[0, c, i]):
            if scores[0, c, i] > 0.6 and len(kept) < MOST:
                if all(overlap(boxes[0, i], boxes[0, k]) <= 0.4 for k in kept):
                    kept.append(i)
        rows += [[0, c, i] for i in kept]
    return np.array(rows, np.int64).reshape(-1, 3)


def drawn():
    corners = RNG.uniform(0, 50, (1, BOXES, 2))
    boxes = np.concatenate([corners, corners + RNG.uniform(5, 30, (1, BOXES, 2))], axis=2)
    return boxes.astype(np.float32), RNG.uniform(0, 1, (1, CLASSES, BOXES)).astype(np.float32)


class DetectorTest(PackageTest):
    @classmethod
    def setUpClass(cls):
        cls.library = mlc_tune.compile(detector(), target="cpu", threads=1)

    def check(self, boxes, scores):
        selected, rows, shape = self.library(boxes, scores)
        want = expected(boxes, scores)
        np.testing.assert_array_equal(selected, want)
        np.testing.assert_array_equal(rows[:, :4], boxes[0, want[:, 2]])
        np.testing.assert_array_equal(rows[:, 4], scores[0, want[:, 1], want[:, 2]])
        self.assertEqual(list(shape), [len(want), 5])

    def test_arrays_have_the_boxes_that_there_are(self):
        for _ in range(10):
            self.check(*drawn())

    def test_no_box_and_the_most(self):
        boxes, scores = drawn()
        self.check(boxes, np.zeros_like(scores))
        apart = np.arange(BOXES, dtype=np.float32)[:, None] * 10 + np.array([0, 0, 5, 5])
        self.check(apart[None].astype(np.float32), 0.7 + scores * 0.1)
        self.assertEqual(self.library.outputs[0].shape, (CLASSES * MOST, 3))

    def test_buffers_have_room_for_the_most(self):
        boxes, scores = drawn()
        out = [info.empty() for info in self.library.outputs]
        selected, rows, _ = self.library(boxes, scores, out=out)
        np.testing.assert_array_equal(selected, expected(boxes, scores))
        self.assertTrue(np.shares_memory(rows, out[1]))
        with self.library.session() as session:
            binding = session.bind((boxes.copy(), scores.copy()))
            binding.run()
            np.testing.assert_array_equal(binding.outputs[0], expected(boxes, scores))
            binding.inputs[1][...] = 0
            binding.run()
            self.assertEqual(binding.outputs[0].shape, (0, 3))

    def test_programs_write_and_check_what_there_is(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)

            def run(*words):
                command = [os.path.join(place.BIN, words[0]), *words[1:]]
                done = subprocess.run(
                    command, cwd=folder, check=True, capture_output=True, text=True
                )
                return done.stdout

            (folder / "detector.onnx").write_bytes(detector().SerializeToString())
            (folder / "in").mkdir()
            for i, array in enumerate(drawn()):
                tensor = numpy_helper.from_array(array)
                (folder / "in" / f"input_{i}.pb").write_bytes(tensor.SerializeToString())
            run("mlc-compile", "--model", "detector.onnx", "-o", "net", "--target", "cpu")
            self.assertIn("OUTPUT_0_BYTES 360 /* i64[15,3] at most */", self.header(folder))
            run("mlc-run", "--reference", "detector.onnx", "--inputs", "in", "--outputs", "want")
            report = json.loads(run("mlc-run", "net", "--inputs", "in", "--check", "want", "--json"))
            self.assertTrue(report["check"]["passed"])
            run("mlc-run", "net", "--inputs", "in", "--outputs", "got")
            got = TensorProto()
            got.ParseFromString((folder / "got" / "output_0.pb").read_bytes())
            want = TensorProto()
            want.ParseFromString((folder / "want" / "output_0.pb").read_bytes())
            self.assertEqual(list(got.dims), list(want.dims))

    @staticmethod
    def header(folder):
        return (folder / "net" / "net.h").read_text()


class SelectionsTest(PackageTest):
    def test_coordinates_are_moved_together(self):
        made = model(
            [helper.make_node("NonZero", ["x"], ["y"])],
            [("x", TensorProto.FLOAT, [30, 70])],
            [("y", TensorProto.INT64, [2, "n"])],
        )
        library = mlc_tune.compile(made, target="cpu", threads=2)
        for share in (0, 0.3, 1):
            x = (RNG.uniform(0, 1, (30, 70)) < share).astype(np.float32)
            np.testing.assert_array_equal(library(x)[0], np.stack(np.nonzero(x)))

    def test_each_size_has_its_own_bound(self):
        nodes = [
            helper.make_node("Greater", ["x", "zero"], ["c"]),
            helper.make_node("Compress", ["x", "c"], ["kept"]),
            helper.make_node("ReduceSum", ["kept"], ["sum"], keepdims=0),
        ]
        outputs = [("kept", TensorProto.FLOAT, ["n"]), ("sum", TensorProto.FLOAT, [])]
        made = model(
            nodes, [("x", TensorProto.FLOAT, ["rows"])], outputs, [("zero", np.float32(0))]
        )
        library = mlc_tune.compile(made, dims={"rows": [5, 9]}, target="cpu", threads=1)
        for rows in (5, 9, 5):
            x = RNG.normal(size=rows).astype(np.float32)
            kept, total = library(x)
            np.testing.assert_array_equal(kept, x[x > 0])
            np.testing.assert_allclose(total, x[x > 0].sum(), rtol=1e-5)


if __name__ == "__main__":
    unittest.main(argv=place.UNITTEST_ARGUMENTS)
