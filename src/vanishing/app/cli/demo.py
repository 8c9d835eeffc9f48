"""The commands ``demo``, ``serve`` and ``mcp``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from vanishing.app.cli.console import OutputError, emit, say, state
from vanishing.app.cli.options import (
    Detection,
    LabelledReading,
    Options,
    Reading,
    flag,
    option,
)

# --- ``vanishing demo``: from nothing to equations, scored rows and a report ----------------------

#: Rows of the two tables; the faults in the second, and how far off these readings are.
N_NORMAL, N_NEW = 400, 200
FAULTS = ((17, 1.3), (58, 0.8), (93, 1.1), (140, 0.7), (171, 1.2))


def demo(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder for the files, made if missing.")
    ] = Path("vanishing_demo"),
) -> None:
    """Try everything on two small tables of a pump.

    The first table shows the equations of a pump that runs well, the second has faults to find.
    """
    from vanishing.app.cli import describe, models, tables
    from vanishing.app.report import write_report

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder} cannot be made: {error.strerror}; name another") from error
    files = {name: str(folder / name) for name in ("normal.csv", "new.csv", "scores.csv")}
    for name, columns in zip(files, _pump(), strict=False):
        tables.write_table(files[name], columns)

    labelled = LabelledReading(id="time", label="fault")
    normal = tables.read_input(files["normal.csv"], Reading(id="time"))
    new = tables.read_input(files["new.csv"], labelled, model=normal)
    wanted = Detection(degree=2, tol="0.02", contamination="0.01")
    detector = models.fit_detector(normal, wanted)
    known = models.truth(new, None)
    found = describe.find(detector, new, known, top=len(FAULTS))
    model, report = folder / "pump.safetensors", folder / "report.html"
    detector.save(model)
    scores = {"score": found.scores, "anomaly": found.anomalous.astype("int64")}
    tables.write_table(files["scores.csv"], {"time": new.row_ids} | scores)
    write_report(
        report,
        detector,
        new.for_model,
        labels=known.astype("int64"),
        ids=new.row_ids,
        feature_names=new.shown_names,
        title="Readings of a pump",
        train=normal.for_model,
    )
    if state.json:
        emit(describe.findings_record(found, new) | {"files": sorted(map(str, folder.iterdir()))})
        return
    say(f"{files['normal.csv']}: {len(normal)} readings of a pump that runs well")
    say("equations that they satisfy, found without any hint:")
    describe.show_equations(detector, None, terms=0, table=normal, mix=True)
    say("  (power is torque times speed)\n")
    say(f"{files['new.csv']}: {len(new)} new readings, {len(FAULTS)} of them faulty")
    describe.show_findings(found, new)
    say(f"\nwrote {files['scores.csv']}, {model} and {report}")
    say("\ntry next:")
    worst = new.row_name(int(found.worst[0]))
    compared = f"{files['new.csv']} --train {files['normal.csv']} --id time"
    for line in (
        f"explain {files['new.csv']} --model {model} --id time --row {worst}",
        f"score {files['new.csv']} --model {model} --id time",
        f"show {model}",
        f"info {files['new.csv']}",
        f"fit {files['normal.csv']}",
        f"check {compared}",
        f"detect {compared} --label fault --degree 2 --tol 0.02 --contamination 0.01",
        "detect your.csv",
    ):
        say(f"  vanishing {line}")


def _pump() -> list[dict[str, Any]]:
    """Return readings of a pump: of one that runs well, and of one that has faults."""
    import numpy as np

    rng = np.random.default_rng(0)
    faulty, factors = map(list, zip(*FAULTS, strict=True))
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
    new["power"][faulty] = (new["power"][faulty] * factors).round(4)
    new["fault"] = np.isin(np.arange(N_NEW), faulty).astype(np.int64)
    return tables


# --- ``vanishing serve``: the playground in the browser -------------------------------------------


class Serving(Options):
    """Where the page is served."""

    port: int = option(
        "Options", "N", "Port; 0 selects a free one.", "-p", default=8765, min=0, max=2**16 - 1
    )
    host: str = option(
        "Options",
        "ADDRESS",
        "Address; other machines can connect to any but the default.",
        default="127.0.0.1",
    )
    open_browser: bool = flag("Options", "Open the page in the browser.", "--open")


def serve(asked: Serving) -> None:
    """Start the playground in the browser; Ctrl-C stops it.

    Drop a table to see its laws, or draw points to see their equations.
    """
    from vanishing.app.playground import serve as start

    try:
        start(
            asked.host,
            asked.port,
            open_browser=asked.open_browser,
            on_start=(lambda url: emit({"url": url})) if state.json else None,
        )
    except OSError as error:
        raise OutputError(str(error)) from error


# --- ``vanishing mcp``: tools for agents ----------------------------------------------------------


def mcp() -> None:
    """Serve laws, check and explain to an agent, over the Model Context Protocol.

    An agent starts this command, and speaks to it on standard input and output.
    """
    from vanishing.app.agents import make_server

    make_server().run("stdio")
