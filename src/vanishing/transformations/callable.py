"""Any functions of a block of rows."""

from collections import abc
from dataclasses import dataclass, field

from vanishing._xp import Array, is_array
from vanishing.transformations.base import Transformation, Transformations

BlockFunction = abc.Callable[[Array], Array]


@dataclass(frozen=True)
class Callable(Transformations):
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
    >>> from vanishing.transformations import Callable
    >>> signs = Callable([np.positive, np.negative])
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
                    f"names must be as many as functions, got {len(names)} names for "
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
