"""Every chain that `kcsim why` prints for any event ends at a fault, an admin act or the start of the run.

tests/scenarios/engine/test_library.py tests this for the causes in the event log, in every scenario of the library; this
file tests the chains that are printed.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.language.library import library_names
from kcsim.scenarios.views.narration.causes import ROOTS, Causes
from kcsim.scenarios.views.terminal.run_digest import RunDigest
from tests.scenarios.views.page.conftest import run_of
from tests.scenarios.views.terminal.conftest import kcsim
from tests.tiers import chosen

IN_EACH_RUN = ("broker-crash-and-return", "consumer-crash-range", "controller-failover")


def test_what_needs_no_cause_is_a_closed_list() -> None:
    assert {EventKind.RUN_STARTED, EventKind.FAULT, EventKind.ADMIN_ACT} == ROOTS


@pytest.mark.parametrize("scenario", chosen(library_names(), fast=IN_EACH_RUN, slow=()))
def test_every_chain_falls_to_a_known_root(scenario: str) -> None:
    """The chain read from a digest, as `kcsim diff` reads it, is the same."""
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


def test_the_command_explains_any_kind_of_event(trace_of: Callable[..., Path]) -> None:
    for kind in sorted({event.kind for event in run_of("controller-failover")}):
        asked = ("why", str(trace_of("controller-failover")), f"last:{kind}", "--depth", "0", "--output", "json")
        done = kcsim(*asked)
        document = json.loads(done.stdout)
        assert (done.exit_code, document["has_known_root"], document["chain"][-1]["kind"]) == (0, True, kind)
        assert document["chain"][0]["kind"] in ROOTS
