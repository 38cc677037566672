"""The page of a run."""

from collections.abc import Iterable
from pathlib import Path

from markupsafe import Markup

from kcsim.scenarios.views.html.single_file import render_page

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
    drawn = list(map(Markup, diagrams))
    return render_page(ASSETS, "page.html", ["page.css"], SCRIPTS, title=title, payload=Markup(payload), diagrams=drawn)
