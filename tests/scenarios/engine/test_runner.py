"""A timetable is executed as written, at its times and on its targets; a failed step leaves the run undecided."""

from pathlib import Path

import pytest

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.engine.expectations.verdict import Verdict
from kcsim.scenarios.engine.runner import cluster_spec, run_scenario
from kcsim.scenarios.language.scenario_file import load_scenario
from tests.scenarios.scenario_files import written

HEAD = """\
name: try-it
description: For a test.
cluster:
  brokers: [{id: 1, rack: a}, {id: 2}, {id: 5}]
  settings: {zookeeper.session.timeout.ms: 2000}
zookeeper: {members: 3, tick-time: 100ms}
timetable:
  - start: all
  - wait: {event: {kind: ControllerFailover, step: Starting the controller scheduler}}
"""
TAIL = """\
expect:
  - registered: all
"""


def run(directory: Path, steps: str, tail: str = TAIL) -> tuple[Verdict, EventLog]:
    """Run a scenario whose cluster is up and whose line 10 is the first of `steps`, in virtual time."""
    loaded = load_scenario(written(directory, HEAD + steps + tail))
    verdicts = []

    async def script(cluster: Cluster) -> None:
        verdicts.append(await run_scenario(loaded, cluster))

    choice = ZooKeeperChoice(ZooKeeperKind.SIMULATED, members=3)
    log = run_in_environment(choice, cluster_spec(loaded.scenario), RunInfo("try-it", 1, "simulated"), script)
    return verdicts[0], log


def acts(log: EventLog) -> list[Event]:
    """Return the faults and admin acts after the start."""
    return [event for event in log.events if event.kind in (EventKind.FAULT, EventKind.ADMIN_ACT)][1:]


def failure(verdict: Verdict) -> str:
    assert verdict.failure is not None
    return f"{verdict.failure.line}: {verdict.failure.step}: {verdict.failure.reason}"


def test_every_verb_does_what_it_says(tmp_path: Path) -> None:
    steps = """\
  - stop: broker-1
  - start: broker-1
  - kill: broker-2
  - wait: {dead: broker-2, unregistered: broker-2}
  - start: broker-2
  - pause: broker-5
  - wait: {paused: broker-5}
  - resume: broker-5
  - expire: broker-1
  - wait: {session-expired: broker-1, re-registered: broker-1}
  - disconnect: broker-1
    for: 200ms
  - wait: {event: {kind: AdminAct, op: reconnect}}
  - disconnect: broker-2
  - reconnect: broker-2
  - wait: {events: {of: {kind: SessionState, state: connected}, at-least: 8}}
  - zookeeper: {kill: follower}
    as: lost
  - zookeeper: {start: lost}
  - zookeeper: {pause: lost}
  - zookeeper: {resume: lost}
  - wait: {registered: all}
  - zk-create: {path: /here, data: {a: [1]}}
  - zk-set: {path: /here, data: text}
  - wait: {znode: {path: /here, data: text}}
  - zk-delete: /here
  - wait: {znode: {path: /here, exists: false}}
"""
    verdict, log = run(tmp_path, steps)
    assert (str(verdict.failure or ""), verdict.exit_status) == ("", 0)
    done = [f"{event.fault or event.op} {event.target or event.path}" for event in acts(log)]
    lost = next(event.target for event in acts(log) if (event.target or "").startswith("member-"))
    assert done == [
        *("stop broker-1", "start broker-1", "kill broker-2", "start broker-2", "pause broker-5", "resume broker-5"),
        *("expire broker-1", "disconnect broker-1", "reconnect broker-1", "disconnect broker-2", "reconnect broker-2"),
        *(f"kill {lost}", f"start {lost}", f"pause {lost}", f"resume {lost}"),
        *("create /here", "set /here", "delete /here"),
    ]
    assert '{"a":[1]}' in [event.data for event in log.events if event.path == "/here"]


def test_brokers_are_those_of_the_file(tmp_path: Path) -> None:
    loaded = load_scenario(written(tmp_path, HEAD + TAIL))
    spec = cluster_spec(loaded.scenario)
    assert [(broker.broker_id, broker.rack) for broker in spec.brokers] == [(1, "a"), (2, None), (5, None)]
    assert (dict(spec.settings), spec.tick_time_ms) == ({"zookeeper.session.timeout.ms": 2000}, 100)


