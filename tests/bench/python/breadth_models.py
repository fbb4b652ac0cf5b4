"""The models of breadth.py: random weights, and inputs at the size that a model is made for, unless that would take minutes.

`names()` lists `suite/model`; `make(name)` gives a module in evaluation mode with its arguments.
"""

import contextlib
import io

import torch

# Models of more than 100 million weights, or of inputs of many pixels, come last: they take minutes.
LARGE = (
    "regnet_y_128gf vit_h_14 vit_l_16 vit_l_32 convnext_large convnext_base efficientnet_b7 efficientnet_b6 efficientnet_v2_l "
    "regnet_x_32gf regnet_y_32gf regnet_y_16gf vgg11 vgg11_bn vgg13 vgg13_bn vgg16 vgg16_bn vgg19 vgg19_bn wide_resnet101_2 "
    "resnext101_64x4d swin3d_b swin_v2_b swin_b"
).split()
# Inputs of torchvision's classifiers that take no 224 x 224 pixels.
SIZES = {"inception_v3": 299, "swin_v2_t": 256, "swin_v2_s": 256, "swin_v2_b": 256}

# One model of each family of timm.
TIMM = (
    "resnet50 resnext50_32x4d seresnet50 resnest50d res2net50_26w_4s resnetv2_50 efficientnet_b0 tf_efficientnetv2_b0 "
    "mobilenetv3_large_100 mobilenetv4_conv_small mobileone_s0 ghostnet_100 mnasnet_100 fbnetc_100 lcnet_100 tinynet_a "
    "densenet121 dla34 dpn68 inception_v4 inception_resnet_v2 xception41 ese_vovnet19b_dw cspresnet50 cspdarknet53 regnety_002 "
    "regnetz_b16 eca_nfnet_l0 nf_resnet50 rexnet_100 selecsls42b skresnet18 hrnet_w18_small convnext_atto convnextv2_atto "
    "convmixer_768_32 vit_tiny_patch16_224 deit_tiny_patch16_224 beit_base_patch16_224 eva02_tiny_patch14_224 cait_xxs24_224 "
    "xcit_nano_12_p16_224 swin_tiny_patch4_window7_224 swinv2_tiny_window8_256 twins_pcpvt_small pvt_v2_b0 poolformer_s12 "
    "mixer_s16_224 resmlp_12_224 gmlp_s16_224 levit_128s mobilevit_s mobilevitv2_050 edgenext_xx_small maxvit_tiny_tf_224 "
    "coatnet_0_rw_224 coat_tiny crossvit_tiny_240 pit_ti_224 tnt_s_patch16_224 visformer_tiny volo_d1_224 efficientformer_l1 "
    "efficientvit_b0 fastvit_t8 repvgg_a0 repvit_m0_9 tiny_vit_5m_224 nest_tiny focalnet_tiny_srf davit_tiny "
    "inception_next_atto starnet_s1 hgnetv2_b0 caformer_s18 sequencer2d_s gcvit_xxtiny hiera_tiny_224 lambda_resnet26t "
    "botnet26t_256 mambaout_femto"
).split()

