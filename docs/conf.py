"""Settings of the documentation; built by ``make docs``."""

import vanishing

project = "vanishing"
author = "the vanishing developers"
copyright = "2026, the vanishing developers"
release = vanishing.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
exclude_patterns = ["_build"]

numpydoc_show_class_members = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc shows the types

html_theme = "furo"
html_title = f"vanishing {release}"
html_static_path = ["_static"]
html_show_sourcelink = False
