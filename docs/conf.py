"""Settings of the documentation site; `python scripts/site.py` builds it.

Pages are CommonMark (MyST), as the repository's own viewer shows them. Those that teach are executed, the
scripts of `gallery` drawn, the reference is written from docstrings; nothing of it is committed, and nothing
is fetched from a network while the site is built or read.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "extensions"), str(HERE.parent)]

from figure_scraper import prepare, scrape  # noqa: E402  # pyright: ignore[reportMissingImports]

from trajopt.base.version import __version__  # noqa: E402

project = "trajopt"
author = copyright = "the trajopt authors"
release = version = __version__

extensions = [
    "myst_nb",  # Markdown pages, and pages whose code is executed
    "sphinx.ext.autodoc",  # the reference from docstrings
    "sphinx.ext.viewcode",  # sources beside the reference
    "sphinx_gallery.gen_gallery",  # pictures from scripts
    "sphinx_copybutton",  # code blocks with a button that copies them
    "docstrings",
    "mathml",
    "reference_pages",
    "search_passages",  # sections and counts of their words in the index of the search
    "tutorial_notebooks",
    "whole_words",  # options and numbers that no line break tears
]
exclude_patterns = [
    "extensions",
    "gallery",
    "built/gallery/*.md5",
    "built/gallery/*.ipynb",
    "built/gallery/*.py",
]
suppress_warnings = [
    "config.cache"
]  # the gallery's settings hold functions, which Sphinx cannot compare between builds

# -- pages --------------------------------------------------------------------------------------------------
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_merge_streams = True

# -- reference ----------------------------------------------------------------------------------------------
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 90
python_use_unqualified_type_names = True
add_module_names = False

# -- gallery ------------------------------------------------------------------------------------------------
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "built/gallery",
    "filename_pattern": r"plot_",
    "image_scrapers": (scrape,),
    "reset_modules": (prepare,),
    "capture_repr": (),
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "download_all_examples": False,
}

# -- a site whose code was not run ---------------------------------------------------------------------------
QUICK = "tags" in globals() and globals()["tags"].has("quick")  # `python scripts/site.py --quick`
NOT_RUN = "Built with --quick: no code was run, so outputs and pictures of the gallery are missing."

# -- appearance ---------------------------------------------------------------------------------------------
html_theme = "furo"
html_title = f"trajopt {release}"
html_static_path = ["static", "../trajopt/report/scroll.css"]
html_search_scorer = str(HERE / "static" / "search_order.js")
html_css_files = ["scroll.css", "site.css", *(["quick.css"] if QUICK else [])]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_math_renderer = "mathml"
html_theme_options = {
    **({"announcement": NOT_RUN} if QUICK else {}),
    "light_css_variables": {"color-brand-primary": "#0072B2", "color-brand-content": "#0072B2"},
    "dark_css_variables": {"color-brand-primary": "#56B4E9", "color-brand-content": "#56B4E9"},
}
