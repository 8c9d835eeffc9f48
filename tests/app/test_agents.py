"""The tools of ``vanishing mcp``, called by the protocol's own client over standard input."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="pip install 'vanishing[mcp]'")
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from tests.support.command_line import environment

from vanishing.app.agents import make_server

pytestmark = pytest.mark.programs

ROWS = [f"{k},{7 * k % 31},{k + 7 * k % 31}" for k in range(1, 40)]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A sum whose 18th row is wrong."""
    rows = [*ROWS[:17], "18,2,21", *ROWS[18:]]
    path = tmp_path / "sums.csv"
    path.write_text("\n".join(["a,b,total", *rows]) + "\n")
    return path


def talk(server: Any, work: Callable[[Client], Awaitable[Any]]) -> Any:
    """Do some work with a client of a server."""

    async def connect() -> Any:
        async with Client(server) as client:
            return await work(client)

    return asyncio.run(connect())


def call(name: str, **arguments: Any) -> Any:
    """Call one tool."""
    return talk(make_server(), lambda client: client.call_tool(name, arguments))


def run(*arguments: str) -> Any:
    """Run a command, and return the object that it writes."""
    command = [sys.executable, "-m", "vanishing", *arguments, "--json"]
    done = subprocess.run(command, env=environment(), capture_output=True, check=True)
    return json.loads(done.stdout)


def test_a_process_lists_its_tools_and_answers() -> None:
    arguments = ["-m", "vanishing", "mcp"]
    parameters = StdioServerParameters(command=sys.executable, args=arguments, env=environment())
    process = stdio_client(parameters)

    async def work(client: Client) -> tuple[list[str], str]:
        listed = await client.list_tools()
        answer = await client.call_tool("laws", {"table": "absent.csv"})
        return [tool.name for tool in listed.tools], answer.content[0].text

    names, text = talk(process, work)
    assert names == ["laws", "check", "explain_row"]
    assert "absent.csv" in text


def test_tools_say_what_the_commands_say(table: Path) -> None:
    rules = str(table.with_name("rules.toml"))
    run("laws", str(table), "--save", rules)
    for tool, arguments, options in (
        ("laws", {}, []),
        ("check", {}, []),
        ("check", {"train": str(table)}, ["--train", str(table)]),
        ("check", {"rules": rules}, ["--rules", rules]),
        ("explain_row", {"row": 18}, ["--row", "18"]),
    ):
        command = tool.removesuffix("_row")
        told = run(command, *options, str(table))
        assert call(tool, table=str(table), **arguments).structured_content == told


def test_check_names_the_broken_row(table: Path) -> None:
    found = call("check", table=str(table)).structured_content
    assert found["broken"] == 1
    assert {cell["row"] for cell in found["cells"]} == {18}


def test_errors_say_what_the_command_line_says(tmp_path: Path) -> None:
    (tmp_path / "texts.csv").write_text("a,b\nx,y\nz,w\n")
    for tool, arguments in (
        ("laws", {"table": str(tmp_path / "absent.csv")}),
        ("laws", {"table": str(tmp_path / "texts.csv")}),
        ("laws", {"table": "--help"}),  # no option
        ("check", {"table": str(tmp_path / "texts.csv"), "rules": "--help"}),
        ("explain_row", {"table": str(tmp_path / "texts.csv"), "row": 0}),
    ):
        answer = call(tool, **arguments)
        assert answer.is_error
        assert answer.content[0].text.strip()
        assert "Traceback" not in answer.content[0].text
