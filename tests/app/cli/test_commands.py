"""What each command does, called in this process."""

import json
import re
import shlex
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.support.command_line import parabola, write_csv
from tests.support.paths import ROOT

import vanishing
from vanishing import ClassVanishingFeatures, VanishingDetector, VanishingIdeal
from vanishing.app.cli.commands import COMMANDS
from vanishing.detectors import ChristoffelDetector
from vanishing.persistence import save

ACCOUNTS = str(ROOT / "examples" / "data" / "accounts.csv")


def rows_of(text):
    header, *lines = text.strip().splitlines()
    return header.split(","), [line.split(",") for line in lines]


NAMES = [name for commands in COMMANDS.values() for name in commands]


@pytest.mark.parametrize("command", NAMES)
def test_help_is_plain_and_has_an_example(call, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = call(command, "--help")
    assert shown.code == 0
    assert shown.out.startswith(f"Usage: vanishing {command} ")
    assert f"Examples:\n  vanishing {command}" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80
    assert not re.search(r"<\w+>|│|default: \(|None", shown.out)
    assert ("--json" in shown.out) == (command != "mcp")  # which speaks to programs alone


def test_help_lists_the_commands(call):
    shown = call("--help")
    assert shown.code == 0
    assert all(f"\n  {command} " in shown.out for command in NAMES)
    assert all(f"\n{heading}:\n" in shown.out for heading in COMMANDS)
    assert call("--version").out == f"vanishing {vanishing.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["frobnicate"], "No such command"),
        (["detect"], "Missing argument"),
        (["detect", "x.csv", "--trian", "y.csv"], "--train"),
        (["show", "m", "poem"], "poem"),
        (["fit", "x.csv", "--degree", "0"], "--degree"),
    ],
)
def test_usage_errors_are_one_line(call, arguments, said):
    done = call(*arguments)
    assert done.code == 2
    assert said in done.err
    assert done.err.startswith("vanishing: ")
    assert done.err.count("\n") == 1
    assert "--help" in done.err


def test_no_arguments_show_the_help(call):
    assert call() == call("--help")


# --- fit ---------------------------------------------------------------------------------


def test_fit_finds_the_parabola(call, tables):
    done = call("fit", "normal.csv", "--tol", "0.05", "--save", "m.safetensors")
    assert done.code == 0, done.err
    assert "1 equation in 2 columns (x, y)" in done.out
    assert "x²" in done.out
    scaler, ideal = vanishing.load("m.safetensors")
    assert scaler.feature_names_in_.tolist() == ["x", "y"]
    assert ideal.callback is None
    record = json.loads(call("fit", "normal.csv", "--tol", "0.05", "--json").out)
    assert record["ideals"]["0"]["degrees"] == [2]
    assert record["rows"] == 300


