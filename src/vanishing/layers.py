"""Vanishing polynomials as layers of torch networks, and networks cut short by class ideals."""

from collections import OrderedDict
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from vanishing.arrays.namespace import Array, FloatArray, IntArray, import_extra, move_to_host
from vanishing.arrays.parameters import check_real, check_whole
from vanishing.class_features import ClassVanishingFeatures
from vanishing.equations.expansion import affine_map, compose_maps, steps_of
from vanishing.ideal import VanishingIdeal
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.evaluation import DegreeBlock, needed_blocks
from vanishing.polynomials.monomials import AffineMap

torch = import_extra("torch", extra="torch", purpose="vanishing.layers")

__all__ = ["VanishingLayer", "cut_network"]

Output = Literal["abs", "signed"]

# --- The layer ------------------------------------------------------------------------------------


class VanishingLayer(torch.nn.Module):  # type: ignore[name-defined]
    """The vanishing polynomials of a fitted model as a layer of a torch network.

    The layer computes what ``transform`` of the model computes. It is differentiable in its input
    and, if wanted, in the coefficients of the polynomials; works with ``torch.compile`` and
    ``torch.export``; and moves between devices and precisions like any other module.

    Parameters
    ----------
    model : VanishingIdeal, ClassVanishingFeatures, PolynomialBasis, Pipeline or list
        Fitted. A pipeline ends in one of the others, after scalers and PCA. A list holds ideals or
        bases in the same variables, such as the ideals of one image of the data in a detector's
        ``ideals_``; their polynomials come one after the other.
    output : {"abs", "signed"}, optional
        The absolute values or the values of the polynomials. By default as ``transform`` of the
        model, and "signed" for a ``PolynomialBasis``.
    trainable : bool, default=False
        Whether training changes the coefficients. ``requires_grad_`` changes that later.
    device : torch.device or str, optional
    dtype : torch.dtype, optional
        As in ``torch.nn.Linear``: by default float32, unless ``torch.set_default_dtype`` says
        otherwise.

    Attributes
    ----------
    in_features : int
        Number of variables.
    out_features : int
        Number of polynomials.

    See Also
    --------
    cut_network : Replaces the last layers of a network by class ideals.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from vanishing import VanishingIdeal
    >>> from vanishing.layers import VanishingLayer
    >>> angle = np.linspace(0, 6, 50)
    >>> ideal = VanishingIdeal(tol=1e-6).fit(np.column_stack([np.cos(angle), np.sin(angle)]))
    >>> layer = VanishingLayer(ideal, dtype=torch.float64)
    >>> x = torch.tensor([[2.0, 0.0]], dtype=torch.float64, requires_grad=True)
    >>> layer(x).round(decimals=6)
    tensor([[1.5000]], dtype=torch.float64, grad_fn=<RoundBackward1>)
    >>> layer(x).sum().backward()
    >>> x.grad.round(decimals=6) + 0  # not -0
    tensor([[2., 0.]], dtype=torch.float64)
    """

    def __init__(
        self,
        model: Any,
        *,
        output: Output | None = None,
        trainable: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        model, inner = _split_pipeline(model)
        bases, default = _read_bases(model)
        self.output = default if output is None else output
        if self.output not in ("abs", "signed"):
            raise ValueError(f"output must be 'abs' or 'signed', got {output!r}")
        n_variables = bases[0].n_features
        self.in_features = n_variables if inner is None else inner.n_in
        self.out_features = sum(basis.count() for basis in bases)
        degrees = [blocks for basis in bases if (blocks := needed_blocks(basis.blocks))]
        dtype = torch.get_default_dtype() if dtype is None else dtype
        # Subtracting a point in the middle of the data first keeps the digits of float32, which
        # x W - c W would lose where the data is far from the origin. What rounding changes of that
        # point is part of the next offset.
        middle = _find_middle(degrees, n_variables)
        center = _round(middle if inner is None else inner.preimage(middle), dtype)
        if inner is None:
            middle = center
            self.projection = None
        else:
            self.projection = _linear(inner.matrix, inner(center[None, :])[0] - middle)
        self.register_buffer("center", torch.tensor(center))
        self.linear = _LinearPolynomials(degrees, n_variables, middle) if degrees else None
        self.products = torch.nn.ModuleList(
            _ProductPolynomials(degrees, t) for t in range(2, max(map(len, degrees), default=0) + 1)
        )
        self.to(device=device, dtype=dtype)
        self.requires_grad_(trainable)

    def forward(self, x: Array) -> Array:
        """Evaluate the polynomials.

        Parameters
        ----------
        x : tensor of shape (..., in_features)

        Returns
        -------
        tensor of shape (..., out_features)
            In the order of the columns of ``transform``.
        """
        if x.shape[-1] != self.in_features:
            raise ValueError(
                f"expected points with {self.in_features} coordinates, got a tensor of shape "
                f"{tuple(x.shape)}"
            )
        if self.linear is None:
            return x[..., :0]
        z = x - self.center
        if self.projection is not None:
            z = self.projection(z)
        nonvanishing, found = self.linear(z)
        lower = [nonvanishing]  # F_1, F_2, ... of all ideals
        columns = [[values] for values in found]  # G_1, G_2, ... of each ideal
        for products in self.products:
            nonvanishing, found = products(lower)
            lower.append(nonvanishing)
            for j, values in zip(products.present, found, strict=True):
                columns[j].append(values)
        features = torch.cat([values for of_one in columns for values in of_one], dim=-1)
        return features if self.output == "signed" else torch.abs(features)

    def extra_repr(self) -> str:
        """Return what ``print`` shows of the layer.

        Returns
        -------
        str
        """
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"output={self.output!r}"
        )


