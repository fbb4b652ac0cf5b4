#!/usr/bin/env python3
"""Functions of JAX, TensorFlow and Keras and estimators of scikit-learn as libraries, against what
the frameworks compute; and what is said where a package is missing or a model does not fit.

  frameworks_test.py BIN_FOLDER SOURCE_FOLDER

Each framework is skipped where its packages are missing; any interpreter that has them runs it.
"""

import contextlib
import functools
import importlib.util
import io
import os
import re
import subprocess
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import place
from small_models import PackageTest, model

import onnx
from onnx import TensorProto, helper
import mlc_tune
import mlc_tune.jax
import mlc_tune.keras
import mlc_tune.sklearn
import mlc_tune.tensorflow
from mlc_tune import _trees
import numpy as np

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
tempfile.tempdir = os.environ["TMPDIR"] = place.SCRATCH
warnings.filterwarnings("ignore")
HOW_TO = place.SOURCE / "docs/how-to/use-from-other-frameworks.md"
# In a process of its own, since a package that was imported stays.
WITHOUT = """
import importlib, sys
import numpy as np
import mlc_tune
module, sys.modules[sys.argv[2]] = importlib.import_module("mlc_tune." + sys.argv[1]), None
try:
    module.compile(len, np.ones((1, 1), np.float32))
except mlc_tune.UnavailableError as error:
    print(error)
"""
rng = np.random.default_rng(3)


def floats(*shape):
    return rng.standard_normal(shape, np.float32)


def needs(*packages):
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    return unittest.skipIf(missing, f"not installed: {', '.join(missing)}")


def code_of(section):
    """The code of a section of the how-to."""
    text = HOW_TO.read_text().partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return "\n".join(re.findall(r"^    (.*)$", text, re.M))


class FrameworkTest(PackageTest):
    def check_how_to(self, section):
        names = {}
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code_of(section), section, "exec"), names)
        self.assertIsInstance(names["library"], mlc_tune.Library)


class MissingTest(unittest.TestCase):
    def test_a_missing_package_is_named_with_the_way_to_get_it(self):
        for module, packages in (
            ("jax", ("jax", "jax2onnx")),
            ("tensorflow", ("tensorflow", "tf2onnx")),
            ("keras", ("keras",)),
            ("sklearn", ("sklearn", "skl2onnx")),
        ):
            for package in packages:
                done = subprocess.run(
                    [sys.executable, "-c", WITHOUT, module, package], capture_output=True, text=True
                )
                self.assertEqual(done.returncode, 0, done.stderr)
                missing = next(
                    n for n in packages if n == package or importlib.util.find_spec(n) is None
                )
                with self.subTest(package=package):
                    self.assertIn(f"the package {missing} cannot", done.stdout)
                    self.assertIn(f"pip install 'mlc-tune[{module}]'", done.stdout)

    def test_each_module_has_an_extra(self):
        text = (place.PACKAGE / "pyproject.toml").read_text()
        extras = text.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
        for module in ("jax", "tensorflow", "keras", "sklearn", "torch"):
            self.assertRegex(extras, rf"(?m)^{module} = \[")


