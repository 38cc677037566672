"""The page itself: one HTML file that fetches nothing and runs nothing but its own scripts."""

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
"""In the order in which they need one another."""


def page(title: str, payload: str, diagrams: Iterable[str]) -> str:
    """Put the page together.

    Args:
        title: plain text.
        payload: as Payload.encoded gives it.
        diagrams: as SVG of our own making.
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
    # One pass over the template: what is put in is not looked through again.
    pieces = _asset("page.html").split("@@")
    return "".join(parts[piece] if number % 2 else piece for number, piece in enumerate(pieces))


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """What a Content-Security-Policy calls an inline script or style that may be."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
