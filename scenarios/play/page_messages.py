"""What a page of a played cluster is sent, as JSON: parts of its run, and its futures."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from kcsim.scenarios.language.yaml_text import yaml_text
from kcsim.scenarios.play.acts import Act
from kcsim.scenarios.play.played_cluster import Fork
from kcsim.scenarios.play.run_messages import Happened


def as_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def scenario_text(tree: Mapping[str, Any], seed: int) -> str:
    """Return a future as a scenario file, which says how it is run again."""
    return f"# kcsim run FILE --zookeeper simulated --seed {seed}\n{yaml_text(tree)}"


def parts_text(parts: Sequence[Happened]) -> str:
    """Return the parts of the page's payload."""
    return f"[{','.join(part.part.decode('utf-8', 'replace') for part in parts)}]"


def about_text(fork: Fork) -> str:
    """Return the facts about the run of a future."""
    return fork.run.about.decode("utf-8", "replace")


def acts_in_page(acts: Sequence[tuple[Act, str | None]]) -> list[list[Any]]:
    """Return acts, each with why it could not be done, as a page shows them."""
    return [[act.at_ms, act.step, why] for act, why in acts]


def fork_in_page(fork: Fork, shown: Fork | None = None) -> dict[str, Any]:
    """Return a future as a page shows it.

    Args:
        shown: the future that goes on: its present moment is that of the clock.
    """
    return {
        "number": fork.number,
        "name": fork.name,
        "origin": fork.origin,
        "from_ms": fork.from_ms,
        "now_ms": None if fork is shown else fork.now_ms,
        "acts": acts_in_page(fork.acts_with_refusals[fork.past_acts :]),
    }
