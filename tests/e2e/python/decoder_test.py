#!/usr/bin/env python3
"""Decoders with caches, in every form that exporters write, against a plain NumPy decoder.

decoder_test.py BIN_FOLDER SOURCE_FOLDER
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import place

sys.path.insert(0, str(place.SOURCE / "tests/models"))

from small_models import np

import decoders

import mlc_tune
import mlc_tune.onnxruntime as ort

TOKENS = np.random.default_rng(3).integers(0, 200, 8)
GROWING = ("growing", "attention", "genai")
STEPS = (5, 1, 1, 1)  # a prompt, and what follows it token by token
CACHE = 12
TOLERANCE = 2e-5


def weights(model):
    from onnx import numpy_helper

    return {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}


def rms(x, scale):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + decoders.EPSILON) * scale


def layer_norm(x, scale, bias):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * scale + bias


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class Plain:
    """All tokens at once, without a cache, in double precision."""

    def __init__(self, family, shape, model):
        self.family, self.s = family, shape
        self.w = {name: array.astype(np.float64) for name, array in weights(model).items()}

    def product(self, x, name):
        y = x @ self.w[name + ".weight"]
        return y + self.w[name + ".bias"] if name + ".bias" in self.w else y

    def norm(self, x, name):
        bias = self.w.get(name + ".bias")
        scale = self.w[name + ".weight"]
        return rms(x, scale) if bias is None else layer_norm(x, scale, bias)

    def heads(self, x, count, name):
        x = x.reshape(len(x), count, self.s.size).swapaxes(0, 1)
        return rms(x, self.w[name + ".weight"]) if name + ".weight" in self.w else x

    def rotate(self, x):
        angles = decoders.THETA ** (-np.arange(0, self.s.size, 2) / self.s.size)
        turns = np.exp(1j * np.arange(x.shape[1])[:, None] * angles)
        half = self.s.size // 2
        turned = (x[..., :half] + 1j * x[..., half:]) * turns
        return np.concatenate([turned.real, turned.imag], -1)

    def attend(self, h, p):
        q = self.heads(self.product(h, p + ".q"), self.s.heads, p + ".q_norm")
        k = self.heads(self.product(h, p + ".k"), self.s.kv_heads, p + ".k_norm")
        v = self.heads(self.product(h, p + ".v"), self.s.kv_heads, "")
        if self.family != "gpt2_decoder":
            q, k = self.rotate(q), self.rotate(k)
        k, v = (x.repeat(self.s.heads // self.s.kv_heads, 0) for x in (k, v))
        scores = q @ k.swapaxes(1, 2) / np.sqrt(self.s.size)
        scores[:, ~np.tri(len(h), dtype=bool)] = -np.inf
        return (softmax(scores) @ v).swapaxes(0, 1).reshape(len(h), -1)

    def gates(self, h, p):
        if self.family != "gpt2_decoder":
            gate = self.product(h, p + ".gate")
            return gate / (1 + np.exp(-gate)) * self.product(h, p + ".up")
        h = self.product(h, p + ".up")
        return h / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3)))

    def logits(self, ids):
        x = self.w["embed"][ids]
        if self.family == "gpt2_decoder":
            x = x + self.w["wpe"][: len(ids)]
        for i in range(self.s.layers):
            p = f"layer.{i}"
            x = x + self.product(self.attend(self.norm(x, p + ".norm1"), p), p + ".out")
            x = x + self.product(self.gates(self.norm(x, p + ".norm2"), p), p + ".down")
        return self.product(self.norm(x, "norm"), "head")


def step(family, form, bits, length, past, cache):
    model = decoders.decoder(family, form, 1, length, past, CACHE, 0, True, bits=bits)
    session = ort.InferenceSession(model.SerializeToString())
    feeds = {
        "input_ids": TOKENS[None, past : past + length],
        "position_ids": np.arange(past, past + length),
        "seqlens_k": np.array([past + length - 1], np.int32),
    }
    inputs = {}
    for port in session.get_inputs():
        if port.name in feeds:
            inputs[port.name] = feeds[port.name]
        elif cache is None:
            inputs[port.name] = np.zeros(port.shape, np.float32)
        else:
            inputs[port.name] = cache[port.name.replace("past_key_values", "present")]
    names = [port.name for port in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs)))


def generate(family, form, bits=32):
    logits, cache, past = [], None, 0
    for length in STEPS:
        cache = step(family, form, bits, length, past, cache)
        logits.append(cache["logits"][0])
        past += length
    return np.concatenate(logits)


class DecoderTest(unittest.TestCase):
    def test_every_form_computes_what_a_plain_decoder_does(self):
        for family in decoders.FAMILIES:
            model = decoders.decoder(family, "growing", 1, 1, 0, 1, 0, True)
            small = decoders.reduced(family)
            expected = Plain(family, small, model).logits(TOKENS)
            for form in decoders.FORMS:
                with self.subTest(family=family, form=form):
                    error = np.abs(generate(family, form) - expected).max()
                    self.assertLess(error, TOLERANCE * np.abs(expected).max())

    def test_weights_of_few_bits_are_the_same_in_every_form(self):
        whole = generate("qwen3", "fixed")
        for bits, least in ((8, 1e-4), (4, 1e-3)):
            first, *others = (generate("qwen3", form, bits) for form in decoders.FORMS)
            self.assertGreater(np.abs(first - whole).max(), least)  # they are not whole
            for other in others:
                self.assertLess(np.abs(other - first).max(), TOLERANCE * np.abs(first).max())


class GenerateTest(unittest.TestCase):
    """mlc-run --generate, on libraries for steps of 1 and of 4 tokens."""

    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory(prefix="mlc-generate-")
        cls.folder = pathlib.Path(cls.work.name)
        for form in ("fixed", "genai"):
            cls.compile(form, form, "sequence=1,4")
        cls.compile("fixed", "long", "sequence=4")
        for form in GROWING:
            cls.compile(form, form + "_growing", "past=0..11", "sequence=1..5@1,3", past="past")
        cls.compile("growing", "some", "past=8,11", "sequence=1", past="past")

    @classmethod
    def tearDownClass(cls):
        cls.work.cleanup()

    @classmethod
    def compile(cls, form, name, *dims, past=0):
        model = decoders.decoder("qwen3", form, 1, "sequence", past, CACHE, 0, True)
        path = cls.folder / f"{name}.onnx"
        path.write_bytes(model.SerializeToString())
        program = place.BIN / "mlc-compile"
        command = [program, "--model", path, "--target", "cpu", "-o", cls.folder / name]
        command += [word for dim in dims for word in ("--dim", dim)]
        subprocess.run(command, check=True, capture_output=True)

    def generate(self, name, *flags):
        command = [place.BIN / "mlc-run", self.folder / name, *map(str, flags)]
        return subprocess.run(command, capture_output=True, text=True)

    def tokens(self, name, *flags):
        said = self.generate(name, "--json", *flags)
        self.assertEqual(said.returncode, 0, said.stderr)
        return json.loads(said.stdout)["tokens"]

    def expected(self, count):
        model = decoders.decoder("qwen3", "growing", 1, 1, 0, 1, 0, True)
        plain, ids = Plain("qwen3", decoders.reduced("qwen3"), model), list(TOKENS[:7])
        for _ in range(count):
            ids.append(int(plain.logits(ids)[-1].argmax()))
        return ids[7:]

    PROMPT = ("--prompt", ",".join(map(str, TOKENS[:7])))

    def test_the_likeliest_tokens_are_those_of_a_plain_decoder(self):
        expected = self.expected(6)
        for form in ("fixed", "genai"):
            self.assertEqual(self.tokens(form, "--generate", 6, *self.PROMPT), expected)
        text = self.generate("fixed", "--generate", 6, *self.PROMPT)
        self.assertEqual(text.stdout.splitlines()[0], " ".join(map(str, expected)))
        self.assertIn("prompt: 7 tokens", text.stdout)

    def test_a_cache_that_grows_gives_the_same_tokens(self):
        for form in GROWING:
            with self.subTest(form=form):
                headers = (self.folder / (form + "_growing")).glob("*.h")
                self.assertIn("_IN_PLACE_INPUT ", "".join(path.read_text() for path in headers))
                flags = ("--generate", 6, *self.PROMPT)
                self.assertEqual(self.tokens(form + "_growing", *flags), self.expected(6))
                again = ("--generate", 6, "--warmup", 1, *self.PROMPT)
                self.assertEqual(self.tokens(form + "_growing", *again), self.expected(6))

    def test_a_cache_that_grows_may_be_the_callers(self):
        model = decoders.decoder("qwen3", "growing", 1, 1, 0, 1, 0, True)
        expected = Plain("qwen3", decoders.reduced("qwen3"), model).logits(TOKENS)
        for form in GROWING:
            with self.subTest(form=form):
                library = mlc_tune.load(self.folder / (form + "_growing"))
                shape = (1, 2, 0, 16)
                caches = {p.name: np.zeros(shape, np.float32) for p in library.inputs if p.name.startswith("past")}
                past, logits = 0, []
                for length in STEPS:
                    feeds = {
                        "input_ids": TOKENS[None, past : past + length],
                        "position_ids": np.arange(past, past + length),
                        "attention_mask": np.ones((1, past + length), np.int64),
                        **caches,
                    }
                    outputs = library(*(feeds[port.name] for port in library.inputs))
                    named = dict(zip((port.name for port in library.outputs), outputs))
                    logits.append(named["logits"][0])
                    for name in caches:
                        caches[name] = named[name.replace("past_key_values", "present")]
                    past += length
                error = np.abs(np.concatenate(logits) - expected).max()
                self.assertLess(error, TOLERANCE * np.abs(expected).max())

    def test_an_end_token_ends_the_sequence(self):
        expected = self.expected(6)
        end = ("--end-token", expected[2])
        first = expected.index(expected[2]) + 1
        self.assertEqual(self.tokens("fixed", "--generate", 6, *end, *self.PROMPT), expected[:first])

    def test_drawn_tokens_follow_the_seed(self):
        drawn = ("--generate", 6, "--temperature", 1.5, "--top-k", 50, "--top-p", 0.95, *self.PROMPT)
        one, other, again = (self.tokens("fixed", *drawn, "--seed", seed) for seed in (1, 2, 1))
        self.assertEqual(one, again)
        self.assertNotEqual(one, other)

    def test_a_restricted_choice_is_drawn_without_a_temperature(self):
        for flags in (("--top-k", 50), ("--top-p", 0.95)):
            with self.subTest(flags=flags):
                said = [self.tokens("fixed", "--generate", 6, *flags, *more, *self.PROMPT)
                        for more in ((), ("--temperature", 1), ("--temperature", 0))]
                self.assertEqual(said[0], said[1])
                self.assertNotEqual(said[0], said[2])

    def test_a_prompt_read_before_changes_no_token(self):
        self.assertEqual(self.tokens("fixed", "--generate", 6, "--warmup", 2, *self.PROMPT), self.expected(6))

    def test_what_cannot_be_generated_is_explained(self):
        bad, usage = 65, 2
        for code, name, flags, words in (
            (bad, "fixed", ("--generate", 7, *self.PROMPT), "too many for a cache of 12 positions"),
            (bad, "fixed", ("--generate", 1, "--prompt", "1,200"), "token 200 is outside of the vocabulary"),
            (bad, "fixed", ("--generate", 1, "--prompt", "1,x"), "'x' is no token"),
            (bad, "fixed", ("--generate", 1, "--prompt", "1,,2"), "'' is no token"),
            (bad, "fixed", ("--generate", 1, "--prompt", "1", "--end-token", 200), "--end-token: token 200 is outside"),
            (usage, "fixed", ("--generate", 0, "--prompt", "1"), "is to be a whole number, 1 or more"),
            (bad, "long", ("--generate", 2, "--prompt", "1,2,3,4"), "has no step of one token"),
            (bad, "long", ("--generate", 1, "--prompt", "1,2,3"), "is not made of steps of 4"),
            (bad, "some", ("--generate", 1, *self.PROMPT), "as in --dim past=0..511"),
            (bad, "growing_growing", ("--generate", 7, *self.PROMPT), "too many for a cache of 12 positions"),
            (usage, "fixed", ("--generate", 1), "--prompt"),
            (usage, "fixed", ("--prompt", "1"), "--generate"),
        ):
            with self.subTest(flags=flags):
                said = self.generate(name, *flags)
                self.assertEqual(said.returncode, code)
                self.assertIn(words, said.stderr)


class TuneTest(unittest.TestCase):
    """A decoder whose cache grows, from tuning to tokens, as its documents say."""

    SIZES = ("--dim", "past=0..11", "--dim", "sequence=1..5@1,3")
    TRIALS = 60

    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory(prefix="mlc-tune-decoder-")
        cls.folder = pathlib.Path(cls.work.name)
        cls.model = cls.folder / "decoder.onnx"
        model = decoders.decoder("qwen3", "growing", 1, "sequence", "past", CACHE, 0, True)
        cls.model.write_bytes(model.SerializeToString())
        cls.log = cls.folder / "tuning.db"
        cls.tuned = cls.program("mlc-tune", *cls.on_log(), "--trials", cls.TRIALS, "--json")

    @classmethod
    def tearDownClass(cls):
        cls.work.cleanup()

    @classmethod
    def of_model(cls):
        return ("--model", cls.model, "--target", "cpu", "--threads", "2", *cls.SIZES)

    @classmethod
    def on_log(cls):
        return (*cls.of_model(), "--log", cls.log)

    @classmethod
    def program(cls, name, *words):
        return subprocess.run([place.BIN / name, *map(str, words)], capture_output=True, text=True)

    def library(self, name, *flags):
        said = self.program("mlc-compile", *self.on_log(), "-o", self.folder / name, *flags)
        self.assertEqual(said.returncode, 0, said.stderr)
        return self.folder / name

    def test_all_classes_are_one_job(self):
        self.assertEqual(self.tuned.returncode, 0, self.tuned.stderr)
        records = self.program("mlc-log", "stats", self.log).stdout
        self.assertRegex(records, rf"{self.TRIALS}  ok")

    def test_a_library_of_its_log_gives_the_tokens_of_a_plain_decoder(self):
        library = self.library("tuned")
        report = json.loads((library / "report.json").read_text())
        self.assertTrue(any(task["tuned"] for task in report["tasks"]))
        said = self.program("mlc-run", library, "--generate", 6, "--json", *GenerateTest.PROMPT)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertEqual(json.loads(said.stdout)["tokens"], GenerateTest.expected(self, 6))

    def test_the_log_gives_the_same_choices_again(self):
        again = self.program("mlc-tune", *self.on_log(), "--replay-only", "--json")
        self.assertIn(again.returncode, (0, 3), again.stderr)  # 3: some tasks have no record
        lock, bytes_of = self.folder / "one.lock", []
        for name, flags in (("one", ("--log", self.log, "--reproducible", "--lock", lock)), ("two", ("--locked", lock))):
            said = self.program("mlc-compile", *self.of_model(), *flags, "--name", "m", "-o", self.folder / name)
            self.assertEqual(said.returncode, 0, said.stderr)
            bytes_of.append((self.folder / name / "libm.so").read_bytes())
        self.assertEqual(*bytes_of)

    def test_an_empty_cache_may_be_the_only_one(self):
        library = self.folder / "first"
        said = self.program("mlc-compile", "--model", self.model, "--target", "cpu", "--dim", "past=0", "--dim",
                            "sequence=7", "-o", library)
        self.assertEqual(said.returncode, 0, said.stderr)
        loaded = mlc_tune.load(library)
        feeds = {"input_ids": TOKENS[None, :7], "position_ids": np.arange(7), "attention_mask": np.ones((1, 7), np.int64)}
        inputs = (feeds.get(port.name, np.zeros((1, 2, 0, 16), np.float32)) for port in loaded.inputs)
        outputs = dict(zip((port.name for port in loaded.outputs), loaded(*inputs)))
        model = decoders.decoder("qwen3", "growing", 1, 1, 0, 1, 0, True)
        expected = Plain("qwen3", decoders.reduced("qwen3"), model).logits(TOKENS[:7])
        error = np.abs(outputs["logits"][0] - expected).max()
        self.assertLess(error, TOLERANCE * np.abs(expected).max())


if __name__ == "__main__":
    unittest.main(argv=place.UNITTEST_ARGUMENTS)
