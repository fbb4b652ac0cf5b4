"""Cases of the whole-model benchmarks: NAME:BATCH:PRECISION[:LENGTH], and what their results may differ by.

NAME is a network of torchvision, a class or a model type of transformers, with fields of its config after an @:
resnet50, GPT2Model, llama@num_hidden_layers=1,hidden_size=2048. LENGTH is the number of tokens (128 if not given),
or of pixels along an edge of the images (224).
"""
import dataclasses
import re

# Largest difference to single precision, over the largest magnitude of the output.
BOUNDS = {"fp32": 1e-4, "tf32": 5e-3, "fp16": 2e-2, "bf16": 6e-2}
TOKENS, PIXELS = 128, 224


@dataclasses.dataclass(frozen=True)
class Case:
    text: str
    name: str
    fields: dict
    batch: int
    precision: str
    length: int  # 0: the network's usual one

    @property
    def folder(self):
        """A name for its files; that of a case without a length is NAME_BATCH_PRECISION."""
        return re.sub(r"[^A-Za-z0-9_.-]+", "_", self.text)

    @property
    def cells(self):
        return [self.text.split(":")[0], str(self.batch), self.precision, str(self.length or "")]


def value_of(text):
    """A field of a config: a whole number, a number, true or false, else the text itself."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return {"true": True, "false": False}.get(text.lower(), text)


def positive(text, what, case):
    if not text.isdecimal() or int(text) == 0:
        raise ValueError(f"case '{case}': {what} '{text}' is no whole number above 0")
    return int(text)


def parse(text):
    parts = text.split(":")
    if len(parts) not in (3, 4):
        raise ValueError(f"case '{text}' is not NAME:BATCH:PRECISION[:LENGTH], as bert_base:32:fp16:128")
    if parts[2] not in BOUNDS:
        raise ValueError(f"case '{text}': precision '{parts[2]}' is none of {', '.join(BOUNDS)}")
    name, _, fields = parts[0].partition("@")
    if not name:
        raise ValueError(f"case '{text}' has no name of a network")
    pairs = [field.partition("=") for field in fields.split(",") if field]
    if any(not key or not value for key, _, value in pairs):
        raise ValueError(f"case '{text}': after the @ come NAME=VALUE, divided by commas")
    length = positive(parts[3], "length", text) if len(parts) == 4 else 0
    return Case(text, name, {key: value_of(value) for key, _, value in pairs}, positive(parts[1], "batch", text), parts[2],
                length)