def test_racks_are_given_in_turn(tmp_path: Path) -> None:
    text = HEAD.replace("[{id: 1, rack: a}, {id: 2}, {id: 5}]", "4\n  racks: 3") + TAIL
    spec = cluster_spec(load_scenario(written(tmp_path, text)).scenario)
    assert [broker.rack for broker in spec.brokers] == ["rack-1", "rack-2", "rack-3", "rack-1"]


def test_steps_are_done_when_they_are_due(tmp_path: Path) -> None:
    """`at` counts from the beginning of the timetable, `after` from the end of the step before; late steps run at once."""
    steps = """\
  - zk-create: {path: /a}
    at: 2s
  - zk-create: {path: /b}
    after: 500ms
  - zk-create: {path: /c}
    at: 1s
"""
    _, log = run(tmp_path, steps)
    began = next(event.t_ms for event in log.events if event.kind is EventKind.ADMIN_ACT)
    a, b, c = (event.t_ms - began for event in acts(log))
    assert a == 2_000
    assert 2_500 <= b < 2_520  # including the time to create /a
    assert b <= c < b + 20


def test_a_name_stays_with_the_broker_it_was_given_to(tmp_path: Path) -> None:
    """`controller` is the broker that has the role when the step begins; `as` gives that broker a name."""
    steps = """\
  - kill: controller
    as: first
  - wait: {controller: not first, event: {kind: ElectionWon, controller-epoch: 2}}
  - kill: controller
    as: second
"""
    verdict, log = run(tmp_path, steps, "expect:\n  - dead: [first, second]\n  - {running: controller, within: 10s}\n")
    first, second = (event.target for event in acts(log))
    winners = [event.node for event in log.events if event.kind is EventKind.ELECTION_WON]
    assert winners[:2] == [first, second]
    assert first != second
    assert [judged.outcome.value for judged in verdict.results] == ["held", "held"]


def test_an_expectation_may_come_true_a_little_later(tmp_path: Path) -> None:
    """/controller still names the dead broker when the timetable ends; its session expires within two seconds."""
    steps = "  - kill: controller\n    as: first\n"
    verdict, _ = run(tmp_path, steps, "expect:\n  - {controller: not first, within: 10s}\n")
    assert verdict.exit_status == 0
    verdict, _ = run(tmp_path, steps, "expect:\n  - {controller: not first, within: 1s}\n")
    assert verdict.exit_status == 1


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ("  - start: broker-1\n", "10: start: broker-1 runs already"),
        (
            "  - kill: broker-1\n  - start: broker-1\n",
            "11: start: broker-1 does not start: NODEEXISTS for /brokers/ids/1: another broker has this id, or",
        ),
        ("  - resume: broker-1\n", "10: resume: broker-1 is not paused"),
        ("  - kill: broker-1\n  - kill: broker-1\n", "11: kill: broker-1 is not running"),
        ("  - zk-delete: /nothing\n", "10: zk-delete: delete /nothing: NONODE"),
        ("  - wait: {controller-epoch: 9, within: 1ms}\n", "10: wait: not within 1 ms: the controller epoch is 1"),
        ("  - zookeeper: {kill: leader}\n    as: x\n  - zookeeper: {kill: x}\n", "12: zookeeper: "),
        (
            "  - kill: all\n  - wait: {controller: none}\n  - pause: controller\n",
            "12: pause: no broker is the controller",
        ),
        (
            "  - kill: broker-1\n    at-write: after\n    path: /no\n",
            "10: kill: had no effect: broker-1 came to no such write",
        ),
    ],
)
def test_a_step_that_cannot_be_done_leaves_everything_undecided(tmp_path: Path, steps: str, message: str) -> None:
    verdict, _ = run(tmp_path, steps)
    assert failure(verdict).startswith(message)
    assert {judged.outcome.value for judged in verdict.results} == {"undecided"}
    assert verdict.exit_status == 2


