"""Tools for agents: three of the commands over the Model Context Protocol, on standard input.

A tool is a command that runs in a process of its own, with ``--json``. So a tool says what the
command line says, errors included, and a call that is cancelled ends.
"""

import asyncio
import json
import sys
from typing import Any

from vanishing.arrays.namespace import import_extra

INSTRUCTIONS = """\
Tables are files on this machine: CSV, TSV, Excel, Parquet. Rows count from 1, without the header.
Begin with laws, then check. Equations are found in the data: say so, and quote their evidence.\
"""


def make_server() -> Any:
    """Make a server (``mcp.server.MCPServer``) with the tools below."""
    import vanishing

    import_extra("mcp", extra="mcp", purpose="vanishing mcp")
    from mcp.server import MCPServer

    server = MCPServer("vanishing", instructions=INSTRUCTIONS, version=vanishing.__version__)
    for tool in (laws, check, explain_row):
        server.tool(structured_output=True)(tool)
    return server


async def laws(table: str) -> dict[str, Any]:
    """Find the equations that the columns of a table satisfy, with the evidence for each.

    Each law has its text, its bits (chance gives b bits with probability 2^-b), its noise, and how
    many rows break it.
    """
    return await _run("laws", table)


async def check(table: str, train: str | None = None, rules: str | None = None) -> dict[str, Any]:
    """Find the cells that break the laws of a table, what they should be, and what is not checked.

    The laws are those of the table itself, or of the table `train`, whose rows are correct, or
    those of a file of `rules`, which people may have edited.
    """
    given = {"--train": train, "--rules": rules}
    options = (f"{name}={path}" for name, path in given.items() if path is not None)
    return await _run("check", table, *options)


async def explain_row(table: str, row: int) -> dict[str, Any]:
    """Explain how unlike the others a row is: its score, the columns that explain it, and fixes."""
    return await _run("explain", table, "--row", str(row))


async def _run(command: str, table: str, *options: str) -> dict[str, Any]:
    """Run a command, and return the object that it writes."""
    from mcp.server.mcpserver.exceptions import ToolError

    # The name of a table may begin with a hyphen.
    arguments = [command, *options, "--json", "--quiet", "--", table]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "vanishing", *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        written, said = await process.communicate()
    finally:
        if process.returncode is None:  # cancelled
            process.kill()
            await process.wait()
    try:
        record: dict[str, Any] = json.loads(written)
    except ValueError:
        raise ToolError(said.decode(errors="replace").strip()) from None
    if "error" in record:
        raise ToolError(record["error"])
    return record
