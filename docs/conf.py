"""The documentation site: Sphinx over the whole checkout, so that pages of docs/ and contract/ stay where they are and link to each other.

Sphinx, not Zensical: it takes pages from several folders without copying them, its warnings cover links inside, and its current release
installs and builds without a network (Zensical 0.1.3 names a package that was not to be had, and reads one folder).
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs" / "_site"))

from slm2 import __version__  # noqa: E402

project, author, copyright = "SLM2", "the SLM2 authors", "the SLM2 authors"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "sphinx_copybutton",
    "checkout_links",
    "error_table_page",
    "tuple_fields",
]
root_doc = "docs/index"
source_suffix = {".md": "markdown"}
include_patterns = [
    "docs/**.md",
    "contract/*.md",
    "bindings/*/README.md",
    "crates/c*/README.md",
    "bench/README.md",
    "fuzz/README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
]
# Folders that are large or not of the checkout are never walked.
exclude_patterns = [".*", "target", "build", "dist", "**/node_modules", "**/target", "docs/_site"]

# The anchors of a code host: pages are read there too.
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
# Words between dashes and quotes stay as they are written.
smartquotes = False

autodoc_member_order = "bysource"
autoclass_content = "both"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"SLM2 {release}"
html_static_path = ["_site/static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_show_sphinx = False
html_copy_source = False
pygments_style = "friendly"
pygments_dark_style = "monokai"
# Prompts and outputs are shown, and only what is typed is copied.
copybutton_prompt_text = r">>> |\.\.\. ?|\$ |> "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
