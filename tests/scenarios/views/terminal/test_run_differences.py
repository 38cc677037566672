"""The comparison of two runs: what counts as a difference, where the runs diverge, and what does not count."""

from collections.abc import Sequence

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.views.terminal.alignment import divergences, first_divergence
from kcsim.scenarios.views.terminal.run_differences import RunDifferences, run_differences
from kcsim.scenarios.views.terminal.run_digest import RunDigest, ThreadEntry
from tests.scenarios.views.page.conftest import run_of

CRASH = "broker-crash-and-return"


def entries(text: str) -> list[ThreadEntry]:
    return [ThreadEntry((letter,), seq, 100 * seq) for seq, letter in enumerate(text)]


def differences(left: Sequence[Event], right: Sequence[Event]) -> RunDifferences:
    return run_differences(RunDigest.of(left), RunDigest.of(right))


def changed(kind: EventKind, place: int = 0, **fields: object) -> tuple[Event, ...]:
    """Return the run with one of its events of a kind changed."""
    events = list(run_of(CRASH))
    seq = [event.seq for event in events if event.kind is kind][place]
    events[seq] = msgspec.structs.replace(events[seq], **fields)
    return tuple(events)


# --- threads ---------------------------------------------------------------------------------------------------------------


def test_only_what_the_other_thread_does_not_have_differs() -> None:
    (one,) = divergences({"t": entries("abcde")}, {"t": entries("axcey")})
    assert ("".join(str(d.essence[0]) for d in one.left), "".join(str(d.essence[0]) for d in one.right)) == ("bd", "xy")


def test_runs_part_where_the_first_of_their_threads_does_by_time() -> None:
    left = {"late": entries("abcdX"), "early": entries("aX")}
    right = {"late": entries("abcdY"), "early": entries("aY")}
    found = first_divergence(left, right)
    assert found is not None
    assert (found.thread, found.left, found.right) == ("early", left["early"][1], right["early"][1])
    assert found.last_common == (left["early"][0], right["early"][0])
    assert [one.thread for one in divergences(left, right)] == ["early", "late"]


def test_where_one_run_does_nothing_more_the_other_is_shown_alone() -> None:
    found = first_divergence({"t": entries("ab")}, {"t": entries("abc")})
    assert found is not None
    assert (found.left, found.right) == (None, entries("abc")[2])
    alone = first_divergence({}, {"t": entries("a")})
    assert alone is not None
    assert (alone.left, alone.last_common) == (None, None)


THREADS = st.dictionaries(st.sampled_from("xyz"), st.text("abc", min_size=1).map(entries))


@given(THREADS, THREADS)
def test_taking_out_what_only_one_has_leaves_the_same_on_both_sides(
    left: dict[str, list[ThreadEntry]], right: dict[str, list[ThreadEntry]]
) -> None:
    found = divergences(left, right)
    for one in found:
        assert without(left.get(one.thread, []), one.left) == without(right.get(one.thread, []), one.right)
        assert one.left or one.right
    assert (first_divergence(left, right) is None) == (left == right) == (not found)


def without(thread: list[ThreadEntry], only: Sequence[ThreadEntry]) -> list[object]:
    return [entry.essence for entry in thread if entry not in only]


# --- runs ------------------------------------------------------------------------------------------------------------------


def test_a_run_is_the_same_as_itself() -> None:
    assert not differences(run_of(CRASH), run_of(CRASH))


def test_when_it_happens_and_under_which_numbers_does_not_count() -> None:
    """The other run has another clock, and other session ids, zxids and seqs."""
    other = [
        msgspec.structs.replace(
            event,
            seq=2 * event.seq + 5,
            cause=None if event.cause is None else 2 * event.cause + 5,
            t_ms=event.t_ms + 1000,
            zxid=None if event.zxid is None else event.zxid + 40,
            session_id=None if event.session_id is None else f"0x77{event.session_id[4:]}",
        )
        for event in run_of(CRASH)
    ]
    assert not differences(run_of(CRASH), other)


def test_another_seed_is_a_difference_of_the_settings() -> None:
    found = differences(run_of(CRASH), changed(EventKind.RUN_STARTED, seed=2))
    assert found.settings == [("seed", "1", "2")]
    assert found.first_divergence is None
    assert [found.end, found.znodes, found.verdicts] == [[], [], []]


def test_another_leader_is_found_at_its_partition() -> None:
    found = differences(run_of(CRASH), changed(EventKind.LEADER_ELECTION, -1, leader=1))
    assert found.first_divergence is not None
    assert found.first_divergence.left is not None
    partition = run_of(CRASH)[found.first_divergence.left.seq]
    assert found.first_divergence.thread == f"{partition.topic}-{partition.partition}"
    assert [one.thread for one in found.divergences] == [found.first_divergence.thread]


def test_another_end_is_reported_by_thing_and_by_znode() -> None:
    path = "/brokers/topics/orders/partitions/1/state"
    state = '{"controller_epoch":1,"leader":3,"version":1,"leader_epoch":1,"isr":[3]}'
    last = [e.seq for e in run_of(CRASH) if e.path == path and e.kind is EventKind.ZNODE_CHANGED][-1]
    events = list(run_of(CRASH))
    events[last] = msgspec.structs.replace(events[last], data=state)
    found = differences(run_of(CRASH), events)
    (thing,) = found.end
    assert thing.what == "orders-1"
    assert thing.right == "leader 3, leader epoch 1, isr 3, replicas 2,3,1, under replicated"
    assert [(one.what, one.right) for one in found.znodes] == [(path, state)]


def test_another_verdict_is_reported_by_its_claim() -> None:
    found = differences(run_of(CRASH), changed(EventKind.EXPECTATION, outcome="violated"))
    claim = next(event.rule for event in run_of(CRASH) if event.kind is EventKind.EXPECTATION)
    assert found.verdicts == [(claim, "held", "violated")]
    assert [found.divergences, found.end] == [[], []]


def test_a_chain_leads_from_the_root_to_the_event() -> None:
    digest = RunDigest.of(run_of(CRASH))
    won = next(event for event in run_of(CRASH) if event.kind is EventKind.ELECTION_WON)
    chain = [run_of(CRASH)[seq] for seq in digest.chain(won.seq)]
    assert (chain[0].kind, chain[-1], chain[-2].seq) == (EventKind.ADMIN_ACT, won, won.cause)
