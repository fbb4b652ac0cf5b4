#!/usr/bin/env python3
"""Writes a well-known network as an ONNX file with seeded random weights.

    make_model.py resnet50 resnet50.onnx
    make_model.py bert_base bert.onnx --length 128 --inputs bert_inputs
    make_model.py resnet50 small.onnx --reduced     the same structure, small enough for a reference run
    make_model.py llama step.onnx --length 1 --cache 1024 --form fixed --bits 4     one step of a decoder, see decoders.py
    make_model.py llama any.onnx --length sequence --past past --form growing     steps of any length, caches that grow

Only the weights' values differ from a trained network, so speed and memory are those of the real one.
A model of more than 1.5 GB keeps its weights in a second file, OUT.data. Needs the Python packages onnx and numpy. The
same seed gives the same bytes.
"""
import argparse
import os

import onnx

import decoders
from builder import write_inputs
from convolutional import mobilenet_v2, resnet
from transformers import bert, gpt2, llama_block, vit

MODELS = ("resnet18", "resnet50", "mobilenet_v2", "bert_base", "gpt2", "vit_b_16", "llama_block", *decoders.FAMILIES)
MOST_BYTES = 3 << 29  # of one file: protocol buffers end at 2 GiB
SIZES = ("layers", "width", "heads", "kv_heads", "gates", "vocabulary", "bits")

BLOCK_SIZES = ("width", "heads", "kv_heads", "gates")  # that llama_block takes, too

# Networks that take the name of a dimension instead of a size.
NAMED_BATCH = ("resnet18", "resnet50", "mobilenet_v2")
NAMED_LENGTH = ("bert_base", "llama_block", *decoders.FAMILIES)


def make(name, batch, length, reduced, seed, layers=None, sizes=None):
    size = 64 if reduced else 224
    if reduced and not isinstance(length, str):
        length = min(length, 16)
    if name == "resnet18":
        return resnet(name, [1, 1, 1, 1] if reduced else [2, 2, 2, 2], False, batch, size, seed, 16 if reduced else 64)
    if name == "resnet50":
        return resnet(name, [1, 1, 1, 1] if reduced else [3, 4, 6, 3], True, batch, size, seed, 16 if reduced else 64)
    if name == "mobilenet_v2":
        return mobilenet_v2(name, batch, size, seed)
    small = dict(layers=2, width=64, heads=4) if reduced else {}
    if layers:
        small["layers"] = layers
    vocabulary = dict(vocabulary=1000) if reduced else {}
    if name == "llama_block":
        return llama_block(name, batch, length, seed, **{**small, **(sizes or {})})
    if name == "bert_base":
        return bert(name, batch, length, seed, **small, **vocabulary)
    if name == "gpt2":
        return gpt2(name, batch, length, seed, **small, **vocabulary)
    return vit(name, batch, size, seed, **small)


def length(text):
    return int(text) if text.isdecimal() else text


def write(model, out):
    temporary = out + ".part"
    if model.ByteSize() > MOST_BYTES:
        data = os.path.basename(out) + ".data"
        if os.path.exists(out + ".data"):
            os.remove(out + ".data")
        onnx.save(model, temporary, save_as_external_data=True, location=data)
    else:
        with open(temporary, "wb") as f:
            f.write(model.SerializeToString())
    os.replace(temporary, out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("out")
    parser.add_argument("--batch", type=length, default=1, help="images or sequences; the name of a dimension for images")
    parser.add_argument("--length", type=length, default=128,
                        help=f"tokens of a transformer; the name of a dimension for {', '.join(NAMED_LENGTH)}")
    parser.add_argument("--reduced", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--inputs", metavar="DIR", help="also write DIR/input_K.pb")
    cached = parser.add_argument_group("decoders", "llama_block takes the sizes, too, but for vocabulary and bits.")
    cached.add_argument("--form", choices=decoders.FORMS, default="fixed")
    cached.add_argument("--past", type=length, default=0,
                        help="tokens before, with --form growing; the name of a dimension with --form growing or genai")
    cached.add_argument("--cache", type=int, default=256, help="positions of a fixed cache")
    cached.add_argument("--type", choices=decoders.TYPES, default="f32", help="of weights, caches and logits")
    for size in SIZES:
        cached.add_argument("--" + size.replace("_", "-"), type=int, choices=(4, 8, 32) if size == "bits" else None)
    cached.add_argument("--float8", choices=decoders.FLOAT8_SCALES,
                        help="weights of products as float8 (e4m3), and what of them has a scale")
    args = parser.parse_args()
    if isinstance(args.batch, str) and args.model not in NAMED_BATCH:
        parser.error(f"--batch: {args.model} takes a number of sequences")
    most_id = 1000
    if args.model in decoders.FAMILIES:
        most_id = 200
        sizes = {size: getattr(args, size) for size in (*SIZES, "float8")}
        try:
            model = decoders.decoder(args.model, args.form, args.batch, args.length, args.past, args.cache, args.seed,
                                     args.reduced, args.type, **sizes)
        except ValueError as error:
            parser.error(str(error))
    elif isinstance(args.length, str) and args.model not in NAMED_LENGTH:
        parser.error(f"--length: {args.model} takes a number of tokens")
    else:
        sizes = {size: getattr(args, size) for size in BLOCK_SIZES if getattr(args, size)}
        model = make(args.model, args.batch, args.length, args.reduced, args.seed, args.layers, sizes)
    write(model, args.out)
    if args.inputs:
        os.makedirs(args.inputs, exist_ok=True)
        write_inputs(model, args.inputs, args.seed, most_id)


if __name__ == "__main__":
    main()
