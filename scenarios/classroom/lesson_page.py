"""The page of a lesson: the page of a run, with the lesson's text and its question above."""

from pathlib import Path

from markupsafe import Markup

from kcsim.scenarios.views.diagrams import MACHINES, svg
from kcsim.scenarios.views.html.single_file import render_page
from kcsim.scenarios.views.page.page import ASSETS as PAGE_ASSETS
from kcsim.scenarios.views.page.page import SCRIPTS

ASSETS = Path(__file__).parent / "assets"


def lesson_page(title: str, connects_to: str) -> str:
    """Return the page. Args: connects_to: the origin of the websocket: ws://127.0.0.1:8000."""
    return render_page(
        [ASSETS, PAGE_ASSETS],
        "lesson.html",
        ["page.css", "lesson.css"],
        [*SCRIPTS, "lesson.js"],
        connects_to=connects_to,
        title=title,
        diagrams={name: Markup(svg(name)) for name in MACHINES},
    )
