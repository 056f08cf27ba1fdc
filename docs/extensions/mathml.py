"""Equations as MathML, which browsers set themselves, with a font for mathematics among the site's own files.

No script and no network are needed when a page is read.
"""

from pathlib import Path

import ziamath
from docutils import nodes
from latex2mathml.converter import convert

FONTS = Path(ziamath.__file__).parent / "fonts"  # STIX Two Math, under the SIL Open Font License


def mathml(equation, display):
    """The equation as MathML, absolute value bars as high as a letter.

    A bar without attributes is stretched by browsers to the height of the row, but only where it opens it.
    """
    return convert(equation, display=display).replace(
        "<mo>&#x0007C;</mo>", '<mo stretchy="false">&#x0007C;</mo>'
    )


def visit_inline(self, node):
    self.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_block(self, node):
    self.body.append(f'<div class="math">{mathml(node.astext(), "block")}</div>\n')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("config-inited", lambda app, config: config.html_static_path.append(str(FONTS)))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
