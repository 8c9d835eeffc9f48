"""Settings of the documentation; built by ``make docs``."""

import sys
from pathlib import Path

from numpydoc.xref import DEFAULT_LINKS

import vanishing

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from reference import MEMBERS

DEFAULT_LINKS.clear()  # they lead to other sites, which are not loaded

project = "vanishing"
author = "the vanishing developers"
copyright = "2026, the vanishing developers"
release = vanishing.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "accessible",
    "links",
    "mathml",
    "measured",
]
exclude_patterns = ["_build", "generated"]
templates_path = ["_templates"]

myst_enable_extensions = ["attrs_block", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# Every reference must have a target. Types in docstrings are words for people, and links by luck.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!vanishing\.).*")]

autosummary_generate = True
autosummary_context = {"documented": MEMBERS}
autodoc_typehints = "none"  # numpydoc shows the types
numpydoc_show_class_members = False
# Types in docstrings that have a place in the reference are links to it.
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = {
    name.rpartition(".")[2]: name
    for name in (
        "vanishing.ClassVanishingFeatures",
        "vanishing.TransformationDetector",
        "vanishing.VanishingDetector",
        "vanishing.VanishingIdeal",
        "vanishing.detectors.Selection",
        "vanishing.explain.BrokenEquation",
        "vanishing.explain.Explanation",
        "vanishing.construction.DegreeTrace",
        "vanishing.contrasts.Contrast",
        "vanishing.datasets.ImageSet",
        "vanishing.datasets.Variety",
        "vanishing.construction.normalizations.Form",
        "vanishing.construction.normalizations.Normalization",
        "vanishing.construction.normalizations.Stage",
        "vanishing.polynomials.PolynomialBasis",
        "vanishing.data.SampleSource",
        "vanishing.transformations.Transformations",
    )
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"_demo",
    "within_subsection_order": "gallery_order.place",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("vanishing",),
    "image_srcset": ["2x"],
    "thumbnail_size": (480, 336),
    "ignore_repr_types": r"matplotlib",  # the last call of a block may return a label
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
}

html_theme = "furo"
html_title = f"vanishing {release}"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#005A8C",
        "color-brand-content": "#005A8C",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7CC4F0",
        "color-brand-content": "#7CC4F0",
    },
}
