"""The feature extractor f: a wide residual network of depth 10."""

import torch
from torch import nn
from torch.nn.functional import relu

#: Channels after the first convolution and, times the widening factor, in the three groups.
STEM_CHANNELS = 16
GROUP_CHANNELS = (16, 32, 64)


class WideResidualNetwork(nn.Module):
    """WRN-10-k: depth 10 = 4 + 6·1, one block of two convolutions in each of three groups.

    Convolutions run in bfloat16 on CUDA devices; the features are float32 everywhere.

    Parameters
    ----------
    widen_factor : int
        k; 4 in GOAD. The features are 64 k numbers.
    """

    def __init__(self, widen_factor: int) -> None:
        super().__init__()
        widths = [channels * widen_factor for channels in GROUP_CHANNELS]
        self.n_features = widths[-1]
        self.layers = nn.Sequential(
            convolution(1, STEM_CHANNELS, size=3),
            ResidualBlock(STEM_CHANNELS, widths[0], stride=1),
            ResidualBlock(widths[0], widths[1], stride=2),
            ResidualBlock(widths[1], widths[2], stride=2),
            nn.BatchNorm2d(widths[2]),
            nn.ReLU(inplace=True),
        )
        # Convolutions on tensor cores want the channels of a pixel side by side.
        self.to(memory_format=torch.channels_last)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the features: the last activations, averaged over the image.

        Parameters
        ----------
        images : float tensor of shape (n_images, height, width)

        Returns
        -------
        float32 tensor of shape (n_images, n_features)
        """
        # With one channel both memory formats are the same memory, and only the strides tell torch
        # which one is meant. unsqueeze(1) would say "channels first" and cost a transposition.
        channels_last = images.unsqueeze(-1).permute(0, 3, 1, 2)
        with torch.autocast(images.device.type, dtype=torch.bfloat16, enabled=images.is_cuda):
            activations = self.layers(channels_last)
        return activations.mean(dim=(2, 3), dtype=torch.float32)


class ResidualBlock(nn.Module):
    """BN, ReLU, 3×3, BN, ReLU, 3×3, plus the input (pre-activation, as in wide networks)."""

    def __init__(self, in_channels: int, out_channels: int, *, stride: int) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(in_channels)
        self.conv1 = convolution(in_channels, out_channels, size=3, stride=stride)
        self.norm2 = nn.BatchNorm2d(out_channels)
        self.conv2 = convolution(out_channels, out_channels, size=3)
        self.projection = (
            None
            if in_channels == out_channels and stride == 1
            else convolution(in_channels, out_channels, size=1, stride=stride)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        activated = relu(self.norm1(x), inplace=True)
        shortcut = x if self.projection is None else self.projection(activated)
        residual = self.conv1(activated)
        return self.conv2(relu(self.norm2(residual), inplace=True)) + shortcut


def convolution(in_channels: int, out_channels: int, *, size: int, stride: int = 1) -> nn.Conv2d:
    """Return a convolution that keeps the size of the image (up to the stride), with He's start."""
    layer = nn.Conv2d(in_channels, out_channels, size, stride=stride, padding=size // 2, bias=False)
    nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return layer
