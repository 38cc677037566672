"""Every why-chain that `kcsim why` tells of any event ends at a fault, an admin act or the start of the run.

tests/scenarios/test_library.py sees to it for the causes that are written, in every scenario of the library; here it is the
chains that are told of them.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kcsim.scenarios.language.scenario_file import library_names
from kcsim.scenarios.reading.run_digest import RunDigest
from kcsim.scenarios.telling.causes import ROOTS, Causes
from kcsim.zk.events import EventKind
from tests.scenarios.reading.conftest import kcsim
from tests.scenarios.reporting.conftest import run_of

A_SHARE = ("broker-crash-and-return", "consumer-crash-range", "controller-failover")
ASKED_ABOUT = library_names() if os.environ.get("KCSIM_LIBRARY") == "all" else A_SHARE
"""All of the library with KCSIM_LIBRARY=all."""


def test_what_needs_no_cause_is_a_closed_list() -> None:
    assert {EventKind.RUN_STARTED, EventKind.FAULT, EventKind.ADMIN_ACT} == ROOTS


@pytest.mark.parametrize("scenario", ASKED_ABOUT)
def test_every_chain_falls_to_a_known_root(scenario: str) -> None:
    """And a chain read off a digest, as `kcsim diff` does it, is the same."""
    events = run_of(scenario)
    causes, digest = Causes(events), RunDigest.of(events)
    for event in events:
        story = causes.story(event.seq, depth=0)
        seqs = [one.seq for one in story.chain]
        assert story.has_known_root, seqs
        assert seqs == sorted(set(seqs))
        assert story.event is event
        if event.seq <= digest.end.event.seq:
            assert digest.chain(event.seq) == seqs


def test_the_command_tells_of_any_kind_of_event(trace_of: Callable[..., Path]) -> None:
    for kind in sorted({event.kind for event in run_of("controller-failover")}):
        asked = ("why", str(trace_of("controller-failover")), f"last:{kind}", "--depth", "0", "--output", "json")
        done = kcsim(*asked)
        told = json.loads(done.stdout)
        assert (done.exit_code, told["has_known_root"], told["chain"][-1]["kind"]) == (0, True, kind)
        assert told["chain"][0]["kind"] in ROOTS