def test_every_judgement_is_in_the_log_with_what_decided_it(tmp_path: Path) -> None:
    verdict, log = run(
        tmp_path, "", "expect:\n  - {claim: Somebody wins., event: {kind: ElectionWon}}\n  - controller: none\n"
    )
    held, violated = (event for event in log.events if event.kind is EventKind.EXPECTATION)
    assert (held.outcome, held.rule, violated.outcome) == ("held", "Somebody wins.", "violated")
    assert held.cause == verdict.results[0].evidence[-1].seq
    assert violated.detail is not None
    assert violated.detail.endswith("is the controller")


# --- steps with a condition, and repeated steps ----------------------------------------------------------------------------


def test_a_step_with_when_is_done_as_soon_as_that_is_true_and_the_timetable_goes_on(tmp_path: Path) -> None:
    steps = """\
  - start: broker-2
    when: {unregistered: broker-2, within: 20s}
  - zk-create: {path: /meanwhile}
  - kill: broker-2
"""
    verdict, log = run(tmp_path, steps)
    assert (str(verdict.failure or ""), verdict.exit_status) == ("", 0)
    assert [f"{e.fault or e.op} {e.target or e.path}" for e in acts(log)] == [
        "create /meanwhile",
        "kill broker-2",
        "start broker-2",
    ]
    gone = next(e for e in log.events if e.kind is EventKind.ZNODE_DELETED and e.path == "/brokers/ids/2")
    assert acts(log)[-1].t_ms == gone.t_ms


def test_the_timetable_is_not_done_before_such_a_step_is(tmp_path: Path) -> None:
    steps = """\
  - zk-create: {path: /late}
    when: {controller-epoch: 2, within: 20s}
  - kill: controller
"""
    verdict, _ = run(tmp_path, steps, "expect:\n  - znode: {path: /late}\n")
    assert verdict.exit_status == 0


WHEN = "  - zk-create: {path: /never}\n    when: {controller: none, within: 3s}\n"


def test_what_never_becomes_true_leaves_all_undecided_unless_it_need_not(tmp_path: Path) -> None:
    verdict, log = run(tmp_path, WHEN)
    message = "10: zk-create: what it waits for has not come true: not within 3000 ms: "
    assert failure(verdict).startswith(message)
    assert verdict.exit_status == 2
    verdict, log = run(tmp_path, WHEN + "    if-possible: true\n")
    assert verdict.exit_status == 0
    assert [event.op for event in log.events if event.kind is EventKind.STEP_SKIPPED] == ["zk-create"]
    assert [event.seq for event in log.events if event.path == "/never"] == []


def test_a_step_that_waits_and_then_cannot_be_done_ends_the_timetable(tmp_path: Path) -> None:
    steps = """\
  - resume: broker-1
    when: {registered: all}
  - wait: {controller: none, within: 1ms}
    after: 1s
"""
    verdict, _ = run(tmp_path, steps)
    assert failure(verdict) == "10: resume: broker-1 is not paused"


def test_a_step_is_done_as_often_as_it_says(tmp_path: Path) -> None:
    steps = """\
  - zk-create: {path: /again-, sequential: true}
    times: 3
    every: 2s
  - zk-create: {path: /then}
"""
    verdict, log = run(tmp_path, steps, "expect:\n  - events: {of: {kind: AdminAct, op: create}, exactly: 4}\n")
    assert verdict.exit_status == 0
    first, second, third, then = (event.t_ms for event in acts(log))
    assert (second - first, third - first) == (2_000, 4_000)
    assert third <= then < third + 20


def test_an_expectation_can_be_about_a_moment_of_the_run(tmp_path: Path) -> None:
    """The dead broker's session lasts two seconds; then its registration is gone, and then the broker is started again."""
    steps = """\
  - kill: broker-5
    at: 1s
  - start: broker-5
    at: 6s
"""
    tail = """\
expect:
  - {registered: broker-5, dead: broker-5, as-recorded: true, at: 2s}
  - {unregistered: broker-5, at: 5s}
  - {unregistered: broker-5, at: 2s, within: 2s}
  - {registered: broker-5}
  - {registered: broker-5, at: 5s}
  - {running: broker-5, at: 20s}
"""
    verdict, log = run(tmp_path, steps, tail)
    held = [judged.outcome.value for judged in verdict.results]
    assert held == ["held", "held", "held", "held", "violated", "held"]
    began = acts(log)[0].t_ms - 1_000
    assert log.events[-1].t_ms == began + 20_000
