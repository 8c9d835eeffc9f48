"""What training minimizes and what scores add up, both made of distances to the centres.

Of each image x there are M copies T(x, 1)..T(x, M), with features f(T(x, m)), and one centre c_m
for each transformation. Below, ``distances[i, m, k]`` = ‖f(T(x_i, m)) - c_k‖².
"""

from math import inf, log

import torch


def squared_distances(features: torch.Tensor, centers: torch.Tensor) -> torch.Tensor:
    """Return ‖f(T(x_i, m)) - c_k‖².

    Parameters
    ----------
    features : tensor of shape (n_images, M, n_features)
    centers : tensor of shape (M, n_features)

    Returns
    -------
    tensor of shape (n_images, M, M)
    """
    # ‖f - c‖² = ‖f‖² - 2 f·c + ‖c‖² needs no tensor of all differences. Features are averages of
    # ReLUs, far from 0: moved to the middle of the centres first, little cancels.
    middle = centers.mean(dim=0)
    features, centers = features - middle, centers - middle
    squares = features.square().sum(dim=-1, keepdim=True) + centers.square().sum(dim=-1)
    return (squares - 2 * features @ centers.T).clamp_min(0)


def center_triplet_loss(distances: torch.Tensor, margin: float) -> torch.Tensor:
    """Return the mean of max(0, ‖f - c_m‖² + s - min_{k≠m} ‖f - c_k‖²) over all copies.

    The paper writes a sum; the mean makes the learning rate independent of the batch size.

    Parameters
    ----------
    distances : tensor of shape (n_images, M, M)
    margin : float
        s.

    Returns
    -------
    tensor of shape ()
    """
    own = distances.diagonal(dim1=1, dim2=2)
    same = torch.eye(distances.shape[-1], dtype=torch.bool, device=distances.device)
    nearest_other = distances.masked_fill(same, inf).amin(dim=-1)
    return (own + margin - nearest_other).clamp_min(0).mean()


def cross_entropy(logits: torch.Tensor) -> torch.Tensor:
    """Return the mean of -log softmax(logits of T(x_i, m))_m over all copies.

    Parameters
    ----------
    logits : tensor of shape (n_images, M, M)

    Returns
    -------
    tensor of shape ()
    """
    return -logits.log_softmax(dim=-1).diagonal(dim1=1, dim2=2).mean()


def log_probabilities(distances: torch.Tensor, smoothing: float) -> torch.Tensor:
    """Return log P(m | T(x_i, m)), in log space.

        P(m | T(x, m)) = (e^{-‖f - c_m‖²} + ε) / (Σ_k e^{-‖f - c_k‖²} + M ε)

    Parameters
    ----------
    distances : tensor of shape (n_images, M, M)
    smoothing : float
        ε.

    Returns
    -------
    tensor of shape (n_images, M)
    """
    own = -distances.diagonal(dim1=1, dim2=2)
    every = (-distances).logsumexp(dim=-1)
    if smoothing > 0:
        own = own.logaddexp(own.new_tensor(log(smoothing)))
        every = every.logaddexp(every.new_tensor(log(distances.shape[-1] * smoothing)))
    return own - every
