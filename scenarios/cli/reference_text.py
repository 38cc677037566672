"""Entries of a reference in the terminal: each name, and below it its text, wrapped."""

import shutil
import textwrap
from collections.abc import Iterable

WIDEST, NARROWEST = 100, 40
INDENT = "    "


def print_entries(heading: str, entries: Iterable[tuple[str, str]]) -> None:
    """Print a heading and its entries, in lines that fit the terminal. An entry may have no text."""
    width = max(NARROWEST, min(WIDEST, shutil.get_terminal_size().columns))
    print(wrapped(heading, width))
    for name, text in entries:
        print(wrapped(name, width, "  "))
        if text:
            print(wrapped(text, width, INDENT))
    print()


def wrapped(text: str, width: int, indent: str = "") -> str:
    """Return a text in lines of this width."""
    lines = textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(lines)
