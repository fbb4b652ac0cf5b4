"""A decoder of tests/models/make_model.py (family qwen2, form genai) as a GGUF file, the format of llama.cpp.

Weights are the same numbers: f32 stay f32, and 4 bits by 32 become Q4_0, whose codes mean the same and whose scales are
rounded to f16. Needs the Python packages gguf, numpy and onnx.
"""
import gguf
import numpy
import onnx
from onnx import numpy_helper

BLOCK = 32
NAMES = {"norm1": "attn_norm", "q": "attn_q", "k": "attn_k", "v": "attn_v", "out": "attn_output", "norm2": "ffn_norm",
         "gate": "ffn_gate", "up": "ffn_up", "down": "ffn_down"}
OUTSIDE = {"embed": "token_embd.weight", "norm.weight": "output_norm.weight", "head.weight": "output.weight",
           "head.packed": "output.weight"}


def gguf_name(name):
    """None: not a weight."""
    if name in OUTSIDE:
        return OUTSIDE[name]
    parts = name.split(".")
    if parts[0] != "layer" or parts[3] not in ("weight", "bias", "packed"):
        return None
    return f"blk.{parts[1]}.{NAMES[parts[2]]}.{'bias' if parts[3] == 'bias' else 'weight'}"


def q4_0(packed, scales):
    """Rows of blocks: a scale, then 16 bytes of which byte i holds the elements i and i + 16."""
    rows, blocks, _ = packed.shape
    codes = numpy.empty((rows, blocks, BLOCK), numpy.uint8)
    codes[..., 0::2], codes[..., 1::2] = packed & 15, packed >> 4
    data = numpy.empty((rows, blocks, 2 + BLOCK // 2), numpy.uint8)
    data[..., :2] = scales.reshape(rows, blocks, 1).astype(numpy.float16).view(numpy.uint8)
    data[..., 2:] = codes[..., :BLOCK // 2] | codes[..., BLOCK // 2:] << 4
    return data.reshape(rows, -1)


def write_shape(out, shape, positions):
    out.add_context_length(positions)
    out.add_embedding_length(shape.width)
    out.add_block_count(shape.layers)
    out.add_feed_forward_length(shape.gates)
    out.add_head_count(shape.heads)
    out.add_head_count_kv(shape.kv_heads)
    out.add_vocab_size(shape.vocabulary)
    out.add_tokenizer_model("none")


def write_gguf(model, path, shape, epsilon, theta, positions):
    """Shape: as decoders.Shape of tests/models."""
    out = gguf.GGUFWriter(str(path), "qwen2")
    write_shape(out, shape, positions)
    out.add_layer_norm_rms_eps(epsilon)
    out.add_rope_freq_base(theta)
    arrays = {w.name: numpy_helper.to_array(w) for w in onnx.load(model).graph.initializer}
    for name, array in arrays.items():
        to = gguf_name(name)
        if to is None:
            continue
        if name.endswith(".packed"):
            scales = arrays[name.replace(".packed", ".scales")]
            out.add_tensor(to, q4_0(array, scales), raw_dtype=gguf.GGMLQuantizationType.Q4_0)
        else:
            is_product = array.ndim == 2 and name != "embed"
            out.add_tensor(to, numpy.ascontiguousarray(array.T if is_product else array))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    return path