@pytest.fixture
def ellipse(tmp_path):
    """Noise of 0.8 % of the spread, in columns of very different units."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 400)
    points = np.column_stack([300 * np.cos(angle), 2e-3 * np.sin(angle)])
    points += 0.008 * points.std(axis=0) * rng.normal(size=points.shape)
    lines = [f"2026-01-05,{x!r},{y!r},pump {i % 3}" for i, (x, y) in enumerate(points.tolist())]
    (tmp_path / "ellipse.csv").write_text("day,force,current,where\n" + "\n".join(lines) + "\n")


def test_fit_needs_no_option(call, ellipse):
    done = call("fit", "ellipse.csv", "--save", "m.safetensors")
    assert done.code == 0, done.err
    _, noise, equation, *_ = done.out.splitlines()
    assert re.fullmatch(
        r"noise 0\.\d+ % of the spread; equations from degree 2 on; degree 3 is no closer", noise
    )
    match = re.fullmatch(
        r"  force² \+ (.*) current² - (.*) = 0   \(off by 0\.(\d+) % of the spread\)", equation
    )
    ratio, right, off = map(float, match.groups())
    assert right == pytest.approx(300**2, rel=0.02)
    assert right / ratio == pytest.approx(2e-3**2, rel=0.02)
    assert off == pytest.approx(80, rel=0.1)
    assert done.err == (
        "note: ellipse.csv: columns of dates and text are left out: 'day' ('2026-01-05' in row 1), "
        "'where' ('pump 0' in row 1)\n"
    )
    record = json.loads(call("fit", "ellipse.csv", "--json").out)
    assert record["noise"]["share"] == pytest.approx(0.008, rel=0.1)
    assert record["equations"][0]["distance"] == pytest.approx(0.008, rel=0.1)
    assert equation.startswith(f"  {record['equations'][0]['text']}   ")


def test_fit_without_what_is_done_by_default(call, ellipse):
    raw = call("fit", "ellipse.csv", "--raw").out
    assert re.search(r"  g2_0: .* force² .* = 0   \(extent 0\.00", raw)
    assert len(re.findall("force|current", raw.splitlines()[2])) > 2
    assert call("fit", "ellipse.csv", "--no-scale", "-s", "m.safetensors").code == 0
    assert isinstance(vanishing.load("m.safetensors"), VanishingIdeal)
    done = call("fit", "ellipse.csv", "--tol", "0.02")
    assert "noise" not in done.out
    assert "force² + " in done.out


def test_columns_of_all_scales(call, tmp_path):
    """With a constant and a duplicate, whose multiples are left out of other equations."""
    rng = np.random.default_rng(1)
    a, b = rng.uniform(1, 2, 300), rng.uniform(1e12, 5e12, 300)
    rows = np.column_stack([a, b, a * b, a, np.full(300, 3.5)])
    write_csv(tmp_path / "t.csv", ["a", "b", "c", "dup", "const"], rows)
    assert call("fit", "t.csv").out.splitlines()[2:] == [
        "  a - dup = 0   (exact)",
        "  2 const - 7 = 0   (exact)",
        "  b dup - c = 0   (exact)",
    ]


def test_robust_fit_leaves_out_broken_rows(call):
    done = call("fit", ACCOUNTS, "--robust")
    assert done.out.splitlines()[1:] == [
        "no noise; equations from degree 1 on",
        "  sales - costs - profit = 0   (exact)",
        "  wages + material + rent - costs = 0   (exact)",
        "  units price - costs - profit = 0   (exact)",
        "2 of 60 rows break them and are left out",
    ]


def test_nothing_to_be_found(call, tmp_path):
    points = np.random.default_rng(0).normal(size=(200, 3))
    write_csv(tmp_path / "null.csv", ["a", "b", "c"], points)
    done = call("fit", "null.csv", "--save", "m.safetensors")
    assert done.code == 0
    assert "no equation holds to within noise" in done.out
    assert "try a larger --degree" in done.out
    assert "vanishing show m.safetensors spectrum" in done.out
    assert call("show", "m.safetensors", "spectrum").code == 0
    assert json.loads(call("fit", "null.csv", "--json").out)["equations"] == []
    done = call("export", "null.csv", "latex")
    assert done.code == 4
    assert "--tol" in done.err


def test_noise_of_one_column_alone(call, tables):
    """Which a tolerance for all columns alike does not explain: a tolerance is suggested."""
    said = call("fit", "normal.csv").out
    (tol,) = re.findall(r"holds to within noise; the best one .* try --tol (\S+) or", said)
    assert "x² - y = 0" in call("fit", "normal.csv", "--tol", tol).out


def test_fit_with_contrast(call, tmp_path):
    angle = np.linspace(-1, 1, 100)
    np.save(tmp_path / "arc.npy", np.column_stack([np.cos(angle), np.sin(angle)]))
    np.save(tmp_path / "noise.npy", np.random.default_rng(0).normal(size=(500, 2)))
    done = call("fit", "arc.npy", "--contrast", "noise.npy", "--tol", "0.001", "--json")
    assert json.loads(done.out)["ideals"]["0"]["degrees"] == [2]
    assert "x0² + x1² - 1 = 0   (exact)" in call("fit", "arc.npy", "--contrast", "noise.npy").out
    done = call("fit", "arc.npy", "--contrast", "arc.npy")
    assert done.code == 3
    assert "no equation distinguishes the two" in done.err


def test_fit_of_classes(call, tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{x},{x**2 if k else -(x**2)},{'ab'[k]}" for x in rng.normal(size=60) for k in (0, 1)]
    (tmp_path / "c.csv").write_text("x,y,kind\n" + "\n".join(lines) + "\n")
    done = call("fit", "c.csv", "--kind", "classes", "--label", "kind", "-s", "c.safetensors")
    assert done.code == 0, done.err
    assert "ideal a:" in done.out
    names, rows = rows_of(call("transform", "c.csv", "-m", "c.safetensors").out)
    assert names[0] == "row"
    assert names[1].startswith("a_g2")
    assert len(rows) == 120
    assert call("score", "c.csv", "-m", "c.safetensors").code == 4
    assert call("show", "c.safetensors", "--ideal", "b").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--normalization", "contrastive"], 2, "--contrast Y.csv"),
        (["--normalization", "vca", "--contrast", "new.csv"], 2, "uses no contrast"),
        (["--kind", "classes"], 2, "--label"),
        (["--kind", "detector", "--contrast", "new.csv"], 2, "--kind ideal"),
        (["--tol", "small"], 2, "'gap'"),
        (["--tol", "-1"], 2, "'gap'"),
        (["--tol", "inf"], 2, "'gap'"),
        (["--construction", "abm", "--tol", "auto"], 2, "a number such as 0.1"),
        (["--construction", "oavi", "--normalization", "vca"], 2, "--construction vca"),
        (["--construction", "avi"], 2, "abm-gradient"),
        (["--generators", "few"], 2, "minimal"),
        (["--kind", "detector", "--contamination", "0.9"], 2, "up to 0.5"),
        (["--kind", "detector", "--calibration", "0.3"], 3, "calibration"),
        (["--kind", "detector", "--image-shape", "2"], 2, "28x28"),
        (["--kind", "detector", "--image-shape", "2x2"], 2, "4 pixels"),
        (["--contamination", "0.1"], 2, "--kind detector"),
        (["--kind", "detector", "--no-scale"], 2, "--no-scale would have no effect"),
        (["--kind", "detector", "--robust"], 2, "--kind ideal"),
        (["--save", "-"], 2, "--save"),
        (["--save", "none/m.safetensors"], 5, "no folder"),
        (["--save", "normal.csv"], 5, "also an input"),
        (["--columns", "z"], 3, "no column 'z'"),
    ],
)
def test_fit_refuses(call, tables, arguments, code, said):
    done = call("fit", "normal.csv", *arguments)
    assert done.code == code, done.err
    assert said in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("construction", ["abm", "abm-gradient", "oavi"])
@pytest.mark.parametrize("kind", ["ideal", "detector"])
def test_fit_by_other_constructions(call, tmp_path, construction, kind):
    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 120)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    np.savetxt(tmp_path / "c.csv", circle, delimiter=",", header="x,y", comments="")
    options = ["--construction", construction, "--degree", "3", "--tol", "0.01", "--kind", kind]
    done = call("fit", "c.csv", *options, "--save", "m.safetensors")
    assert done.code == 0, done.err
    scored = call("score", "-", "--model", "m.safetensors", given=b"x,y\n0.6,0.8\n1,1\n")
    assert scored.code == 0, scored.err
    on, off = (float(row[1]) for row in rows_of(scored.out)[1])
    assert off > 10 * abs(on)
    if kind == "ideal":
        (equation,) = json.loads(call("fit", "c.csv", *options, "--json").out)["equations"]
        assert equation["degree"] == 2


def test_fit_keeps_minimal_generators(call, tmp_path):
    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 120)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    np.savetxt(tmp_path / "c.csv", circle, delimiter=",", header="x,y", comments="")
    counts = {}
    for generators in ("all", "minimal"):
        done = call("fit", "c.csv", "-d", "3", "-t", "0.01", "--generators", generators, "--json")
        ideal = json.loads(done.out)["ideals"]["0"]
        counts[generators] = ideal["equations"]
    assert counts["minimal"] == 1 < counts["all"]


def test_one_pipe_is_no_two_tables(call):
    done = call("detect", "-", "--train", "-", given=b"a\n1\n")
    assert done.code == 2
    assert "once" in done.err


def test_fit_of_one_row(call):
    done = call("fit", "-", "--kind", "detector", given=b"a,b\n1,2\n")
    assert done.code == 3
    assert "minimum of 2" in done.err


@pytest.mark.slow
def test_image_detector(call, tmp_path):
    from sklearn.datasets import load_digits

    images = load_digits().images[:150]
    np.save(tmp_path / "digits.npy", images)
    done = call("detect", "digits.npy", "--image-shape", "8x8", "--top", "0", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["n_rows"] == 150


# --- transform, score --------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "npy", "npz"])
def test_transform_to_every_kind_of_file(call, tables, models, kind):
    done = call("transform", "new.csv", "-m", "ideal.safetensors", "-o", f"f.{kind}", "--signed")
    assert done.code == 0, done.err
    from vanishing.app.cli.options import Reading
    from vanishing.app.cli.tables import read_input

    found = read_input(f"f.{kind}", Reading()).values
    expected = models.ideal.basis_.evaluate(tables.new)
    assert np.array_equal(found[:, -1:], expected)


def test_scores_are_those_of_the_library(call, tables, models):
    names, rows = rows_of(call("score", "new.csv", "-m", "detector.safetensors").out)
    assert names == ["row", "score", "anomaly"]
    scores = np.array([float(row[1]) for row in rows])
    with pytest.warns(UserWarning, match="feature names"):
        expected = -models.detector.score_samples(tables.new)
    assert np.allclose(scores, expected, rtol=1e-12)
    flagged = [row[2] for row in rows]
    assert [i for i, flag in enumerate(flagged, start=1) if flag == "1"] == [3, 5]
    _, rows = rows_of(call("score", "new.csv", "-m", "ideal.safetensors").out)
    norms = np.linalg.norm(models.ideal.basis_.evaluate(tables.new), axis=1)
    assert [float(row[1]) for row in rows] == norms.tolist()


def test_pipes_in_and_out(call, tables, models, tmp_path):
    from_file = call("score", "new.csv", "-m", "ideal.safetensors").out
    given = (tmp_path / "new.csv").read_bytes()
    assert call("score", "-", "-m", "ideal.safetensors", given=given).out == from_file
    packed = call("transform", "-", "-m", "ideal.safetensors", "--out-format", "npy", given=given)
    (tmp_path / "piped.npy").write_bytes(packed.raw)
    assert np.load(tmp_path / "piped.npy").shape == (20,)
    binary = (tmp_path / "piped.npy").read_bytes()
    done = call("fit", "-", "--format", "npy", "--json", given=binary)
    assert json.loads(done.out)["rows"] == 20


def test_json_of_rows(call, tables, models):
    record = json.loads(call("score", "new.csv", "-m", "detector.safetensors", "--json").out)
    assert [row["row"] for row in record["rows"] if row["anomaly"]] == [3, 5]
    done = call("score", "new.csv", "-m", "ideal.safetensors", "--json", "-o", "s.csv")
    assert json.loads(done.out) == {"out": "s.csv", "n_rows": 20, "columns": ["row", "score"]}


def test_scores_beyond_all_numbers(call, models, tmp_path):
    (tmp_path / "far.csv").write_text("x,y\n0.5,0.25\n1e200,1e200\n")
    done = call("score", "far.csv", "-m", "ideal.safetensors")
    assert done.out.endswith("2,inf\n")
    record = json.loads(call("score", "far.csv", "-m", "ideal.safetensors", "--json").out)
    assert record["rows"][1]["score"] is None


@pytest.mark.parametrize("command", ["transform", "score", "detect", "explain"])
def test_models_that_are_none(call, tables, tmp_path, command):
    done = call(command, "new.csv", "--model", "nowhere.safetensors")
    assert done.code == 4
    assert "no model file nowhere.safetensors" in done.err
    (tmp_path / "bad.safetensors").write_bytes(b"not a model")
    done = call(command, "new.csv", "--model", "bad.safetensors")
    assert done.code == 4
    assert done.err.count("\n") == 1
    assert "bad.safetensors cannot be read" in done.err


def test_model_of_the_wrong_kind(call, tables, models):
    assert call("transform", "new.csv", "-m", "detector.safetensors").code == 4
    done = call("detect", "new.csv", "-m", "ideal.safetensors")
    assert done.code == 2
    assert "vanishing fit --kind detector" in done.err


def test_model_without_equations(call, tables, tmp_path):
    call("fit", "normal.csv", "--tol", "1e-9", "-d", "1", "-s", "empty.safetensors")
    for command in ("transform", "score"):
        done = call(command, "new.csv", "-m", "empty.safetensors")
        assert done.code == 4
        assert "larger --tol" in done.err
    assert "no equation holds" in call("show", "empty.safetensors").out


# --- detect ------------------------------------------------------------------------------


def test_detect_with_normal_data(call, tables):
    done = call("detect", "new.csv", "--train", "normal.csv", "--out", "s.csv", "--json")
    record = json.loads(done.out)
    assert record["n_anomalies"] == 2
    assert [each["row"] for each in record["anomalies"]] == [5, 3]
    assert max(record["anomalies"][0]["features"].items(), key=lambda item: item[1])[0] == "y"
    done = call("detect", "new.csv", "--train", "normal.csv")
    assert "2 of 20 rows are anomalous" in done.out
    assert "typical value" in done.out
    assert "fix" not in done.out
    assert re.search(r"y \(-1\.413 to 0\.0\d+\)", done.out)


def test_detect_by_itself(call, tmp_path):
    from tests.support.command_line import parabola, write_csv

    rows = parabola(300)
    rows[17, 1] += 2
    write_csv(tmp_path / "data.csv", ["x", "y"], rows)
    record = json.loads(call("detect", "data.csv", "--contamination", "0.01", "--json").out)
    assert record["n_anomalies"] == 3
    assert record["anomalies"][0]["row"] == 18


def test_rows_with_missing_values(call, tables, models, tmp_path):
    with (tmp_path / "new.csv").open("a") as file:
        file.write("0.5,\n0.5,0.25\n")
    arguments = ("score", "new.csv", "-m", "detector.safetensors")
    assert call(*arguments).code == 3
    _, rows = rows_of(call(*arguments, "--skip-missing").out)
    assert [row[0] for row in rows] == [*map(str, range(1, 21)), "22"]
    done = call("detect", "new.csv", "-m", "detector.safetensors")
    assert "of 21 rows are anomalous" in done.out
    assert "1 of 22 rows lacks a value and is left out" in done.err


def test_labels_that_are_not_clear_are_refused_before_the_fit(call, tables, monkeypatch):
    monkeypatch.setattr(VanishingDetector, "fit", lambda *_, **__: pytest.fail("fitted"))
    Path("labelled.csv").write_text("x,y,kind\n1,1,Good\n2,4,Bad\n3,9,Good\n")
    done = call("detect", "labelled.csv", "--label", "kind")
    assert done.code == 3
    assert "'Bad' (1 row), 'Good' (2 rows): name one of them with --anomalous" in done.err


def test_reports_of_fit(call, tables):
    for kind in ("ideal", "detector"):
        done = call("fit", "normal.csv", "--kind", kind, "--report", f"{kind}.html")
        assert done.code == 0, done.err
        assert f"wrote {kind}.html" in done.err
    assert "Equations of normal.csv" in Path("ideal.html").read_text(encoding="utf-8")
    assert "Anomalies in normal.csv" in Path("detector.html").read_text(encoding="utf-8")
    refused = call("fit", "normal.csv", "--kind", "classes", "--label", "x", "--report", "a.html")
    assert refused.code == 2
    assert call("fit", "normal.csv", "--report", "-").code == 2


def test_exit_code_says_whether_there_are_anomalies(call, tables, models):
    with_model = ("--model", "detector.safetensors", "--fail-on-anomaly")
    assert call("detect", "new.csv", *with_model).code == 1
    assert call("detect", "-", *with_model, given=b"x,y\n0.5,0.25\n").code == 0


def test_detector_is_kept_and_used_again(call, tables):
    first = call("detect", "new.csv", "--train", "normal.csv", "-s", "d.safetensors", "--json")
    again = call("detect", "new.csv", "--model", "d.safetensors", "--json")
    assert json.loads(again.out)["anomalies"] == json.loads(first.out)["anomalies"]


def test_ids_and_labels(call, models, tmp_path):
    (tmp_path / "named.csv").write_text(
        "x,who,y,bad\n0.5,ann,0.25,no\n0.5,bob,1.5,yes\n0.1,cy,0.01,no\n"
    )
    arguments = ("--id", "who", "--label", "bad", "-m", "detector.safetensors")
    done = call("detect", "named.csv", *arguments, "-o", "-")
    assert rows_of(done.out)[0] == ["who", "score", "anomaly"]
    assert [row[0] for row in rows_of(done.out)[1]] == ["ann", "bob", "cy"]
    assert "area under the ROC curve: 1.000" in done.err
    record = json.loads(call("detect", "named.csv", *arguments, "--json").out)
    assert record["auc"] == 1.0
    assert record["anomalies"][0]["id"] == "bob"
    done = call("detect", "named.csv", "--id", "who", "--label", "bad", "--train", "named.csv")
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("labels", "options", "expected"),
    [
        (["0", "1", "0"], [], [False, True, False]),
        (["1", "-1", "1"], [], [False, True, False]),
        (["normal", "anomaly", "normal"], [], [False, True, False]),
        (["a", "b", "c"], ["--anomalous", "b"], [False, True, False]),
        (["a", "b", "c"], [], None),
        (["a", "b", "c"], ["--anomalous", "d"], None),
    ],
)
def test_labels_of_all_kinds(call, models, tmp_path, labels, options, expected):
    points = ["0.5,0.25", "0.5,1.5", "0.1,0.01"]
    lines = [f"{point},{label}" for point, label in zip(points, labels, strict=True)]
    (tmp_path / "l.csv").write_text("x,y,l\n" + "\n".join(lines) + "\n")
    done = call("detect", "l.csv", "-m", "detector.safetensors", "--label", "l", "--json", *options)
    if expected is None:
        assert done.code == 3
        assert "label" in done.err
    else:
        assert json.loads(done.out)["auc"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--train", "normal.csv", "--model", "m"], 2),
        (["--json", "--out", "-"], 2),
        (["--out", "new.csv"], 5),
        (["--out", "a.xyz"], 2),
        (["--report", "-"], 2),
        (["--label", "z"], 3),
        (["--train", "nowhere.csv"], 3),
        (["--anomalous", "yes"], 2),
        (["--model", "detector.safetensors", "--tol", "0.1"], 2),
        (["--model", "detector.safetensors", "--label", "z"], 3),
        (["--model", "detector.safetensors", "--id", "z"], 3),
        (["--calibration", "0.2", "--contamination", "0.1"], 2),
    ],
)
def test_detect_refuses(call, tables, models, arguments, code):
    done = call("detect", "new.csv", *arguments)
    assert done.code == code, done.err
    assert done.err.count("\n") == 1


def test_report(call, tables, tmp_path):
    arguments = ("--train", "normal.csv", "--report", "out.html")
    done = call("detect", "new.csv", *arguments)
    assert done.code == 0, done.err
    assert "warning" not in done.err
    assert "new.csv" in (tmp_path / "out.html").read_text(encoding="utf-8")


# --- explain, show, export, info ---------------------------------------------------------


def test_explanation_of_a_row(call, tables, models):
    done = call("explain", "new.csv", "-m", "detector.safetensors", "--row", "5")
    assert "row 5: score" in done.out
    assert "anomalous" in done.out
    assert "equations it breaks" in done.out
    record = json.loads(
        call("explain", "new.csv", "-m", "detector.safetensors", "--row", "5", "--json").out
    )["rows"][0]
    assert {each["name"] for each in record["features"]} == {"x", "y"}
    total = sum(each["attribution"] for each in record["features"])
    assert np.isclose(total, record["score"] - record["counterfactual_score"])
    assert record["equations"]


def test_explanation_without_a_row_takes_the_worst(call, tables):
    done = call("explain", "new.csv", "--train", "normal.csv")
    assert done.out.startswith("row 5: ")


def test_explanation_by_the_equations_of_a_table(call):
    call("fit", ACCOUNTS, "--robust", "--save", "m.safetensors")
    arguments = ("explain", ACCOUNTS, "-m", "m.safetensors", "--id", "month", "--row", "2021-05")
    assert "  wages + material + rent - costs = 0   (off by -300)\n" in call(*arguments).out
    raw = call(*arguments, "--raw").out
    assert "off by" not in raw
    assert "g1_0: " in raw


def test_explanation_by_equations_alone(call, tables, models):
    done = call("explain", "new.csv", "-m", "ideal.safetensors", "-r", "3", "-r", "5")
    assert "row 3:" in done.out
    assert "row 5:" in done.out
    assert "times extent" in done.out
    arguments = ("explain", "new.csv", "-m", "ideal.safetensors", "-r", "3", "--json")
    record = json.loads(call(*arguments).out)
    assert record["rows"][0]["equations"][0]["times_extent"] > 10


def test_values_are_written_as_in_the_file(call, models):
    table = b"x,y\n0.12345678901234,0.9876543210987654\n"
    said = call("explain", "-", "-m", "detector.safetensors", given=table).out
    cells = re.findall(r"^[xy] +(\S+) +(\S+)", said, re.MULTILINE)
    assert {value for value, _ in cells} == {"0.12345678901234", "0.9876543210987654"}
    changed = [fixed for _, fixed in cells if fixed != "unchanged"]
    assert changed
    assert max(map(len, changed)) < 9


@pytest.mark.parametrize("row", ["0", "21", "x"])
def test_rows_that_are_none(call, tables, models, row):
    done = call("explain", "new.csv", "-m", "detector.safetensors", "--row", row)
    assert done.code == 3
    assert f"no row {row}" in done.err
    assert "numbered from 1 to 20, without the header" in done.err
    assert "np." not in done.err


def test_names_of_rows_that_are_none(call, tables, models):
    named = "\n".join(["name,x,y", *(f"r{i},{0.1 * i},{0.01 * i * i}" for i in range(9))])
    arguments = ("-m", "detector.safetensors", "--id", "name", "--row", "999")
    done = call("explain", "-", *arguments, given=named.encode())
    assert done.code == 3
    assert "has no row '999'" in done.err
    assert (
        "names the rows: r0, r1, r2, r3, r4, r5, r6, r7 and 1 more; pass one of these" in done.err
    )
    assert "np." not in done.err


def test_explanations_that_are_refused(call, tables, models, pipelines, tmp_path):
    """Of models that have none, and of pictures of what has none."""
    labels = np.arange(300) % 2
    save(ClassVanishingFeatures().fit(tables.normal, labels), tmp_path / "classes.safetensors")
    cases = [
        (["moved.csv", "-m", "detector.safetensors"], "explain is not supported for pipelines"),
        (
            ["new.csv", "-m", "classes.safetensors", "-r", "1"],
            "not supported for models of classes",
        ),
    ]
    for arguments, said in cases:
        done = call("explain", *arguments)
        assert done.code == 4, done.err
        assert said in done.err


def test_pictures_of_explanations_that_are_refused(call, tables, models):
    done = call("explain", "new.csv", "-m", "ideal.safetensors", "--picture", "a.png")
    assert done.code == 4
    assert "an ideal has no explanation to draw" in done.err
    far = b"x,y\n1e300,1e300\n"
    done = call("explain", "-", "-m", "detector.safetensors", "--picture", "a.png", given=far)
    assert done.code == 3
    assert "row 1 is too far from normal data to draw" in done.err


def test_several_explanations_are_separated(call, tables, models):
    done = call("explain", "new.csv", "-m", "detector.safetensors", "-r", "3", "-r", "5")
    assert next(line for line in done.out.splitlines() if line.startswith("row "))[:6] == "row 3:"
    assert "\n\nrow 5: " in done.out


def test_rows_too_far_to_explain(call, models):
    far = b"x,y\n1e300,1e300\n"
    done = call("explain", "-", "-m", "ideal.safetensors", given=far)
    assert done.code == 0, done.err
    done = call("explain", "-", "-m", "detector.safetensors", given=far)
    assert done.code == 0, done.err


def test_picture_of_an_explanation(call, tables, models, tmp_path):
    arguments = ("explain", "new.csv", "-m", "detector.safetensors", "--row", "5", "--picture")
    assert call(*arguments, "why.png").code == 0
    assert (tmp_path / "why.png").read_bytes().startswith(b"\x89PNG")
    assert call(*arguments, "why.doc").code == 2


@pytest.mark.parametrize("what", ["equations", "spectrum", "basis"])
@pytest.mark.parametrize("model", ["ideal", "detector"])
def test_show(call, models, what, model):
    done = call("show", f"{model}.safetensors", what)
    assert done.code == 0, done.err
    record = json.loads(call("show", f"{model}.safetensors", what, "--json").out)
    assert record["features"] == ["x", "y"]
    if what == "equations" and model == "ideal":
        assert [each["degree"] for each in record["equations"]] == [2]
        assert record["equations"][0]["text"] in call("show", "ideal.safetensors").out
    if what == "spectrum":
        spectra = [each["spectrum"] for each in record["degrees"]]
        assert all(spectrum == sorted(spectrum) for spectrum in spectra)


def test_show_of_an_ideal_that_is_none(call, models):
    done = call("show", "detector.safetensors", "--ideal", "99,0")
    assert done.code == 2
    assert "0,0" in done.err


@pytest.mark.parametrize("what", ["equations", "spectrum", "basis"])
def test_pictures(call, models, tables, tmp_path, what):
    arguments = ("show", "ideal.safetensors", what, "--points", "normal.csv")
    done = call(*arguments, "--picture", "p.svg")
    assert done.code == 0, done.err
    assert b"<svg" in (tmp_path / "p.svg").read_bytes()


def test_rows_that_are_all_alike(call, tmp_path):
    write_csv(tmp_path / "same.csv", ["a", "b"], [[1.0, 2.0]] * 30)
    done = call("detect", "same.csv")
    assert done.code == 0, done.err
    assert done.out.startswith("0 of 30 rows are anomalous")


@pytest.fixture
def pipelines(tmp_path):
    """Of an ideal and of a detector, behind scaling; the parabola has other scales and places."""
    points = parabola(300) * [10.0, 1.0] + [3.0, -2.0]
    write_csv(tmp_path / "moved.csv", ["x", "y"], points)
    for name, final in (
        ("ideal", VanishingIdeal(max_degree=2, tol=0.05)),
        ("detector", VanishingDetector()),
    ):
        save(make_pipeline(StandardScaler(), final).fit(points), tmp_path / f"{name}.safetensors")
    return points


def test_explanation_by_the_equations_of_a_pipeline(call, pipelines):
    done = call("explain", "moved.csv", "-m", "ideal.safetensors", "--row", "3")
    assert done.code == 0, done.err
    assert "preprocessed" not in done.out  # carried back through the scaling
    assert "x1 = 0" in done.out or " x1 " in done.out
    record = json.loads(
        call("explain", "moved.csv", "-m", "ideal.safetensors", "--row", "3", "--json").out
    )
    scores = json.loads(call("score", "moved.csv", "-m", "ideal.safetensors", "--json").out)
    assert np.isclose(record["rows"][0]["score"], scores["rows"][2]["score"])


def test_picture_of_a_pipeline_has_the_points_where_the_equations_are(call, pipelines, monkeypatch):
    from vanishing import plotting

    drawn = []
    original = plotting.ZeroSetDisplay.from_estimator
    monkeypatch.setattr(
        plotting.ZeroSetDisplay,
        "from_estimator",
        lambda ideal, X: drawn.append((ideal, X)) or original(ideal, X),
    )
    done = call("show", "ideal.safetensors", "--picture", "p.svg", "--points", "moved.csv")
    assert done.code == 0, done.err
    ((ideal, points),) = drawn
    assert np.sqrt(np.mean(ideal.transform(points) ** 2)) < 0.05
    assert np.allclose(points, pipelines)  # in the columns themselves


@pytest.mark.parametrize("target", ["sympy", "latex", "python", "c"])
def test_export_of_a_detector_in_a_pipeline(call, pipelines, target):
    done = call("export", "detector.safetensors", target)
    assert done.code == 0, done.err
    assert "in the preprocessed columns" in done.err


def test_rational_equations_of_scaled_points(call, tmp_path):
    points = np.array([[k, k * k] for k in range(-5, 6)])
    write_csv(tmp_path / "exact.csv", ["x0", "x1"], points)
    model = make_pipeline(StandardScaler(), VanishingIdeal(max_degree=2, tol=1e-9)).fit(points)
    save(model, tmp_path / "m.safetensors")
    done = call("export", "m.safetensors", "rational", "--points", "exact.csv")
    assert done.out.splitlines() == ["x0**2 - x1"]


def test_points_prove_nothing_about_standardized_columns(call, tables, models):
    done = call("export", "detector.safetensors", "rational", "--points", "normal.csv")
    assert done.code == 4
    assert "standardized" in done.err


def test_pictures_without_points_say_which_option_to_pass(call, models):
    done = call("show", "ideal.safetensors", "--picture", "p.svg")
    assert done.code == 2
    assert "--points" in done.err


@pytest.mark.parametrize("names", [("a b", "2x"), ("lambda", "E"), ('"', "*"), ("a\nb", "λ")])
def test_sympy_reads_its_equations_whatever_columns_are_called(call, tmp_path, names):
    import sympy

    ideal = VanishingIdeal(max_degree=2, tol=0.05).fit(parabola(50))
    ideal.feature_names_in_ = np.array(names, dtype=object)
    ideal.save(tmp_path / "m.safetensors")
    (line,) = call("export", "m.safetensors", "sympy", "--raw").out.splitlines()
    found = sympy.sympify(line)
    assert {symbol.name for symbol in found.free_symbols} == set(names)
    values = {sympy.Symbol(names[0]): 0.3, sympy.Symbol(names[1]): 0.7}
    (expected,) = ideal.to_sympy()
    assert np.isclose(float(found.subs(values)), float(expected.subs(values)), rtol=1e-12)
    shown = call("show", "m.safetensors", "--json", "--digits", "17").out
    assert "\n" not in json.loads(shown)["equations"][0]["text"]


def test_export_of_formulas(call, models):
    import sympy

    done = call("export", "ideal.safetensors", "sympy", "--raw")
    (found,) = [sympy.sympify(line) for line in done.out.splitlines()]
    (expected,) = models.ideal.to_sympy()
    points = {"x": 0.3, "y": 0.7}
    assert np.isclose(float(found.subs(points)), float(expected.subs(points)), rtol=1e-12)
    short = sympy.sympify(call("export", "ideal.safetensors", "sympy").out)
    assert len(str(short)) < len(str(found))
    assert np.isclose(float(short.subs(points)), float(found.subs(points)), rtol=0.1)
    done = call("export", "ideal.safetensors", "latex", "--digits", "3")
    assert done.out.splitlines() == models.ideal.to_latex(digits=3)
    record = json.loads(call("export", "ideal.safetensors", "latex", "--json").out)
    assert record["lines"] == models.ideal.to_latex()


def test_export_of_short_equations(call, tables, models):
    for arguments in (
        ["ideal.safetensors", "--points", "normal.csv"],
        ["normal.csv", "--tol", "0.05"],
    ):
        model, *more = arguments
        assert call("export", model, "sympy", *more).out == "x**2 - y\n"
        assert call("export", model, "latex", *more).out == "x^{2} -y\n"
    done = call("export", "normal.csv", "python", "--name", "parabola", "--tol", "0.05")
    assert "def parabola" in done.out
    done = call("export", "ideal.safetensors", "latex", "--tol", "0.1", "--no-scale")
    assert done.code == 2
    assert "--tol and --no-scale would have no effect: the model is already fitted" in done.err
    done = call("export", "detector.safetensors", "latex", "--points", "normal.csv")
    assert done.code == 2
    assert "leave --points out" in done.err
    assert call("export", "nowhere.csv", "latex").code == 3


@pytest.mark.parametrize("system", ["macaulay2", "singular", "cocoa", "oscar", "sage"])
def test_export_of_ideals(call, tables, models, tmp_path, system):
    power = "**" if system == "sage" else "^"
    short = call("export", "normal.csv", system, "--tol", "0.05").out
    assert f"x{power}2 - y" in short
    assert "rounded" not in short
    decimals = call("export", "ideal.safetensors", system)
    assert decimals.code == 0, decimals.err
    assert "rounded" in decimals.out
    assert len(call("export", "ideal.safetensors", system, "--digits", "2").out) < len(decimals.out)
    points = np.array([[k, k * k] for k in range(-5, 6)])
    write_csv(tmp_path / "exact.csv", ["x0", "x1"], points)
    VanishingIdeal(tol=0).fit(points).save(tmp_path / "m.safetensors")
    done = call("export", "m.safetensors", system, "--points", "exact.csv", "--out", "ideal.txt")
    assert done.code == 0, done.err
    written = (tmp_path / "ideal.txt").read_text()
    assert f"x0{power}2 - x1" in written
    assert written.endswith("\n")


def test_the_christoffel_function_is_a_model_too(call, tables, models, tmp_path):
    ChristoffelDetector(2).fit(parabola(200)).save(tmp_path / "c.safetensors")
    done = call("show", "c.safetensors")
    assert "in standardized columns" in done.out
    assert "x0'" in done.out
    write_csv(tmp_path / "odd.csv", ["x0", "x1"], np.array([[0.5, 0.25], [0.5, 3.0]]))
    scores = call("score", "odd.csv", "--model", "c.safetensors").out.splitlines()
    assert [line.rsplit(",", 1)[1] for line in scores[1:]] == ["0", "1"]


def test_points_prove_no_ideal_of_standardized_columns(call, tables, models):
    done = call("export", "detector.safetensors", "singular", "--points", "normal.csv")
    assert done.code == 4
    assert "standardized" in done.err


def test_export_of_exact_equations(call, tmp_path):
    points = [f"{k / 10:.1f},{k * k / 100:.2f}" for k in range(-10, 11)]
    (tmp_path / "exact.csv").write_text("x,y\n" + "\n".join(points) + "\n")
    assert call("fit", "exact.csv", "--tol", "0", "-s", "exact.safetensors").code == 0
    done = call("export", "exact.safetensors", "rational", "--points", "exact.csv")
    assert done.out == "x**2 - y\n", done.err
    assert call("export", "exact.safetensors", "rational").code == 2


@pytest.mark.parametrize("target", ["python", "c"])
def test_export_of_source(call, models, tmp_path, target):
    done = call("export", "ideal.safetensors", target, "--name", "parabola", "-o", "source.txt")
    assert done.code == 0, done.err
    source = (tmp_path / "source.txt").read_text(encoding="utf-8")
    assert "parabola" in source
    if target == "python":
        module = {}
        exec(source, module)
        values = module["parabola"]([0.3, 0.7])
        assert np.allclose(values, models.ideal.basis_.evaluate([[0.3, 0.7]])[0], rtol=1e-12)


def test_export_to_onnx(call, models, tmp_path):
    done = call("export", "ideal.safetensors", "onnx", "-o", "m.onnx", "--dtype", "float64")
    assert done.code == 0, done.err
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(tmp_path / "m.onnx"))
    assert session.get_inputs()[0].shape[-1] == 2


def test_info(call, models):
    record = json.loads(call("info", "--json").out)
    assert record["vanishing"] == vanishing.__version__
    assert record["extras"]["cli"] == "ready"
    assert "scikit-learn" in call("info").out
    record = json.loads(call("info", "detector.safetensors", "--json").out)
    assert record["model"] == "VanishingDetector"
    assert record["columns"] == ["x", "y"]
    assert call("info", "nowhere.safetensors").code == 4


MIXED = """when,city,a,b,a2,flag,const,gap,empty
2026-01-05,Rome,1,0.001,1,true,7,1.5,
2026-01-07,Oslo,2,0.002,2,false,7,,
2026-01-06,Rome,3,0.0045,3,true,7,2.5,
2026-01-08,Bonn,4,-0.002,4,true,7,123456.789,
"""


def test_info_of_a_table(call, tmp_path):
    (tmp_path / "mixed.csv").write_text(MIXED)
    record = json.loads(call("info", "mixed.csv", "--json").out)
    columns = {column.pop("name"): column for column in record["columns"]}
    assert {name: column["kind"] for name, column in columns.items()} == {
        "when": "date",
        "city": "text",
        "a": "whole number",
        "b": "number",
        "a2": "whole number",
        "flag": "yes-no",
        "const": "constant",
        "gap": "number",
        "empty": "empty",
    }
    assert [columns["b"][name] for name in ("low", "high")] == [-0.002, 0.0045]
    assert columns["a"]["spread"] == pytest.approx(np.std([1, 2, 3, 4]))
    assert [columns["when"][name] for name in ("low", "high")] == ["2026-01-05", "2026-01-08"]
    assert columns["city"]["different_values"] == 3
    assert columns["gap"]["missing"] == 0.25
    assert (record["rows"], record["complete_rows"]) == (4, 3)
    assert record["duplicates"] == [["a", "a2"]]
    assert 7 < record["orders_of_magnitude"] < 8
    assert record["terms"] == {"1": 6, "2": 21, "3": 56, "4": 126}
    assert record["commands"] == [
        "vanishing laws mixed.csv",
        "vanishing check mixed.csv --id when",
        "vanishing detect mixed.csv --id when",
        "vanishing fit mixed.csv --drop flag",
    ]
    shown = call("info", "mixed.csv").out
    for sentence in record["remarks"]:
        assert sentence in shown
    assert "The columns differ in size. That is fine" in shown
    assert "'a2' duplicates 'a'." in shown


def test_info_of_numbers_with_many_digits(call, tmp_path):
    rows = "".join(f"{2**60 + k},{k % 7},{2**60}\n" for k in range(600))
    (tmp_path / "x.csv").write_text("id,b,c\n" + rows)
    columns = json.loads(call("info", "x.csv", "--json").out)["columns"]
    assert [each["kind"] for each in columns] == ["too many digits", "whole number", "constant"]
    assert "The numbers of 'id' differ in digits that floating-point" in call("info", "x.csv").out


def test_info_of_a_letter_late_in_a_file(call, tmp_path):
    text = "a,city\n" + "1,Rome\n" * 30_000 + "2,Orl\u00e9ans\n"
    (tmp_path / "x.csv").write_bytes(text.encode("cp1252"))
    done = call("info", "x.csv")
    assert "text, 2 different" in done.out
    assert "x.csv: not in UTF-8, read as Windows text (cp1252)" in done.err


def test_the_decimal_sign_is_an_option(call, tmp_path):
    (tmp_path / "x.csv").write_text("a;b\n" + "1.361;5\n2.044;6\n" * 20)
    done = call("info", "x.csv")
    assert "'1.361' in 'a' is read as 1.361; if that is wrong, pass --decimal ," in done.err
    assert "1.361" in done.out
    done = call("info", "x.csv", "--decimal", ",")
    assert "1361" in done.out
    assert "decimal sign" not in done.err
    (tmp_path / "x.csv").write_text("a;b\n39.250;1\n40,250;2\n")
    assert (
        "the decimal sign is unclear; pass --decimal . or --decimal ," in call("info", "x.csv").err
    )


def test_commands_that_info_suggests(call, ellipse):
    commands = json.loads(call("info", "ellipse.csv", "--json").out)["commands"]
    assert len(commands) == 4
    for command in commands:
        done = call(*shlex.split(command)[1:])
        assert done.code == 0, (command, done.err)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"city\nRome\nOslo\n", "No column has numbers that vary"),
        (b"a,b\n1,2\n", "No column has numbers that vary"),
        (b"a\n1\n2\n", "2 complete rows are too few to find equations"),
        (b"1e300,2\n-1e300,3\n", "standard input: 2 rows, 2 columns"),
        (b"a,a\n1,2\n", "two columns are called 'a'"),
        (b"a,b\n1,\n,2\n2,\n,4\n", "vanishing check table.csv"),
        (b"a\n" + b"1\n2\n" * 500 + b"oops\n" * 12, "more cells are not numbers."),
        (b"a,b,c,d,e,f,g\n" + b"1,7,3,2,8,1,6\n2,5,4,4,6,3,3\n" * 6, "enough to look for short"),
        (b",".join([b"1"] * 70) + b"\n" + b",".join([b"2"] * 70), "more (70 whole number); --json"),
        (b"", "is empty"),
    ],
)
def test_info_of_odd_tables(call, content, said):
    done = call("info", "-", given=content)
    assert said in done.out + done.err
    assert "unexpected" not in done.err
    assert done.code in (0, 3)


def test_info_tells_tables_from_models(call, models, tmp_path):
    (tmp_path / "model").write_bytes((tmp_path / "ideal.safetensors").read_bytes())
    assert json.loads(call("info", "model", "--json").out)["model"] == "VanishingIdeal"
    (tmp_path / "table").write_text(MIXED)
    assert json.loads(call("info", "table", "--json").out)["rows"] == 4
    assert call("info", "nowhere.csv").code == 3


def test_missing_extras_are_named(call, monkeypatch):
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "uvicorn" else real(name)
    )
    record = json.loads(call("info", "--json").out)
    assert record["extras"]["web"] == "missing: pip install 'vanishing[web]'"


def test_serve_without_the_playground(call, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "vanishing.app.playground", None)
    done = call("serve")
    assert done.code == 6
    assert done.err.count("\n") == 1


def test_serve_passes_its_options_on(call, monkeypatch):
    import sys
    from types import ModuleType

    given = []
    playground = ModuleType("vanishing.app.playground")
    playground.serve = lambda *arguments, **options: given.append((arguments, options))
    monkeypatch.setitem(sys.modules, "vanishing.app.playground", playground)
    assert call("serve", "--port", "0", "--open").code == 0
    assert given == [(("127.0.0.1", 0), {"open_browser": True, "on_start": None})]

    playground.serve = lambda *_, on_start, **__: on_start("http://127.0.0.1:5/")
    assert json.loads(call("serve", "--json").out) == {"url": "http://127.0.0.1:5/"}

    def refuse(*_, **__):
        raise OSError("port 80 is in use: choose another port")

    playground.serve = refuse
    done = call("serve", "--port", "80")
    assert done.code == 5
    assert "choose another port" in done.err


def test_demo(call, tmp_path):
    done = call("demo", "here")
    assert done.code == 0, done.err
    assert "speed torque" in done.out
    assert "power (2.1424 to 3.0734)" in done.out
    for name in ("normal.csv", "new.csv", "scores.csv", "pump.safetensors"):
        assert (tmp_path / "here" / name).exists()
    tried = [line.split()[1:] for line in done.out.splitlines() if line.startswith("  vanishing ")]
    assert len(tried) > 4
    for arguments in tried[:-1]:  # the last one has the user's own table
        again = call(*arguments)
        assert again.code == 0, again.err
    record = json.loads(call("demo", "here", "--json").out)
    assert 5 <= record["n_anomalies"] <= 10
    (tmp_path / "file").write_text("")
    assert call("demo", "file/here").code == 5


# --- errors and notes --------------------------------------------------------------------


def test_traceback_only_with_debug(call, tables):
    assert "Traceback" not in call("fit", "nowhere.csv").err
    done = call("fit", "nowhere.csv", "--debug")
    assert "Traceback" in done.err
    assert done.err.splitlines()[-1].startswith("vanishing: there is no file nowhere.csv")
    assert done.code == 3


def test_unexpected_errors_are_told_apart(call, tables, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("all\nis lost")

    monkeypatch.setattr("vanishing.app.cli.tables.read_input", broken)
    done = call("fit", "normal.csv")
    assert done.code == 70
    assert done.err == (
        "vanishing: unexpected error, please report it: RuntimeError: all is lost\n"
    )


def test_quiet_gives_no_notes(call):
    table = b"1,2\n3,5\n4,4\n"
    assert "no header" in call("fit", "-", given=table).err
    assert call("fit", "-", "--quiet", given=table).err == ""


def test_names_of_all_scripts(call, tmp_path):
    lines = "".join(f"{x},{x * x}\n" for x in np.linspace(-1, 1, 30))
    (tmp_path / "données.csv").write_text("größe,面积 [m²]\n" + lines, encoding="utf-8")
    done = call("fit", "données.csv", "--tol", "1e-6", "-s", "modèle.safetensors")
    assert done.code == 0, done.err
    assert "[面积 [m²]]" in done.out
    done = call("transform", "données.csv", "-m", "modèle.safetensors", "--id", "größe")
    assert done.code == 0, done.err


# --- models and tables that differ from the usual ones --------------------------------------------


def test_json_of_fits_of_all_kinds(call, tables, tmp_path):
    raw = json.loads(call("fit", "normal.csv", "--tol", "0.05", "--raw", "--json").out)
    assert set(raw["equations"][0]) == {"text"}
    record = json.loads(call("fit", "normal.csv", "--kind", "detector", "--json").out)
    assert "equations" not in record
    assert np.isfinite(record["threshold"])
    rows = [[*row, i % 2] for i, row in enumerate(tables.normal.tolist())]
    write_csv(tmp_path / "two.csv", ["x", "y", "class"], rows)
    record = json.loads(
        call("fit", "two.csv", "--kind", "classes", "--label", "class", "--json").out
    )
    assert record["model"] == "ClassVanishingFeatures"
    assert len(record["ideals"]) == 2
    assert "equations" not in record


def test_only_ideals_give_signed_values(call, tables, tmp_path):
    labels = np.arange(300) % 2
    save(ClassVanishingFeatures().fit(tables.normal, labels), tmp_path / "classes.safetensors")
    done = call("transform", "new.csv", "-m", "classes.safetensors", "--signed", "--out", "t.csv")
    assert done.code == 4
    assert "gives absolute values only; leave --signed out" in done.err


def test_equations_of_too_many_terms_stay_in_their_coordinates(call, pipelines, monkeypatch):
    from vanishing.app.cli import describe

    monkeypatch.setattr(describe, "MOST_LISTED_TERMS", 6)
    shown = call("show", "ideal.safetensors").out
    monkeypatch.setattr(describe, "MOST_LISTED_TERMS", 5)
    done = call("show", "ideal.safetensors")
    assert "u0" not in shown
    assert "too many" in done.err


def test_long_lists_are_cut(call, tmp_path):
    """Of equations, and of extents."""
    X = np.random.default_rng(0).normal(size=(60, 2)) @ np.random.default_rng(1).normal(
        size=(2, 26)
    )
    VanishingIdeal(max_degree=1, tol=1e-9).fit(X).save(tmp_path / "m.safetensors")
    assert "... and 4 more; --json lists all of them" in call("show", "m.safetensors").out
    assert "... and 6 larger ones" in call("show", "m.safetensors", "spectrum").out


def test_equations_that_follow_from_others_are_counted(call, tmp_path):
    x = np.random.default_rng(0).normal(size=100)
    write_csv(tmp_path / "line.csv", ["x", "y"], np.column_stack([x, 2 * x]))
    shown = call("fit", "line.csv", "--tol", "0", "--degree", "2").out
    assert "2 x - y = 0" in shown.replace("-2 x + y", "2 x - y").replace("\u2212", "-")
    # On the curve (t, t², t³) what vanishes at degree 3 follows from degree 2.
    write_csv(tmp_path / "curve.csv", ["x", "y", "z"], np.column_stack([x, x**2, x**3]))
    arguments = ("fit", "curve.csv", "--tol", "1e-6", "--degree", "3")
    shown = call(*arguments).out
    raw = json.loads(call(*arguments, "--raw", "--json").out)
    assert shown.count(" = 0 ") == 3
    assert f"({len(raw['equations']) - 3} more follow from these)" in shown


def test_a_spectrum_of_zeros(call, tmp_path):
    VanishingIdeal(tol=0).fit(np.ones((4, 2))).save(tmp_path / "m.safetensors")
    done = call("show", "m.safetensors", "spectrum")
    assert done.code == 4
    assert "all extents are zero" in done.err


def test_far_rows_as_objects(call, models):
    far = b"x,y\n1e300,1e300\n"
    done = call("explain", "-", "-m", "detector.safetensors", "--json", given=far)
    (record,) = json.loads(done.out)["rows"]
    assert record["score"] is None
    assert record["features"] == record["equations"] == []


def test_a_row_like_all_others_has_nothing_to_explain(call, tables, models):
    scores = call("score", "normal.csv", "-m", "detector.safetensors", "--out", "-").out
    best = np.genfromtxt(scores.splitlines(), delimiter=",", skip_header=1)[:, 1].argmin()
    done = call("explain", "normal.csv", "-m", "detector.safetensors", "-r", best + 1)
    assert ", normal (threshold" in done.out
    assert "satisfies the equations as well as normal rows do" in done.out


def test_rows_on_standard_output_alone(call, tables):
    done = call("detect", "new.csv", "--train", "normal.csv", "--out", "-", "--quiet")
    assert done.out.splitlines()[0] == "row,score,anomaly"
    assert len(done.out.splitlines()) == 21
    assert not done.err


def test_a_report_without_anomalies(call, models, tmp_path):
    rows = parabola(300)[:3] * [1, 0] + np.array([[0, x**2] for x in parabola(300)[:3, 0]])
    write_csv(tmp_path / "sound.csv", ["x", "y"], rows)
    done = call("detect", "sound.csv", "-m", "detector.safetensors", "--report", "r.html")
    assert "0 of 3 rows are anomalous" in done.out
    assert "Anomalies in sound.csv" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_equations_need_enough_sound_rows_to_be_rounded(call, models, tmp_path):
    """Otherwise those of the model are shown."""
    write_csv(tmp_path / "far.csv", ["x", "y"], parabola(40) + np.array([0, 5]))
    done = call("explain", "far.csv", "-m", "ideal.safetensors", "-r", "1")
    assert "as short as the noise" not in done.out
    assert "  g2_0: " in done.out


def test_quadratic_equations_of_many_columns_are_in_principal_components(call, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 2)) @ rng.normal(size=(2, 25)) + 0.1 * rng.normal(size=(800, 25))
    VanishingDetector().fit(X).save(tmp_path / "wide.safetensors")
    done = call("show", "wide.safetensors")
    assert "in principal components of the columns" in done.out
    assert "pc0" in done.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--image-shape", "1x2", "--degree", "2"], "--image-shape chooses its own equations"),
        (["--image-shape", "3x3"], "images of 3x3 have 9 pixels, but normal.csv has 2 columns"),
        (["--contamination", "many"], "--contamination takes a fraction up to 0.5 or 'auto'"),
        (["--contamination", "0.7"], "--contamination takes a fraction up to 0.5 or 'auto'"),
    ],
)
def test_detectors_that_are_refused(call, tables, arguments, said):
    done = call("fit", "normal.csv", "--kind", "detector", *arguments)
    assert done.code == 2
    assert said in done.err


def test_pictures_of_detectors_that_are_refused(call, tables, models):
    done = call("show", "detector.safetensors", "equations", "--picture", "p.png")
    assert done.code == 2
    assert "draw its spectrum or its basis without --points" in done.err


def test_exports_that_are_refused(call, models, tmp_path, terminal):
    done = call("export", "ideal.safetensors", "onnx", "--json")
    assert done.code == 2
    assert "an ONNX graph is not text; name a file with --out" in done.err
    assert terminal("export", "ideal.safetensors", "onnx").code == 2
    write_csv(tmp_path / "three.csv", ["x", "y", "z"], np.eye(3))
    fit = call("fit", "three.csv", "--tol", "0", "-s", "three.safetensors")
    assert fit.code == 0, fit.err
    points = ("rational", "--points", "new2.csv")
    write_csv(tmp_path / "new2.csv", ["x", "y"], np.eye(2))
    done = call("export", "three.safetensors", *points)
    assert done.code == 3


def test_export_of_a_robust_fit_leaves_outliers_out(call, tmp_path):
    x = np.random.default_rng(0).normal(size=200)
    rows = np.column_stack([x, 2 * x + 1])
    rows[:10, 1] += 5
    write_csv(tmp_path / "line.csv", ["x", "y"], rows)
    options = ("--degree", "1", "--robust")
    done = call("export", "line.csv", "sympy", *options)
    assert done.code == 0, done.err
    assert done.out.replace(" ", "").strip() in ("2*x-y+1", "-2*x+y-1")


def test_export_to_a_file_as_an_object(call, models, tmp_path):
    done = call("export", "ideal.safetensors", "c", "--out", "f.c", "--json")
    record = json.loads(done.out)
    assert record == {"target": "c", "out": "f.c", "bytes": (tmp_path / "f.c").stat().st_size}


def test_no_equation_is_said_in_the_words_of_the_options():
    """Which tolerance was tried, and what to try next."""
    from vanishing.app.cli.models import nothing_vanishes

    assert nothing_vanishes(np.inf, "auto") == (
        "no equation holds to within noise: try a larger --degree"
    )
    assert nothing_vanishes(0.9, "auto").endswith("reaches 0.9: try a larger --degree")
    assert nothing_vanishes(0.2, 0.1).startswith("no equation holds up to --tol 0.1")
    assert "--tol gap" in nothing_vanishes(0.2, "gap")


def test_options_that_the_library_refuses_are_bad_usage(call, tables):
    done = call("fit", "normal.csv", "--degree", "0")
    assert done.code == 2
    assert "Traceback" not in done.err


def test_a_detector_of_constant_columns_has_no_ideal(call, tmp_path):
    VanishingDetector().fit(np.ones((30, 2))).save(tmp_path / "m.safetensors")
    done = call("show", "m.safetensors", "spectrum")
    assert done.code == 4
    assert "all columns were constant in training" in done.err


def test_exact_points_of_a_binary_file(call, tmp_path):
    """Their floats are taken literally."""
    points = np.array([[k / 8, k * k / 64] for k in range(-10, 11)])
    write_csv(tmp_path / "exact.csv", ["x", "y"], points)
    np.savez(tmp_path / "exact.npz", x=points[:, 0], y=points[:, 1])
    assert call("fit", "exact.csv", "--tol", "0", "-s", "m.safetensors").code == 0
    done = call("export", "m.safetensors", "rational", "--points", "exact.npz")
    assert done.out == "x**2 - y\n", done.err
    np.savez(tmp_path / "one.npz", x=points[:, 0], z=points[:, 0], y=points[:, 1])
    np.save(tmp_path / "three.npy", np.eye(3))
    done = call("export", "m.safetensors", "rational", "--points", "three.npy")
    assert done.code == 3
    assert "has 3 columns to use, expected 2; choose them with --columns" in done.err


def test_points_shorten_the_equations_of_a_model(call, tables, models):
    done = call("export", "ideal.safetensors", "latex", "--points", "normal.csv")
    assert done.code == 0, done.err
    assert "x^{2}" in done.out
    assert len(done.out) < len(call("export", "ideal.safetensors", "latex").out) + 40


def test_info_without_torch_and_without_a_package(call, monkeypatch):
    import importlib.metadata
    import importlib.util

    known, found = importlib.metadata.version, importlib.util.find_spec

    def lacks(package):
        if package == "scipy":
            raise importlib.metadata.PackageNotFoundError(package)
        return known(package)

    monkeypatch.setattr(importlib.metadata, "version", lacks)
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "torch" else found(name)
    )
    record = json.loads(call("info", "--json").out)
    assert record["device"] == "processor (GPUs need the extra torch)"
    assert record["packages"]["scipy"] is None
    assert record["extras"]["torch"].startswith("missing: pip install")


def test_undecided_candidates_have_a_column(call, tmp_path, monkeypatch):
    ideal = VanishingIdeal(max_degree=1, tol=0.05).fit(parabola(50))
    ideal.trace_ = tuple(replace(step, undecided=3) for step in ideal.trace_)
    ideal.save(tmp_path / "m.safetensors")
    shown = call("show", "m.safetensors", "basis").out
    assert "undecided" in shown
    assert "undecided" not in call("show", "m.safetensors", "equations").out


def test_equations_are_counted_where_they_are_too_many_to_write(call, tables, models, monkeypatch):
    from vanishing.app.cli import describe

    monkeypatch.setattr(describe, "MOST_LISTED_TERMS", 2)
    done = call("explain", "new.csv", "-m", "detector.safetensors", "-r", "3", "--raw")
    assert done.code == 0, done.err
    assert "too many terms to write out" in done.out


def test_memory_and_missing_packages_have_exit_codes(call, tables, monkeypatch):
    from vanishing.app.cli import models

    for error, code, said in (
        (MemoryError("of 3 GiB"), 3, "not enough memory: of 3 GiB; use fewer rows"),
        (ImportError("frobnicate is missing"), 6, "frobnicate is missing"),
        (KeyboardInterrupt(), 130, "interrupted: nothing was left half written"),
    ):

        def fail(*_, error=error, **__):
            raise error

        monkeypatch.setattr(models, "fit_equations", fail)
        done = call("fit", "normal.csv")
        assert done.code == code, done.err
        assert said in done.err


def test_commands_run_in_other_threads(call, tables):
    """Where no signal can be handled."""
    answers = []
    thread = threading.Thread(target=lambda: answers.append(call("info", "normal.csv")))
    thread.start()
    thread.join()
    assert answers[0].code == 0
    assert "300 rows, 2 columns" in answers[0].out


def test_a_failing_disk_is_a_failure_of_its_own(call, tables, monkeypatch):
    """Which is told as what it is, with a report to make."""
    from vanishing.app.cli import models

    def fail(*_, **__):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(models, "fit_equations", fail)
    done = call("fit", "normal.csv")
    assert done.code == 70
    assert "Input/output error" in done.err


def test_a_detector_of_images(call, tmp_path):
    """Its equations are in coordinates that are no pixels."""
    images = np.random.default_rng(0).uniform(size=(40, 16))
    np.save(tmp_path / "images.npy", images)
    arguments = ("--kind", "detector", "--image-shape", "4x4", "--save", "m.safetensors")
    done = call("fit", "images.npy", *arguments)
    assert done.code == 0, done.err
    done = call("show", "m.safetensors", "equations")
    assert done.code == 0, done.err
    assert "in the transformed and preprocessed features" in done.out
    (first, *_) = re.findall(r"g1_0: (.*) = 0", done.out)
    assert set(re.findall(r"[a-z]+\d*", first)) == {f"u{i}" for i in range(8)}


@pytest.mark.parametrize(
    ("model", "rounded"), [("ideal", "  (off by"), ("detector", "rounded and scaled: ")]
)
def test_equations_are_not_rounded_by_anomalous_rows(call, models, tmp_path, model, rounded):
    """Most rows of a table may be wrong: what they say about the equations is no noise."""
    rows = parabola(100, seed=5)
    for name, n_wrong in (("few", 1), ("most", 99)):
        rows[:n_wrong, 1] = parabola(100, seed=5)[:n_wrong, 1] + 1.0
        write_csv(tmp_path / f"{name}.csv", ["x", "y"], rows)
    VanishingDetector(models.ideal).fit(parabola(300)).save(tmp_path / "detector.safetensors")
    arguments = ("-m", f"{model}.safetensors", "-r", "1")
    assert rounded in call("explain", "few.csv", *arguments).out
    assert rounded not in call("explain", "most.csv", *arguments).out
