"""Making a page from a template: one file that fetches nothing and runs only its own scripts.

A page's template extends base.html, and its style sheet adds to base.css. Values are escaped; only Markup is not.
"""

import base64
import hashlib
from collections.abc import Iterable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

HERE = Path(__file__).parent


def render_page(folder: Path, template: str, styles: Iterable[str], scripts: Iterable[str], **values: object) -> str:
    """Return the complete page.

    Args:
        folder: where the template is, with its styles and scripts.
        styles: the names of style sheets, which follow base.css.
        scripts: the names of scripts, in the order of their dependencies.
        values: of the template's names. `title`, the title of the page, is required.
    """
    style = "".join(path.read_text(encoding="utf-8") for path in (HERE / "base.css", *(folder / name for name in styles)))
    codes = [(folder / name).read_text(encoding="utf-8") for name in scripts]
    environment = Environment(
        loader=FileSystemLoader([folder, HERE]),
        autoescape=True,
        finalize=printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(
        **values, policy=_policy(style, codes), style=Markup(style), scripts=[Markup(code) for code in codes]
    )


def printable(value: object) -> object:
    """Return text with replacement characters for those that are invisible or change the text's direction."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in value)


def _policy(style: str, scripts: Iterable[str]) -> Markup:
    """Return the Content-Security-Policy that allows these and nothing else."""
    return Markup(
        "; ".join(
            [
                "default-src 'none'",
                f"script-src {' '.join(map(_hash, scripts))}",
                f"style-src {_hash(style)}",
                "img-src data:",
                "base-uri 'none'",
                "form-action 'none'",
                "require-trusted-types-for 'script'",
                "trusted-types 'none'",
            ]
        )
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
