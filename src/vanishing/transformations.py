"""Transformations of samples, for detectors that learn to tell them apart."""

from abc import ABC, abstractmethod
from collections import abc
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain, combinations, product
from math import isqrt, prod
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from vanishing.arrays.namespace import Array, FloatArray, IntArray, is_array, move_like, namespace
from vanishing.arrays.parameters import check_whole

__all__ = [
    "AnyOf",
    "Flips",
    "FunctionTransformation",
    "Identity",
    "Product",
    "RandomAffine",
    "Rotations",
    "Transformation",
    "Transformations",
    "Translations",
]


# --- What a transformation is, and a set of them --------------------------------------------------


class Transformation(ABC):
    """One map of rows to rows, of a known width.

    Subclasses are frozen dataclasses. Two are equal if they are the same map, whatever their
    names.
    """

    #: For messages and plots: "rotated by 90°".
    name: str

    @abstractmethod
    def __call__(self, block: Array) -> Array:
        """Return the images of the rows of ``block``, a new array of the same library and dtype."""


class Transformations(ABC):
    """A set of transformations: a small frozen configuration object, independent of the data."""

    @abstractmethod
    def for_width(self, n_features: int) -> tuple[Transformation, ...]:
        """Return T_1..T_M for rows of ``n_features`` columns, or raise if they do not fit."""


def distinct(transformations: Iterable[Transformation]) -> tuple[Transformation, ...]:
    """Return the transformations, or raise if two of them are the same map."""
    result = tuple(transformations)
    for first, second in combinations(result, 2):
        if first == second:
            raise ValueError(
                f"{first.name!r} and {second.name!r} are the same map, so no method can "
                f"distinguish them; leave one of the two out of the {len(result)} transformations"
            )
    return result


def check_width(name: str, block: Array, n_features: int) -> None:
    """Raise if ``block`` is not a matrix of ``n_features`` columns."""
    if block.ndim != 2 or block.shape[1] != n_features:
        raise ValueError(
            f"{name!r} was made for blocks of {n_features} columns, got an array of shape "
            f"{tuple(block.shape)}; call for_width again for data of another width"
        )


BlockFunction = abc.Callable[[Array], Array]


@dataclass(frozen=True)
class FunctionTransformation(Transformations):
    """Transformations given as functions, each of a whole block of rows.

    A function must not change its argument, must treat each row by itself and must return as many
    rows. All must return the same width, which is checked where the results are used. To be saved,
    they have to be importable: no lambdas.

    Parameters
    ----------
    functions : sequence of callables
    names : sequence of str, optional
        Names of the functions by default.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing.transformations import FunctionTransformation
    >>> signs = FunctionTransformation([np.positive, np.negative])
    >>> [t.name for t in signs.for_width(3)]
    ['positive', 'negative']
    """

    functions: abc.Sequence[BlockFunction]
    names: abc.Sequence[str] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.functions, abc.Iterable):
            raise TypeError(
                f"functions must be a sequence of functions, got {self.functions!r}; put a single "
                "function into a list"
            )
        functions = tuple(self.functions)
        if not functions:
            raise ValueError("functions is empty: at least one function is required")
        for function in functions:
            if not callable(function):
                raise TypeError(f"functions must be callable, got {function!r}")
        object.__setattr__(self, "functions", functions)
        if self.names is not None:
            names = tuple(self.names)
            if len(names) != len(functions):
                raise ValueError(
                    f"there must be as many names as functions, got {len(names)} names for "
                    f"{len(functions)} functions"
                )
            object.__setattr__(self, "names", names)

    def for_width(self, n_features: int) -> tuple[Transformation, ...]:
        """Return the functions, whatever the width."""
        names = self.names or [_name(f, number) for number, f in enumerate(self.functions, 1)]
        return tuple(map(Function, names, self.functions))


