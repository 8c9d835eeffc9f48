"""The rules of a table: laws that were found and conditions that people wrote, checked together."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from vanishing.arrays.namespace import BoolArray
from vanishing.data.whole_tables import Table
from vanishing.equations.text import last_digits
from vanishing.laws.check import BrokenRow, Check, Fix, add_broken, rule_out
from vanishing.laws.conditions import Condition as LawCondition
from vanishing.laws.conditions import write_cells
from vanishing.laws.discovery import describe_columns
from vanishing.laws.domains import Domain
from vanishing.laws.law import Law
from vanishing.laws.laws import Laws, SeenTable, find_table_totals, has_names
from vanishing.laws.reasons import RuleCells, add_reasons
from vanishing.laws.table import take_table, whole_columns
from vanishing.laws.totals import TotalRow
from vanishing.laws.wrong_cells import choose_threshold
from vanishing.rules.evaluation import Columns, decide
from vanishing.rules.expression import (
    Call,
    Column,
    Expression,
    Number,
    RuleError,
    Text,
    is_across_rows,
    make_number,
    read_constant,
    write_name,
)
from vanishing.rules.polynomial import (
    bound_comparisons,
    bound_noise,
    bound_rounding,
    list_sources,
    list_terms,
    read_derived,
    write_derived,
    write_equation,
)
from vanishing.rules.rule import Evidence, Rule


@dataclass(frozen=True)
class KnownColumn:
    """What was learned about a column of numbers.

    Parameters
    ----------
    name : str
    spread : float
        Standard deviation.
    low, high : float
        Smallest and largest value.
    whole : bool
        Whether it holds whole numbers.
    unit : float, optional
        Unit of the last digit, such as 0.01; 0 for numbers that are not rounded.
    noise : float, optional
        Noise in the unit of the column, if it was given.
    blank_is_zero : bool
        Whether blank cells count as 0.
    proportional : bool
        Whether its noise is in proportion to its values, even if that of others is not.
    """

    name: str
    spread: float
    low: float
    high: float
    whole: bool
    unit: float | None = None
    noise: float | None = None
    blank_is_zero: bool = False
    proportional: bool = False


@dataclass(frozen=True)
class Rules:
    """Rules of a table: a sequence of ``Rule``.

    Parameters
    ----------
    rules : tuple of Rule
    columns : tuple of KnownColumn
        What was learned about the columns of numbers, in their order.
    n_rows : int
        Rows of the table that it was learned from.
    threshold : float, optional
        Standard deviations by which a row may be off a rule with noise.
    proportional : bool
        Whether the noise of a cell is in proportion to its value, not to the column's spread.
    unsaid : tuple of str
        Laws that could not be written as rules, each with the reason.
    digits : mapping of str to (float, float), optional
        Of the table that is checked, by letter: the unit of the last digit, and the same where it
        is coarser than in the table that was learned from, else 0. See ``adapt``.
    """

    rules: tuple[Rule, ...] = ()
    columns: tuple[KnownColumn, ...] = ()
    n_rows: int = 0
    threshold: float | None = None
    proportional: bool = False
    unsaid: tuple[str, ...] = ()
    digits: Mapping[str, tuple[float, float]] | None = None

    def __post_init__(self) -> None:
        for what, names in (
            ("id", [rule.id for rule in self.rules]),
            ("column", [each.name for each in self.columns]),
        ):
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise RuleError(f"the {what} {twice!r} is there more than once")

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __getitem__(self, index: int) -> Rule:
        return self.rules[index]

    # --- Laws as rules ----------------------------------------------------------------------------

    @classmethod
    def from_laws(cls, laws: Laws) -> "Rules":
        """Return the laws of a table as rules.

        Parameters
        ----------
        laws : Laws
            From ``discover``.

        Returns
        -------
        Rules
            ``unsaid`` names the laws that rules cannot say.
        """
        rules, unsaid = [], []
        for k, law in enumerate(laws, 1):
            try:
                rules.append(_write_law(law, laws, f"law-{k}"))
            except RuleError as error:
                unsaid.append(f"{law}: {error}")
        for each in laws.totals[:1]:
            rules.append(Rule("totals", _call("totals", each.columns), source="found"))
        for k, domain in enumerate(laws.domains, 1):
            try:
                rules.append(_write_domain(domain, laws, f"domain-{k}"))
            except RuleError as error:
                unsaid.append(f"{domain}: {error}")
        given = np.asarray(laws.noise, dtype=float) if np.ndim(laws.noise) else None
        columns = [
            KnownColumn(
                name, float(laws.spreads[j]), float(laws.ranges[0, j]), float(laws.ranges[1, j]),
                bool(laws.whole[j]), None if laws.units is None else float(laws.units[j]),
                None if given is None else float(given[j]), name in laws.zeros,
                name in laws.proportional_columns,
            )
            for j, name in enumerate(laws.names)
        ]  # fmt: skip
        threshold = choose_threshold(len(laws)) if len(laws) else None
        return cls(tuple(rules), tuple(columns), laws.n_rows, threshold, laws.proportional,
                   tuple(unsaid))  # fmt: skip

    # --- What decides -----------------------------------------------------------------------------

    def condition(self, rule: Rule, texts: Collection[str] = ()) -> Expression:
        """Return the condition that decides whether a row keeps a rule.

        It speaks of the cells of the row alone, with the tolerance as a number or as an expression
        of these cells: |residual| <= tolerance. A row breaks the rule if ``rule.where`` is true, or
        there is none, and the condition is known to be false. A row with a missing cell is not
        checked, as with NULL in SQL; blanks that count as 0 are replaced by ``coalesce``.

        Parameters
        ----------
        rule : Rule
        texts : collection of str
            Columns of text: they are compared as such, not up to rounding.

        Returns
        -------
        Expression
        """
        letters = rule.letters
        if any(name in texts for letter in letters for name in list_sources(letter)):
            return rule.expression
        if rule.terms is None or not rule.is_polynomial:
            found = bound_comparisons(rule.expression, rule.tolerance or 0.0)
        elif rule.noise is None:
            units = {letter: max(rule.units.get(str(letter), 0.0), self._read_digits(letter)[1])
                     for letter in letters}  # fmt: skip
            found = bound_rounding(rule.terms, units)
        else:
            variances = {letter: self._write_variance(rule, letter) for letter in letters}
            threshold = self.threshold or choose_threshold(len(self.rules))
            found = bound_noise(rule.terms, variances, threshold)
        return _fill(found, {each.name for each in self.columns if each.blank_is_zero})

    def _read_digits(self, letter: Expression) -> tuple[float, float]:
        """Return the unit of the last digit of a letter, and the same if it is coarser."""
        name = list_sources(letter)[0]
        known = next((each.unit or 0.0 for each in self.columns if each.name == name), 0.0)
        return (self.digits or {}).get(str(letter), (known, 0.0))

    def _write_variance(self, rule: Rule, letter: Expression) -> Expression:
        """Return the variance of the noise of a cell, with its rounding."""
        name = list_sources(letter)[0]
        column = next((each for each in self.columns if each.name == name), None)
        if column is None or rule.noise is None:
            raise RuleError(f"nothing is known about {letter}, which {rule} needs")
        rounding = self._read_digits(letter)[0] ** 2 / 12
        if column.noise is None and (self.proportional or column.proportional):
            noise = Call("**", (Call("*", (Number(rule.noise), letter)), Number(2.0)))
            return Call("+", (noise, Number(rounding))) if rounding else noise
        noise_in_units = rule.noise * column.spread if column.noise is None else column.noise
        return Number(float(noise_in_units**2) + rounding)

    def adapt(self, X: Any) -> "Rules":
        """Return the same rules for the digits of another table.

        ``Laws.check`` allows for as much rounding as the cells have that it checks. Conditions of
        adapted rules do so too, and then decide exactly the same rows.

        Parameters
        ----------
        X : table with the columns of the rules

        Returns
        -------
        Rules
        """
        table = self._take(X)
        laws, _ = self._make_laws(table)
        if not len(laws):
            return self
        units, coarser = SeenTable(laws, table, is_named=True).read_digits()
        letters = [write_name(name) for name in laws.names]
        letters += [str(write_derived(each)) for each in laws.derived]
        digits = zip(units.tolist(), coarser.tolist(), strict=True)
        return replace(self, digits=dict(zip(letters, digits, strict=True)))

    def find_broken(self, rule: Rule, X: Any) -> tuple[BoolArray, BoolArray]:
        """Return which rows break a rule and which are checked, from its condition alone.

        Parameters
        ----------
        rule : Rule
        X : table with the columns of the rule

        Returns
        -------
        broken : bool array of shape (n_rows,)
        checked : bool array of shape (n_rows,)
        """
        columns = X if isinstance(X, Columns) else self.read_columns(X)
        keeps, known = decide(self.condition(rule, columns.texts), columns)
        if rule.where is not None:
            # Where it is unknown whether the rule applies, nothing is checked.
            known &= decide(rule.where, columns)[0]
        return known & ~keeps, known

    def read_columns(self, X: Any) -> Columns:
        """Return the cells of a table as rules see them: some blanks count as 0.

        Parameters
        ----------
        X : table with the columns of the rules

        Returns
        -------
        Columns
        """
        return self._read_columns(self._take(X))

    def _take(self, X: Any) -> Table:
        """Return a table; columns without names are those of the rules, in their order."""
        table = take_table(X)
        if not has_names(X) and self.columns:
            names = [each.name for each in self.columns]
            if len(table.shown_names) != len(names):
                raise RuleError(
                    f"the rules are about {len(names)} columns ({', '.join(names)}), but the table "
                    f"has {len(table.shown_names)}; give the same columns in the same order, or a "
                    "frame with their names"
                )
            table = replace(table, names=tuple(names))
        return table

    def _read_columns(self, table: Table) -> Columns:
        return Columns.from_table(table, [each.name for each in self.columns if each.blank_is_zero])

    # --- Checking ---------------------------------------------------------------------------------

    def check(self, X: Any, *, callback: Callable[[int], object] | None = None) -> Check:
        """Find the rows that break rules, and the cells that break them.

        Equations are checked as ``Laws.check`` does, those of people as well as those that were
        found. Other rules do not say what a cell should be, but which fixes cannot be: those that
        break one of them, if there are others. They are not checked in rows that are totals.

        Parameters
        ----------
        X : table with the columns of the rules
        callback : callable, optional
            Called with the number of rows that are checked so far.

        Returns
        -------
        Check
            Its laws are the rules, in their order.
        """
        table = self._take(X)
        laws, places = self._make_laws(table)
        found = laws.check(table, callback=callback)
        stated: list[Any] = list(self.rules)
        for k, place in enumerate(places):
            stated[place] = laws[k]
        rows = [replace(each, laws=tuple(places[k] for k in each.laws)) for each in found.rows]
        outside = tuple(
            replace(each, laws=tuple(places[k] for k in each.laws)) for each in found.outside
        )
        columns = self._read_columns(table)
        unchecked = np.full(len(table.values), not places and found.n_totals == 0)
        unchecked[list(found.unchecked)] = True
        gaps = dict(found.gaps)
        totals = [each.row for each in find_table_totals(table).rows] if laws.totals else []
        for place, rule in enumerate(self.rules):
            if place in places or rule.kind == "total":
                continue
            broken, known = self.find_broken(rule, columns)
            broken[totals] = False
            unchecked &= ~known
            rows = add_broken(rows, np.flatnonzero(broken), place, table.row_names)
            for name in rule.columns:
                missing = np.setdiff1d(np.flatnonzero(~columns.get(name).known), totals)
                if len(missing):
                    gaps[name] = missing
        sound = np.setdiff1d(np.arange(len(table.values)), [each.row for each in rows]).tolist()
        rows = rule_out(rows, lambda tried: self._find_sound(tried, columns, places, sound))
        rows = self._add_reasons(rows, places, columns, table)
        return replace(
            found, laws=stated, rows=sorted(rows, key=lambda each: each.row), gaps=gaps,
            unchecked=tuple(np.flatnonzero(unchecked).tolist()), outside=outside,
            columns=(*table.shown_names, *(each.name for each in table.set_aside)),
        )  # fmt: skip

    def _add_reasons(
        self, rows: list[BrokenRow], places: Collection[int], columns: Columns, table: Table
    ) -> list[BrokenRow]:
        """Tell what rows hold that break rules which are no equations."""
        kinds = {"unique": "key", "determines": "dependency"}
        said = {}
        for k, rule in enumerate(self.rules):
            node = rule.expression
            if k not in places and rule.kind != "total":
                said[k] = RuleCells("", tuple(rule.columns))
                if is_across_rows(node):
                    said[k] = RuleCells(kinds[node.name], node.columns)
        return add_reasons(rows, said, columns.cells, table)

    def _find_sound(
        self,
        tried: list[tuple[int, Fix]],
        columns: Columns,
        places: Collection[int],
        others: Sequence[int],
    ) -> BoolArray:
        """Return which fixes of single cells break no other rule, beside other rows."""
        changed = columns.change([(row, fix.column, fix.fix) for row, fix in tried], others)
        is_kept = np.ones(len(tried), dtype=bool)
        for k, rule in enumerate(self.rules):
            if k not in places and rule.kind not in ("total", "chain"):
                is_kept &= ~self.find_broken(rule, changed)[0]
        return is_kept

    def _make_laws(self, table: Table) -> tuple[Laws, list[int]]:
        """Return the equations as laws, and their places among the rules."""
        known = {each.name: each for each in self.columns}
        spreads, ranges = describe_columns(table.values, table.sample_weight)
        whole, units = whole_columns(table.values), last_digits(np.nan_to_num(table.values))
        needed = {name for rule in self.rules for name in rule.columns}
        for j, name in enumerate(table.shown_names):
            if name in needed - known.keys():  # only people speak of it: it is as it is here
                known[name] = KnownColumn(
                    name, float(spreads[j]), float(ranges[0, j]), float(ranges[1, j]),
                    bool(whole[j]), float(units[j]),
                )  # fmt: skip
        filled = self._read_columns(table)
        for rule in self.rules:
            for name in rule.columns:
                filled.get(name, rule)
        texts = {name for name in table.texts if filled.get(name).known.any()}
        for name in sorted(table.texts.keys() - texts - known.keys() & needed):  # without a cell
            known[name] = KnownColumn(name, 0.0, 0.0, 0.0, whole=False)
        columns, names = list(known.values()), list(known)
        wheres = [_read_where(rule) for rule in self.rules]
        places = [
            k for k, rule in enumerate(self.rules)
            if rule.is_polynomial and (rule.where is None or wheres[k] is not None)
            and texts.isdisjoint(chain.from_iterable(map(list_sources, rule.letters)))
        ]  # fmt: skip
        letters = dict.fromkeys(letter for k in places for letter in self.rules[k].letters)
        others = [letter for letter in letters if not isinstance(letter, Column)]
        derived = tuple(read_derived(letter, names) for letter in others)
        every = [*map(Column, names), *others], [*names, *(each.name for each in derived)]
        totals = [rule for rule in self.rules if rule.kind == "total"]

        def collect(what: str) -> Any:
            return np.array([getattr(each, what) for each in columns], dtype=float)

        laws = Laws(
            tuple(replace(self.rules[k].make_law(*every), where=wheres[k]) for k in places),
            np.nan if np.isnan(collect("noise")).all() else np.nan_to_num(collect("noise")),
            tuple(names), collect("spread"), np.array([collect("low"), collect("high")]),
            collect("whole").astype(bool), self.n_rows or len(table.values),
            units=None if np.isnan(collect("unit")).any() else collect("unit"),
            proportional=self.proportional,
            zeros=tuple(each.name for each in columns if each.blank_is_zero),
            derived=derived,
            totals=tuple(TotalRow(0, np.arange(0), rule.columns, "", "") for rule in totals),
            threshold=self.threshold,
            proportional_columns=tuple(each.name for each in columns if each.proportional),
        )  # fmt: skip
        return laws, places


def _write_law(law: Law, laws: Laws, name: str) -> Rule:
    """Return a law as a rule."""
    if law.choices is not None:
        raise RuleError("it leaves open which of several numbers a row has")
    where = None if law.where is None else _write_where(law.where, law.where.column in laws.names)
    said = np.flatnonzero(law.coefficients)  # tax = 0 is tax = 0*net in laws
    logs = None if law.logs is None else law.logs[said]
    law = replace(
        law, exponents=law.exponents[said], coefficients=law.coefficients[said],
        standard_errors=law.standard_errors[said], logs=logs,
    )  # fmt: skip
    terms = list_terms(law, laws.derived)
    if not np.isfinite(law.coefficients).all():
        raise RuleError("a coefficient is not a finite number")
    expression, order = write_equation(terms, law.split_terms()[0])
    letters = [write_name(each) for each in laws.names]
    letters += [str(write_derived(each)) for each in laws.derived]
    rounding, noise = {}, None
    if law.resolution is None:
        noise = law.extent
    else:
        used = np.flatnonzero((law.resolution > 0) & law.involved).tolist()
        rounding = {letters[j]: float(law.resolution[j]) for j in used}
    errors = law.standard_errors[order]
    evidence = Evidence(
        None if law.bits is None else round(law.bits), float(f"{law.extent:.3g}"),
        len(law.rows), law.n_broken, float(f"{law.p_value:.3g}"),
        tuple(errors.tolist()) if errors.any() else (),
    )  # fmt: skip
    rule = Rule(
        name, expression, where, source="found", rounding=rounding, noise=noise, evidence=evidence
    )
    if not rule.is_polynomial or len(rule.terms or ()) != len(terms):
        raise RuleError("it has two terms alike, or none with a column")
    return rule


def _write_domain(domain: Domain, laws: Laws, name: str) -> Rule:
    """Return what holds in every row as a rule."""
    column, other = map(Column, (domain.columns[0], domain.columns[-1]))
    if domain.kind == "order of dates":
        raise RuleError("rules order dates that are written like 2024-12-31")
    expression: Expression
    if domain.kind == "values":
        is_number = column.name in laws.names
        values = (_write_value(each, is_number) for each in domain.values)
        expression = Call("in", (column, *values))
    elif domain.kind in ("key", "dependency"):
        expression = _call("unique" if domain.kind == "key" else "determines", domain.columns)
    else:
        sign = {"equal": "==", "not negative": ">="}.get(domain.kind, "<=")
        bound = other if domain.kind in ("equal", "order") else Number(0.0)
        expression = Call(sign, (column, bound))
    p_value = float(f"{2.0**-domain.bits:.3g}")
    evidence = Evidence(round(domain.bits), rows=laws.n_rows, p_value=p_value)
    return Rule(name, expression, source="found", evidence=evidence)


def _call(name: str, columns: Sequence[str]) -> Expression:
    return Call(name, tuple(map(Column, columns)))


def _write_value(text: str, is_number: bool) -> Expression:
    return make_number(float(text)) if is_number else Text(text)


def _write_where(where: LawCondition, is_number: bool) -> Expression:
    """Return the rows that a law speaks of as a condition."""
    if where.part:
        raise RuleError(f"a condition cannot speak of the {where.part} of a date")
    column = Column(where.column)
    if where.values:
        return Call("in", (column, *(_write_value(each, is_number) for each in where.values)))
    given = ((">=", where.low), ("<=", where.high))
    bounds = [Call(sign, (column, _write_value(text, is_number))) for sign, text in given if text]
    return bounds[0] if len(bounds) == 1 else Call("and", tuple(bounds))


def _read_where(rule: Rule) -> LawCondition | None:
    """Return the condition of a rule as laws have them; None if it is of another kind.

    Bounds that people write may be parts of dates, which laws do not know.
    """
    bounds: tuple[Expression | None, ...] = (rule.where,)
    match rule.where:
        case Call("==", (Column(name), Text(text))):
            return LawCondition(name, (text,))
        case Call("in", (Column(name), first, *others)):
            values = map(_read_value, (first, *others))
            return LawCondition(name, tuple(text for text in values if text is not None))
        case Call("and", operands):
            bounds = operands
    texts: dict[str, str] = {}
    columns = set()
    for bound in bounds:
        match bound:
            case Call("<=" | ">=" as sign, (Column(name), constant)):
                if (value := _read_value(constant)) is not None:
                    texts[sign] = value
                    columns.add(name)
    if rule.source != "found" or len(texts) < len(bounds) or len(columns) != 1:
        return None
    return LawCondition(columns.pop(), low=texts.get(">=", ""), high=texts.get("<=", ""))


def _read_value(node: Expression) -> str | None:
    """Return a constant as conditions of laws write it; None of what is computed."""
    if isinstance(node, Text):
        return node.value
    number = read_constant(node)
    return None if number is None else write_cells(np.array([number]))[0]


def _fill(node: Expression, zeros: set[str]) -> Expression:
    """Return an expression in which blanks of some columns are 0."""
    if isinstance(node, Column) and node.name in zeros:
        return Call("coalesce", (node, Number(0.0)))
    if is_across_rows(node):
        return node
    return node.map(lambda child: _fill(child, zeros))
