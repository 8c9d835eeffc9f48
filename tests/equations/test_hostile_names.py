"""Names of columns are text in every export: nothing runs, nothing breaks, the values are right.

A new exporter joins by itself: ``vanishing.equations.__all__`` is what is tested.
"""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
import sympy
from benchmarks.computer_algebra import systems
from tests.support.compiled import Library
from tests.support.hostile import CANARY, HOSTILE_NAMES

from vanishing import VanishingIdeal, equations
from vanishing.app.cli.show import _sympy_text
from vanishing.equations import tidy, to_c, to_computer_algebra, to_latex, to_onnx, to_python
from vanishing.equations.computer_algebra import SYSTEMS
from vanishing.equations.text import printable
from vanishing.laws import discover, discover_invariants, discover_odes

NAMES = list(HOSTILE_NAMES.values())
assert len(set(NAMES)) == len(NAMES)
#: What may be in a text for people and programs: no control, no change of direction.
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
#: All that our LaTeX consists of.
COMMANDS = {"mathrm", "hat", "sim", "backslash", "cdot", "frac", "left", "right", "text"}
COMMANDS |= {"begin", "end", "cdots"}


def points(n_rows=80):
    """Rows that are known by two numbers: all others follow by linear equations."""
    rng = np.random.default_rng(0)
    return rng.uniform(-1, 1, (n_rows, 2)) @ rng.uniform(0.5, 1, (2, len(NAMES)))


@pytest.fixture(scope="module")
def ideal():
    return VanishingIdeal(max_degree=1, tol=1e-8).fit(pd.DataFrame(points(), columns=NAMES))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder in which everything runs; nothing that a name asks for may be there afterwards."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.tex").write_text(r"\typeout{SECRET}")
    yield tmp_path
    assert not (tmp_path / CANARY).exists()
    assert not list(tmp_path.glob(f"{CANARY}*"))


def off_points():
    return points() + np.random.default_rng(1).normal(size=(80, len(NAMES)))


# --- one function for each exporter: it runs what the exporter wrote, and returns the values ------


def run_c(ideal, folder):
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    source = to_c(ideal)
    assert source.isascii()
    # Longer than strings have to be in C99.
    library = Library(source, folder, flags=["-Wno-overlength-strings"])
    assert library.features == [name.split("\0")[0] for name in NAMES]  # ends strings of C
    return library.batch(off_points())


def run_python(ideal, folder):
    source = to_python(ideal)
    assert source.isascii()
    module = {"__builtins__": {"len": len, "float": float, "sum": sum, "zip": zip}}
    exec(compile(source, "generated", "exec"), module)
    assert list(module["FEATURES"]) == NAMES
    return np.array(module["evaluate_batch"](off_points().tolist()))


def run_onnx(ideal, folder):
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    proto = to_onnx(ideal, dtype="float64")
    onnx.checker.check_model(proto, full_check=True)
    session = runtime.InferenceSession(proto.SerializeToString())
    found = session.get_modelmeta().custom_metadata_map
    assert json.loads(found["feature_names"]) == NAMES
    return session.run(["values"], {"X": off_points()})[0]


def run_sympy(ideal, folder):
    """As SymPy reads the text of the command line back."""
    expressions = equations.to_sympy(ideal)
    assert {symbol.name for each in expressions for symbol in each.free_symbols} == set(NAMES)
    # One equation is enough: SymPy reads slowly.
    wanted = expressions[0].as_coefficients_dict()
    read = sympy.sympify(_sympy_text(expressions[0])).as_coefficients_dict()
    assert set(read) == set(wanted)
    assert all(float(read[term]) == pytest.approx(float(wanted[term])) for term in wanted)
    symbols = [sympy.Symbol(name) for name in NAMES]
    evaluate = sympy.lambdify(symbols, expressions, dummify=True)
    return np.column_stack(evaluate(*off_points().T))


def run_latex(ideal, folder):
    found = to_latex(ideal, digits=17)
    compile_latex(found, folder)
    return np.column_stack([evaluate_latex(each) for each in found])