class _LinearPolynomials(torch.nn.Module):  # type: ignore[name-defined]
    """F_1 of all ideals, where products find their factors, and G_1 of each: one matrix product."""

    def __init__(
        self, degrees: Sequence[Sequence[DegreeBlock]], n_variables: int, middle: FloatArray
    ) -> None:
        super().__init__()
        nonvanishing = [_on_variables(blocks, "nonvanishing", n_variables) for blocks in degrees]
        vanishing = [_on_variables(blocks, "vanishing", n_variables) for blocks in degrees]
        parts = [*nonvanishing, *vanishing]
        matrix = np.concatenate([matrix for matrix, _ in parts])
        offset = np.concatenate([offset for _, offset in parts])
        self.sizes = [sum(len(m) for m, _ in nonvanishing), *(len(m) for m, _ in vanishing)]
        self.combine = _linear(matrix, matrix @ middle + offset)

    def forward(self, z: Array) -> tuple[Array, Sequence[Array]]:
        """Return F_1 of all ideals and G_1 of each."""
        nonvanishing, *found = torch.split(self.combine(z), self.sizes, dim=-1)
        return nonvanishing, found


class _ProductPolynomials(torch.nn.Module):  # type: ignore[name-defined]
    """F_t and G_t of several ideals: combinations of products F_1 · F_{t-1} and of F_1 ... F_{t-1}.

    All products are computed at once; each ideal then has a matrix of its own. Ideals have
    different numbers of polynomials: padding them to one size would add parameters.
    """

    def __init__(self, degrees: Sequence[Sequence[DegreeBlock]], t: int) -> None:
        super().__init__()
        self.present = [j for j, blocks in enumerate(degrees) if len(blocks) >= t]
        blocks = [degrees[j][t - 1] for j in self.present]
        # Widths of F_1, ..., F_{t-1} of every ideal, none where an ideal ends before.
        widths = [[_count_needed(each, s) for each in degrees] for s in range(1, t)]
        starts = [[0, *accumulate(of_degree)] for of_degree in widths]
        self.lower = [
            [(of_degree[j], of_degree[j + 1]) for of_degree in starts] for j in self.present
        ]
        self.sizes = [block.n_candidates for block in blocks]
        self.widths = [(b.nonvanishing.shape[1], b.vanishing.shape[1]) for b in blocks]
        left = [block.left + starts[0][j] for j, block in zip(self.present, blocks, strict=True)]
        right = [block.right + starts[-1][j] for j, block in zip(self.present, blocks, strict=True)]
        self.register_buffer("left", torch.tensor(np.concatenate(left)))
        self.register_buffer("right", torch.tensor(np.concatenate(right)))
        self.combine = torch.nn.ModuleList(_linear(*_on_terms(block)) for block in blocks)

    def forward(self, lower: list[Array]) -> tuple[Array, Sequence[Array]]:
        """Return F_t of all ideals and G_t of each that is present."""
        factors = lower[0].index_select(-1, self.left), lower[-1].index_select(-1, self.right)
        products = torch.split(factors[0] * factors[1], self.sizes, dim=-1)
        nonvanishing, found = [], []
        for product, places, widths, combine in zip(
            products, self.lower, self.widths, self.combine, strict=True
        ):
            below = [
                values[..., start:stop] for values, (start, stop) in zip(lower, places, strict=True)
            ]
            values = combine(torch.cat([*below, product], dim=-1))
            higher, vanishing = torch.split(values, widths, dim=-1)
            nonvanishing.append(higher)
            found.append(vanishing)
        return torch.cat(nonvanishing, dim=-1), found