class TreesTest(PackageTest):
    """Trees as skl2onnx writes them, which no framework is needed for."""

    # Of two features: x0 <= 0 ? (x1 <= 1 ? leaf 3 : leaf 4) : leaf 2, and x1 <= -1 ? 1 : 2.
    NODES = {
        "nodes_treeids": [0, 0, 0, 0, 0, 1, 1, 1],
        "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
        "nodes_featureids": [0, 1, 0, 0, 0, 1, 0, 0],
        "nodes_modes": ["BRANCH_LEQ"] * 2 + ["LEAF"] * 3 + ["BRANCH_LEQ"] + ["LEAF"] * 2,
        "nodes_truenodeids": [1, 3, 0, 0, 0, 1, 0, 0],
        "nodes_falsenodeids": [2, 4, 0, 0, 0, 2, 0, 0],
        "nodes_values": [0.0, 1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0],
    }
    X = np.array([[-1, 0], [-1, 2], [3, 0], [0, 1], [1, -2]], np.float32)
    LEAVES = [(3, 2), (4, 2), (2, 2), (3, 2), (2, 1)]  # that each row reaches

    def run_trees(self, kind, outputs, **given):
        node = helper.make_node(kind, ["x"], outputs, domain="ai.onnx.ml", **self.NODES, **given)
        ports = [("x", TensorProto.FLOAT, [5, 2])], [
            (name, TensorProto.INT64 if name == "label" else TensorProto.FLOAT, None)
            for name in outputs
        ]
        made = model([node], *ports, opset=18)
        made.opset_import.append(helper.make_opsetid("ai.onnx.ml", 1))
        _trees.without_trees(onnx, made, 5)
        return mlc_tune.compile(made)(self.X)

    def sums(self, weights, count=1):
        table = np.zeros((5, count), np.float32)
        for row, leaves in enumerate(self.LEAVES):
            for tree, node, column, weight in weights:
                if leaves[tree] == node:
                    table[row, column] += weight
        return table

    def attributes(self, what, weights):
        names = ("treeids", "nodeids", "ids", "weights")
        return {f"{what}_{name}": list(column) for name, column in zip(names, zip(*weights))}

    def test_a_regressor_adds_the_leaves_of_its_trees(self):
        weights = [(0, 2, 0, 1.5), (0, 3, 1, -2.0), (0, 4, 0, 4.0), (1, 1, 0, 8.0), (1, 2, 1, 16.0)]
        given = self.attributes("target", weights)
        wanted = self.sums(weights, 2)
        got = self.run_trees("TreeEnsembleRegressor", ["y"], n_targets=2, **given)
        self.assert_close(got[0], wanted)
        more = {"base_values": [1.0, -1.0], "aggregate_function": "AVERAGE"}
        got = self.run_trees("TreeEnsembleRegressor", ["y"], n_targets=2, **given, **more)
        self.assert_close(got[0], wanted / 2 + np.array([1, -1], np.float32))

    def test_a_classifier_gives_labels_and_scores(self):
        weights = [(0, n, c, 0.1 * n + 0.2 * c) for n in (2, 3, 4) for c in range(3)]
        weights += [(1, 1, 0, 2.0), (1, 2, 1, 0.5)]
        given = self.attributes("class", weights)
        sums = self.sums(weights, 3)
        for how in ("NONE", "SOFTMAX"):
            label, scores = self.run_trees(
                "TreeEnsembleClassifier",
                ["label", "scores"],
                classlabels_int64s=[10, 20, 30],
                post_transform=how,
                **given,
            )
            np.testing.assert_array_equal(label, 10 * (1 + sums.argmax(1)))
            powers = np.exp(sums - sums.max(1, keepdims=True))
            wanted = sums if how == "NONE" else powers / powers.sum(1, keepdims=True)
            self.assert_close(scores, wanted)

    def test_two_classes_have_one_score(self):
        for sign, how in ((1, "NONE"), (-1, "LOGISTIC")):
            weights = [(0, 2, 0, sign * 0.1), (0, 3, 0, 0.2), (0, 4, 0, 0.3), (1, 2, 0, 0.25)]
            label, scores = self.run_trees(
                "TreeEnsembleClassifier",
                ["label", "scores"],
                classlabels_int64s=[0, 1],
                post_transform=how,
                **self.attributes("class", weights),
            )
            s = self.sums(weights)
            chance = s if sign > 0 else 1 / (1 + np.exp(-s))
            np.testing.assert_array_equal(label, (chance[:, 0] > 0.5).astype(np.int64))
            self.assertEqual(len(set(label)), 2)
            self.assert_close(scores, np.concatenate([1 - chance, chance], 1))

    def test_forms_that_are_not_supported_are_said(self):
        weights = self.attributes("target", [(0, 2, 0, 1.0)])
        for more, text in (
            ({"aggregate_function": "MAX"}, "combined by MAX"),
            ({"post_transform": "PROBIT"}, "PROBIT"),
        ):
            with self.assertRaisesRegex(mlc_tune.DataError, text):
                self.run_trees("TreeEnsembleRegressor", ["y"], n_targets=1, **weights, **more)
        modes = ["BRANCH_GT", *self.NODES["nodes_modes"][1:]]
        with mock.patch.dict(self.NODES, nodes_modes=modes):
            with self.assertRaisesRegex(mlc_tune.DataError, "mode BRANCH_GT"):
                self.run_trees("TreeEnsembleRegressor", ["y"], n_targets=1, **weights)


