"""One tensor as the output of any network."""
import torch


class FirstOutput(torch.nn.Module):
    """Gives the first tensor of networks that return several."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        output = self.network(x)
        if isinstance(output, torch.Tensor):
            return output
        return next(iter(output.values())) if hasattr(output, "values") else output[0]
