"""Questions about states and absences, over runs of the library: each answer names the fault and what did not happen."""

import pytest

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.views.narration.cause_text import Sentences
from kcsim.scenarios.views.state_questions.answer import StateAnswer, answer
from kcsim.scenarios.views.state_questions.answer_text import answer_json, answer_lines, seqs_of_answer
from kcsim.scenarios.views.state_questions.question import StateQuestionError, parse_question
from tests.eventlog.synthetic_log import SyntheticLog
from tests.scenarios.views.page.conftest import run_of

WIDE = 10_000
LEDGER_STATE = "/brokers/topics/ledger/partitions/0/state"


def asked(name: str, question: str) -> StateAnswer:
    return answer(run_of(name), parse_question(question))


def printed(events: tuple[Event, ...], found: StateAnswer, width: int = WIDE) -> list[str]:
    return [*answer_lines(found, Sentences(events, seqs_of_answer(found)), width)]


@pytest.mark.parametrize(
    ("name", "question", "fault", "missing"),
    [
        ("last-isr-member-lost", "ledger-0 offline at 4.461s", "kills broker-3", "found nobody eligible"),
        (
            "last-isr-member-lost",
            "ledger-0 without leader at 4.461s",
            "kills broker-2",
            "broker-2 is not eligible: not in the ISR",
        ),
        ("last-isr-member-lost", "ledger-0 offline at 4.461s", "kills broker-3", "unclean election is disabled"),
        ("last-isr-member-lost", "broker-2 not registered at 3s", "kills broker-2", "it has not been started again"),
        (
            "last-isr-member-lost",
            "broker-3 leads ledger-0 at 3s",
            "kills broker-3",
            "its leader broker-3 is dead since #334",
        ),
        ("last-isr-member-lost", "broker-2 not leader of ledger-0", "kills broker-2", "no preferred election has been held"),
        ("leader-crash-acks-all", "orders-0 offline at 2s", "kills broker-2", "(it ends at 3.000 s (#261))"),
        ("controller-failover", "no controller at 1s", "broker-3 freezes", "broker-3, which /controller names, is frozen"),
        (
            "controller-failover",
            "no controller at 3s",
            "kills broker-5",
            "no election is held while /controller still names",
        ),
        ("zombie-controller", "broker-3 frozen at 1s", "broker-3 freezes", "it has not been resumed"),
        ("leader-cut-off-from-followers", "produce to orders-0 pending at 4s", "cuts the network", "broker-3 is in the ISR"),
        (
            "leader-cut-off-from-followers",
            "produce to orders-0 pending at 4s",
            "cuts the network",
            "replica.lag.time.max.ms",
        ),
        (
            "leader-cut-off-from-followers",
            "broker-3 not in isr of orders-0 at 5.3s",
            "cuts the network",
            "the network was disturbed: messages",
        ),
        (
            "leader-cut-off-from-followers",
            "orders-0 under-replicated at 5.3s",
            "cuts the network",
            "broker-4 has not caught up",
        ),
        (
            "min-insync-replicas-refuse",
            "produce to orders-0 pending at 3.5s",
            "kills broker-3",
            "it is 2 (the topic's setting)",
        ),
        (
            "slow-follower-leaves-and-rejoins",
            "broker-4 in isr of orders-0 at 1s",
            "slows the network",
            "has not removed broker-4",
        ),
        (
            "reassignment-controller-killed",
            "reassignment of orders-0 pending at 1s",
            "broker-1 is killed",
            "handles no event",
        ),
        (
            "session-expiry",
            "broker-2 session expired at 0.111s",
            "expire broker-2's session",
            "not registered with a new session",
        ),
        ("deletion-with-dead-broker", "topic orders not deleted at 2.244s", "kills broker-2", "it has offline replicas"),
        ("consumer-crash-range", "consumer c1 owns nothing at 5s", "kills consumer-c1", "consumer-c1 is dead"),
    ],
)
def test_an_answer_names_the_fault_and_what_did_not_happen(name: str, question: str, fault: str, missing: str) -> None:
    found = asked(name, question)
    text = "\n".join(printed(run_of(name), found))
    assert found.holds is True
    assert fault in text
    assert missing in text.partition("What has not happened:")[2]


def test_an_interval_begins_and_ends_with_the_events_that_made_it() -> None:
    found = asked("leader-crash-acks-all", "orders-0 offline at 2s")
    assert found.began is not None
    assert found.ended is not None
    assert (found.began.kind, found.began.node, found.began.state) == (EventKind.PROCESS_STATE, "broker-2", "dead")
    assert (found.ended.kind, found.ended.path) == (EventKind.ZNODE_CHANGED, "/brokers/topics/orders/partitions/0/state")


