#!/usr/bin/env python3
"""Decoders with caches, in every form that exporters write, against a plain NumPy decoder.

decoder_test.py BIN_FOLDER SOURCE_FOLDER
"""

import sys
import unittest

import place

sys.path.insert(0, str(place.SOURCE / "tests/models"))

from small_models import np

import decoders

import mlc_tune.onnxruntime as ort

TOKENS = np.random.default_rng(3).integers(0, 200, 8)
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


if __name__ == "__main__":
    unittest.main(argv=place.UNITTEST_ARGUMENTS)
