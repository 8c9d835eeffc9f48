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
        "load",
        "__version__",
    }


@pytest.mark.parametrize("name", ["vanishing", *MODULES])
def test_all_is_true_and_sorted(name):
    module = importlib.import_module(name)
    assert list(module.__all__) == sorted(module.__all__)
    assert all(hasattr(module, member) for member in module.__all__)
    assert module.__doc__
