"""The index of the synthetic experiment: which bound was checked where, and whether it holds.

A bound "holds" where the whole Clopper-Pearson interval is on its side, "fails" where the whole
interval is on the other, and is "open" in between. What has a formula is judged by its value.
"""

from collections import Counter

from experiments.harness import page
from experiments.synthetic import laws
from experiments.synthetic.draws import MULTIPLES, N_DIMENSIONS, ROUNDING, K, M


def index(results):
    """Return the table of all checks."""
    grid = [one for name, one in results.items() if name.startswith("Theorem 6, ")]
    rows = [*_theorem6(grid), *_few_points(results), *_figure2(results)]
    rows += [*_proposition5(results), *_lemmas(results["χ² lemma"])]
    # A bar would end the cell of the table.
    rows = [[item.replace("|", "\\|") for item in row] for row in rows]
    return page.table(["bound", "setting", "holds?", "how far"], rows)


def grid_table(results):
    """Return the settings of Theorem 6, with what was found and the narrowest margins."""
    rows = []
    for name, result in results.items():
        if not name.startswith("Theorem 6, "):
            continue
        n, k, m = result["n"], result["k"], result["m"]
        fitted = [row for row in result["rows"] if row["w"] == "fitted"]
        found = sorted({number for row in fitted for number in row["found"]})
        below = min(_margin_below(row) for row in result["rows"])
        large = min(_margin_large(row, n, k, m) for row in result["rows"])
        on_X = max(row["largest on V_X"] for row in result["rows"])
        numbers = ", ".join(map(str, found))
        rows.append(
            [n, k, m, f"{numbers} of {n - k}", f"{on_X:.0e}", f"{below:+.3f}", f"{large:+.3f}"]
        )
    head = ["n", "k", "m", "polynomials", "largest on V_X", "margin of (2)", "margin of (3)"]
    return page.table(head, rows)


def _theorem6(grid):
    both = (("w Gaussian", "Gaussian"), ("fitted, turned, |Z| ≥ 1,000", "fitted"))
    for label, kind in both:
        settings = f"{label}; {len(grid)} triples (n, k, m)"
        rows = [
            (row, one["n"], one["k"], one["m"])
            for one in grid
            for row in one["rows"]
            if row["w"] == kind
        ]
        largest = max(row["largest on V_X"] for row, *_ in rows)
        verdict = "holds" if largest < ROUNDING else "fails"
        far = f"at most {largest:.0e}" if largest else "0 by construction"
        yield ["Theorem 6 (1): g = 0 on V_X", settings, _strong(verdict), far]
        verdicts = [one for row, *_ in rows for one in _judge_below(row)]
        margin = min(_margin_below(row) for row, *_ in rows)
        yield _row("Theorem 6 (2): 1 − (m/(n−k))/t²", f"{settings}, 5 thresholds", verdicts, margin)
        for name, factor in (("as printed, 1/4", 1 / 4), ("as proved, 1/12", 1 / 12)):
            verdicts = [
                laws.at_least(row["large"], row["trials"], laws.large_bound(*nkm, factor=factor))
                for row, *nkm in rows
            ]
            margin = min(_margin_large(row, *nkm, factor=factor) for row, *nkm in rows)
            yield _row(f"Theorem 6 (3), {name}", settings, verdicts, margin)


def _few_points(results):
    for row in results["Theorem 6 with few random points"]["rows"]:
        if row["w"] == "fitted":
            setting = f"fitted, turned, n = {N_DIMENSIONS}, |Z| = {row['|Z|']}"
            yield _row("Theorem 6 (2)", setting, _judge_below(row), _margin_below(row))


def _figure2(results):
    for state in ("as found", "turned at random"):
        result = results[f"Figure 2, {state}"]
        for bound in ("1 − 0.05/t²", "1 − 0.01/t²"):
            key = bound.replace("−", "-")
            verdict = "fails" if result[f"average breaks {key}"] else "holds"
            setting = f"n = {N_DIMENSIONS}, k = {K}, m = {M}, {state}, {result['draws']} draws"
            share = 100 * result[f"share that breaks {key}"]
            far = f"{share:.1f} % of single polynomials break it"
            yield [f"average of P_i(t) ≥ {bound}", setting, _strong(verdict), far]


def _proposition5(results):
    result = results["Proposition 5 where it bites"]
    for eps, far, bound, exact in zip(
        *(result[key] for key in ("ε", "far", "bound", "exact")), strict=True
    ):
        setting = f"N = {result['N']}, |Z| = {result['|Z|']:,}, ε = {eps}"
        verdict = laws.at_most(far, result["trials"], bound) if bound < 1 else "empty (bound ≥ 1)"
        how = f"{far} of {result['trials']}, bound {bound:.2g}, exact {exact:.2g}"
        yield ["Proposition 5", setting, _strong(verdict), how]
    result = results["Proposition 5 in the paper's setting"]
    setting = f"N = {result['N']}, |Z| = {result['|Z|']:,} (the paper's)"
    lowest = min(result["bound"])
    yield [
        "Proposition 5",
        setting,
        "empty (bound ≥ 1)",
        f"bound {lowest:,.0f} or more, ε ≤ {max(result['ε'])}",
    ]
    result = results["Proposition 5, exact"]
    ratio = result["largest probability / bound"]
    setting = f"exact law, {result['settings with a bound below 1']} settings with a bound below 1"
    verdict = "holds" if ratio <= 1 else "fails"
    yield [
        "Proposition 5",
        setting,
        _strong(verdict),
        f"probability at most {ratio:.2f} of the bound",
    ]


def _lemmas(lemma):
    setting = f"ε = {lemma['ε']}, M = {lemma['M']}"
    for name, probability, bound in (
        ("upper tail as printed", "probability", "printed bound"),
        ("upper tail by Chernoff", "probability", "Chernoff's bound"),
        ("lower tail as printed", "lower tail", "lower tail, printed bound"),
    ):
        verdict = "holds" if lemma[probability] <= lemma[bound] else "fails"
        far = f"{lemma[probability]:.2g} against {lemma[bound]:.2g}"
        yield [f"χ² lemma, {name}", setting, _strong(verdict), far]
    for name, setting in (
        ("corollary", "ε=2, M=100"),
        ("inner product", "ε=0.5, M=1000"),
    ):
        probability, bound = lemma[f"{name} at {setting}: log10 of probability and bound"]
        verdict = "holds" if probability <= bound else "fails"
        far = f"10^{probability:.1f} against 10^{bound:.1f}"
        label = "corollary of the χ² lemma" if name == "corollary" else "lemma on the inner product"
        yield [label, setting.replace("=", " = "), _strong(verdict), far]


# --- pieces ---------------------------------------------------------------------------------------


def _row(bound, setting, verdicts, margin):
    counts = Counter(verdicts)
    text = " and ".join(f"{_strong(key)} in {counts[key]} of {len(verdicts)}" for key in counts)
    return [bound, setting, text, f"lower end − bound ≥ {margin:+.3f}"]


def _judge_below(row):
    return [
        laws.at_least(count, row["trials"], 1 - 1 / s**2)
        for s, count in zip(MULTIPLES, row["below"], strict=True)
    ]


def _margin_below(row):
    return min(
        laws.interval(count, row["trials"])[0] - (1 - 1 / s**2)
        for s, count in zip(MULTIPLES, row["below"], strict=True)
    )


def _margin_large(row, n, k, m, factor=1 / 4):
    return laws.interval(row["large"], row["trials"])[0] - laws.large_bound(n, k, m, factor=factor)


def _strong(verdict):
    return "**fails**" if verdict == "fails" else verdict
