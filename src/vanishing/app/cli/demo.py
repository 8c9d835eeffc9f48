"""The commands ``demo`` and ``serve``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from vanishing.app.cli.console import OutputError, emit, out, required, say
from vanishing.app.cli.options import Equations, Json, Reading, Threshold

# --- ``vanishing demo``: from nothing to equations, scored rows and a report ----------------------

#: Rows of the two tables, and the faults in the second.
N_NORMAL, N_NEW, FAULTS = 400, 200, (17, 58, 93, 140, 171)


def demo(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder for the files, made if missing.")
    ] = Path("vanishing_demo"),
    json: Json = False,
) -> None:
    """Try everything on two small tables of a pump.

    The first table shows the equations of a pump that runs well, the second has faults to find.
    """
    from vanishing.app.cli.equations import show_equations
    from vanishing.app.cli.findings import find, findings_record, show_findings
    from vanishing.app.cli.models import fit_detector, truth
    from vanishing.app.cli.tables import read_table, write_table

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder} cannot be made: {error.strerror}; name another") from error
    files = {name: str(folder / name) for name in ("normal.csv", "new.csv", "scores.csv")}
    for name, columns in zip(files, _pump(), strict=False):
        write_table(files[name], columns)

    normal = read_table(files["normal.csv"], Reading(id="time"))
    new = read_table(files["new.csv"], Reading(id="time"), label="fault", model=normal)
    detector = fit_detector(
        normal, Threshold(contamination="0.01"), Equations(degree=2, tol="0.02")
    )
    findings = find(detector, new, truth(new, None), top=5)
    model = folder / "pump.safetensors"
    detector.save(model)
    write_table(
        files["scores.csv"],
        {
            "time": new.row_ids,
            "score": findings.scores,
            "anomaly": findings.anomalous.astype("int64"),
        },
    )
    report = _report(folder / "report.html", detector, normal, new, truth(new, None))
    if json:
        emit(findings_record(findings, new) | {"files": sorted(map(str, folder.iterdir()))})
        return
    say(f"{files['normal.csv']}: {len(normal)} readings of a pump that runs well")
    say("equations that they satisfy, found without any hint:")
    show_equations(detector, None, terms=12, table=normal, mix=True)
    say("  (power is torque times speed)\n")
    say(f"{files['new.csv']}: {len(new)} new readings, {len(FAULTS)} of them faulty")
    show_findings(findings, new, out())
    say(f"\nwrote {files['scores.csv']}, {model} and {report}")
    say("\ntry next:")
    worst = new.row_name(int(findings.worst[0]))
    for line in (
        f"vanishing explain {files['new.csv']} --model {model} --id time --row {worst}",
        f"vanishing score {files['new.csv']} --model {model} --id time",
        f"vanishing show {model}",
        f"vanishing info {files['new.csv']}",
        f"vanishing fit {files['normal.csv']}",
        f"vanishing check {files['new.csv']} --train {files['normal.csv']} --id time",
        f"vanishing detect {files['new.csv']} --train {files['normal.csv']} --id time "
        "--label fault --degree 2 --tol 0.02 --contamination 0.01",
        "vanishing detect your.csv",
    ):
        say(f"  {line}")


def _pump() -> list[dict[str, Any]]:
    """Return readings of a pump: of one that runs well, and of one that has faults."""
    import numpy as np

    rng = np.random.default_rng(0)
    faulty = np.array(FAULTS)
    tables: list[dict[str, Any]] = []
    for n_rows in (N_NORMAL, N_NEW):
        speed, torque = rng.uniform(0.2, 4, (2, n_rows))
        if n_rows == N_NEW:
            # Single readings stay in their usual range: only their relation is broken.
            speed[faulty], torque[faulty] = rng.uniform(1, 2, (2, len(faulty)))
        power = speed * torque + 0.01 * rng.standard_normal(n_rows)
        time = np.array([f"{8 + i // 60:02}:{i % 60:02}" for i in range(n_rows)], dtype=object)
        readings = {"speed": speed, "torque": torque, "power": power}
        tables.append({"time": time, **{name: each.round(4) for name, each in readings.items()}})
    new = tables[1]
    new["power"][faulty] = (new["power"][faulty] * [1.3, 0.8, 1.1, 0.7, 1.2]).round(4)
    new["fault"] = np.isin(np.arange(N_NEW), faulty).astype(np.int64)
    return tables


def _report(path: Path, detector: Any, normal: Any, new: Any, known: Any) -> Path:
    from vanishing.app.report import write_report

    write_report(
        path,
        detector,
        new.for_model,
        labels=known.astype("int64"),
        ids=new.row_ids,
        feature_names=new.shown_names,
        title="Readings of a pump",
        train=normal.for_model,
    )
    return path


# --- ``vanishing serve``: the playground in the browser -------------------------------------------


def serve(
    port: Annotated[
        int,
        typer.Option(
            "--port", "-p", min=0, max=65535, metavar="N", help="Port; 0 selects a free one."
        ),
    ] = 8765,
    host: Annotated[
        str,
        typer.Option(
            "--host",
            metavar="ADDRESS",
            help="Address; other machines can connect to any but the default.",
        ),
    ] = "127.0.0.1",
    open_browser: Annotated[
        bool, typer.Option("--open", help="Open the page in the browser.")
    ] = False,
    json: Json = False,
) -> None:
    """Start the playground in the browser; Ctrl-C stops it.

    Drop a table to see its laws, or draw points to see their equations.
    """
    start = required("vanishing.app.playground", "serve", extra="web")
    try:
        start(
            host,
            port,
            open_browser=open_browser,
            on_start=(lambda url: emit({"url": url})) if json else None,
        )
    except OSError as error:
        raise OutputError(str(error)) from error
