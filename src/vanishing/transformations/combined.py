"""Sets made of sets: all compositions, or all transformations together."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, product

from vanishing._xp import Array
from vanishing.transformations.base import Transformation, Transformations, distinct
from vanishing.transformations.gather import Gather


@dataclass(frozen=True, init=False, repr=False)
class _Combined(Transformations):
    """Several sets."""

    sets: tuple[Transformations, ...]

    def __init__(self, *sets: Transformations) -> None:
        kind = type(self).__name__
        if not sets:
            raise ValueError(f"{kind} needs at least one set of transformations")
        for each in sets:
            if not isinstance(each, Transformations):
                raise TypeError(
                    f"{kind} takes sets of transformations, such as Rotations(image_shape=(28, "
                    f"28)), got {each!r}; wrap functions in Callable([...])"
                )
        object.__setattr__(self, "sets", sets)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.sets))})"


@dataclass(frozen=True, init=False, repr=False)
class Product(_Combined):
    """All compositions of one transformation from each set, that of the first set applied first.

    All must keep the width of the data. Compositions that are the same map are refused: of
    ``Product(Rotations(shape), Flips(shape))``, for instance, every map would occur twice.

    Parameters
    ----------
    *sets : Transformations

    Examples
    --------
    >>> from vanishing.transformations import Flips, Product, Rotations
    >>> shape = (8, 8)
    >>> symmetries = Product(Rotations(shape, angles=(0, 90)), Flips(shape))
    >>> len(symmetries.for_width(64))
    8
    >>> symmetries.for_width(64)[5].name
    'rotated by 90°, then flipped left-right'
    """

    def for_width(self, n_features: int) -> tuple[Transformation, ...]:
        """Compose them."""
        factors = [each.for_width(n_features) for each in self.sets]
        return distinct(map(_compose, product(*factors)))


@dataclass(frozen=True, init=False, repr=False)
class Union(_Combined):
    """The transformations of all sets together; any that is in two of them is refused.

    Parameters
    ----------
    *sets : Transformations

    Examples
    --------
    >>> from vanishing.transformations import Identity, RandomAffine, Union
    >>> len(Union(Identity(), RandomAffine(n_transformations=4)).for_width(10))
    5
    """

    def for_width(self, n_features: int) -> tuple[Transformation, ...]:
        """Join them."""
        return distinct(chain.from_iterable(each.for_width(n_features) for each in self.sets))


@dataclass(frozen=True)
class Composition(Transformation):
    """One transformation after the other."""

    name: str = field(compare=False)
    parts: tuple[Transformation, ...]

    def __call__(self, block: Array) -> Array:
        """Apply the parts in their order."""
        for part in self.parts:
            block = part(block)
        return block


def _compose(transformations: Sequence[Transformation]) -> Transformation:
    """Return one transformation that applies the given ones in their order."""
    name = ", then ".join(each.name for each in transformations)
    parts: list[Transformation] = []
    for each in transformations:
        for part in each.parts if isinstance(each, Composition) else (each,):
            # Neighbouring gathers become one: faster, and equal maps are seen to be equal.
            if parts and isinstance(last := parts[-1], Gather) and isinstance(part, Gather):
                parts[-1] = last.then(part, f"{last.name}, then {part.name}")
            else:
                parts.append(part)
    return parts[0] if len(parts) == 1 else Composition(name, tuple(parts))
