"""Transcripts of the controller, played again: the same commands make it do the same, on the model and on a real server."""

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
from tests.controller.stage import on_model, on_server
from tests.controller.transcripts import is_model_only, script_of, transcripts

_CHROOTS = count(1)
WITHOUT_EFFECT = {ListPartitionReassignments, ShutdownEventThread, UpdateMetadataResponseReceived}
"""Events that write nothing and tell no broker anything, whatever happens."""


def test_every_event_that_has_an_effect_has_it_in_some_transcript() -> None:
    headings = re.compile(r"^    (?:broker \d+: )?([A-Z]\w+)(?:\(.*\))?$", re.MULTILINE)
    seen = {name for transcript in transcripts() for name in headings.findall(transcript.read_text())}
    assert seen == {event.__name__ for event in get_args(ControllerEvent) if event not in WITHOUT_EFFECT}


@pytest.mark.parametrize("transcript", transcripts(), ids=lambda path: path.stem)
def test_the_controller_does_what_the_transcript_says(transcript: Path) -> None:
    text = transcript.read_text()
    said: list[str] = []
    on_model(script_of(text, said.append))
    assert said == text.splitlines()


@pytest.mark.live
@pytest.mark.parametrize("transcript", [t for t in transcripts() if not is_model_only(t)], ids=lambda path: path.stem)
def test_on_a_real_server_too(transcript: Path, server: EmbeddedZooKeeper) -> None:
    text = transcript.read_text()
    said: list[str] = []
    on_server(server.connect_string, f"/transcript-{next(_CHROOTS)}", script_of(text, said.append))
    assert said == text.splitlines()
