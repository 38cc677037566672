"""The HTML page: one file that fetches nothing and runs only its own scripts."""

import base64
import hashlib
import html
from collections.abc import Iterable
from pathlib import Path

ASSETS = Path(__file__).parent / "assets"
SCRIPTS = (
    "elements.js",
    "payload.js",
    "histories.js",
    "scale.js",
    "lanes.js",
    "picture.js",
    "cluster.js",
    "znodes.js",
    "event_list.js",
    "story.js",
    "page.js",
)
"""In the order of their dependencies."""


def page(title: str, payload: str, diagrams: Iterable[str]) -> str:
    """Return the complete page.

    Args:
        title: plain text.
        payload: as PagePayload.encoded returns it.
        diagrams: SVG texts of our own making.
    """
    style = _asset("page.css")
    scripts = [_asset(name) for name in SCRIPTS]
    policy = "; ".join(
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
    parts = {
        "POLICY": policy,
        "TITLE": html.escape(title),
        "STYLE": f"<style>{style}</style>",
        "DIAGRAMS": "".join(f"<figure>{diagram}</figure>" for diagram in diagrams),
        "PAYLOAD": payload,
        "SCRIPTS": "\n".join(f"<script>{script}</script>" for script in scripts),
    }
    # One pass over the template: inserted text is not scanned for placeholders.
    pieces = _asset("page.html").split("@@")
    return "".join(parts[piece] if number % 2 else piece for number, piece in enumerate(pieces))


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return the hash by which a Content-Security-Policy allows an inline script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
