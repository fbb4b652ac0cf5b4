"""Networks of torchvision, timm and transformers with random weights: name -> () -> (module, inputs)."""
import timm
import torch
import transformers as hf
from torchvision import models as tv

from first_output import FirstOutput


def vision(make, size=224, **options):
    return lambda: (FirstOutput(make(**options)), torch.randn(1, 3, size, size))


def image(name, size=224):
    return lambda: (timm.create_model(name), torch.randn(1, 3, size, size))


def text(make, config, **options):
    """Two layers each: depth adds no operator."""
    return lambda: (FirstOutput(make(config(vocab_size=1000, **options))), torch.randint(0, 1000, (1, 64)))


BARE = {"weights": None, "weights_backbone": None}
SMALL = {"hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2}
NETWORKS = {
    "alexnet": vision(tv.alexnet),
    "vgg11_bn": vision(tv.vgg11_bn),
    "squeezenet1_1": vision(tv.squeezenet1_1),
    "resnet34": vision(tv.resnet34),
    "resnext50_32x4d": vision(tv.resnext50_32x4d),
    "densenet121": vision(tv.densenet121),
    "googlenet": vision(tv.googlenet, aux_logits=False, init_weights=False),
    "inception_v3": vision(tv.inception_v3, 299, aux_logits=False, init_weights=False),
    "shufflenet_v2_x1_0": vision(tv.shufflenet_v2_x1_0),
    "mnasnet1_0": vision(tv.mnasnet1_0),
    "mobilenet_v3_large": vision(tv.mobilenet_v3_large),
    "efficientnet_b0": vision(tv.efficientnet_b0),
    "efficientnet_v2_s": vision(tv.efficientnet_v2_s),
    "regnet_y_400mf": vision(tv.regnet_y_400mf),
    "convnext_tiny": vision(tv.convnext_tiny),
    "swin_t": vision(tv.swin_t),
    "swin_v2_t": vision(tv.swin_v2_t, 256),
    "maxvit_t": vision(tv.maxvit_t),
    "deeplabv3_mobilenet": vision(tv.segmentation.deeplabv3_mobilenet_v3_large, **BARE),
    "lraspp_mobilenet": vision(tv.segmentation.lraspp_mobilenet_v3_large, **BARE),
    "mixer_s16": image("mixer_s16_224"),
    "deit_tiny": image("deit_tiny_patch16_224"),
    "levit_128s": image("levit_128s"),
    "mobilevit_xs": image("mobilevit_xs", 256),
    "distilbert": text(hf.DistilBertModel, hf.DistilBertConfig, n_layers=2),
    "roberta": text(hf.RobertaModel, hf.RobertaConfig, num_hidden_layers=2),
    "albert": text(hf.AlbertModel, hf.AlbertConfig, intermediate_size=512, **SMALL),
    "electra": text(hf.ElectraModel, hf.ElectraConfig, num_hidden_layers=2),
    "t5_encoder": text(hf.T5EncoderModel, hf.T5Config, num_layers=2),
    "llama": text(hf.LlamaModel, hf.LlamaConfig, intermediate_size=512, num_key_value_heads=2, use_cache=False, **SMALL),
    "opt": text(hf.OPTModel, hf.OPTConfig, hidden_size=256, ffn_dim=512, num_hidden_layers=2, num_attention_heads=4,
                word_embed_proj_dim=256, use_cache=False),
    "lstm": lambda: (FirstOutput(torch.nn.LSTM(64, 64, batch_first=True)), torch.randn(1, 16, 64)),
}


def make(name):
    torch.manual_seed(0)
    network, inputs = NETWORKS[name]()
    for module in network.eval().modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            # Fresh statistics (0 and 1) would hide mistakes of folding.
            module.running_mean.uniform_(-0.1, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    return network, inputs
