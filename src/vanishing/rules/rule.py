"""One rule of a table, found or written by a person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from vanishing.arrays.namespace import lazy
from vanishing.laws.law import Law
from vanishing.laws.search import order_terms
from vanishing.rules.expression import (
    Call,
    Column,
    Expression,
    Previous,
    RuleError,
    is_across_rows,
    is_comparison,
)
from vanishing.rules.polynomial import Term, expand, is_letter, list_letters, read_derived

Kind = Literal["law", "chain", "total", "across", "condition", "domain", "inequality", "other"]


@dataclass(frozen=True)
class Evidence:
    """What speaks for a rule that was found.

    Parameters
    ----------
    bits : float, optional
        What the rule saves when one of its columns is written down from the others.
    extent : float
        Root mean square distance of the rows from the rule, relative to the columns' spreads.
    rows : int
        Rows that keep the rule.
    broken : int
        Rows that break it.
    p_value : float
        How likely chance makes an equation fit as well.
    errors : tuple of float
        Standard errors of the coefficients, in the order of the terms; empty if all are 0.
    """

    bits: float | None = None
    extent: float = 0.0
    rows: int = 0
    broken: int = 0
    p_value: float = 1.0
    errors: tuple[float, ...] = ()


@dataclass(frozen=True)
class Rule:
    """A condition that each row keeps, and how far rows may be off it.

    Parameters
    ----------
    id : str
        What the rule is called, in one file only once.
    expression : Expression
        A condition.
    where : Expression, optional
        The rule is about the rows in which this is true.
    source : {"found", "person"}
    note : str
        What the person says about it.
    tolerance : float, optional
        By how much the two sides of an equation may differ; of rules that people write.
    rounding : mapping of str to float, optional
        Of an equation without noise: the units of the last digits that rounding changes, such as
        0.01, by letter of the polynomial; empty if it holds to the last digit.
    noise : float, optional
        Of an equation with noise: the deviation of a cell, relative to its column's spread or, if
        the noise of the table is proportional, to its value.
    evidence : Evidence, optional
        Of a rule that was found.
    """

    id: str
    expression: Expression
    where: Expression | None = None
    source: Literal["found", "person"] = "person"
    note: str = ""
    tolerance: float | None = None
    rounding: Mapping[str, float] = field(default_factory=dict)
    noise: float | None = None
    evidence: Evidence | None = None

    def __post_init__(self) -> None:
        # A law that rounds or has noise needs its letters; so does a tolerance an equation.
        is_equation = is_comparison(self.expression) and self.expression.name == "=="
        if self.tolerance is not None and not is_equation:
            raise RuleError(f"tolerance is for equations, as in gross == net + tax; got {self}")
        if (self.rounding or self.noise is not None) and self.terms is None:
            raise RuleError(f"rounding and noise are for polynomial equations, got {self}")
        letters = {str(letter) for letter in self.letters}
        for letter in self.rounding:
            if letter not in letters:
                raise RuleError(
                    f"rounding is about {letter}, which the rule does not have; "
                    f"it has {', '.join(sorted(letters))}"
                )
        n_errors = len(self.evidence.errors) if self.evidence else 0
        if n_errors and n_errors != len(self.coefficients):
            raise RuleError(
                f"errors has {n_errors} numbers, but the rule has {len(self.coefficients)} terms"
            )
        if self.rounding and self.noise is not None:
            raise RuleError("a rule has rounding or noise, not both")

    def __str__(self) -> str:
        return f"{self.text} where {self.where}" if self.where is not None else self.text

    @property
    def text(self) -> str:
        """What the rule says, in one line; found coefficients with the digits that are certain."""
        if self.kind == "total":
            return "rows that are totals are the sums of their rows"
        if self.source == "person" or not self.is_polynomial:
            return str(self.expression)
        letters = sorted(self.letters, key=lambda letter: not isinstance(letter, Column))
        names = [each.name for each in letters if isinstance(each, Column)]
        every = [*names, *(name for each in letters for name in each.columns)]
        names += [read_derived(each, every).name for each in letters[len(names) :]]
        return str(self.make_law(letters, names))

    @lazy
    def columns(self) -> tuple[str, ...]:
        """Columns of the table that the rule needs."""
        where = () if self.where is None else self.where.columns
        return tuple(dict.fromkeys([*self.expression.columns, *where]))

    @lazy
    def kind(self) -> Kind:
        """What the rule says: "law", "chain" of rows, "total", "condition" and so on."""
        nodes = list(self.expression.walk())
        across = {each.name for each in nodes if is_across_rows(each)}
        if "totals" in across:
            return "total"
        if any(isinstance(each, Previous) for each in nodes):
            return "chain"
        if across:
            return "across"
        if self.where is not None:
            return "condition"
        if is_comparison(self.expression):
            return "law" if self.expression.name == "==" else "inequality"
        is_domain = isinstance(self.expression, Call) and self.expression.name == "in"
        return "domain" if is_domain else "other"

    @lazy
    def terms(self) -> list[Term] | None:
        """Terms of the polynomial that is zero, None if the rule is none."""
        return expand(self.expression)

    @lazy
    def letters(self) -> list[Expression]:
        """What the polynomial is made of: columns, and columns that are computed from others."""
        return list_letters(self.terms or [])

    @property
    def coefficients(self) -> tuple[float, ...]:
        """Coefficients of the terms, with all digits; empty if the rule is not a polynomial."""
        return tuple(term.coefficient for term in self.terms or ())

    @lazy
    def units(self) -> dict[str, float]:
        """Units of the last digits that rounding changes, by letter; of a tolerance, one letter.

        By how much a sum of cells may be off is by how much one of its cells may be.
        """
        if self.tolerance is None:
            return dict(self.rounding)
        terms = self.terms or []
        for term in terms:
            if len(term.powers) == 1 and term.powers[0][1] == 1 and is_letter(term.powers[0][0]):
                letter = term.powers[0][0]
                if sum(letter in list_letters([each]) for each in terms) == 1:
                    return {str(letter): 2 * self.tolerance / abs(term.coefficient)}
        return {}

    @lazy
    def is_polynomial(self) -> bool:
        """Whether it is an equation that laws can say, tolerance included."""
        if self.terms is None or (self.tolerance is not None and not self.units):
            return False
        powers = (each for term in self.terms for each in term.powers)
        return all(power == 1 or is_letter(letter) for letter, power in powers)

    def make_law(self, letters: Sequence[Expression], names: Sequence[str]) -> Law:
        """Return the rule as a law, if it is a polynomial.

        Parameters
        ----------
        letters : sequence of Expression
            Those of the rule, and others if needed; columns first.
        names : sequence of str
            What they are called in the law.

        Returns
        -------
        Law
        """
        terms = self.terms or []
        places = {letter: j for j, letter in enumerate(letters)}
        exponents = np.zeros((len(terms), len(letters)), dtype=np.intp)
        logs = np.zeros((len(terms), len(letters)), dtype=bool)
        for i, term in enumerate(terms):
            for letter, power in term.powers:
                if is_letter(letter):
                    exponents[i, places[letter]] = power
                else:
                    logs[i, places[letter.children[0]]] = True
        # In the order of the terms of laws, so that the same is computed to the last digit.
        order = order_terms(exponents + logs)
        n_derived = sum(not isinstance(letter, Column) for letter in letters)
        is_derived = exponents[order][:, len(letters) - n_derived :].any(axis=1)
        order = order[np.argsort(~is_derived, kind="stable")]
        units, evidence = self.units, self.evidence or Evidence()
        resolution = np.array([float(units.get(str(letter), 0)) for letter in letters])
        left = self.expression.children[0]
        return Law(
            tuple(names), exponents[order], np.array(self.coefficients)[order],
            np.array(evidence.errors or [0] * len(terms), dtype=float)[order],
            evidence.extent if self.noise is None else self.noise, evidence.p_value,
            np.broadcast_to(np.int8(0), int(evidence.rows)), bits=evidence.bits,
            resolution=resolution if self.noise is None else None,
            logs=logs[order] if logs.any() else None, n_broken=evidence.broken,
            n_derived=n_derived,
            target=left.name if isinstance(left, Column) else None,
        )  # fmt: skip
