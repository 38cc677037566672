"""A run that waits for those who watch it is the run that nobody watches."""

import msgspec

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.play.acts import Act
from tests.scenarios.play.watched_runs import FIRST, Watched


def test_a_run_that_was_acted_on_is_run_again_byte_for_byte() -> None:
    acts = [(4_000, "kill: controller"), (4_000, "pause: broker-9"), (20_123, "start: all"), (20_124, "heal: all")]
    watched = Watched(30_000, [Act(*act) for act in acts])
    again = Watched(30_000, planned=watched.run.done)
    assert len(watched.run.done) == len(FIRST) + 4
    assert watched.events[-1].kind is EventKind.RUN_ENDED
    assert list(map(msgspec.json.encode, again.events)) == list(map(msgspec.json.encode, watched.events))


def test_time_passes_up_to_the_limit_and_an_act_is_done_there() -> None:
    watched = Watched(4_321, [Act(4_321, "kill: broker-1")])
    ((count, next_ms),) = watched.reached
    assert max(event.t_ms for event in watched.events[:count]) <= 4_321
    (fault,) = [event for event in watched.events if event.kind is EventKind.FAULT]
    assert (fault.t_ms, fault.target) == (4_321, "broker-1")
    assert next_ms is not None
    assert next_ms > 4_321


def test_an_act_that_cannot_be_done_is_refused_and_the_run_goes_on() -> None:
    steps = ["kill: broker-9", "no step", "resume: broker-1", ": :"]
    watched = Watched(4_000, [*(Act(2_000, step) for step in steps), Act(3_000, "kill: broker-1")])
    assert [act.step for act, _ in watched.refused] == steps
    assert "broker-1 to broker-3" in watched.refused[0][1]
    assert "broker-1 is not paused" in watched.refused[2][1]
    assert [event.target for event in watched.events if event.kind is EventKind.FAULT] == ["broker-1"]


def test_a_run_can_be_ended_before_anything_has_happened() -> None:
    watched = Watched(0, planned=[Act(0, "start: all")])
    assert watched.events[-1].kind is EventKind.RUN_ENDED
    assert watched.events[-1].t_ms < 100
