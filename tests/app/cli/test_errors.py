"""What goes wrong is said with its place, to people and to machines."""

import io
import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler
from tests.support.command_line import environment, parabola, write_csv

from vanishing import ClassVanishingFeatures, VanishingDetector, VanishingIdeal, discover
from vanishing.app.cli import main
from vanishing.app.cli.describe import carry_back
from vanishing.app.cli.models import ideals_of
from vanishing.equations.sizes import DataScale
from vanishing.persistence import save

# --- names of functions --------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["python", "c"])
@pytest.mark.parametrize("name", ["a b", "", "1a", "int", "naïve-é"])
def test_names_that_are_none_are_bad_usage(call, models, target, name):
    done = call("export", "ideal.safetensors", target, "--name", name)
    assert done.code == 2
    assert "--name must be" in done.err
    assert done.out == ""


def test_the_name_does_not_matter_where_there_is_no_function(call, models):
    assert call("export", "ideal.safetensors", "latex", "--name", "a b").code == 0


@pytest.mark.parametrize("command", ["laws", "check", "detect", "explain"])
@pytest.mark.parametrize("name", ["missing.csv", "missing.xlsx", "missing/"])
def test_a_file_that_is_not_there_is_bad_data(call, command, name):
    done = call(command, name)
    assert done.code == 3
    assert f"there is no file {name}" in done.err


# --- pipelines -----------------------------------------------------------------------------------


def moved(n_rows=300):
    return parabola(n_rows) * [10.0, 1.0] + [3.0, -2.0]


@pytest.mark.parametrize("steps", [[StandardScaler()], [MinMaxScaler(), PCA(2)]], ids=str)
@pytest.mark.parametrize(
    "final",
    [VanishingIdeal(tol=0.05), VanishingDetector(VanishingIdeal(tol=0.05))],
    ids=["ideal", "detector"],
)
def test_equations_are_carried_back_through_affine_steps(steps, final):
    points = moved()
    model = make_pipeline(*steps, final).fit(points)
    found = carry_back(model, next(iter(ideals_of(model))))
    assert found.names == ["x0", "x1"]
    assert found.meaning == ""
    before = make_pipeline(*steps).fit(points).transform(points)
    ideal = next(iter(ideals_of(model).values()))
    np.testing.assert_allclose(
        found.ideal.basis_.evaluate(points), ideal.basis_.evaluate(before), atol=1e-12
    )
    assert ideal.basis_ is not found.ideal.basis_


def test_show_of_a_pipeline_names_the_columns(call, tmp_path):
    import pandas as pd

    points = moved()
    frame = pd.DataFrame(points, columns=["länge", "kraft"])
    save(
        make_pipeline(StandardScaler(), VanishingIdeal(tol=0.05)).fit(frame),
        tmp_path / "m.safetensors",
    )
    done = call("show", "m.safetensors")
    assert "länge²" in done.out
    assert "u0" not in done.out
    record = json.loads(call("show", "m.safetensors", "--json", "--digits", "17").out)
    assert record["variables"] == ["länge", "kraft"]
    text = record["equations"][0]["text"].removesuffix(" = 0")
    text = text.replace("²", "**2").replace("- ", "-").replace("+ ", "+")
    values = eval(  # the text is ours
        text.replace(" länge", "*länge").replace(" kraft", "*kraft"),
        {"länge": points[:, 0], "kraft": points[:, 1]},
    )
    assert np.sqrt(np.mean(values**2)) == pytest.approx(record["equations"][0]["extent"], rel=0.1)
    write_csv(tmp_path / "moved.csv", ["länge", "kraft"], points)
    done = call("show", "m.safetensors", "--points", "moved.csv")
    assert "off by" in done.out


def test_all_terms_are_written_behind_a_projection(call, tmp_path):
    """Of the directions that PCA leaves out nothing is known, so that no term is negligible."""
    rng = np.random.default_rng(0)
    points = np.column_stack([parabola(200), 1e-3 * rng.normal(size=200)])
    model = make_pipeline(PCA(2), VanishingIdeal(tol=0.1)).fit(points)
    save(model, tmp_path / "m.safetensors")
    found = carry_back(model, "0")
    assert not DataScale.of(found.ideal.basis_, found.ideal).is_complete
    done = call("show", "m.safetensors", "--terms", "0")
    assert all(f"x{j}" in done.out for j in range(3))


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (
            make_pipeline(PolynomialFeatures(2, include_bias=False), VanishingIdeal(tol=0.1)),
            "after PolynomialFeatures)",
        ),
        (
            make_pipeline(StandardScaler(), VanishingDetector()),
            "after StandardScaler and VanishingDetector)",
        ),
    ],
    ids=["polynomials", "recipe"],
)
def test_coordinates_are_explained_where_equations_stay_in_them(model, said):
    model.fit(moved())
    found = carry_back(model, next(iter(ideals_of(model))))
    assert found.names[0] == "u0"
    assert said in found.meaning


