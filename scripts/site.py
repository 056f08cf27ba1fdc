"""The documentation site, built into build/site; open build/site/index.html.

    python scripts/site.py            everything: notebooks run, gallery drawn (minutes)
    python scripts/site.py --quick    pages, links, reference and equations; no code is run (pages say so)

Warnings are errors. Needs `pip install -e '.[docs]'`, and no network.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "build" / "site"
NOT_RUN = ("-D", "nb_execution_mode=off", "-D", "plot_gallery=0", "-t", "quick")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="run no code of pages and gallery")
    parser.add_argument("--out", type=Path, default=TARGET, help="folder of the site")
    chosen = parser.parse_args()

    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])  # for notebooks
    from sphinx.cmd.build import main as sphinx

    shutil.rmtree(chosen.out, ignore_errors=True)
    shutil.rmtree(ROOT / "docs" / "built", ignore_errors=True)
    options = ["--fail-on-warning", "--keep-going", "--quiet", "--fresh-env", "--builder", "html"]
    status = sphinx([*options, *(NOT_RUN if chosen.quick else ()), str(ROOT / "docs"), str(chosen.out)])
    if status == 0:
        print(f"written to {chosen.out}")
    return status


if __name__ == "__main__":
    sys.exit(main())
