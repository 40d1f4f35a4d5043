"""Sphinx: the site of the documentation, made by `make docs` without a network.

The root of the repository is the source folder, so that relative links between pages, studies and
README are the same on the site and in the repository.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "Dumbbell"
author = "The Dumbbell authors"
root_doc = "docs/index"
extensions = ["myst_parser", "sphinx_copybutton", "excerpts", "playground_links"]
include_patterns = ["docs/**.md", "studies/*/*.md", "*.md"]
exclude_patterns = [
    ".*",
    "target",
    "site",
    "build",
    "store",
    "demo",
    "node_modules",
    "fuzz",
    "crates",
]
myst_enable_extensions = ["attrs_inline", "deflist"]
myst_heading_anchors = 4
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
html_theme = "furo"
html_title = "Dumbbell"
html_static_path = ["_static"]
html_css_files = ["start.css"]
html_js_files = ["access.js"]
html_theme_options = {"navigation_with_keys": True}
# Blocks of several languages in one page are shown as they are.
highlight_language = "none"
suppress_warnings = ["misc.highlighting_failure"]
nitpicky = True
