"""Versions of other packages: what pyproject.toml allows is what works."""

import importlib.util
import tomllib
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pytest
from scipy.linalg import get_lapack_funcs
from tests.support.paths import ROOT

from vanishing.saving import conforms


def script():
    path = ROOT / "tools" / "lowest_versions.py"
    spec = importlib.util.spec_from_file_location("lowest_versions", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


# --- lower bounds --------------------------------------------------------------------------------


def test_every_requirement_has_a_lower_bound():
    found = script().constraints(project(), list(project()["optional-dependencies"]))
    names = [line.partition("==")[0] for line in found]
    assert len(names) == len(set(names)) > 40
    assert {"numpy", "torch", "onnxruntime", "zarr", "sphinx"} <= set(names)
    assert "vanishing" not in names


def test_lower_bounds_of_some_extras():
    found = script().constraints(
        {
            "name": "ours",
            "dependencies": ["numpy>=2.0"],
            "optional-dependencies": {
                "a": ["b_c[d,e]>=1.2.3"],
                "f": ["ours[a]", "g.h>=4"],
                "i": ["j>=5"],
            },
        },
        ["f"],
    )
    assert found == ["b_c==1.2.3", "g.h==4", "numpy==2.0"]


@pytest.mark.parametrize("requirement", ["numpy", "numpy>2", "numpy>=2,<3", "numpy~=2.0"])
def test_other_requirements_are_refused(requirement):
    with pytest.raises(SystemExit, match=r"pyproject\.toml"):
        script().constraints({"name": "ours", "dependencies": [requirement]}, [])


def test_torch_is_not_in_the_extra_without_it():
    found = script().constraints(project(), ["test-without-torch"])
    everything = script().constraints(project(), ["test"])
    assert [line for line in everything if line not in found] == [
        line for line in everything if line.startswith("torch==")
    ]


def test_scipy_has_the_routine_of_condition_numbers():
    """1.14 has it neither in double nor in single precision."""
    (bound,) = (r for r in project()["dependencies"] if r.startswith("scipy>="))
    assert tuple(map(int, bound.removeprefix("scipy>=").split("."))) >= (1, 15)
    for dtype in (np.float64, np.float32):
        (trcon,) = get_lapack_funcs(("trcon",), dtype=dtype)
        assert trcon(np.eye(3, dtype=dtype)) == (1.0, 0)


# --- annotations ---------------------------------------------------------------------------------

FLOATS = np.zeros(2)
CASES = [
    (FLOATS, np.float64, True),
    (FLOATS, np.floating[Any], True),
    (FLOATS, np.generic, True),
    (FLOATS, np.intp, False),
    (FLOATS.astype(np.intp), np.intp, True),
    (np.array(["a"], dtype=object), np.object_, True),
    ([0.0, 0.0], np.float64, False),
]


@pytest.mark.parametrize(("value", "scalar", "expected"), CASES)
def test_arrays_conform(value, scalar, expected):
    """NDArray is an alias of the type statement since NumPy 2.5."""
    assert conforms(value, npt.NDArray[scalar]) is expected
    assert conforms((value, None), tuple[npt.NDArray[scalar], npt.NDArray[scalar] | None]) is (
        expected
    )


def test_aliases_conform():
    """As those of NumPy 2.5 are, whatever the version that is installed."""
    alias = pytest.importorskip("typing_extensions").TypeAliasType
    scalar, other = TypeVar("scalar", bound=np.generic), TypeVar("other")
    array = alias("array", np.ndarray[tuple[Any, ...], np.dtype[scalar]], type_params=(scalar,))
    assert conforms(FLOATS, array[np.float64])
    assert conforms(FLOATS, array[np.floating[Any]] | None)
    assert not conforms(FLOATS, array[np.intp])
    turned = alias("turned", tuple[other, array[scalar]], type_params=(scalar, other))
    assert conforms((1, FLOATS), turned[np.float64, int])
    assert not conforms(("1", FLOATS), turned[np.float64, int])
    plain = alias("plain", list[int])
    assert conforms([1], plain)
    assert not conforms(["1"], plain)


# --- the version of the package ------------------------------------------------------------------


def test_the_version_is_the_same_everywhere():
    import vanishing

    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    recipe = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\nversion: {vanishing.__version__}\n" in cited
    assert f'\n  version: "{vanishing.__version__}"\n' in recipe
    assert f"## {vanishing.__version__} (" in changes


def test_the_recipe_asks_for_what_the_package_does():
    recipe = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    for requirement in project()["dependencies"]:
        name, bound = requirement.split(">=")
        assert f"    - {name} >={bound}\n" in recipe
