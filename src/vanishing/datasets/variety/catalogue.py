"""All varieties by name."""

from difflib import get_close_matches

from vanishing.datasets.variety.embeddings import EMBEDDINGS
from vanishing.datasets.variety.plane_curves import GRID, PLANE_CURVES
from vanishing.datasets.variety.record import Variety
from vanishing.datasets.variety.space_curves import SPACE_CURVES
from vanishing.datasets.variety.surfaces import SURFACES

_CATALOGUE = {
    variety.name: variety
    for variety in (GRID, *PLANE_CURVES, *SPACE_CURVES, *SURFACES, *EMBEDDINGS)
}


def varieties() -> tuple[str, ...]:
    """Return the names of all varieties that :func:`make_variety` knows.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> from vanishing.datasets import describe_variety, varieties
    >>> [name for name in varieties() if describe_variety(name).dimension == 4]
    ['segre-2x3']
    """
    return tuple(_CATALOGUE)


def describe_variety(name: str) -> Variety:
    """Return what is known of a variety: equations, dimension, degree, where points are drawn.

    Parameters
    ----------
    name : str
        One of :func:`varieties`.

    Returns
    -------
    Variety

    Examples
    --------
    >>> from vanishing.datasets import describe_variety
    >>> viviani = describe_variety("viviani")
    >>> viviani.equations
    ('x**2 + y**2 + z**2 - 1', 'x**2 + y**2 - x')
    >>> viviani.n_features, viviani.dimension, viviani.degree
    (3, 1, 4)
    """
    if name not in _CATALOGUE:
        close = get_close_matches(str(name), _CATALOGUE, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(
            f"there is no variety {name!r}.{hint} The names are {', '.join(_CATALOGUE)}"
        )
    return _CATALOGUE[name]
