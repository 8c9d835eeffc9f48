"""The commands, and how they are presented."""

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

import vanishing
from vanishing.cli.console import say
from vanishing.cli.demo import demo
from vanishing.cli.detect import detect
from vanishing.cli.explain import explain
from vanishing.cli.export import export
from vanishing.cli.fit import fit
from vanishing.cli.info import info
from vanishing.cli.options import expanded
from vanishing.cli.run import guarded
from vanishing.cli.score import score
from vanishing.cli.serve import serve
from vanishing.cli.show import show
from vanishing.cli.transform import transform

EXAMPLES: dict[Callable[..., Any], str] = {
    demo: "vanishing demo",
    fit: "vanishing fit X.csv --contrast Y.csv --degree 2 --tol 0.01 --save circle.safetensors",
    transform: "vanishing transform new.csv --model circle.safetensors --out features.parquet",
    detect: "vanishing detect data.csv --train normal.csv --degree 2 --tol 0.02 --report out.html",
    score: "vanishing score new.csv --model circle.safetensors --out scores.csv",
    explain: "vanishing explain data.csv --model pump.safetensors --row 17",
    show: "vanishing show circle.safetensors spectrum",
    export: "vanishing export circle.safetensors latex --digits 3",
    serve: "vanishing serve --open",
    info: "vanishing info circle.safetensors",
}

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No notes and no progress.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def _version(wanted: bool) -> None:
    if wanted:
        say(f"vanishing {vanishing.__version__}")
        raise typer.Exit


def _vanishing(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Find the polynomial equations that points satisfy, and the rows that break them."""


def _registered(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command as typer takes it, with the options that all commands have."""
    shown = expanded(command)
    call = guarded(shown)
    common = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind)
        for name, kind in (("quiet", Quiet), ("debug", Debug))
    ]
    own = inspect.signature(shown).parameters.values()
    call.__signature__ = inspect.Signature([*own, *common])  # type: ignore[attr-defined]
    return call


def _help(command: Callable[..., Any]) -> str:
    """Return the docstring of a command, each paragraph in one line for the terminal to wrap."""
    paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    return "\n\n".join(" ".join(each.split()) for each in paragraphs)


app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: vanishing demo",
)
app.callback()(_vanishing)
for _command, _example in EXAMPLES.items():
    app.command(help=_help(_command), epilog=f"Example: {_example}")(_registered(_command))
