"""What can be imported, and nothing else."""

import importlib
import pkgutil

import pytest

import vanishing

MODULES = [
    module.name
    for module in pkgutil.walk_packages(vanishing.__path__, "vanishing.")
    if module.ispkg
]


def test_public_names():
    assert set(vanishing.__all__) == {
        "ClassVanishingFeatures",
        "TransformationDetector",
        "VanishingDetector",
        "VanishingIdeal",
        "discover",
        "discover_invariants",
        "discover_odes",
        "load",
        "vca",
        "__version__",
    }


@pytest.mark.parametrize("name", ["vanishing", *MODULES])
def test_all_is_true_and_sorted(name):
    module = importlib.import_module(name)
    names = getattr(module, "__all__", [])
    assert list(names) == sorted(names)
    assert all(hasattr(module, member) for member in names)
    assert module.__doc__
