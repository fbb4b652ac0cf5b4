"""Writes the models beside it: attention as PyTorch's exporters write it, in models of a few kB.

Needs torch, onnxscript and transformers: write_exports.py FOLDER
"""
import os
import sys
import tempfile

import onnx
import torch
import torch.nn.functional as F
import transformers as tf
from torch import nn


def slim(model):
    """Drops what says where a model is from, and all names but those of inputs and outputs."""
    graph = model.graph
    kept = {value.name for value in [*graph.input, *graph.output]}
    names = {}

    def short(name):
        return name if not name or name in kept else names.setdefault(name, f"v{len(names)}")

    del model.metadata_props[:]
    del graph.value_info[:]
    del graph.metadata_props[:]
    model.producer_name = model.producer_version = model.doc_string = graph.doc_string = ""
    graph.name = "g"
    for node in graph.node:
        if any(attribute.HasField("g") for attribute in node.attribute):
            raise ValueError("a node with a body")
        node.name = node.doc_string = ""
        del node.metadata_props[:]
        node.input[:] = [short(name) for name in node.input]
        node.output[:] = [short(name) for name in node.output]
    for item in [*graph.initializer, *graph.input, *graph.output]:
        item.doc_string = ""
        del item.metadata_props[:]
        item.name = short(item.name)
    return model


class Writer:
    def __init__(self, folder):
        self.folder = folder

    def write(self, name, module, args, opset=18):
        for kind, dynamo in (("dynamo", True), ("script", False)):
            with tempfile.TemporaryDirectory() as temporary, torch.no_grad():
                path = os.path.join(temporary, "m.onnx")
                more = {"external_data": False} if dynamo else {}
                try:
                    torch.onnx.export(module.eval(), args, path, dynamo=dynamo,
                                      opset_version=opset, **more)
                    model = slim(onnx.load(path))
                except Exception as error:  # not every exporter takes every module
                    print(f"{name}.{kind}: {str(error).splitlines()[0][:90]}", file=sys.stderr)
                    continue
                onnx.save(model, os.path.join(self.folder, f"{name}.{kind}.onnx"))


class Sdpa(nn.Module):
    def __init__(self, **how):
        super().__init__()
        self.how = how

    def forward(self, q, k, v, mask=None):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, **self.how)


def write_products(writer):
    batch, heads, length, depth = 2, 4, 3, 4
    q, k, v = (torch.randn(batch, heads, length, depth) for _ in range(3))
    few = [torch.randn(batch, 2, length, depth) for _ in range(2)]
    scores = (batch, 1, length, length)
    shown = torch.rand(scores) > 0.3
    for opset in (18, 23):
        name = f"sdpa{opset}"
        writer.write(f"{name}_plain", Sdpa(), (q, k, v), opset)
        writer.write(f"{name}_float", Sdpa(), (q, k, v, torch.randn(scores)), opset)
        writer.write(f"{name}_bool", Sdpa(), (q, k, v, shown), opset)
        writer.write(f"{name}_causal", Sdpa(is_causal=True), (q, k, v), opset)
        writer.write(f"{name}_gqa", Sdpa(enable_gqa=True), (q, *few), opset)
        writer.write(f"{name}_scale", Sdpa(scale=0.3), (q, k, v), opset)
        writer.write(f"{name}_3d", Sdpa(), (q[0], k[0], v[0]), opset)
        writer.write(f"{name}_half", Sdpa(), (q.half(), k.half(), v.half(), shown), opset)


class SelfAttention(nn.Module):
    def __init__(self, weights, causal):
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)
        self.weights = weights
        self.causal = causal

    def forward(self, x, padding=None):
        square = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool)
        mask = torch.triu(square, 1) if self.causal else None
        return self.attention(x, x, x, key_padding_mask=padding, need_weights=self.weights,
                              attn_mask=mask)[0]


def write_modules(writer):
    x = torch.randn(2, 6, 16)
    padding = torch.zeros(2, 6, dtype=torch.bool)
    padding[:, 4:] = True
    for weights in (True, False):
        for causal in (True, False):
            name = f"mha_{int(weights)}{int(causal)}"
            writer.write(name, SelfAttention(weights, causal), (x,))
            writer.write(f"{name}p", SelfAttention(weights, causal), (x, padding))
    encoder = nn.TransformerEncoderLayer(16, 4, 24, batch_first=True)
    writer.write("encoder", nn.TransformerEncoder(encoder, 1, enable_nested_tensor=False), (x,))
    decoder = nn.TransformerDecoderLayer(16, 4, 24, batch_first=True)
    writer.write("decoder", nn.TransformerDecoder(decoder, 1), (x, x))