@dataclass(frozen=True)
class Function(Transformation):
    """One function of a block of rows."""

    name: str = field(compare=False)
    function: BlockFunction

    def __call__(self, block: Array) -> Array:
        """Call the function and check that every row has its image."""
        result = self.function(block)
        shape = tuple(result.shape) if is_array(result) else None
        if shape is None or len(shape) != 2 or shape[0] != block.shape[0]:
            got = type(result).__name__ if shape is None else f"shape {shape}"
            raise ValueError(
                f"the transformation {self.name!r} must return an array with one row for each of "
                f"the {block.shape[0]} rows that it was given, got {got}"
            )
        return result


def _name(function: BlockFunction, number: int) -> str:
    """Return the function's own name, unless it has none (lambdas, partial functions)."""
    name = str(getattr(function, "__name__", "<none>"))
    return f"function {number}" if name.startswith("<") else name


# --- Maps that permute or repeat columns: all that happens to the pixels of an image here ---------


@dataclass(frozen=True, eq=False)
class _ArrayMap(Transformation):
    """A map that arrays define, which are its fields after the name."""

    name: str

    def __post_init__(self) -> None:
        for array in self.arrays():
            array.setflags(write=False)

    def arrays(self) -> list[npt.NDArray[Any]]:
        """Return the arrays."""
        return [getattr(self, each.name) for each in fields(self)[1:]]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(map(np.array_equal, self.arrays(), other.arrays()))

    def __hash__(self) -> int:
        return hash(self.arrays()[-1].tobytes())

    def __reduce__(self) -> tuple[Any, ...]:
        # Through __init__, since a pickled or deep-copied array comes back writable.
        return type(self), (self.name, *self.arrays())


@dataclass(frozen=True, eq=False)
class Gather(_ArrayMap):
    """Column j of the result is column ``columns[j]`` of the block."""

    columns: Annotated[IntArray, "n_features"]

    def __call__(self, block: Array) -> Array:
        """Take the columns, in a copy even where nothing moves."""
        check_width(self.name, block, len(self.columns))
        return namespace(block).take(block, move_like(self.columns, block), axis=1)

    def then(self, second: "Gather", name: str) -> "Gather":
        """Return the composition as one gather: (x[a])[b] = x[a[b]]."""
        return Gather(name, self.columns[second.columns])


