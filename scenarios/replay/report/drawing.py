"""Pieces of SVG and HTML as text. What comes from data is escaped here and nowhere else."""

from html import escape

ELLIPSIS = "…"
CHARACTER = 6.6
"""How wide a character is at the size of a chart's text, in pixels, on average."""


def tag(name: str, content: str = "", /, **attributes: object) -> str:
    """An element. `content` is markup already; attributes are escaped, and those that are None left out.

    An underscore stands for a hyphen in the name of an attribute, and one at its end is dropped (class_).
    """
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_plain(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{told}/>" if not content and name in _EMPTY else f"<{name}{told}>{content}</{name}>"


_EMPTY = {"rect", "line", "path", "circle", "use", "meta", "br"}


def _plain(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def text(content: object) -> str:
    """Text, escaped; what would not be seen, or turns the direction of a line, is shown as a character that is none."""
    return escape("".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in str(content)))


def shortened(content: str, width: float) -> str:
    """Text cut to what fits into so many pixels."""
    most = max(4, int(width / CHARACTER))
    return content if len(content) <= most else content[: most - 1] + ELLIPSIS


def svg(content: str, width: int, height: float, told: str) -> str:
    """A drawing. `told`: what it shows, for those who do not see it."""
    attributes = {"viewBox": f"0 0 {width} {height:g}", "role": "img", "aria_label": told}
    return tag("svg", content, **attributes)


def label(content: object, x: float, y: float, anchor: str = "start", class_: str | None = None) -> str:
    """Text in a drawing."""
    return tag("text", text(content), x=x, y=y, text_anchor=anchor, class_=class_)
