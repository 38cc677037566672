"""Parts of a Markdown page, as text. Every part ends without a line feed; `page` joins the parts with empty lines."""

import re
import textwrap
from collections.abc import Iterable, Sequence

WIDTH = 125
LINKS = (
    ("scenarios.md", "scenario library"),
    ("scenario-schema.md", "scenario language"),
    ("cli.md", "command line"),
    ("event-log.md", "event log"),
    ("state-machines.md", "state machines"),
    ("environment.md", "environment"),
    ("hardening.md", "hardening"),
)
"""The reference pages in the order in which they are linked from each other."""


def page(name: str, title: str, introduction: str, *parts: str) -> str:
    """Return the text of a page: title, note for editors, introduction, links to the other pages, and the parts."""
    others = ", ".join(f"[{text}]({file})" for file, text in LINKS if file != name)
    head = (
        "<!-- Generated from the code by `make docs`. Do not edit this page: edit the code, and run `make docs`. -->",
        f"# {title}",
        paragraph(introduction),
        paragraph(f"Other reference pages: {others}. Words are explained in the [glossary](../glossary.md)."),
    )
    return "\n\n".join(part for part in (*head, *parts) if part) + "\n"


def paragraph(text: str) -> str:
    """Return a text as one paragraph, in lines of at most WIDTH."""
    return "\n".join(textwrap.wrap(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False))


def bullets(items: Iterable[str]) -> str:
    """Return a list, each item in lines of at most WIDTH."""
    return "\n".join(
        "\n".join(
            textwrap.wrap(
                f"- {' '.join(item.split())}", WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
            )
        )
        for item in items
    )


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; bars and line feeds in cells are escaped. An empty text if there are no rows."""
    lines = [f"| {' | '.join(map(_cell, row))} |" for row in rows]
    return "\n".join([f"| {' | '.join(header)} |", f"|{' --- |' * len(header)}", *lines]) if lines else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def fenced(text: str, language: str = "") -> str:
    """Return a block of code."""
    return f"```{language}\n{text.strip()}\n```"


def code(text: object) -> str:
    """Return a text as inline code."""
    return f"`{text}`"


def anchor(heading: str) -> str:
    """Return the anchor that GitHub gives to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def link(heading: str, text: str | None = None) -> str:
    """Return a link to a heading of the same page."""
    return f"[{text or heading}](#{anchor(heading)})"