# Architectures of transformers, each with two layers: its type and what its configuration lacks.
SMALL = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 500,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
GROUPED = {"num_key_value_heads": 2}
PICTURE = {"image_size": 64, "patch_size": 16}
TEXT = {
    "bert": {}, "roberta": {}, "electra": {"embedding_size": 64}, "camembert": {}, "xlm-roberta": {}, "mpnet": {}, "ernie": {},
    "albert": {"embedding_size": 32}, "deberta-v2": {}, "deberta": {}, "convbert": {"embedding_size": 64}, "squeezebert": {"embedding_size": 64},
    "mobilebert": {"embedding_size": 32, "true_hidden_size": 32, "intra_bottleneck_size": 32}, "nystromformer": {}, "fnet": {},
    "distilbert": {"dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 128}, "modernbert": {}, "esm": {}, "roformer": {},
    "gpt2": {"n_embd": 64, "n_layer": 2, "n_head": 4}, "gpt_neox": {}, "gptj": {"n_embd": 64, "n_layer": 2, "n_head": 4, "rotary_dim": 8},
    "opt": {"word_embed_proj_dim": 64, "ffn_dim": 128}, "bloom": {"n_layer": 2, "n_head": 4}, "gpt_neo": {
        "num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]]},
    "llama": GROUPED, "mistral": GROUPED, "qwen2": GROUPED, "qwen3": {**GROUPED, "head_dim": 16}, "phi": {}, "phi3": GROUPED,
    "gemma": {**GROUPED, "head_dim": 16}, "gemma2": {**GROUPED, "head_dim": 16}, "gemma3_text": {**GROUPED, "head_dim": 16},
    "stablelm": GROUPED, "falcon": {}, "starcoder2": GROUPED, "olmo": GROUPED, "cohere": GROUPED, "granite": GROUPED,
    "mixtral": {**GROUPED, "num_local_experts": 2}, "smollm3": GROUPED, "biogpt": {},
}  # fmt: skip
PICTURES = {
    "vit": PICTURE, "deit": PICTURE, "beit": PICTURE, "dinov2": PICTURE, "siglip_vision_model": PICTURE,
    "clip_vision_model": PICTURE, "convnext": {"image_size": 64}, "segformer": {}, "resnet": {}, "swin": {"image_size": 224},
    "mobilevit": {"image_size": 64}, "levit": {}, "poolformer": {},
}  # fmt: skip
OWN = {"convnext", "segformer", "resnet", "swin", "mobilevit", "levit", "poolformer", "convnextv2"}
SEQUENCES = {
    "t5": {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4},
    "bart": {"d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
             "encoder_ffn_dim": 128, "decoder_ffn_dim": 128},
}  # fmt: skip
SEQUENCES["mbart"] = SEQUENCES["pegasus"] = SEQUENCES["bart"]


def names(suites=("torchvision", "timm", "transformers")):
    found = []
    if "torchvision" in suites:
        from torchvision import models

        for module in (models, models.segmentation, models.video, models.detection):
            found += [f"torchvision/{name}" for name in models.list_models(module=module)]
    if "timm" in suites:
        found += [f"timm/{name}" for name in TIMM]
    if "transformers" in suites:
        found += [f"transformers/{name}" for name in (*TEXT, *PICTURES, *SEQUENCES)]
        found += [f"transformers/{name}-cached" for name in ("llama", "qwen3", "gpt2")]
    # Suites take turns, so that a run that was ended early has some of each.
    places = {}
    for name in found:
        suite = name.partition("/")[0]
        places[name] = sum(other.startswith(suite) for other in places)
    return sorted(found, key=lambda name: (name.split("/")[1] in LARGE, places[name]))


def _torchvision(name):
    from torchvision import models

    kinds = {"weights": None}
    if name in models.list_models(module=models.segmentation) or name in models.list_models(module=models.detection):
        kinds["weights_backbone"] = None
        if name in models.list_models(module=models.detection):  # every box counts: one that is sure of itself takes training
            kinds["box_score_thresh" if "rcnn" in name else "score_thresh"] = 0.0
    elif name in ("googlenet", "inception_v3"):
        kinds |= {"aux_logits": False, "init_weights": False}
    module = models.get_model(name, **kinds)
    if name in models.list_models(module=models.detection):
        return module, ([torch.rand(3, 256, 256)],), {}
    if name in models.list_models(module=models.video):
        side = 224 if "mvit" in name else 112
        return module, (torch.rand(1, 3, 16, side, side),), {}
    side = SIZES.get(name, 224)
    return module, (torch.rand(1, 3, side, side),), {}


def _timm(name):
    import timm

    module = timm.create_model(name, pretrained=False)
    size = module.pretrained_cfg["input_size"] if hasattr(module, "pretrained_cfg") else (3, 224, 224)
    return module, (torch.rand(1, *size),), {}


class Cached(torch.nn.Module):
    """A step of a decoder whose cache has a fixed size: tensors in, tensors out."""

    def __init__(self, model, length):
        super().__init__()
        self.model, self.length = model, length

    def forward(self, ids, place, keys, values):
        from transformers import DynamicCache

        cache = DynamicCache(config=self.model.config)
        for i in range(len(keys)):
            cache.update(keys[i], values[i], i)
        made = self.model(ids, past_key_values=cache, position_ids=place, use_cache=True)
        last = made.past_key_values
        return made.logits, [layer.keys for layer in last.layers], [layer.values for layer in last.layers]


def _cached(kind):
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.for_model(kind, **{**SMALL, **TEXT[kind]})
    module = AutoModelForCausalLM.from_config(config)
    heads = getattr(config, "num_key_value_heads", config.num_attention_heads)
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    past = [torch.randn(1, heads, 31, width) for _ in range(config.num_hidden_layers)]
    ids, place = torch.randint(3, 500, (1, 1)), torch.tensor([[31]])
    return Cached(module, 31), (ids, place, past, [torch.randn_like(t) for t in past]), {}


def _transformers(name):
    from transformers import AutoConfig, AutoModel

    if name.endswith("-cached"):
        return _cached(name.removesuffix("-cached"))
    if name in PICTURES:
        wanted = PICTURES[name] if name in OWN else {**SMALL, **PICTURES[name]}
        config = AutoConfig.for_model(name, **wanted)
        side = getattr(config, "image_size", 64)
        side = side if isinstance(side, int) else side[0]
        return AutoModel.from_config(config), (), {"pixel_values": torch.rand(1, 3, side, side)}
    config = AutoConfig.for_model(name, **{**SMALL, **TEXT.get(name, {}), **SEQUENCES.get(name, {})})
    ids = torch.randint(3, 500, (1, 32))
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if name in SEQUENCES:
        inputs["decoder_input_ids"] = ids
    if name == "roformer":
        config.embedding_size = 64
    if hasattr(config, "use_cache"):
        inputs["use_cache"] = False
    return AutoModel.from_config(config), (), inputs


def _statistics(norm, inputs):
    """About the mean and the variance of all channels. With its own, a channel that varies little, as one of few
    values may, would be enlarged with its errors of rounding: those of eager mode then grow to 1 % in 50 layers."""
    variance, mean = torch.var_mean(inputs[0], correction=0)
    norm.running_mean.copy_(mean + 0.1 * variance.sqrt() * torch.randn_like(norm.running_mean))
    norm.running_var.copy_(variance * (1 + 0.2 * torch.rand_like(norm.running_var)) + 1e-3)


def _expose(module, args, kwargs):
    """Initial weights hide wrong values: a head of zeros, layer scales of 1e-6, batch norms that let activations vanish.
    Constant weights get noise here, and batch norms about the statistics of what comes in."""
    with torch.no_grad():
        for weight in module.parameters():
            if weight.numel() > 1 and weight.is_floating_point() and weight.min() == weight.max():
                weight += 0.05 * torch.randn_like(weight)
        norms = [part for part in module.modules() if getattr(part, "running_var", None) is not None]
        hooks = [norm.register_forward_pre_hook(_statistics) for norm in norms]
        if hooks:
            module(*args, **kwargs)
        for hook in hooks:
            hook.remove()
    return module


def make(name):
    """(module, arguments, arguments by name); the same weights in each process."""
    torch.manual_seed(1)
    suite, _, model = name.partition("/")
    with contextlib.redirect_stdout(io.StringIO()):
        made = {"torchvision": _torchvision, "timm": _timm, "transformers": _transformers}[suite](model)
    return _expose(made[0].eval(), *made[1:]), *made[1:]
