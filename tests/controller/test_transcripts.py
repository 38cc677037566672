"""Transcripts of the controller, played again: equal commands have equal results, on the model and on a real server."""

import re
from itertools import count
from pathlib import Path
from typing import get_args

import pytest

from kcsim.controller.events import (
    ControllerEvent,
    ListPartitionReassignments,
    ShutdownEventThread,
    UpdateMetadataResponseReceived,
)
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from tests.controller.controller_harness import on_model, on_server
from tests.controller.transcripts import FOLDER, is_model_only, script_of, transcripts
from tests.tiers import chosen

_CHROOTS = count(1)
FAST_LIVE = ("failover", "fenced_in_the_middle", "reassignments", "session_expires")
"""Transcripts that `make test` plays on a real server."""
WITHOUT_EFFECT = {ListPartitionReassignments, ShutdownEventThread, UpdateMetadataResponseReceived}
"""Events that never write to ZooKeeper and never send a request to brokers."""


def test_every_event_that_has_an_effect_has_it_in_some_transcript() -> None:
    headings = re.compile(r"^    (?:broker \d+: )?([A-Z]\w+)(?:\(.*\))?$", re.MULTILINE)
    seen = {name for transcript in transcripts() for name in headings.findall(transcript.read_text())}
    assert seen == {event.__name__ for event in get_args(ControllerEvent) if event not in WITHOUT_EFFECT}


@pytest.mark.parametrize("transcript", transcripts(), ids=lambda path: path.stem)
def test_the_controller_does_what_the_transcript_says(transcript: Path) -> None:
    text = transcript.read_text()
    lines: list[str] = []
    on_model(script_of(text, lines.append))
    assert lines == text.splitlines()


@pytest.mark.live
@pytest.mark.parametrize("stem", chosen([t.stem for t in transcripts() if not is_model_only(t)], fast=FAST_LIVE))
def test_on_a_real_server_too(stem: str, server: EmbeddedZooKeeper) -> None:
    text = (FOLDER / f"{stem}.txt").read_text()
    lines: list[str] = []
    on_server(server.connect_string, f"/transcript-{next(_CHROOTS)}", script_of(text, lines.append))
    assert lines == text.splitlines()