# --- Matrices of the layer, in double precision until they get their type -------------------------


def _linear(matrix: FloatArray, offset: FloatArray) -> Any:
    """Return the layer x ↦ A x + b."""
    n_out, n_in = matrix.shape
    layer = torch.nn.utils.skip_init(torch.nn.Linear, n_in, n_out, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(matrix))
        layer.bias.copy_(torch.tensor(offset))
    return layer


def _round(point: FloatArray, dtype: Any) -> FloatArray:
    """Return the nearest point that has the given type, in double precision."""
    rounded: FloatArray = torch.tensor(point).to(dtype).double().numpy()
    return rounded


def _count_needed(blocks: Sequence[DegreeBlock], t: int) -> int:
    """Return the number of polynomials F_t that higher degrees of an ideal are made of."""
    return blocks[t - 1].nonvanishing.shape[1] if t <= len(blocks) else 0


def _on_variables(
    blocks: Sequence[DegreeBlock], which: str, n_variables: int
) -> tuple[FloatArray, FloatArray]:
    """Return A and b of the polynomials A x + b of degree 1."""
    first = blocks[0]
    coefficients = getattr(first, which)
    matrix = np.zeros((coefficients.shape[1], n_variables))
    np.add.at(matrix.T, first.left, coefficients)  # the same variable may stand at several places
    return matrix, -getattr(first, f"{which}_lower")[0]


def _on_terms(block: DegreeBlock) -> tuple[FloatArray, FloatArray]:
    """Return A and b of [F_t G_t] in terms of F_1, ..., F_{t-1} and the products."""
    on_products, on_lower = block.all_polynomials
    # The first of the lower polynomials is the constant 1.
    return np.concatenate([-on_lower[1:], on_products]).T, -on_lower[0]


def _find_middle(degrees: Sequence[Sequence[DegreeBlock]], n_variables: int) -> FloatArray:
    """Return the mean of the means that the polynomials of degree 1 subtract."""
    centers = np.zeros((max(1, len(degrees)), n_variables))
    for center, blocks in zip(centers, degrees, strict=False):
        center[blocks[0].left] = blocks[0].projection[0]
    return np.asarray(centers.mean(axis=0))


# --- Which models are understood ------------------------------------------------------------------


def _split_pipeline(model: Any) -> tuple[Any, AffineMap | None]:
    """Return the last step of a pipeline, and the affine map that the steps before it are."""
    if not isinstance(model, Pipeline):
        return model, None
    *before, last = steps_of(model)
    return last, compose_maps(map(affine_map, before)) if before else None


def _read_bases(model: Any) -> tuple[list[PolynomialBasis], Output]:
    """Return the bases of a model, and what its ``transform`` returns."""
    if isinstance(model, ClassVanishingFeatures):
        check_is_fitted(model)
        return _read_bases(model.ideals_)
    if isinstance(model, list | tuple) and model:
        parts = [_read_bases(each) for each in model]
        bases = [basis for several, _ in parts for basis in several]
        outputs = {output for _, output in parts}
        counts = sorted({basis.n_features for basis in bases})
        if len(counts) > 1:
            raise ValueError(
                f"the ideals of a layer must be in the same variables, got ideals in {counts} "
                "variables; make a layer of each"
            )
        return bases, "signed" if outputs == {"signed"} else "abs"
    if isinstance(model, VanishingIdeal):
        check_is_fitted(model)
        if model.output == "nonvanishing":
            raise ValueError(
                "a layer holds vanishing polynomials, and this ideal returns the nonvanishing ones "
                "(output='nonvanishing'); set its output to 'abs' or 'signed'"
            )
        return [model.basis_], model.output
    if isinstance(model, PolynomialBasis):
        return [model], "signed"
    raise TypeError(
        "expected a fitted VanishingIdeal, ClassVanishingFeatures or PolynomialBasis, a list of "
        f"ideals, or a pipeline that ends in one of these, got {type(model).__name__}; of a "
        "detector, take the ideals of one image, as in detector.ideals_[0]"
    )