def run_rational(ideal, folder):
    """Of other points: these are exact."""
    grid = np.arange(12).reshape(6, 2)
    names = [HOSTILE_NAMES["input of LaTeX"], HOSTILE_NAMES["import of Python"]]
    line = VanishingIdeal(max_degree=1, tol=0).fit(pd.DataFrame(grid.astype(float), columns=names))
    (found,) = equations.to_rational(line, grid)
    assert {symbol.name for symbol in found.gens} == set(names)
    assert all(found(*row) == 0 for row in grid.tolist())
    return None


def run_computer_algebra(ideal, folder):
    for system in SYSTEMS:
        text = to_computer_algebra(ideal, system)
        assert text.isascii()
        assert_harmless(text)
    return None


RUNS = {
    "to_c": run_c,
    "to_computer_algebra": run_computer_algebra,
    "to_latex": run_latex,
    "to_onnx": run_onnx,
    "to_python": run_python,
    "to_rational": run_rational,
    "to_sympy": run_sympy,
}
EXPORTERS = [name for name in equations.__all__ if name.startswith("to_")]


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_exports_are_text_and_right(exporter, ideal, folder):
    assert exporter in RUNS, f"write a function that runs what {exporter} writes"
    values = RUNS[exporter](ideal, folder)
    if values is not None:
        wanted = ideal.basis_.evaluate(off_points())
        np.testing.assert_allclose(values, wanted, atol=1e-6 * np.abs(wanted).max())


@pytest.mark.parametrize("exporter", sorted(set(EXPORTERS) - {"to_onnx", "to_rational"}))
def test_names_that_are_twice_there_are_refused(exporter, ideal):
    names = ["a", "a", *NAMES[2:]]
    arguments = ("singular", names) if exporter == "to_computer_algebra" else (names,)
    with pytest.raises(ValueError, match="feature names must differ, got a more than once"):
        getattr(equations, exporter)(ideal, *arguments)


@pytest.mark.programs
@pytest.mark.parametrize("system", systems.SYSTEMS)
def test_systems_run_nothing(system, ideal, folder):
    if not systems.is_installed(system):
        pytest.skip(f"{system} is not installed")
    (first, *_) = equations.to_sympy(ideal)
    first -= first.subs(dict.fromkeys(first.free_symbols, 0))  # without a constant
    text = to_computer_algebra([first], system, NAMES)
    show = {
        "singular": 'print("answer " + string(size(I[1])));',
        "macaulay2": 'print concatenate("answer ", toString size I_0);',
    }
    assert f"answer {len(NAMES)}" in systems.run(system, text + show[system])


# --- what is read by people -----------------------------------------------------------------------


def assert_harmless(text):
    assert not CONTROL.search(text)


