"""A played cluster as one page that needs no server: all futures, what was done in each, and how they differ."""

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any

from kcsim.scenarios.play.fork_comparison import compared
from kcsim.scenarios.play.page_messages import about_text, acts_in_page, as_json, fork_in_page, scenario_text
from kcsim.scenarios.play.play_page import play_page
from kcsim.scenarios.play.played_cluster import PlayedCluster

MOST_SHARED = 100_000
"""Of futures with more events together than these, the page has the last ones only, and an overview of those before."""
MOST_PAIRS = 10
"""With more pairs of futures than these, each is compared with the one from whose past it was begun, only."""


def shared_page(cluster: PlayedCluster, origin: str = "") -> str:
    """Return the page. It has the same modules as the page that the server sends, and what that would be sent.

    Args:
        origin: how the cluster has begun, if that has to be said.
    """
    forks = list(cluster.forks.values())
    pairs = [(one, other) for one in forks for other in forks if one is not other]
    if len(pairs) > MOST_PAIRS:
        pairs = [(one, other) for one, other in pairs if other.origin == one.number]
    whole = {
        "forks": {"now": cluster.fork.number, "all": [fork_in_page(fork) for fork in forks]},
        "futures": {
            str(fork.number): {
                "now_ms": fork.now_ms,
                "scenario": scenario_text(cluster.as_tree(fork), cluster.seed) if cluster.begins_with_nothing else None,
                "acts": acts_in_page(fork.acts_with_refusals),
                "about": json.loads(about_text(fork)),
                "parts": json.loads(fork.run.segments.shown(list(fork.run.parts), None, MOST_SHARED // len(forks))),
            }
            for fork in forks
        },
        "comparisons": {f"{one.number} {other.number}": compared(one, other) for one, other in pairs},
    }
    return saved_page(cluster.scenario.name, whole, origin)


def saved_page(title: str, whole: Mapping[str, Any], origin: str = "") -> str:
    """Return the page that replays futures from what is saved in it."""
    packed = base64.b64encode(zlib.compress(as_json(whole).encode("utf-8", "surrogatepass"), 9)).decode()
    return play_page(title, saved=packed, origin=origin)
