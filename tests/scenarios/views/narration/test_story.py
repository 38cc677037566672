"""The story of a run in three sentences."""

import pytest

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.language.library import library_names
from kcsim.scenarios.views.narration.story import story_of
from tests.eventlog.synthetic_log import SyntheticLog
from tests.scenarios.views.narration.written_stories import written_stories
from tests.scenarios.views.page.conftest import run_of
from tests.tiers import chosen, tiered

WRITTEN = written_stories()


def event_at(name: str, seq: int) -> Event:
    return run_of(name)[seq]


@pytest.mark.parametrize(
    "name", chosen(WRITTEN, fast=["controller-failover", "zombie-deletes-topic", "rolling-restart", "consumer-crash-range"])
)
def test_the_story_of_a_library_run_is_the_one_that_a_person_has_read(name: str) -> None:
    assert [*story_of(run_of(name)).sentences] == WRITTEN[name]


@pytest.mark.parametrize("name", tiered(library_names(), fast=16))
def test_every_run_of_the_library_has_three_sentences(name: str) -> None:
    sentences = story_of(run_of(name)).sentences
    assert len(sentences) == 3
    assert all(sentence.endswith(".") and ".." not in sentence for sentence in sentences)


def test_it_opens_at_the_first_effect_of_a_fault() -> None:
    """An armed fault has no effect before the write that triggers it."""
    opening = event_at("controller-failover", story_of(run_of("controller-failover")).opens_at)
    assert (opening.kind, opening.node, opening.state) == (EventKind.PROCESS_STATE, "broker-3", "paused")


def test_without_a_fault_it_opens_at_the_first_election() -> None:
    opening = event_at("controller-race", story_of(run_of("controller-race")).opens_at)
    assert opening.kind is EventKind.ELECTION_WON


def test_writes_that_an_old_controller_got_through_are_named() -> None:
    """Without the fence, a write of a former controller is applied: this must not be reported as harmless."""
    log = SyntheticLog()
    log.append("scenario", EventKind.PROTECTION_OFF, rule="controller-epoch-fence")
    for broker, epoch in ((1, 1), (2, 2)):
        log.znode("/controller", f'{{"version":1,"brokerid":{broker},"timestamp":"0"}}', ephemeral=True)
        log.append(f"broker-{broker}", EventKind.ELECTION_WON, controller_id=broker, controller_epoch=epoch)
        log.append(f"broker-{broker}", EventKind.CONTROLLER_FAILOVER, step="Ready to serve as the new controller")
        if broker == 1:
            log.append("broker-1", EventKind.PROCESS_STATE, state="paused")
            log.gone("/controller")
    log.append("broker-1", EventKind.PROCESS_STATE, state="running")
    write = log.append("broker-1", EventKind.ZK_WRITE, path="/brokers/topics/orders", op="delete", count=1)
    log.append("broker-1", EventKind.ZK_WRITE_APPLIED, write, path="/brokers/topics/orders", op="delete", outcome="applied")
    assert "the write of the old controller broker-1 was applied" in story_of(log.events).sentences[2]


def test_a_run_that_has_just_begun_has_a_story() -> None:
    log = SyntheticLog()
    log.append("scenario", EventKind.RUN_STARTED, scenario="try-it")
    assert story_of(log.events).sentences[0] == "No broker lost its registration."
    assert story_of([]).opens_at == 0


def test_a_log_without_processes_is_described_by_registrations_and_elections() -> None:
    """An import of ZooKeeper's log knows neither who was killed nor when a controller had completed its failover."""
    log = SyntheticLog()
    for broker in (1, 2):
        log.znode(f"/brokers/ids/{broker}")
    for epoch in (1, 2):
        log.append(f"broker-{epoch}", EventKind.ELECTION_WON, controller_id=epoch, controller_epoch=epoch)
    log.gone("/brokers/ids/1")
    log.znode("/brokers/ids/1")
    assert story_of(log.events).sentences[:2] == (
        "broker-1 lost its registration at 0.40 s for 100 ms.",
        "2 elections were won, the last by broker-2 with epoch 2; there were no partitions.",
    )


def test_a_fault_that_was_armed_and_never_triggered_is_not_denied() -> None:
    log = SyntheticLog()
    log.append("broker-1", EventKind.PROCESS_STATE, state="running")
    log.append("scenario", EventKind.FAULT, fault="kill", target="broker-1", breakpoint="before")
    assert story_of(log.events).sentences[0] == "No fault took effect: 1 broker started."


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        (1, "Messages from broker-1 to broker-2 were cut at 0.00 s for 100 ms."),
        (2, "Messages from broker-1 to broker-2 were cut at 0.00 s; messages from broker-1 to broker-2 were cut at 0.10 s."),
    ],
)
def test_how_long_a_link_was_cut_is_stated_only_if_it_is_known(faults: int, words: str) -> None:
    """Of several network faults, the event of a heal does not say which it ends."""
    log = SyntheticLog()
    for _ in range(faults):
        log.append("scenario", EventKind.FAULT, fault="partition", sources=["broker-1"], targets=["broker-2"])
    log.append("scenario", EventKind.ADMIN_ACT, op="heal")
    assert story_of(log.events).sentences[0] == words


def test_what_follows_the_end_of_a_run_is_not_part_of_its_story() -> None:
    """The clean-up after the end kills every broker."""
    log = SyntheticLog()
    log.append("broker-1", EventKind.PROCESS_STATE, state="running")
    log.append("scenario", EventKind.RUN_ENDED)
    log.append("broker-1", EventKind.PROCESS_STATE, state="dead")
    assert story_of(log.events).sentences[0] == "No fault was injected: 1 broker started."
