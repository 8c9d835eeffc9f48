"""Print the lower bounds of pyproject.toml as constraints of pip: numpy>=2.0 as numpy==2.0.

python tools/lowest_versions.py EXTRA ...

So that the bounds are tested themselves, and not a second list of them. Packages that ours depend
on only through others are left to pip, which takes the newest that go along, except for a few.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
#: Later ones warn of what the lowest versions of others do, and warnings are errors in the tests.
COMPANIONS = [
    "click<8.4",  # typer
    "numcodecs<0.16.4",  # zarr
    "pyparsing<3.3",  # matplotlib
]
#: A name, extras in brackets, a lower bound.
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[(?P<extras>[\w,.-]+)\])?(?:>=(?P<lowest>[\w.]+))?")


def constraints(project: dict, extras: list[str]) -> list[str]:
    """Return what is required with some extras, each at its lower bound."""
    lowest = dict(_bounds(project, project["dependencies"]))
    for extra in extras:
        lowest.update(_bounds(project, project["optional-dependencies"][extra]))
    return [f"{name}=={bound}" for name, bound in sorted(lowest.items())]


def _bounds(project: dict, requirements: list[str]) -> Iterator[tuple[str, str]]:
    for requirement in requirements:
        found = REQUIREMENT.fullmatch(requirement)
        if found is None:
            raise SystemExit(f"{requirement!r} in pyproject.toml is not of the form name>=version")
        if found["name"] == project["name"]:
            for extra in found["extras"].split(","):
                yield from _bounds(project, project["optional-dependencies"][extra])
        elif found["lowest"] is None:
            raise SystemExit(f"{requirement!r} in pyproject.toml has no lower bound")
        else:
            yield found["name"], found["lowest"]


if __name__ == "__main__":
    content = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))
    print("\n".join([*constraints(content["project"], sys.argv[1:]), *COMPANIONS]))
