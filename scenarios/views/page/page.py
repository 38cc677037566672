"""The page of a run."""

from collections.abc import Mapping
from pathlib import Path

from markupsafe import Markup

from kcsim.scenarios.views.html.single_file import render_page

ASSETS = Path(__file__).parent / "assets"
SCRIPTS = (
    "elements.js",
    "payload.js",
    "histories.js",
    "controllers.js",
    "scale.js",
    "lanes.js",
    "trouble_counts.js",
    "matrix.js",
    "picture.js",
    "cluster.js",
    "znodes.js",
    "event_list.js",
    "story.js",
    "partitions.js",
    "messages.js",
    "page.js",
)
"""In the order of their dependencies."""


def page(title: str, payload: str, diagrams: Mapping[str, str]) -> str:
    """Return the complete page.

    Args:
        title: plain text.
        payload: as PagePayload.encoded returns it.
        diagrams: name of a state machine -> its diagram, an SVG text of our own making.
    """
    drawn = {name: Markup(text) for name, text in diagrams.items()}
    return render_page([ASSETS], "page.html", ["page.css"], SCRIPTS, title=title, payload=Markup(payload), diagrams=drawn)