@needs("jax", "jax2onnx")
class JaxTest(FrameworkTest):
    def check(self, fn, *examples):
        import jax

        library = mlc_tune.jax.compile(fn, *examples)
        wanted = jax.tree_util.tree_leaves(fn(*examples))
        got = library(*map(np.asarray, jax.tree_util.tree_leaves(examples)))
        self.assertEqual(len(got), len(wanted))
        for one, other in zip(got, wanted):
            self.assert_close(one, np.asarray(other))
        return library

    def test_functions_have_the_values_of_jax(self):
        import jax
        import jax.numpy as jnp

        w, kernel = floats(8, 16), floats(3, 3, 3, 8)
        layout = ("NHWC", "HWIO", "NHWC")
        for name, fn, x in (
            ("product", lambda x: jax.nn.relu(x @ w), floats(4, 8)),
            ("softmax", lambda x: jax.nn.softmax(x @ x.T), floats(4, 8)),
            ("gradient", jax.grad(lambda x: (jnp.tanh(x @ w) ** 2).sum()), floats(4, 8)),
            ("scan", lambda x: jax.lax.scan(lambda c, r: (c + r, c), jnp.zeros(8), x), floats(4, 8)),
            ("gather", lambda i: jnp.take(w, i, axis=0), np.array([1, 3], np.int32)),
            (
                "convolution",
                lambda x: jax.lax.conv_general_dilated(
                    x, kernel, (1, 1), "SAME", dimension_numbers=layout
                ),
                floats(1, 8, 8, 3),
            ),
        ):
            with self.subTest(name):
                self.check(fn, x)

    def test_trees_are_flattened_in_the_order_of_jax(self):
        def fn(weights, x):
            return {"y": x @ weights["w"] + weights["b"], "s": x.sum()}

        library = self.check(fn, {"w": floats(8, 3), "b": floats(3)}, floats(2, 8))
        self.assertEqual([port.shape for port in library.inputs], [(3,), (8, 3), (2, 8)])

    def test_a_compiled_function_runs_in_jax_afterwards(self):
        import jax

        fn, x = jax.jit(lambda x: jax.nn.softmax(jax.nn.gelu(x))), floats(2, 4)
        self.check(fn, x)
        self.assert_close(np.asarray(jax.jit(jax.nn.gelu)(x)), np.asarray(jax.nn.gelu(x)))

    def test_names_and_options_are_passed_on(self):
        names = {"input_names": ["a", "b"], "output_names": ["sum"]}
        library = mlc_tune.jax.compile(
            lambda a, b: a + b, floats(3), floats(3), threads=1, name="adder", **names
        )
        one = np.ones(3, np.float32)
        self.assert_close(library(a=one, b=one)["sum"], 2 * one)
        self.assertTrue(library.path.endswith("adder"))

    def test_shapes_alone_are_examples(self):
        import jax

        library = mlc_tune.jax.compile(lambda x: 2 * x, jax.ShapeDtypeStruct((3,), np.float32))
        self.assert_close(library(np.ones(3, np.float32))[0], np.full(3, 2, np.float32))

    def test_what_does_not_fit_is_said(self):
        import jax.numpy as jnp

        for fn, examples, kind, text in (
            (3, (floats(2),), mlc_tune.UsageError, "give a function, not a int"),
            (lambda: 1, (), mlc_tune.UsageError, "an example of each argument"),
            (lambda x: x, (3,), mlc_tune.UsageError, "example 0 is a int"),
            (jnp.linalg.eigh, (np.eye(3, dtype=np.float32),), mlc_tune.DataError, "eigh"),
            (lambda x: x @ x, (floats(2, 3),), mlc_tune.DataError, "cannot export the function"),
        ):
            with self.subTest(text), self.assertRaisesRegex(kind, text):
                mlc_tune.jax.compile(fn, *examples)

    def test_the_code_of_the_how_to_runs(self):
        self.check_how_to("JAX")