def test_a_consumer_without_a_partition_is_explained_by_its_assignment() -> None:
    found = asked("consumer-crash-range", "consumer c2 owns nothing at 3s")
    assert [step.step.text for step in found.missing] == [
        "the assignment of generation 1 of group billing gave consumer-c2 no partition;"
        " others own: consumer-c0 4, consumer-c1 4"
    ]


def test_a_state_that_is_not_so_is_answered_with_what_is() -> None:
    found = asked("leader-crash-acks-all", "orders-0 offline")
    assert (found.holds, found.missing) == (False, ())
    assert found.actual == "orders-0 is led by broker-3 (running, registered), ISR [3, 1, 2], replicas [2, 3, 1]"


def test_the_end_is_the_end_of_the_run_and_not_of_its_clean_up() -> None:
    """Clean-up stops every broker; that is no state of the run."""
    assert asked("leader-crash-acks-all", "broker-1 dead").holds is False


def test_a_frozen_broker_is_no_working_controller_although_controller_names_it() -> None:
    found = asked("zombie-controller", "no controller at 1s")
    assert (found.holds, found.actual) == (True, "/controller names broker-3 (frozen, registered)")


def test_no_line_is_wider_than_the_terminal_but_for_a_single_long_word() -> None:
    found = asked("last-isr-member-lost", "ledger-0 offline at 4.461s")
    assert all(len(line) <= 60 for line in printed(run_of("last-isr-member-lost"), found, 60))


def test_json_has_the_interval_the_causes_and_the_missing_steps() -> None:
    events = run_of("leader-crash-acks-all")
    found = asked("leader-crash-acks-all", "orders-0 offline at 2s")
    document = answer_json(found, Sentences(events, seqs_of_answer(found)))
    assert (document["holds"], document["at_ms"], document["since"]["seq"]) == (True, 2000, 257)
    assert [entry["kind"] for entry in document["because"]["chain"]] == ["Fault", "ProcessState"]
    assert document["missing"][0] == {
        "says": "its leader broker-2 is dead since #257, 1.295 s",
        "evidence": [257],
        "faults": [],
    }


# --- traces that do not say ------------------------------------------------------------------------------------------------


def imported() -> SyntheticLog:
    """Return a log as an import makes it: znodes, and nothing about processes, producers or settings."""
    log = SyntheticLog()
    log.append("scenario", EventKind.RUN_STARTED, scenario="imported")
    log.znode("/controller", '{"version":1,"brokerid":2,"timestamp":"0"}', ephemeral=True)
    log.znode("/brokers/ids/2", "{}", ephemeral=True)
    log.znode(LEDGER_STATE, '{"controller_epoch":1,"leader":2,"version":1,"leader_epoch":0,"isr":[2,3]}')
    return log


@pytest.mark.parametrize(
    "question",
    [
        "broker-2 dead",
        "broker-2 frozen",
        "broker-2 session expired",
        "no controller",
        "ledger-0 offline",
        "ledger-0 under-replicated",
        "reassignment of ledger-0 pending",
        "produce to ledger-0 pending",
    ],
)
def test_what_an_imported_trace_does_not_have_is_not_guessed(question: str) -> None:
    events = tuple(imported().events)
    found = answer(events, parse_question(question))
    assert found.holds is None
    assert printed(events, found)[0].endswith(": the trace does not say.")


def test_what_an_imported_trace_has_is_answered() -> None:
    log = imported()
    log.changed(
        LEDGER_STATE, '{"controller_epoch":1,"leader":2,"version":1,"leader_epoch":0,"isr":[2]}', zxid=5, zk_version=1
    )
    assert answer(log.events, parse_question("broker-3 not in isr of ledger-0")).holds is True
    assert answer(log.events, parse_question("broker-2 not registered")).holds is False


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("ledgre-0 offline", "the trace has no partition ledgre-0; did you mean ledger-0?"),
        ("broker-7 dead", "the trace has no broker broker-7; did you mean broker-"),
        ("consumer c9 owns nothing", "the trace has no consumer consumer-c9"),
        ("ledger-0 offline at 99s", "the run has no 99s: it ends with #3, 0.300 s"),
    ],
)
def test_a_subject_or_time_that_the_trace_does_not_have_is_an_error(question: str, message: str) -> None:
    with pytest.raises(StateQuestionError, match=message.replace("?", r"\?")):
        answer(imported().events, parse_question(question))