def test_classes_in_a_pipeline_are_carried_back():
    points = np.concatenate([parabola(60), moved(60)])
    labels = np.repeat(["a", "b"], 60)
    model = make_pipeline(StandardScaler(), ClassVanishingFeatures(VanishingIdeal(tol=0.5)))
    model.fit(points, labels)
    assert carry_back(model, "a").names == ["x0", "x1"]


# --- huge numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [[], ["--degree", "2", "--tol", "0.1"]], ids=str)
@pytest.mark.parametrize("trained", [False, True])
def test_numbers_too_large_to_be_squared_are_named(call, tables, tmp_path, options, trained):
    rows = parabola(40)
    rows[6, 1] = -1e300
    write_csv(tmp_path / "huge.csv", ["x", "größe"], rows)
    if trained:
        write_csv(tmp_path / "new.csv", ["x", "größe"], parabola(20, seed=1))
        done = call("detect", "new.csv", "--train", "huge.csv", *options)
    else:
        done = call("detect", "huge.csv", *options)
    assert done.code == 3
    assert "huge.csv: row 7 has -1e+300 in column 'größe', too large to be squared" in done.err
    assert "overflow" not in done.err


def test_huge_rows_are_judged_by_normal_ones(call, tables, tmp_path):
    write_csv(tmp_path / "new.csv", ["x", "y"], [[0.5, 0.25], [1e300, 0.0]])
    done = call("detect", "new.csv", "--train", "normal.csv")
    assert done.code == 0, done.err
    assert done.out.startswith("1 of 2 rows is anomalous")


# --- JSON ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["fit", "missing.csv"], 3),
        (["fit", "normal.csv", "--tol", "wide"], 2),
        (["fit", "normal.csv", "--degree", "x"], 2),
        (["nothing"], 2),
        (["show", "normal.csv"], 4),
        (["fit", "normal.csv", "--save", "no/such/folder.safetensors"], 5),
        (["detect", "normal.csv", "--out", "-"], 2),
    ],
    ids=str,
)
def test_errors_are_objects_too(call, tables, arguments, code):
    done = call(*arguments, "--json")
    record = json.loads(done.out)
    assert done.code == record["code"] == code
    assert done.err.splitlines()[-1] == f"vanishing: {record['error']}"


@pytest.mark.parametrize("command", ["info", "laws", "check", "detect", "fit", "explain"])
@pytest.mark.parametrize("name", ["missing.csv", "missing.xlsx"])
def test_a_missing_table_is_named(call, command, name):
    done = call(command, name)
    assert (done.code, done.out) == (3, "")
    assert f"there is no file {name}" in done.err


def test_without_json_standard_output_is_empty(call, tables):
    done = call("fit", "missing.csv")
    assert done.code == 3
    assert done.out == ""


def test_there_is_one_object_though_the_exit_code_is_not_0(call, tables):
    done = call("detect", "new.csv", "--train", "normal.csv", "--fail-on-anomaly", "--json")
    assert done.code == 1
    assert "error" not in json.loads(done.out)


def test_a_missing_package_is_an_object(monkeypatch, capsys):
    monkeypatch.setattr("vanishing.app.cli.find_spec", lambda name: None)
    assert main(["info", "--json"]) == 6
    shown = capsys.readouterr()
    assert json.loads(shown.out) == {"error": shown.err[len("vanishing: ") : -1], "code": 6}
    assert main(["info"]) == 6
    assert capsys.readouterr() == ("", shown.err)


def test_a_full_standard_output_gets_no_object(tmp_path):
    from pathlib import Path

    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "vanishing", "info", "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment(),
            timeout=60,
            check=False,
        )
    assert done.returncode == 5
    assert done.stderr.decode().count("\n") == 1


def test_a_file_of_laws_is_no_model(call, tmp_path):
    discover(parabola(100), ["x", "y"]).save(tmp_path / "laws.safetensors")
    done = call("show", "laws.safetensors")
    assert done.code == 4
    assert "laws.safetensors holds Laws" in done.err


def test_interrupted_before_the_command_began(monkeypatch, capsys):
    from vanishing.app.cli import commands

    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "run", interrupt)
    assert main(["info"]) == 130
    assert capsys.readouterr().err == "vanishing: interrupted: nothing was left half written\n"


def test_interrupted_while_standard_error_is_changed(monkeypatch):
    """A stream whose errors were about to be handled otherwise takes no more."""
    from vanishing.app.cli import commands

    class Half(io.StringIO):
        def write(self, _):
            raise io.UnsupportedOperation("not writable")

    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "run", interrupt)
    monkeypatch.setattr(sys, "stderr", Half())
    assert main(["info"]) == 130