@needs("tensorflow", "tf2onnx")
class TensorFlowTest(FrameworkTest):
    def check(self, fn, *examples):
        import tensorflow as tf

        library = mlc_tune.tensorflow.compile(fn, *examples)
        wanted = tf.nest.flatten(fn(*examples))
        got = library(*map(np.asarray, examples))
        self.assertEqual(len(got), len(wanted))
        for one, other in zip(got, wanted):
            self.assert_close(one, other.numpy())

    def test_functions_and_modules_have_the_values_of_tensorflow(self):
        import tensorflow as tf

        class Module(tf.Module):
            def __init__(self):
                self.w = tf.Variable(floats(8, 3))

            def __call__(self, x):
                return tf.nn.softmax(x @ self.w)

        x = floats(4, 8)
        self.check(lambda x: tf.nn.relu(x - 1), x)
        self.check(lambda x: tf.nn.gelu(x), x)  # of Erfc, which ONNX lacks
        self.check(lambda x: tf.math.erfc(x) * tf.math.erfc(x + 1), x)
        self.check(tf.function(lambda x, y: (x + y, tf.reduce_sum(x * y, -1))), x, floats(4, 8))
        self.check(Module(), x)
        self.check(Module(), tf.constant(x))
        self.check(lambda i: tf.nn.conv2d(i, np.ones((3, 3, 3, 4), np.float32), 1, "SAME"), floats(1, 8, 8, 3))

    def test_what_does_not_fit_is_said(self):
        import tensorflow as tf

        unknown = tf.TensorSpec([None, 4], tf.float32)
        for fn, examples, kind, text in (
            (3, (floats(2),), mlc_tune.UsageError, "a function or a module"),
            (lambda x: x, (), mlc_tune.UsageError, "an example of each argument"),
            (lambda x: x, (unknown,), mlc_tune.UsageError, "fixed sizes"),
            (lambda x: tf.strings.length(tf.strings.as_string(x)), (floats(2),), mlc_tune.DataError, "."),
        ):
            with self.subTest(text), self.assertRaisesRegex(kind, text):
                with contextlib.redirect_stderr(io.StringIO()):
                    mlc_tune.tensorflow.compile(fn, *examples)

    def test_the_code_of_the_how_to_runs(self):
        self.check_how_to("TensorFlow")


@needs("keras", "tensorflow", "tf2onnx")
class KerasTest(FrameworkTest):
    def check(self, model, *examples):
        import keras

        library = mlc_tune.keras.compile(model, *examples)
        inputs = getattr(model, "input", 0)
        given = keras.tree.pack_sequence_as(inputs, list(examples))
        wanted = keras.tree.flatten(model(given, training=False))
        got = library(*examples)
        self.assertEqual(len(got), len(wanted))
        for one, other in zip(got, wanted):
            self.assert_close(one, keras.ops.convert_to_numpy(other))

    def test_models_have_the_values_of_keras(self):
        import keras
        from keras import layers as L

        a, b, s = L.Input((8,), name="a"), L.Input((8,), name="b"), L.Input((6, 8))
        both = [L.Dense(3)(L.Concatenate()([a, b])), L.Add()([a, b])]
        attention = L.LayerNormalization()(L.MultiHeadAttention(2, 4)(s, s) + s)
        convolution = [
            L.Input((16, 16, 3)),
            L.Conv2D(8, 3, padding="same"),
            L.BatchNormalization(),
            L.ReLU(),
            L.MaxPooling2D(),
            L.Dropout(0.5),
            L.GlobalAveragePooling2D(),
        ]
        x = floats(2, 8)
        for name, model, examples in (
            ("list", keras.Model([a, b], both), (x, floats(2, 8))),
            ("dictionary", keras.Model({"a": a, "b": b}, L.Subtract()([a, b])), (x, floats(2, 8))),
            ("attention", keras.Model(s, attention), (floats(1, 6, 8),)),
            ("convolution", keras.Sequential(convolution), (floats(2, 16, 16, 3),)),
            ("lstm", keras.Sequential([L.Input((5, 8)), L.LSTM(4)]), (floats(1, 5, 8),)),
        ):
            with self.subTest(name):
                self.check(model, *examples)

    def test_what_does_not_fit_is_said(self):
        import keras
        from keras import layers as L

        model = keras.Sequential([L.Input((8,)), L.Dense(3)])
        a, b = L.Input((8,)), L.Input((8,))
        for given, examples, kind, text in (
            (lambda x: x, (floats(2, 8),), mlc_tune.UsageError, "give a keras.Model"),
            (model, (), mlc_tune.UsageError, "an example of each input"),
            (model, (floats(2, 7),), mlc_tune.DataError, "Keras cannot export the model"),
            (model, (floats(2, 8),) * 2, mlc_tune.UsageError, "has 1 input.s., 2 example"),
            (keras.Model([a, b], a), (floats(2, 8),), mlc_tune.UsageError, "has 2 input.s., 1 example"),
        ):
            with self.subTest(text), self.assertRaisesRegex(kind, text):
                mlc_tune.keras.compile(given, *examples)

    def test_the_code_of_the_how_to_runs(self):
        self.check_how_to("Keras")


