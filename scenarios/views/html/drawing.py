"""Pieces of SVG as text, with all data escaped."""

from html import escape

from kcsim.scenarios.views.html.single_file import printable

ELLIPSIS = "…"
CHARACTER = 6.6
"""The average width of a character in a chart's text, in pixels."""


def tag(name: str, content: str = "", /, **attributes: object) -> str:
    """Return an element. `content` is markup already; attributes are escaped, and those that are None are left out.

    An underscore stands for a hyphen in the name of an attribute, and one at its end is dropped (class_).
    """
    rendered = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_plain(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{rendered}/>" if not content and name in _EMPTY else f"<{name}{rendered}>{content}</{name}>"


_EMPTY = {"rect", "line", "path"}


def _plain(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def text(content: object) -> str:
    """Return escaped text, without characters that are invisible or change the text's direction."""
    return escape(str(printable(str(content))))


def shortened(content: str, width: float) -> str:
    """Return text cut to what fits into so many pixels."""
    most = max(4, int(width / CHARACTER))
    return content if len(content) <= most else content[: most - 1] + ELLIPSIS


def svg(content: str, width: int, height: float, description: str) -> str:
    """Return a drawing. `description`: what it shows, for readers who cannot see it."""
    attributes = {"viewBox": f"0 0 {width} {height:g}", "role": "img", "aria_label": description}
    return tag("svg", content, **attributes)


def label(content: object, x: float, y: float, anchor: str = "start", class_: str | None = None) -> str:
    """Return text in a drawing."""
    return tag("text", text(content), x=x, y=y, text_anchor=anchor, class_=class_)