# --- Sets made of sets: all compositions, or all transformations together -------------------------


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
                    f"28)), got {each!r}; wrap functions in FunctionTransformation([...])"
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
class AnyOf(_Combined):
    """The transformations of all sets together; duplicates are rejected.

    Parameters
    ----------
    *sets : Transformations

    Examples
    --------
    >>> from vanishing.transformations import Identity, RandomAffine, AnyOf
    >>> len(AnyOf(Identity(), RandomAffine(n_transformations=4)).for_width(10))
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


# --- Sets of transformations that move the pixels of an image -------------------------------------


@dataclass(frozen=True)
class ImageTransformations(Transformations):
    """Sets that move the pixels of images, channels last, whose rows are flattened."""

    image_shape: tuple[int, ...]

    def __post_init__(self) -> None:
        try:
            shape = tuple(check_whole("size", size) for size in self.image_shape)
        except (TypeError, ValueError):
            shape = ()
        if len(shape) not in (2, 3):
            raise ValueError(
                "image_shape must be (height, width) or (height, width, channels), got "
                f"{self.image_shape!r}"
            )
        object.__setattr__(self, "image_shape", shape)

    @abstractmethod
    def moved(self, pixels: IntArray) -> Iterator[tuple[str, IntArray]]:
        """Yield the name of each transformation, and the pixel numbers that it moves."""

    def for_width(self, n_features: int) -> tuple[Transformation, ...]:
        """Return the single transformations of flattened images."""
        n_pixels, side = prod(self.image_shape), isqrt(n_features)
        if n_pixels != n_features:
            guess = f", for instance {(side, side)}" if side * side == n_features else ""
            raise ValueError(
                f"image shape {self.image_shape} has {n_pixels} "
                f"{'pixels' if len(self.image_shape) == 2 else 'pixel values'}, the data has "
                f"{n_features} columns; pass the image_shape of the rows{guess}, and raw images: a "
                "reduction of dimension has to come after the transformations"
            )
        pixels = np.arange(n_pixels, dtype=np.intp).reshape(self.image_shape)
        return distinct(Gather(name, image.reshape(-1)) for name, image in self.moved(pixels))


@dataclass(frozen=True)
class Flips(ImageTransformations):
    """The image as it is, flipped left-right, up-down, and both.

    Parameters
    ----------
    image_shape : tuple of int
        Height, width and, if there are several, channels.

    Examples
    --------
    >>> from vanishing.transformations import Flips
    >>> [flip.name for flip in Flips(image_shape=(28, 28)).for_width(784)]
    ['not flipped', 'flipped left-right', 'flipped up-down', 'flipped both ways']
    """

    def moved(self, pixels: IntArray) -> Iterator[tuple[str, IntArray]]:
        """Flip the grid of pixel numbers."""
        yield "not flipped", pixels
        yield "flipped left-right", np.flip(pixels, axis=1)
        yield "flipped up-down", np.flip(pixels, axis=0)
        yield "flipped both ways", np.flip(pixels, axis=(0, 1))


@dataclass(frozen=True)
class Identity(Transformations):
    """One transformation, which changes nothing; useful in ``AnyOf``."""

    def for_width(self, n_features: int) -> tuple[Transformation, ...]:
        """Return the identity."""
        # A gather like the others, so that it is seen to equal a rotation by 0°.
        return (Gather("unchanged", np.arange(n_features, dtype=np.intp)),)


# --- Random affine maps: the paper's transformations of vectors (R.A.) ----------------------------


@dataclass(frozen=True)
class RandomAffine(Transformations):
    """Maps x ↦ W_i x + b_i with independent standard Gaussian entries, for vectors of any width.

    The same seed gives the same maps, and a larger set begins with the maps of a smaller one. Each
    W_i has n_features² entries, so reduce wide data first.

    Parameters
    ----------
    n_transformations : int, default=4
        M. The paper has four, and three in its supplement.
    random_state : int, default=0
        Seed of ``numpy.random.default_rng``.

    Examples
    --------
    >>> from vanishing.transformations import RandomAffine
    >>> [t.name for t in RandomAffine(n_transformations=2).for_width(30)]
    ['random affine map 1', 'random affine map 2']
    """

    n_transformations: int = 4
    random_state: int = 0

    def __post_init__(self) -> None:
        for name, smallest in (("n_transformations", 1), ("random_state", 0)):
            object.__setattr__(self, name, check_whole(name, getattr(self, name), smallest))

    def for_width(self, n_features: int) -> tuple[Transformation, ...]:
        """Draw the maps."""
        rng = np.random.default_rng(self.random_state)
        return tuple(
            Affine(
                f"random affine map {i + 1}",
                rng.standard_normal((n_features, n_features)),
                rng.standard_normal(n_features),
            )
            for i in range(self.n_transformations)
        )


@dataclass(frozen=True, eq=False)
class Affine(_ArrayMap):
    """x ↦ W x + b."""

    matrix: Annotated[FloatArray, "n_features n_features"]
    offset: Annotated[FloatArray, "n_features"]

    def __call__(self, block: Array) -> Array:
        """Return ``block @ W.T + b``; integers become double precision."""
        check_width(self.name, block, len(self.offset))
        xp = namespace(block)
        if not xp.isdtype(block.dtype, "real floating"):
            block = xp.astype(block, xp.float64)
        return block @ move_like(self.matrix, block).T + move_like(self.offset, block)


# --- Rotations by quarter turns: the paper's transformations of images (Rot.) ---------------------


@dataclass(frozen=True)
class Rotations(ImageTransformations):
    """Rotations of images, counterclockwise, by multiples of 90 degrees.

    Parameters
    ----------
    image_shape : tuple of int
        Height, width and, if there are several, channels.
    angles : tuple of int, default=(0, 90, 180, 270)
        In degrees. Only multiples of 180 if the image is not square.

    Examples
    --------
    >>> from vanishing.transformations import Rotations
    >>> _, quarter, *_ = Rotations(image_shape=(2, 2)).for_width(4)
    >>> quarter.name
    'rotated by 90°'
    >>> import numpy as np
    >>> quarter(np.array([[1, 2, 3, 4]])).reshape(2, 2)
    array([[2, 4],
           [1, 3]])
    """

    angles: tuple[int, ...] = (0, 90, 180, 270)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.angles, Iterable):
            raise TypeError(f"angles must be a sequence of angles, got {self.angles!r}")
        angles = tuple(self.angles)
        if not angles:
            raise ValueError("angles is empty: at least one angle is required")
        if any(angle % 90 for angle in angles):
            raise ValueError(
                f"angles must be multiples of 90 degrees, got {angles}: others would blend pixels; "
                "use FunctionTransformation with an interpolation of your own for these"
            )
        height, width = self.image_shape[:2]
        if height != width and any(angle % 180 for angle in angles):
            raise ValueError(
                f"an image of shape {self.image_shape} is not square, so it can only be rotated by "
                f"0 and 180 degrees, got {angles}; pass angles=(0, 180)"
            )
        object.__setattr__(self, "angles", tuple(int(angle) for angle in angles))

    def moved(self, pixels: IntArray) -> Iterator[tuple[str, IntArray]]:
        """Rotate the grid of pixel numbers."""
        for angle in self.angles:
            yield f"rotated by {angle}°", np.rot90(pixels, angle // 90)


@dataclass(frozen=True)
class Translations(ImageTransformations):
    """Shifts by (dy, dx), each -shift, 0 or shift: nine, the identity first.

    Pixels that come in from outside are reflected at the border pixel, which is not repeated, as
    in ``numpy.pad(image, shift, mode="reflect")``.

    Parameters
    ----------
    image_shape : tuple of int
        Height, width and, if there are several, channels.
    shift : int, default=8
        In pixels, smaller than height and width by at least 2: a shift by one pixel less than the
        size is a reflection, the same in both directions.
    identity : bool, default=True
        Whether the shift by (0, 0) is one of them. Without it there are eight, to be joined to a
        set that has the identity already.

    Examples
    --------
    >>> from vanishing.transformations import Rotations, Translations, AnyOf
    >>> shifts = Translations(image_shape=(28, 28), shift=4, identity=False)
    >>> both = AnyOf(Rotations(image_shape=(28, 28)), shifts)
    >>> len(both.for_width(784))
    12
    """

    shift: int = 8
    identity: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        shift = check_whole("shift", self.shift)
        smallest = min(self.image_shape[:2])
        if shift > smallest - 2:
            largest = (
                f"pass a shift of at most {smallest - 2}" if smallest > 2 else "use larger images"
            )
            raise ValueError(
                f"shift must be smaller than the image by at least 2 pixels, got a shift of "
                f"{shift} for an image of shape {self.image_shape}; {largest}"
            )
        object.__setattr__(self, "shift", shift)

    def moved(self, pixels: IntArray) -> Iterator[tuple[str, IntArray]]:
        """Cut shifted windows out of the padded grid of pixel numbers."""
        s = self.shift
        height, width = pixels.shape[:2]
        borders = ((s, s), (s, s), (0, 0))[: pixels.ndim]
        padded = np.pad(pixels, borders, mode="reflect")
        # 0 before ±s, so that the identity comes first.
        for dy, dx in product((0, -s, s), repeat=2):
            if self.identity or (dy, dx) != (0, 0):
                window = padded[s - dy : s - dy + height, s - dx : s - dx + width]
                yield f"shifted by ({dy}, {dx})", window
