"""Parts of a page that are measured anew: each goes where it belongs, and nothing else changes."""

import pytest

from benchmarks.shared.page_rows import put_between_marks
from trajopt.base.errors import OptionError


def test_tables_replace_what_stands_in_their_place_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- runs -->\n<!-- end -->\nb\n<!-- criteria -->\nold\n<!-- end -->\nc\n")
    for text in ("first", "new"):
        put_between_marks(page, "runs", text)
        put_between_marks(page, "criteria", "table")
    written = "a\n<!-- runs -->\nnew\n<!-- end -->\nb\n<!-- criteria -->\ntable\n<!-- end -->\nc\n"
    assert page.read_text() == written
    with pytest.raises(OptionError, match="the page has no place for 'nothing'"):
        put_between_marks(page, "nothing", "")
    assert page.read_text() == written
