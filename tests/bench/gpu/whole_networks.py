"""The networks of the whole-model benchmarks: the same random weights and data for the same case, in every process."""
import inspect
import os
import sys

import torch

import cases

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "peers"))
from first_output import FirstOutput  # noqa: E402

SEED = 7
DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}


def dtype_of(precision):
    return DTYPES.get(precision, torch.float32)


def vary(network):
    """No parameter stays constant: zeros, ones and tiny scales, as fresh networks have them, would hide mistakes."""
    for module in network.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm) and module.running_mean is not None:
            module.running_mean.uniform_(-0.1, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    for parameter in network.parameters():
        least, most = parameter.aminmax()
        if least == most == 0:
            parameter.normal_(0, 0.02)
        elif least == most:
            parameter.mul_(torch.empty_like(parameter).uniform_(0.5, 1.5)).clamp_(min=0.05)


def vision(case):
    """A network of torchvision, or None."""
    from torchvision import models

    if case.name not in models.list_models():
        return None
    options = dict(case.fields, weights=None)
    accepted = inspect.signature(models.get_model_builder(case.name)).parameters
    if "weights_backbone" in accepted:
        options["weights_backbone"] = None
    if case.name in ("googlenet", "inception_v3"):
        options |= {"aux_logits": False, "init_weights": False}
    return models.get_model(case.name, **options)


def language(case):
    """A network of transformers: a name of ours, a class, or a model type."""
    import transformers

    fields = dict(case.fields)
    if case.name == "bert_base":
        return transformers.BertModel(transformers.BertConfig(**fields), add_pooling_layer=False)
    if hasattr(transformers, case.name) and hasattr(getattr(transformers, case.name), "config_class"):
        kind = getattr(transformers, case.name)
        config = kind.config_class(**fields)
        make = kind
    else:
        config = transformers.AutoConfig.for_model(case.name, **fields)
        make = transformers.AutoModel.from_config
    if hasattr(config, "use_cache"):
        config.use_cache = False
    return make(config)


def images(case, size, channels=3):
    return torch.randn(case.batch, channels, case.length or size, case.length or size)


def data_of(case, network):
    config = getattr(network, "config", None)
    if config is None:
        return images(case, cases.PIXELS)
    config = config.get_text_config() if hasattr(config, "get_text_config") else config
    if network.main_input_name == "pixel_values":
        return images(case, config.image_size, config.num_channels)
    return torch.randint(0, config.vocab_size, (case.batch, case.length or cases.TOKENS))


def make(case):
    """The network in single precision, which gives one tensor, and its data, on the CPU."""
    torch.manual_seed(SEED)
    network = vision(case)
    if network is None:
        network = language(case)
    network.eval().requires_grad_(False)
    with torch.no_grad():
        vary(network)
    torch.manual_seed(SEED + 1)
    return FirstOutput(network), data_of(case, network)


def prepared(case, device):
    """As PyTorch runs it best: in the case's precision on the device, images with their channels last."""
    tf32 = case.precision == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = True
    network, data = make(case)
    dtype = dtype_of(case.precision)
    network, data = network.to(device).to(dtype), data.to(device)
    if data.is_floating_point():
        network = network.to(memory_format=torch.channels_last)
        data = data.to(dtype).to(memory_format=torch.channels_last)
    return network, data
