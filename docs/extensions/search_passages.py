"""Sections of the pages, counted word by word, in the index of the page search.

Sphinx's own index knows only whether a page has a word. `static/search_order.js` ranks sections by these
counts and takes the reader to the best one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

HEADING, TITLE = 6, 2  # occurrences that a word of a section's heading, or of the page's title, counts as
LEFT_OUT = ("built/reference/", "_modules/")  # found by names


class Section(NamedTuple):
    """A section without those within it; the first one of a page has the page's title as its heading."""

    anchor: str
    heading: str
    text: str


def setup(app: Any) -> dict[str, bool]:
    """Add the sections before Sphinx writes its index."""
    app.connect("html-collect-pages", add_to_index)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def add_to_index(app: Any) -> list[Any]:
    """Add `passages` and `counts` to the index that is about to be written; no further pages."""
    indexer = app.builder.indexer
    freeze = indexer.freeze

    def with_passages() -> dict[str, Any]:
        index = freeze()
        pages = [
            [] if name.startswith(LEFT_OUT) else list(sections(app.env.get_doctree(name)))
            for name in index["docnames"]
        ]
        return index | counted(pages, lambda text: stems(text, indexer.lang))

    indexer.freeze = with_passages
    return []


def counted(
    pages: Sequence[Sequence[Section]], words: Callable[[str], Iterator[str]]
) -> dict[str, list[Any] | dict[str, list[int]]]:
    """Passages, each as number of the page, anchor, heading and length in words, and counts of the words.

    counts : word -> passage, occurrences, passage, occurrences ...
    The first section of a page has neither anchor nor heading: its title is the page's.
    """
    passages: list[Any] = []
    counts: dict[str, list[int]] = {}
    for page, parts in enumerate(pages):
        for part in parts:
            found = Counter(words(part.text))
            first = part is parts[0]
            anchor, heading = ("", "") if first else (part.anchor, part.heading)
            passages.append([page, anchor, heading, found.total()])
            found.update({word: HEADING for word in words(part.heading)})
            found.update({} if first else {word: TITLE for word in words(parts[0].heading)})
            for word, count in found.items():
                counts.setdefault(word, []).extend((len(passages) - 1, count))
    return {"passages": passages, "counts": counts}


def stems(text: str, language: Any) -> Iterator[str]:
    """The words of a text as the search compares them; of a name_like_this also its parts."""
    for word in language.split(text.lower()):
        for part in {word, *word.split("_")}:
            stem = language.stem(part)
            if part and language.word_filter(part) and language.word_filter(stem):
                yield stem


def sections(tree: Any) -> Iterator[Section]:
    """The sections of a page's document tree, outer ones first."""
    from docutils import nodes

    for section in tree.findall(nodes.section):
        titled = isinstance(section[0], nodes.title)
        heading = section[0].astext() if titled else ""
        yield Section(section["ids"][0], heading, " ".join(own_texts(section)))


def own_texts(node: Any) -> Iterator[str]:
    """Texts without headings, the sections within it, and what the gallery adds to each page."""
    from docutils import nodes

    for child in node.children:
        if isinstance(child, nodes.Text):
            yield str(child)
        elif not (
            isinstance(child, nodes.title | nodes.section | nodes.comment)
            or any(name.startswith("sphx-glr") for name in child["classes"])
        ):
            yield from own_texts(child)
