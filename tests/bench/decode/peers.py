"""Decoders that run one prompt and its next tokens: a compiled library, ONNX Runtime, ONNX Runtime GenAI and llama.cpp.

Each class has tokens(), the tokens after the prompt; step_ms(), the median time of a step; prompt_ms(n), the time of n
tokens of the prompt, all of whose logits are computed.
"""
import json
import statistics
import subprocess
import time

import numpy
import onnxruntime

from decode import llama_interface

PROMPT, STEPS = 512, 24
CACHE = PROMPT + 2 * STEPS


def prompt(vocabulary):
    return numpy.random.default_rng(3).integers(0, vocabulary, PROMPT)


def milliseconds(action):
    start = time.perf_counter()
    result = action()
    return (time.perf_counter() - start) * 1e3, result


class Library:
    def __init__(self, programs, folder, options, threads):
        self.prompt = prompt(options.vocabulary)
        self.command = [programs / "mlc-run", folder, "--threads", str(threads), "--json"]

    def run(self, tokens, steps, warmups):
        ids = ",".join(str(token) for token in self.prompt[:tokens])
        done = subprocess.run([*self.command, "--generate", str(steps), "--prompt", ids, "--warmup", str(warmups)],
                              check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    def tokens(self):
        return self.run(PROMPT, STEPS, 0)["tokens"]

    def step_ms(self):
        return self.run(PROMPT, STEPS, 0)["step_ms"]["median"]

    def prompt_ms(self, tokens):
        return self.run(tokens, 1, 1)["prompt_ms"]


class Stepped:
    """A peer in this process. Of its own: step(tokens, end), which reads tokens up to position `end` and returns the most
    likely next one, and read(count), which reads a part of the prompt anew."""

    def tokens(self):
        tokens, self.times = [self.start()], []
        for i in range(1, STEPS):
            took, token = milliseconds(lambda: self.step([tokens[-1]], PROMPT + i))
            self.times.append(took)
            tokens.append(token)
        return tokens

    def step_ms(self):
        self.tokens()
        return statistics.median(self.times)

    def prompt_ms(self, tokens):
        self.read(tokens)
        return milliseconds(lambda: self.read(tokens))[0]


class Runtime(Stepped):
    """ONNX Runtime as GenAI runs it: caches are bound, and each step writes them in place."""

    def __init__(self, model, options, threads):
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = threads
        settings.add_session_config_entry("session.force_spinning_stop", "1")
        self.session = onnxruntime.InferenceSession(str(model), settings, providers=["CPUExecutionProvider"])
        self.binding = self.session.io_binding()
        self.binding.bind_output("logits")  # the first of the outputs
        for value in self.session.get_inputs():
            if value.name.startswith("past"):
                cache = onnxruntime.OrtValue.ortvalue_from_numpy(numpy.zeros(value.shape, numpy.float32))
                self.binding.bind_ortvalue_input(value.name, cache)
                self.binding.bind_ortvalue_output(value.name.replace("past_key_values", "present"), cache)
        self.prompt = prompt(options.vocabulary)

    def run(self, tokens, end):
        self.binding.bind_cpu_input("input_ids", numpy.asarray(tokens, numpy.int64)[None])
        self.binding.bind_cpu_input("seqlens_k", numpy.array([end - 1], numpy.int32))
        self.binding.bind_output("logits")
        self.session.run_with_iobinding(self.binding)

    def step(self, tokens, end):
        self.run(tokens, end)
        return int(self.binding.get_outputs()[0].numpy()[0, -1].argmax())

    def start(self):
        return self.step(self.prompt, PROMPT)

    def read(self, count):
        self.run(self.prompt[:count], count)


def genai_config(shape, threads):
    def of_layers(prefix):
        return {f"{prefix}_{side}_names": f"{'past_key_values' if prefix == 'past' else 'present'}.%d.{side}"
                for side in ("key", "value")}

    decoder = {"session_options": {"log_id": "decoder", "provider_options": [], "intra_op_num_threads": threads},
               "filename": "model.onnx", "head_size": shape.size, "hidden_size": shape.width,
               "inputs": {"input_ids": "input_ids", "attention_mask": "attention_mask", **of_layers("past")},
               "outputs": {"logits": "logits", **of_layers("present")},
               "num_attention_heads": shape.heads, "num_hidden_layers": shape.layers,
               "num_key_value_heads": shape.kv_heads}
    model = {"type": "qwen2", "bos_token_id": 1, "eos_token_id": shape.vocabulary - 1, "pad_token_id": 0,
             "vocab_size": shape.vocabulary, "context_length": CACHE, "decoder": decoder}
    return {"model": model, "search": {"do_sample": False, "max_length": CACHE, "past_present_share_buffer": True}}


class GenAi(Stepped):
    """ONNX Runtime GenAI, with the graph of its builder: an attention mask, and caches in a shared buffer."""

    def __init__(self, folder, shape, options, threads):
        import onnxruntime_genai
        self.package = onnxruntime_genai
        (folder / "genai_config.json").write_text(json.dumps(genai_config(shape, threads)))
        self.model = onnxruntime_genai.Model(str(folder))
        self.prompt = prompt(options.vocabulary).astype(numpy.int32)

    def read(self, count):
        params = self.package.GeneratorParams(self.model)
        params.set_search_options(max_length=CACHE)
        self.generator = self.package.Generator(self.model, params)
        self.generator.append_tokens(self.prompt[:count])

    def prompt_ms(self, tokens):
        self.read(tokens)
        self.generator.rewind_to(0)
        return milliseconds(lambda: self.generator.append_tokens(self.prompt[:tokens]))[0]

    def start(self):
        self.read(PROMPT)
        return self.step(None, PROMPT)

    def step(self, tokens, end):
        self.generator.generate_next_token()
        return int(self.generator.get_next_tokens()[0])


class Llama(Stepped):
    """llama.cpp through its C interface. With `last` of a prompt only the last token's logits are computed, which is what
    its own programs ask for."""

    def __init__(self, path, options, threads, last=False):
        self.api, self.last = llama_interface.functions(), last
        self.silence = llama_interface.LOG(lambda level, text, data: None)
        self.api.llama_log_set(self.silence, None)
        self.api.llama_backend_init()
        model = self.api.llama_model_load_from_file(str(path).encode(), self.api.llama_model_default_params())
        settings = self.api.llama_context_default_params()
        settings.first = CACHE  # n_ctx
        self.context = self.api.llama_init_from_model(model, settings)
        self.api.llama_set_n_threads(self.context, threads, threads)
        self.batch = self.api.llama_batch_init(PROMPT, 0, 1)
        self.vocabulary = options.vocabulary
        self.prompt = prompt(options.vocabulary)

    def run(self, tokens, end):
        batch, first = self.batch, end - len(tokens)
        batch.n_tokens = len(tokens)
        for i, token in enumerate(tokens):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.seq_id[i][0] = int(token), first + i, 1, 0
            batch.logits[i] = i == len(tokens) - 1 or not self.last
        if self.api.llama_decode(self.context, batch) != 0:
            raise RuntimeError("llama_decode failed")

    def step(self, tokens, end):
        self.run(tokens, end)
        logits = self.api.llama_get_logits_ith(self.context, -1)
        return int(numpy.ctypeslib.as_array(logits, (self.vocabulary,)).argmax())

    def start(self):
        self.read(0)
        return self.step(self.prompt, PROMPT)

    def read(self, count):
        self.api.llama_memory_clear(self.api.llama_get_memory(self.context), False)
        if count:
            self.run(self.prompt[:count], count)
            self.api.llama_synchronize(self.context)