class First(nn.Module):
    """The first result of a model, whose operands have these names."""

    def __init__(self, model, names, more):
        super().__init__()
        self.model = model
        self.names = names
        self.more = more

    def forward(self, *operands):
        return self.model(**dict(zip(self.names, operands)), **self.more, return_dict=True)[0]


TEXT = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=4, intermediate_size=24,
            vocab_size=8, max_position_embeddings=16)
GROUPED = dict(TEXT, num_key_value_heads=2)
IMAGE = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=4, intermediate_size=24,
             image_size=16, patch_size=4)
WINDOWS = dict(image_size=16, patch_size=2, embed_dim=8, depths=[2], num_heads=[2], window_size=2)
T5 = dict(d_model=16, d_kv=4, d_ff=24, num_layers=1, num_heads=4, vocab_size=8)
IDS = ("input_ids", "attention_mask")
PIXELS = ("pixel_values",)
MODELS = [
    ("llama", tf.LlamaModel, tf.LlamaConfig(**GROUPED), IDS),
    ("qwen2", tf.Qwen2Model, tf.Qwen2Config(**GROUPED), IDS),
    ("qwen3", tf.Qwen3Model, tf.Qwen3Config(**GROUPED, head_dim=4), IDS),
    ("gemma2", tf.Gemma2Model, tf.Gemma2Config(**GROUPED, head_dim=4), IDS),
    ("gemma3", tf.Gemma3TextModel, tf.Gemma3TextConfig(**GROUPED, head_dim=4), IDS),
    ("gptj", tf.GPTJModel,
     tf.GPTJConfig(n_embd=16, n_layer=1, n_head=2, vocab_size=8, n_positions=16, n_inner=24,
                   rotary_dim=4), IDS),
    ("phi", tf.PhiModel, tf.PhiConfig(**TEXT, partial_rotary_factor=0.5), IDS),
    ("gpt2", tf.GPT2Model,
     tf.GPT2Config(n_embd=16, n_layer=1, n_head=4, vocab_size=8, n_positions=16), IDS),
    ("gptneox", tf.GPTNeoXModel, tf.GPTNeoXConfig(**TEXT), IDS),
    ("opt", tf.OPTModel,
     tf.OPTConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=4, ffn_dim=24,
                  vocab_size=8, max_position_embeddings=16, word_embed_proj_dim=16), IDS),
    ("bert", tf.BertModel, tf.BertConfig(**TEXT), IDS),
    ("distilbert", tf.DistilBertModel,
     tf.DistilBertConfig(dim=16, n_layers=1, n_heads=4, hidden_dim=24, vocab_size=8,
                         max_position_embeddings=16), IDS),
    ("t5", tf.T5EncoderModel, tf.T5Config(**T5), IDS),
    ("bloom", tf.BloomModel,
     tf.BloomConfig(hidden_size=16, n_layer=1, n_head=4, vocab_size=8), IDS),
    ("vit", tf.ViTModel, tf.ViTConfig(**IMAGE), PIXELS),
    ("swin", tf.SwinModel, tf.SwinConfig(**WINDOWS), PIXELS),
    ("swinv2", tf.Swinv2Model, tf.Swinv2Config(**WINDOWS), PIXELS),
    ("deberta", tf.DebertaV2Model,
     tf.DebertaV2Config(**TEXT, relative_attention=True, pos_att_type=["c2p", "p2c"]), IDS),
]
NO_CACHE = {"llama", "qwen2", "qwen3", "gemma2", "gemma3", "gptj", "phi", "gpt2", "gptneox", "opt",
            "bloom"}


def write_networks(writer):
    text = (torch.randint(0, 8, (2, 6)), torch.tensor([[1] * 6, [1] * 4 + [0] * 2]))
    image = (torch.randn(1, 3, 16, 16),)
    for name, model_class, config, names in MODELS:
        for kind in ("eager", "sdpa"):
            config._attn_implementation = kind
            try:
                model = model_class(config)
            except ValueError as error:  # some models have one implementation
                print(f"{name} {kind}: {str(error)[:90]}", file=sys.stderr)
                continue
            more = {"use_cache": False} if name in NO_CACHE else {}
            writer.write(f"hf_{name}_{kind}", First(model, names, more),
                         text if names == IDS else image)


def write_block(writer):
    """A batch of one, without padding: the kernels of a block are counted."""
    config = tf.LlamaConfig(**GROUPED)
    config._attn_implementation = "sdpa"
    model = First(tf.LlamaModel(config), IDS[:1], {"use_cache": False})
    writer.write("hf_llama_one", model, (torch.randint(0, 8, (1, 6)),), 20)


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    torch.manual_seed(0)
    writer = Writer(sys.argv[1])
    write_products(writer)
    write_modules(writer)
    write_networks(writer)
    write_block(writer)


if __name__ == "__main__":
    main()
