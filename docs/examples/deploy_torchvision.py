#!/usr/bin/env python3
"""From a model of torchvision to a library that needs no PyTorch.

deploy_torchvision.py NAME FOLDER [SIDE]
"""

import sys

import torch
import torchvision

import mlc_tune.torch

name, folder = sys.argv[1:3]
side = int(sys.argv[3]) if len(sys.argv) > 3 else 224
# weights="DEFAULT" takes the trained ones, which torchvision downloads.
model = torchvision.models.get_model(name, weights=None).eval()
image = torch.rand(1, 3, side, side)
library = mlc_tune.torch.compile_aot(model, (image,), output=folder, output_names=["scores"])
with torch.inference_mode():
    torch.testing.assert_close(
        torch.from_numpy(library(image)["scores"]), model(image), rtol=1e-3, atol=1e-3
    )
print(f"{folder} holds {library}")