def compile_latex(formulas, folder):
    """Set formulas in type, where there is a LaTeX that knows all letters."""
    for formula in formulas:
        assert_harmless(formula)
        assert set(re.findall(r"\\([a-zA-Z]+)", formula)) <= COMMANDS
        assert not re.search(r"<[a-zA-Z/!]", formula)
    if shutil.which("lualatex") is None:
        return
    body = "\n".join(f"\\[ {formula} \\]" for formula in formulas[:3])
    source = f"\\documentclass{{article}}\\usepackage{{amsmath}}\\begin{{document}}{body}"
    (folder / "page.tex").write_text(source + "\\end{document}", encoding="utf-8")
    done = subprocess.run(
        ["lualatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"],
        cwd=folder,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    assert b"SECRET" not in done.stdout
    assert "SECRET" not in (folder / "page.log").read_text(errors="replace")


def evaluate_latex(formula):
    """Compute a sum of first powers, by the order of the names in it."""
    from vanishing.equations.text import latex_symbol

    values = np.zeros(80)
    rest = formula
    for symbol, column in sorted(
        zip(map(latex_symbol, NAMES), off_points().T, strict=True), key=lambda each: -len(each[0])
    ):
        # The longest first: none of the others is part of what is left.
        found = re.search(rf"(^|[+-])([\d.]+(?: \\cdot 10\^{{-?\d+}})?) {re.escape(symbol)}", rest)
        if found is None:
            continue  # a term that is too small to be written
        sign = -1 if found[1] == "-" else 1
        number = found[2].replace(r" \cdot 10^{", "e").rstrip("}")
        values += sign * float(number) * column
        rest = rest[: found.start()] + " " + rest[found.end() :]
    constant = rest.replace(" ", "").replace(r"\cdot10^{", "e").rstrip("}")
    return values + float(constant or 0)


def test_formulas_of_notebooks(ideal, folder):
    bundle = ideal._repr_mimebundle_()
    compile_latex([bundle["text/latex"].strip("$")], folder)
    assert_harmless(bundle["text/plain"])


@cache
def product():
    rng = np.random.default_rng(0)
    a, b = rng.integers(1, 50, (2, 60)).astype(float)
    return discover(np.column_stack([a, b, a * b]))


def laws_of(names):
    """Return w = u v, with other names; to find it anew would take long."""
    laws = product()
    renamed = tuple(replace(law, names=tuple(names)) for law in laws)
    return replace(laws, equations=renamed, names=tuple(names))


@pytest.mark.parametrize("what", HOSTILE_NAMES)
def test_laws_and_broken_cells(what, folder):
    names = ["u", HOSTILE_NAMES[what], "w"]
    laws = laws_of(names)
    (law,) = laws
    assert set(law.columns) == set(names)
    broken = laws.check(
        np.array([[20.0, 30.0, 600.0], [20.0, 30.0, 900.0]]), row_names=["r", names[1]]
    )
    assert broken.broken.tolist() == [False, True]
    shown = printable(names[1])
    assert shown in str(broken)
    for text in (str(laws), repr(law), str(broken), law.latex):
        assert_harmless(text)
    assert len(str(laws).splitlines()) == 1 + len(laws.lines()) <= 3
    assert len(str(broken).splitlines()) == 3
    assert set(re.findall(r"\\([a-zA-Z]+)", law.latex)) <= COMMANDS


@pytest.mark.programs
def test_latex_of_laws(folder):
    tested = [name for what, name in HOSTILE_NAMES.items() if what != "long"]
    triples = [[*tested[k : k + 3], "x", "y"][:3] for k in range(0, len(tested), 3)]
    found = [law.latex for names in triples for law in laws_of(names)]
    assert len(found) == len(triples)
    compile_latex([" ".join(found)], folder)


def test_latex_of_trajectories(folder):
    t = np.linspace(0, 6, 200)
    swing = np.column_stack([np.cos(t), -np.sin(t)])
    names = [HOSTILE_NAMES["input of LaTeX"], HOSTILE_NAMES["color"]]
    found = [
        *discover_invariants([swing, 2 * swing], feature_names=names),
        *discover_odes([swing, 2 * swing], [t, t], feature_names=names),
    ]
    assert len(found) >= 2
    for each in found:
        assert_harmless(str(each) + each.latex)
    compile_latex([each.latex for each in found], folder)


def test_short_equations(folder):
    names = [HOSTILE_NAMES["input of LaTeX"], HOSTILE_NAMES["link of LaTeX"]]
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 200)
    crossed = np.where(rng.uniform(size=200) < 0.5, x, -x)
    model = VanishingIdeal(tol=0.01).fit(np.column_stack([x, crossed]))
    found = tidy(model, np.column_stack([x, crossed]), feature_names=names)
    assert found
    compile_latex([each.latex for each in found], folder)


def test_half_a_character(ideal):
    """A name that no encoding has is written in some other way."""
    names = ["\ud800", *NAMES[1:]]
    frame = pd.DataFrame(points(), columns=pd.Index(names, dtype=object))
    model = VanishingIdeal(max_degree=1, tol=1e-8).fit(frame)
    texts = [to_c(model), to_python(model), *to_latex(model), *model._repr_mimebundle_().values()]
    texts += [to_computer_algebra(model, system) for system in SYSTEMS]
    for text in texts:
        text.encode()
    assert to_onnx(model).SerializeToString()
    laws = laws_of(["u", "\ud800", "w"])
    (str(laws) + laws[0].latex + laws._repr_html_()).encode()


def test_sage_files_run_nothing(ideal, folder, sage):
    found = {}
    (first, *_) = equations.to_sympy(ideal)
    exec(to_computer_algebra([first], "sage", NAMES), found)
    assert len(found["I"]) == 1
