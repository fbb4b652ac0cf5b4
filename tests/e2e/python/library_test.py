#!/usr/bin/env python3
"""Libraries in Python: values, types, wrong inputs, the caller's buffers, DLPack, threads, forks.

library_test.py BIN_FOLDER SOURCE_FOLDER
"""

import gc
import os
import pathlib
import pickle
import tempfile
import threading
import unittest
from unittest import mock

import place
from small_models import (
    PackageTest,
    TensorProto,
    WEIGHTS,
    expected_product,
    helper,
    model,
    np,
    product,
    twice,
    two_by_two,
    unsupported,
)

import mlc_tune
from mlc_tune._session import Session

RNG = np.random.default_rng(7)


def compiled(model, **options):
    return mlc_tune.compile(model, target="cpu", threads=1, **options)


class Tensor:
    """A tensor of a foreign library, which gives its memory by DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)


class OnDevice(Tensor):
    def __dlpack_device__(self):
        return (2, 0)


class SizesTest(PackageTest):
    @classmethod
    def setUpClass(cls):
        cls.library = compiled(product("rows"), dims={"rows": [1, 3, 8]})

    def test_a_run_has_the_sizes_of_its_inputs(self):
        self.assertEqual(self.library.sizes, ({"rows": 1}, {"rows": 3}, {"rows": 8}))
        for rows in (8, 1, 3, 8, 3, 1):
            x = RNG.standard_normal((rows, 4)).astype(np.float32)
            y = self.library(x)["y"]
            np.testing.assert_allclose(y, expected_product(x), rtol=1e-5, atol=1e-6)
            out = np.empty((rows, 3), np.float32)
            self.library({"x": Tensor(x)}, out=[out])
            np.testing.assert_array_equal(out, y)

    def test_other_sizes_are_refused(self):
        for shape in ((2, 4), (0, 4), (3, 5), (3,)):
            with self.assertRaises(mlc_tune.InputError) as raised:
                self.library(np.zeros(shape, np.float32))
            self.assertIn("its sizes: rows 1, 3, 8", str(raised.exception))
        with self.assertRaises(mlc_tune.InputError):
            self.library(np.zeros((3, 4), np.float64))
        with self.assertRaises(mlc_tune.InputError):
            self.library(np.zeros((3, 4), np.float32), out=[np.zeros((8, 3), np.float32)])

    def test_bindings_of_several_sizes_share_a_session(self):
        with self.library.session() as session:
            arrays = [RNG.standard_normal((rows, 4)).astype(np.float32) for rows in (1, 8)]
            bindings = [session.bind(array) for array in arrays]
            for _ in range(3):
                for array, binding in zip(arrays, bindings):
                    binding.outputs[0][...] = 0
                    binding.run()
                    np.testing.assert_allclose(
                        binding.outputs[0], expected_product(array), rtol=1e-5, atol=1e-6
                    )
            self.assertEqual(len(session.time(2, arrays[1])), 2)
        with self.assertRaises(mlc_tune.UsageError):
            session(arrays[0])

    def test_threads_run_different_sizes(self):
        session = self.library.session()
        wrong = []

        def work(rows):
            x = RNG.standard_normal((rows, 4)).astype(np.float32)
            for _ in range(200):
                if not np.allclose(session(x)[0], expected_product(x), rtol=1e-4, atol=1e-5):
                    wrong.append(rows)

        threads = [threading.Thread(target=work, args=(rows,)) for rows in (1, 3, 8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        session.close()

    def test_nothing_runs_while_another_size_is_prepared(self):
        small, large = (np.ones((rows, 4), np.float32) for rows in (1, 8))
        ends = []

        def prepared(plan):
            other = threading.Thread(target=lambda: (session(small), ends.append("run")))
            other.start()
            other.join(0.2)
            ends.append("prepared")
            others.append(other)
            return Session(plan)

        others = []
        with self.library.session() as session:
            session(small)
            with mock.patch("mlc_tune._sizes.Session", prepared):
                result = session(large)[0]
            others[0].join()
        self.assertEqual(ends, ["prepared", "run"])
        np.testing.assert_allclose(result, expected_product(large), rtol=1e-5, atol=1e-6)

    def test_a_range_takes_any_size(self):
        with compiled(product("rows"), dims={"rows": "2..9@4"}) as library:
            self.assertEqual(library.sizes, ({"rows": 4}, {"rows": 9}))
            self.assertEqual(library.ranges, {"rows": (2, 9)})
            for rows in (9, 2, 5, 3, 4, 8):
                x = RNG.standard_normal((rows, 4)).astype(np.float32)
                y = library(x)["y"]
                np.testing.assert_allclose(y, expected_product(x), rtol=1e-5, atol=1e-6)
                out = np.empty((rows, 3), np.float32)
                library({"x": Tensor(x)}, out=[out])
                np.testing.assert_array_equal(out, y)
            for rows in (1, 10):
                with self.assertRaises(mlc_tune.InputError) as raised:
                    library(np.zeros((rows, 4), np.float32))
                self.assertIn("its sizes: rows 2 to 9", str(raised.exception))

    def test_sizes_are_text_or_numbers(self):
        with compiled(product("rows"), dims={"rows": "2..6:4"}) as library:
            self.assertEqual(library.sizes, ({"rows": 2}, {"rows": 6}))
        for wrong in (1.5, [], [1, "2"], [True]):
            with self.assertRaises(mlc_tune.UsageError):
                compiled(product("rows"), dims={"rows": wrong})
        with compiled(product("rows"), dims={"rows": 2}) as library:
            self.assertEqual(library.sizes, ())


class LibraryTest(PackageTest):
    @classmethod
    def setUpClass(cls):
        cls.product = compiled(product())
        cls.pair = compiled(two_by_two())
        cls.large = compiled(two_by_two(count=100_000))
        cls.x = RNG.standard_normal((2, 4), np.float32)

    def test_values_are_those_of_numpy_by_position_by_name_and_by_dictionary(self):
        wanted = expected_product(self.x)
        for given in (self.product(self.x), self.product(x=self.x), self.product({"x": self.x})):
            self.assert_close(given[0], wanted)
            self.assert_close(given["y"], wanted)
        a, b = RNG.standard_normal((2, 6), np.float32)
        for outputs in (self.pair(a, b), self.pair(b=b, a=a), self.pair(a, b=b)):
            total, difference = outputs
            self.assert_close(total, a + b)
            self.assert_close(difference, a - b)
            self.assertEqual(outputs.names, ("sum", "difference.1"))
            self.assertEqual(set(dict(outputs)), {"sum", "difference.1"})
            self.assert_close(pickle.loads(pickle.dumps(outputs))["difference.1"], a - b)

    def test_a_result_does_not_change_with_the_next_run(self):
        for library in (self.pair, self.large):
            size = library.inputs[0].shape
            a, b = np.ones(size, np.float32), np.full(size, 2, np.float32)
            first = library(a, b)
            library(b, b)
            self.assert_close(first["sum"], a + b)

    def test_ports_have_names_shapes_and_types(self):
        (info,) = self.product.inputs
        self.assertEqual((info.name, info.shape, info.dtype), ("x", (2, 4), np.float32))
        self.assertEqual([info.name for info in self.pair.outputs], ["sum", "difference.1"])
        self.assertEqual(str(info), "x: f32[2,4]")
        self.assertEqual(self.product.device, -1)
        self.assertIn("x: f32[2,4] -> y: f32[2,3]", repr(self.product))
        self.assertEqual(self.product.report["schema"], "mlc.compile/1")

    def test_every_element_type_passes_unchanged(self):
        types = "FLOAT DOUBLE FLOAT16 BFLOAT16 INT8 UINT8 INT16 INT32 INT64 BOOL".split()
        for name in types:
            with self.subTest(type=name):
                library = compiled(twice(getattr(TensorProto, name)))
                dtype = library.inputs[0].dtype
                if name == "BFLOAT16":
                    bits = np.full((3, 5), 0x3F80, np.uint16)  # 1.0
                    (y,) = library(bits)
                    self.assertEqual(set(y.view(np.uint16).ravel()), {0x4000})  # 2.0
                    library(bits, out=bits)
                    self.assertEqual(set(bits.ravel()), {0x4000})
                    continue
                x = (np.arange(15).reshape(3, 5) % 2).astype(dtype)
                (y,) = library(x)
                self.assertEqual(y.dtype, dtype)
                np.testing.assert_array_equal(y, ~x if name == "BOOL" else x + x)

    def test_a_model_without_inputs_is_called_with_nothing(self):
        node = helper.make_node("Relu", ["w"], ["y"])
        port = ("y", TensorProto.FLOAT, list(WEIGHTS.shape))
        library = compiled(model([node], [], [port], [("w", WEIGHTS)]))
        self.assert_close(library()[0], np.maximum(WEIGHTS, 0))
        self.assert_close(library({})["y"], np.maximum(WEIGHTS, 0))

    def test_layouts_and_byte_orders_are_converted(self):
        a, b = (RNG.standard_normal(200_000).astype(np.float32)[::2] for _ in range(2))
        for library, size in ((self.pair, 6), (self.large, 100_000)):
            wanted = a[:size] + b[:size]
            for x in (a[:size], a[:size].astype(">f4"), a[:size].copy()[::-1][::-1]):
                self.assert_close(library(x, b[:size])["sum"], wanted)
        read_only = self.x.copy()
        read_only.flags.writeable = False
        self.assert_close(self.product(read_only)[0], expected_product(self.x))
        self.assert_close(self.product(np.asfortranarray(self.x))[0], expected_product(self.x))
        unaligned = np.frombuffer(b"\0" + a[:6].tobytes(), np.float32, offset=1)
        self.assert_close(self.pair(unaligned, b[:6])["sum"], a[:6] + b[:6])

    def test_wrong_inputs_say_what_the_model_takes(self):
        x = self.x
        cases = (
            (lambda: self.product(), "input 'x' is missing; the model's inputs: x: f32[2,4]"),
            (lambda: self.product(x, x), "the model has 1 input(s), 2 are given"),
            (lambda: self.product(x, x=x), "given twice"),
            (lambda: self.product(x=x, z=x), "the model has no input 'z'"),
            (lambda: self.product(z=x), "the model has no input 'z'; its inputs: x: f32[2,4]"),
            (lambda: self.product(x[:, :3]), "is float32[2,3], the model has f32[2,4]"),
            (lambda: self.product(x.astype(np.float64)), "is float64[2,4], the model has f32[2,4]"),
            (lambda: self.product([[1, 2]]), "is a list: give a NumPy array"),
            (lambda: self.product(None), "is a NoneType"),
            (lambda: self.product(Tensor(x.astype(np.int32))), "is i32[2,4]"),
            (lambda: self.product(OnDevice(x)), "in the memory of a device"),
            (lambda: self.product(x, stream=0), "takes no stream"),
        )
        for call, text in cases:
            with self.subTest(text=text), self.assertRaises(mlc_tune.Error) as caught:
                call()
            self.assertIn(text, str(caught.exception))
        self.assert_close(self.product(x)[0], expected_product(x))  # nothing is left behind

    def test_outputs_go_to_the_callers_buffers(self):
        for library, size in ((self.pair, 6), (self.large, 100_000)):
            a, b = RNG.standard_normal((2, size), np.float32)
            buffers = [np.empty(size, np.float32) for _ in range(2)]
            outputs = library(a, b, out=buffers)
            self.assertIs(outputs["sum"], buffers[0])
            self.assert_close(buffers[0], a + b)
            library(b, a, out={"difference.1": buffers[0], "sum": buffers[1]})
            self.assert_close(buffers[0], b - a)

    def test_small_arrays_of_any_form_give_the_same_values(self):
        a = np.arange(6, dtype=np.float32)
        wanted, x = self.pair(a, 2 * a), np.ones((2, 4), np.float32)
        y, wide, swapped = self.product(x), np.zeros((2, 6), np.float32), np.zeros((2, 3), ">f4")
        for first, second in (
            (a, 2 * a),
            (np.repeat(a, 2)[::2], (2 * a).astype(">f4")),
            (a, memoryview(2 * a).toreadonly()),
        ):
            first, second = np.asarray(first), np.asarray(second)
            for buffers in (None, [np.empty(6, np.float32) for _ in range(2)]):
                for got in (
                    self.pair(first, second, out=buffers),
                    self.pair(first, b=second, out=buffers),
                    self.pair({"b": second, "a": first}, out=buffers and tuple(buffers)),
                ):
                    np.testing.assert_array_equal(got, wanted)
        for out in (np.empty((2, 3), np.float32), [np.empty((2, 3), np.float32)]):
            np.testing.assert_array_equal(self.product(x, out=out)[0], y[0])
        for out in (wide[:, ::2], swapped, [np.empty((3, 2), np.float32).T]):
            with self.assertRaisesRegex(mlc_tune.InputError, "output 'y'"):
                self.product(x, out=out)

    def test_a_wrong_buffer_is_refused(self):
        a, b = np.zeros((2, 6), np.float32)
        good = np.empty(6, np.float32)
        fixed = np.empty(6, np.float32)
        fixed.flags.writeable = False
        for bad, text in (
            (np.empty(6, np.float64), "is float64[6]"),
            (np.empty(5, np.float32), "is float32[5]"),
            (np.empty(12, np.float32)[::2], "not contiguous and writable"),
            (fixed, "not contiguous and writable"),
            (good, "overlaps"),
            ([0] * 6, "is a list"),
        ):
            with self.subTest(text=text), self.assertRaises(mlc_tune.InputError) as caught:
                self.pair(a, b, out=[good, bad])
            self.assertIn(text, str(caught.exception))
        large = np.zeros(100_000, np.float32)
        with self.assertRaisesRegex(mlc_tune.InputError, "overlaps"):
            self.large(large, large, out=[large, np.empty_like(large)])

    def test_tensors_of_other_libraries_are_read_by_dlpack(self):
        for library, size in ((self.pair, 6), (self.large, 100_000)):
            a, b = RNG.standard_normal((2, size), np.float32)
            buffer = np.empty(size, np.float32)
            library(Tensor(a), b, out=[buffer, Tensor(np.empty_like(buffer))])
            self.assert_close(buffer, a + b)
            self.assert_close(np.from_dlpack(library(a, Tensor(b))["sum"]), a + b)
            strided = Tensor(np.repeat(a, 2)[::2])
            self.assert_close(library(strided, b)["sum"], a + b)

    def test_a_binding_runs_on_the_same_memory(self):
        session = self.pair.session()
        a, b = np.zeros((2, 6), np.float32)
        binding = session.bind({"a": a, "b": b})
        a += 3
        b += 1
        binding.run()
        self.assert_close(binding.outputs["difference.1"], np.full(6, 2))
        own = [info.empty() for info in self.pair.outputs]
        session.bind((a, b), own).run()
        self.assert_close(own[0], np.full(6, 4))
        for bad in (np.zeros(12, np.float32)[::2], np.zeros(6, ">f4")):
            with self.assertRaisesRegex(mlc_tune.InputError, "contiguous"):
                session.bind((bad, b))
        self.assertTrue(all(time > 0 for time in session.time(5, a, b)))

    def test_threads_run_at_the_same_time(self):
        wrong, sessions = [], self.pair.session()

        def work(number):
            a = np.full(6, number, np.float32)
            for call in (self.pair, sessions):
                for _ in range(200):
                    if call(a, a)["sum"][0] != 2 * number:
                        wrong.append(number)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_after_a_fork_the_child_has_sessions_of_its_own(self):
        library = mlc_tune.compile(product(), target="cpu", threads=2)
        session = library.session()
        library(self.x)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                fits = np.allclose(library(self.x)[0], expected_product(self.x), atol=1e-6)
                try:
                    session(self.x)
                except mlc_tune.UsageError as error:
                    code = 0 if fits and "forked" in str(error) else 2
                del session, library
                gc.collect()
            finally:
                os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assert_close(session(self.x)[0], expected_product(self.x))

    def test_what_is_closed_cannot_run(self):
        library = compiled(product())
        with library.session() as session:
            session(self.x)
        with self.assertRaisesRegex(mlc_tune.UsageError, "closed"):
            session(self.x)
        with library:
            pass
        with self.assertRaisesRegex(mlc_tune.UsageError, "closed"):
            library(self.x)
        with self.assertRaisesRegex(mlc_tune.UsageError, "threads"):
            self.product.session(threads=5000)

    def test_a_temporary_library_goes_with_its_last_user(self):
        library = compiled(product())
        folder, session = library.path, library.session()
        del library
        gc.collect()
        self.assertTrue(os.path.isdir(folder))
        session(self.x)
        del session
        gc.collect()
        self.assertFalse(os.path.exists(folder))

    def test_a_library_that_was_compiled_again_is_the_new_one(self):
        with tempfile.TemporaryDirectory() as folder:
            first = compiled(product(), output=folder + "/net")
            second = compiled(two_by_two(), output=folder + "/net")
            self.assertEqual(len(second.inputs), 2)
            self.assert_close(first(self.x)[0], expected_product(self.x))
            again = mlc_tune.load(folder + "/net")
            self.assertEqual([info.name for info in again.inputs], ["a", "b"])

    def test_two_users_of_one_library_leave_nothing_to_the_next_one(self):
        folder = os.path.join(place.SCRATCH, "two-users")
        mlc_tune.compile(product(), output=folder, threads=1).close()
        with mlc_tune.load(folder):
            mlc_tune.load(folder).close()
            # It gets the numbers of descriptors that the closed one had.
            with mlc_tune.compile(two_by_two(), threads=1) as other:
                self.assertEqual([info.name for info in other.inputs], ["a", "b"])

    def test_weights_in_a_file_are_found_beside_the_library(self):
        with tempfile.TemporaryDirectory() as folder:
            compiled(product(), output=folder, name="net", weights="file")
            self.assertTrue(os.path.exists(folder + "/net.weights"))
            loaded = mlc_tune.load(pathlib.Path(folder, "libnet.so"))
            self.assert_close(loaded(self.x)[0], expected_product(self.x))
            pathlib.Path(folder, "net.weights").write_bytes(b"others")
            with self.assertRaises(mlc_tune.DataError):
                mlc_tune.load(folder)

    def test_what_is_no_library_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            library = compiled(product(), output=folder + "/net")
            whole = pathlib.Path(folder, "net/libnet.so").read_bytes()
            cut = pathlib.Path(folder, "libcut.so")
            for data in (b"", b"words", whole[:70], whole[: len(whole) // 2]):
                cut.write_bytes(data)
                with self.subTest(bytes=len(data)), self.assertRaises(mlc_tune.DataError):
                    mlc_tune.load(cut)
            os.mkfifo(folder + "/libpipe.so")
            for path in ("none.so", "libpipe.so", "net/net.h"):
                with self.subTest(path=path), self.assertRaises(mlc_tune.DataError):
                    mlc_tune.load(f"{folder}/{path}")
            with self.assertRaisesRegex(mlc_tune.DataError, "several"):
                pathlib.Path(folder, "net/libother.so").write_bytes(whole)
                mlc_tune.load(folder + "/net")
            del library

    def test_a_model_that_cannot_be_compiled_says_why(self):
        with self.assertRaisesRegex(mlc_tune.DataError, "NoSuchOperator") as caught:
            compiled(unsupported())
        self.assertEqual(caught.exception.code, 65)


if __name__ == "__main__":
    unittest.main(argv=place.UNITTEST_ARGUMENTS)
