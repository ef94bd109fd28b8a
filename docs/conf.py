"""How Sphinx builds the pages into a site: `make docs` writes it to build/docs."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

import camilla  # noqa: E402

project = "Camilla"
author = "The Camilla authors"
version = release = camilla.__version__

extensions = ["sphinx.ext.autodoc", "numpydoc", "myst_nb"]
root_doc = "index"
exclude_patterns = ["examples/**", "results/data/**"]
nitpicky = True  # a reference that leads nowhere is a warning, and `make docs` takes warnings as errors

# Pages are Markdown. Links to headings work as they do on GitHub.
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

# Notebooks run when the site is built; a cell that fails, fails the build.
nb_execution_mode = "force"
nb_execution_timeout = 120
nb_execution_raise_on_error = True

# Docstrings follow NumPy's convention; signatures say the defaults, the text says the types.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
default_role = "literal"
numpydoc_show_class_members = False

html_theme = "furo"
html_title = f"Camilla {release}"
html_show_copyright = False
