"""Making a page from a template: one file that fetches nothing and runs only its own scripts.

A page's template extends base.html, and its style sheet adds to base.css. Values are escaped; only Markup is not.
"""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

HERE = Path(__file__).parent


class Tile(NamedTuple):
    """One figure at the top of a page (headline.html)."""

    figure: str
    meaning: str
    is_bad: bool = False


def render_page(
    folders: Sequence[Path],
    template: str,
    styles: Iterable[str],
    scripts: Iterable[str],
    connects_to: str = "",
    **values: object,
) -> str:
    """Return the complete page.

    Args:
        folders: where the template is, and the templates that it extends, with their styles and scripts.
        styles: the names of style sheets, which follow base.css.
        scripts: the names of scripts, in the order of their dependencies.
        connects_to: the address that the scripts may connect to; empty for a page that needs no network.
        values: of the template's names. `title`, the title of the page, is required.
    """
    style = "".join(_text_of(name, [HERE, *folders]) for name in ("base.css", *styles))
    codes = [_text_of(name, [HERE, *folders]) for name in scripts]
    environment = Environment(
        loader=FileSystemLoader([*folders, HERE]),
        autoescape=True,
        finalize=printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(
        **values, policy=_policy(style, codes, connects_to), style=Markup(style), scripts=[Markup(code) for code in codes]
    )


def _text_of(name: str, folders: Iterable[Path]) -> str:
    """Return the text of a file in the first of the folders that has it."""
    return next(path for folder in folders if (path := folder / name).is_file()).read_text(encoding="utf-8")


def printable(value: object) -> object:
    """Return text with replacement characters for those that are invisible or change the text's direction."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in value)


def _policy(style: str, scripts: Iterable[str], connects_to: str) -> Markup:
    """Return the Content-Security-Policy that allows these and nothing else."""
    return Markup(
        "; ".join(
            [
                "default-src 'none'",
                f"script-src {' '.join(map(_hash, scripts))}",
                f"style-src {_hash(style)}",
                "img-src data:",
                *([f"connect-src {connects_to}"] if connects_to else []),
                "base-uri 'none'",
                "form-action 'none'",
                "require-trusted-types-for 'script'",
                "trusted-types 'none'",
            ]
        )
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