# --- Networks whose last layers are class ideals --------------------------------------------------


def cut_network(
    body: Any,
    X: Any,
    y: Any,
    *,
    ideal: VanishingIdeal | None = None,
    n_components: int | None = 16,
    pool: int = 3,
    max_polynomials: int | None = None,
    max_samples: int = 2000,
    linear: bool = True,
    C: float = 0.01,
    batch_size: int = 500,
    random_state: int = 0,
) -> Any:
    """Replace the last layers of a trained network by ideals of the classes in its latent space.

    The latent vectors of each class are points near a set that polynomials describe. They are
    pooled, reduced to principal components and, for each class, fitted by an ideal that vanishes
    on the class and not on the others. A logistic regression on the absolute values of these
    polynomials takes the place of the layers that were cut off (Pelleriti et al., 2025).

    Nothing is trained by gradient descent, and the body stays as it is. Training the coefficients
    of the polynomials afterwards usually improves the accuracy: they are parameters of the
    network that ``requires_grad_`` unfreezes.

    Parameters
    ----------
    body : torch.nn.Module
        The layers to keep, such as ``network[:4]``. It takes a batch of ``X`` and returns tensors
        of shape (batch_size, n_channels) or (batch_size, n_channels, height, width).
    X : tensor or array of shape (n_samples, ...)
        Inputs of the network that it was trained on.
    y : tensor or array of shape (n_samples,)
        Their classes.
    ideal : VanishingIdeal, optional
        Fitted to each class, as in ``ClassVanishingFeatures``, whose default it has.
    n_components : int or None, default=16
        Principal components of the latent vectors. None keeps all coordinates, standardized. The
        number of coefficients of a polynomial of degree 2 grows with their square.
    pool : int, default=3
        Images of height × width are averaged to ``pool`` × ``pool`` pixels.
    max_polynomials : int or None, default=None
        Keep at most this many polynomials per class, those of smallest extent.
    max_samples : int, default=2000
        Ideals are fitted to at most this many samples per class, drawn at random. The principal
        components and the logistic regression use all samples.
    linear : bool, default=True
        Whether the logistic regression uses the latent vectors beside the polynomials.
    C : float, default=0.01
        Inverse strength of the regularization, as in ``LogisticRegression``.
    batch_size : int, default=500
        Number of samples that are passed through the body at a time.
    random_state : int, default=0

    Returns
    -------
    torch.nn.Sequential
        With the parts ``body`` (the same object, no copy), ``pool``, ``flatten``, ``polynomials``
        and ``classify``, on the device of the body, in evaluation mode. Its outputs are logits in
        the order of the sorted classes.

    See Also
    --------
    VanishingLayer : The layer of polynomials.

    Examples
    --------
    >>> import torch
    >>> from sklearn.datasets import load_digits
    >>> from vanishing.layers import cut_network
    >>> X, y = load_digits(return_X_y=True)
    >>> images = torch.tensor(X / 16, dtype=torch.float32).reshape(-1, 1, 8, 8)
    >>> _ = torch.manual_seed(0)
    >>> body = torch.nn.Sequential(torch.nn.Conv2d(1, 16, 3), torch.nn.ReLU())
    >>> cut = cut_network(body, images[:1000], y[:1000])
    >>> found = cut(images[1000:]).argmax(1).numpy()
    >>> bool((found == y[1000:]).mean() > 0.9)
    True
    """
    labels = np.asarray(move_to_host(y))
    check_classification_targets(labels)
    if len(X) != len(labels):
        raise ValueError(f"X has {len(X)} samples, but y has {len(labels)} labels")
    if n_components is not None:
        check_whole("n_components", n_components)
    check_whole("pool", pool)
    check_whole("max_samples", max_samples)
    check_whole("batch_size", batch_size)
    if max_polynomials is not None:
        check_whole("max_polynomials", max_polynomials)
    check_real("C", C, zero=False)
    check_whole("random_state", random_state, 0)
    parts = {"body": body, "pool": _make_pool(body, X, pool), "flatten": torch.nn.Flatten()}
    latent = _latent_vectors(torch.nn.Sequential(OrderedDict(parts)), X, batch_size)
    reduce = _fit_reduction(latent, n_components, random_state)
    reduced = reduce.transform(latent).astype(np.float64)
    rows = _draw_per_class(labels, max_samples, random_state)
    features = ClassVanishingFeatures(ideal).fit(reduced[rows], labels[rows])
    if max_polynomials is not None:
        for each in features.ideals_:
            each.basis_ = each.basis_.restrict(_find_smallest(each.extents_, max_polynomials))
    values = features.transform(reduced)
    if not values.shape[1]:
        raise ValueError(
            "no polynomial vanishes on any class within the tolerance; raise tol of the ideal, as "
            "in ideal=VanishingIdeal(normalization='contrastive', tol=0.5)"
        )
    layer = VanishingLayer(make_pipeline(reduce, features), dtype=torch.float64)
    parts["polynomials"] = _Append(layer) if linear else layer
    parts["classify"] = _fit_logistic(np.hstack([latent, values]) if linear else values, labels, C)
    whole = torch.nn.Sequential(OrderedDict(parts))
    first = next(body.parameters(), torch.empty(0))
    for part in ("polynomials", "classify"):
        whole.get_submodule(part).to(device=first.device, dtype=first.dtype)
    return whole.eval()


