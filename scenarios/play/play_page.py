"""The page of a cluster that is played with: the page of a run, with a clock, acts and futures."""

from pathlib import Path

from markupsafe import Markup

from kcsim.scenarios.views.diagrams import MACHINES, svg
from kcsim.scenarios.views.html.single_file import render_page
from kcsim.scenarios.views.page.page import ASSETS as PAGE_ASSETS
from kcsim.scenarios.views.page.page import SCRIPTS

ASSETS = Path(__file__).parent / "assets"
PLAY_SCRIPTS = (
    *("acts.js", "act_menu.js", "act_things.js", "links.js", "consequences.js", "predict.js", "act_bar.js"),
    *("server.js", "saved.js", "futures.js", "live.js", "play.js"),
)
"""In the order of their dependencies."""


def play_page(title: str, connects_to: str = "", saved: str = "", origin: str = "", *, is_live: bool = False) -> str:
    """Return the page.

    Args:
        connects_to: the origin of the websocket: ws://127.0.0.1:8000. Empty for a page that replays what was saved.
        saved: what is replayed: JSON, deflated, base64.
        origin: how the cluster has begun, if that has to be said.
        is_live: whether the cluster lives in real time: its clock cannot be set, and it has one future.
    """
    drawn = {name: Markup(svg(name)) for name in MACHINES}
    return render_page(
        [ASSETS, PAGE_ASSETS],
        "play.html",
        ["page.css", "play.css"],
        [*SCRIPTS, *PLAY_SCRIPTS],
        connects_to=connects_to,
        title=title,
        diagrams=drawn,
        saved=Markup(saved),
        origin=origin,
        is_live=is_live,
    )