@needs("sklearn", "skl2onnx")
class ScikitLearnTest(FrameworkTest):
    def setUp(self):
        self.x = floats(60, 5)
        self.classes = (self.x[:, 0] > 0).astype(int) + (self.x[:, 1] > 1)
        self.target = self.x @ np.arange(5)

    def check(self, estimator, target, dtype=np.float32):
        x = self.x.astype(dtype)
        estimator.fit(x, target)
        library = mlc_tune.sklearn.compile(estimator, x[:7])
        result = library(x[:7])
        compared = functools.partial(np.testing.assert_allclose, rtol=1e-3, atol=1e-3)
        if hasattr(estimator, "predict"):
            compared(np.squeeze(result[0]), np.squeeze(estimator.predict(x[:7])))
        else:
            compared(result[0], estimator.transform(x[:7]))
        if hasattr(estimator, "predict_proba"):
            compared(result[1], estimator.predict_proba(x[:7]))

    def test_estimators_have_the_values_of_scikit_learn(self):
        from sklearn import cluster, decomposition, ensemble, linear_model, naive_bayes, neighbors
        from sklearn import neural_network, preprocessing, svm, tree
        from sklearn.pipeline import make_pipeline

        scaled = make_pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression())
        mixed = make_pipeline(
            preprocessing.MinMaxScaler(),
            decomposition.PCA(3),
            neural_network.MLPClassifier(hidden_layer_sizes=8, max_iter=20, random_state=0),
        )
        for estimator, target in (
            (linear_model.LogisticRegression(), self.classes),
            (linear_model.LogisticRegression(), self.classes > 0),
            (linear_model.Ridge(), self.target),
            (svm.LinearSVC(), self.classes),
            (scaled, self.classes),
            (mixed, self.classes),
            (neural_network.MLPRegressor(hidden_layer_sizes=8, max_iter=20, random_state=0), self.target),
            (neighbors.KNeighborsClassifier(), self.classes),
            (naive_bayes.GaussianNB(), self.classes),
            (cluster.KMeans(3, n_init=1, random_state=0), None),
            (decomposition.PCA(2), None),
            (preprocessing.PolynomialFeatures(2), None),
            (tree.DecisionTreeClassifier(), self.classes),
            (tree.DecisionTreeRegressor(), np.stack([self.target, 2 * self.target], 1)),
            (ensemble.RandomForestClassifier(10), self.classes),
            (ensemble.RandomForestClassifier(10), self.classes > 0),
            (ensemble.ExtraTreesRegressor(10), self.target),
            (ensemble.GradientBoostingClassifier(n_estimators=10), self.classes),
            (ensemble.GradientBoostingClassifier(n_estimators=10), self.classes > 0),
            (ensemble.GradientBoostingRegressor(n_estimators=10), self.target),
            (make_pipeline(preprocessing.StandardScaler(), tree.ExtraTreeRegressor()), self.target),
        ):
            with self.subTest(type(estimator).__name__):
                self.check(estimator, target)

    def test_what_does_not_fit_is_said(self):
        from sklearn import linear_model, svm

        fitted = linear_model.Ridge().fit(self.x, self.target)
        for estimator, example, kind, text in (
            (3, self.x, mlc_tune.UsageError, "an estimator of scikit-learn, not a int"),
            (fitted, self.x.tolist(), mlc_tune.UsageError, "NumPy array of rows and features"),
            (fitted, self.x[0], mlc_tune.UsageError, "NumPy array of rows and features"),
            (linear_model.Ridge(), self.x, mlc_tune.DataError, "cannot export the estimator"),
            (svm.SVR().fit(self.x, self.target), self.x, mlc_tune.DataError, "SVMRegressor"),
        ):
            with self.subTest(text), self.assertRaisesRegex(kind, text):
                mlc_tune.sklearn.compile(estimator, example)

    def test_the_code_of_the_how_to_runs(self):
        self.check_how_to("scikit-learn")


if __name__ == "__main__":
    unittest.main(argv=place.UNITTEST_ARGUMENTS)