class _Append(torch.nn.Module):  # type: ignore[name-defined]
    """The input, and after it the values of a layer."""

    def __init__(self, layer: VanishingLayer) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Array) -> Array:
        """Return a tensor of shape (..., in_features + out_features)."""
        return torch.cat([x, self.layer(x)], dim=-1)


def _make_pool(body: Any, X: Any, size: int) -> Any:
    """Return the layer that averages images to a few pixels; vectors stay as they are."""
    shape = _latent_vectors(body, X[:1], 1).shape
    if len(shape) not in (2, 4):
        raise ValueError(
            "the body must return tensors of shape (batch_size, n_channels) or (batch_size, "
            f"n_channels, height, width), got {shape} for one sample; add a layer to the body that "
            "flattens or pools the other axes"
        )
    return torch.nn.AdaptiveAvgPool2d(size) if len(shape) == 4 else torch.nn.Identity()


def _latent_vectors(first: Any, X: Any, batch_size: int) -> FloatArray:
    """Return what the first parts of a network give in evaluation mode, one row a sample."""
    like = next(first.parameters(), torch.empty(0))
    first.eval()
    batches = []
    with torch.no_grad():
        for start in range(0, len(X), batch_size):
            batch = torch.as_tensor(X[start : start + batch_size], device=like.device)
            if batch.is_floating_point():  # integers may be tokens
                batch = batch.to(like.dtype)
            batches.append(move_to_host(first(batch)))
    return np.concatenate(batches)


def _fit_reduction(latent: FloatArray, n_components: int | None, random_state: int) -> Any:
    """Return fitted principal components, or a scaler if all coordinates are kept."""
    if n_components is None:
        return StandardScaler().fit(latent)
    if n_components > min(latent.shape):
        raise ValueError(
            f"n_components={n_components} principal components were asked for, but there are "
            f"{latent.shape[0]} latent vectors of {latent.shape[1]} coordinates; choose fewer"
        )
    # Of variance 1, so that products of them are neither large nor small.
    return PCA(n_components, whiten=True, random_state=random_state).fit(latent)


def _draw_per_class(labels: npt.NDArray[Any], max_samples: int, random_state: int) -> IntArray:
    """Return the rows of at most so many samples of each class, in their order."""
    rng = np.random.default_rng(random_state)
    drawn = [
        rng.permutation(np.flatnonzero(labels == label))[:max_samples]
        for label in np.unique(labels)
    ]
    return np.sort(np.concatenate(drawn))


def _find_smallest(extents: FloatArray, count: int) -> npt.NDArray[np.bool_]:
    """Say which are the so many smallest."""
    kept = np.zeros(len(extents), dtype=np.bool_)
    kept[np.argsort(extents, kind="stable")[:count]] = True
    return kept


def _fit_logistic(values: FloatArray, labels: npt.NDArray[Any], C: float) -> Any:
    """Return a linear layer with the weights of a logistic regression."""
    scaler = StandardScaler().fit(values)
    model = LogisticRegression(C=C, max_iter=1000, tol=1e-3).fit(scaler.transform(values), labels)
    matrix, offset = model.coef_, model.intercept_
    if len(matrix) == 1:  # of two classes scikit-learn keeps the logit of the second only
        matrix, offset = np.concatenate([-matrix, matrix]) / 2, np.array([-1, 1]) * offset / 2
    matrix = matrix / scaler.scale_
    return _linear(matrix, offset - matrix @ scaler.mean_)
