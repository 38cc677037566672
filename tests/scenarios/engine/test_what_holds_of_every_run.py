"""Every run is checked against the invariants, whatever its scenario expects; afterwards it is repaired and must recover."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.brokers.invariants import INVARIANTS
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.engine.expectations.verdict import Verdict, summary
from kcsim.scenarios.engine.runner import ALL_COME_BACK, cluster_spec, run_scenario
from kcsim.scenarios.language.invariant_types import INVARIANT_NAMES
from kcsim.scenarios.language.scenario_file import load_scenario
from tests.scenarios.scenario_files import written

HEAD = """\
name: try-it
description: For a test.
cluster:
  brokers: 3
  settings: {zookeeper.session.timeout.ms: 2000}
  topics: {orders: {assignment: {0: [1, 2, 3]}, config: {min.insync.replicas: 2}}}
zookeeper: {members: 3, tick-time: 100ms}
workload: {producers: {writer: {topics: orders, rate: 20, settings: {acks: all, request.timeout.ms: 2000}}}}
timetable:
  - start: all
  - wait: {event: {kind: ControllerFailover, step: Ready to serve as the new controller}}
  - create-topic: orders
  - wait: {in-sync: all}
"""
FIRST_LINE = 14


def run(directory: Path, steps: str, tail: str = "") -> tuple[Verdict, EventLog]:
    """Run a scenario whose cluster is up and has a topic; FIRST_LINE is that of the first of `steps`."""
    loaded = load_scenario(written(directory, HEAD + steps + tail))
    verdicts = []

    async def script(cluster: Cluster) -> None:
        verdicts.append(await run_scenario(loaded, cluster))

    log = run_in_environment(
        ZooKeeperChoice(ZooKeeperKind.SIMULATED, members=3),
        cluster_spec(loaded.scenario),
        RunInfo("try-it", 1, "simulated"),
        script,
    )
    return verdicts[0], log


def violated(verdict: Verdict) -> list[str | None]:
    return [judged.invariant for judged in verdict.results if judged.outcome.value == "violated"]


def skipped(log: EventLog) -> list[str]:
    return [f"{event.op}: {event.detail}" for event in log.events if event.kind is EventKind.STEP_SKIPPED]


def done(events: Sequence[Event]) -> list[str]:
    """Return the admin acts and faults, in order."""
    acts = (event for event in events if event.kind in (EventKind.FAULT, EventKind.ADMIN_ACT))
    return [f"{event.fault or event.op} {event.target}" for event in acts]


# --- invariants ------------------------------------------------------------------------------------------------------------

GAP = "  - zk-set: {path: /controller_epoch, data: '7'}\n"
"""A step that no controller would perform: the epoch jumps."""


def test_a_violated_invariant_is_part_of_the_verdict_with_the_event_that_broke_it(tmp_path: Path) -> None:
    verdict, log = run(tmp_path, GAP, "expect:\n  - registered: all\n")
    (held, broken) = verdict.results
    assert (held.outcome.value, held.invariant) == ("held", None)
    assert (broken.outcome.value, broken.invariant) == ("violated", "controller-epochs-have-no-gap")
    assert broken.claim == next(i.claim for i in INVARIANTS if i.name == broken.invariant)
    assert [(event.path, event.data) for event in broken.evidence] == [("/controller_epoch", "7")]
    assert verdict.exit_status == 1
    assert summary(verdict) == "1 invariant violated: controller-epochs-have-no-gap; the expectation held"
    expectation = [event for event in log.events if event.kind is EventKind.EXPECTATION][-1]
    assert (expectation.rule, expectation.outcome, expectation.cause) == (broken.claim, "violated", broken.evidence[0].seq)


def test_what_was_broken_stays_broken_when_a_later_step_cannot_be_done(tmp_path: Path) -> None:
    verdict, _ = run(tmp_path, GAP + "  - start: broker-1\n", "expect:\n  - registered: all\n")
    assert verdict.failure is not None
    assert [judged.outcome.value for judged in verdict.results] == ["undecided", "violated"]
    assert verdict.exit_status == 1
    assert summary(verdict).startswith("1 invariant violated: controller-epochs-have-no-gap; undecided: ")


@pytest.mark.parametrize(
    ("invariants", "held_to"),
    [
        ("", INVARIANT_NAMES),
        ("invariants: all\n", INVARIANT_NAMES),
        ("invariants: none\n", ()),
        ("invariants: epochs-never-go-back\n", ("epochs-never-go-back",)),
        (
            "invariants: [there-is-one-controller, epochs-never-go-back]\n",
            ("epochs-never-go-back", "there-is-one-controller"),
        ),
        (
            "invariants: {except: [controller-epochs-have-no-gap]}\n",
            tuple(name for name in INVARIANT_NAMES if name != "controller-epochs-have-no-gap"),
        ),
    ],
)
def test_a_scenario_says_to_what_it_is_held(tmp_path: Path, invariants: str, held_to: tuple[str, ...]) -> None:
    verdict, _ = run(tmp_path, GAP, invariants + "expect:\n  - registered: all\n")
    assert verdict.invariants == held_to
    is_broken = "controller-epochs-have-no-gap" in held_to
    assert violated(verdict) == (["controller-epochs-have-no-gap"] if is_broken else [])


def test_a_scenario_can_expect_nothing_but_invariants(tmp_path: Path) -> None:
    verdict, _ = run(tmp_path, "  - kill: broker-1\n")
    assert (verdict.results, verdict.exit_status) == ((), 0)
    assert summary(verdict) == f"all {len(INVARIANT_NAMES)} invariants held"


# --- if possible -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "messages"),
    [
        (
            "  - start: all\n    if-possible: true\n",
            ["start: broker-1 runs already, broker-2 runs already, broker-3 runs already"],
        ),
        ("  - resume: broker-1\n    if-possible: true\n", ["resume: broker-1 is not paused"]),
        ("  - create-topic: orders\n    if-possible: true\n", ["create-topic: "]),
        ("  - zk-delete: /nothing\n    if-possible: true\n", ["zk-delete: delete /nothing: NONODE"]),
        ("  - zookeeper: {start: leader}\n    if-possible: true\n", ["zookeeper: "]),
        ("  - wait: {controller: none, within: 10ms}\n    if-possible: true\n", ["wait: not within 10 ms: broker-"]),
        ("  - heal: all\n    if-possible: true\n", ["heal: heal has no effect: nothing is wrong"]),
        ("  - stop-workload: writer\n    if-possible: true\n", ["stop-workload: producer writer was not started"]),
        (
            "  - kill: broker-1\n    at-write: after\n    path: /no\n    if-possible: true\n",
            ["kill: had no effect: broker-1 came to no such write before the timetable was done"],
        ),
    ],
)
def test_what_cannot_be_done_is_passed_over_if_that_will_do(tmp_path: Path, steps: str, messages: list[str]) -> None:
    verdict, log = run(tmp_path, steps)
    assert verdict.failure is None
    found = skipped(log)
    assert [line[: len(start)] for line, start in zip(found, messages, strict=True)] == messages


def test_it_is_done_to_the_brokers_for_which_it_is_possible(tmp_path: Path) -> None:
    steps = """\
  - kill: broker-2
  - kill: [broker-1, broker-2, broker-3]
    if-possible: true
  - wait: {unregistered: all}
  - start: broker-1
  - start: all
    if-possible: true
"""
    verdict, log = run(tmp_path, steps, "expect:\n  - running: all\n")
    assert verdict.exit_status == 0
    assert skipped(log) == ["kill: broker-2 is not running", "start: broker-1 runs already"]
    assert done(log.events)[2:] == [
        *("kill broker-2", "kill broker-1", "kill broker-3"),
        *("start broker-1", "start broker-2, broker-3"),
    ]


# --- afterwards ------------------------------------------------------------------------------------------------------------

TROUBLE = """\
  - start-workload: writer
  - zookeeper: {kill: member-1}
  - zookeeper: {pause: member-2}
    if-possible: true
  - zookeeper: {resume: member-2}
  - partition: {between: broker-1, and: [broker-2, broker-3]}
  - slow-follower: broker-3
    rate: 1
  - pause: broker-2
  - disconnect: broker-3
  - kill: broker-1
    after: 3s
  - kill: broker-3
    at-write: before
    path: /nowhere
    if-possible: true
"""


def test_afterwards_every_fault_is_undone_and_all_recovers(tmp_path: Path) -> None:
    tail = """\
afterwards: {heal: true}
expect:
  - {running: all, registered: all, in-sync: all, lost: 0, incomplete: 0, unacknowledged: '<= 40'}
"""
    verdict, log = run(tmp_path, TROUBLE, tail)
    assert [judged.observed for judged in verdict.results if judged.outcome.value != "held"] == []
    undone = done(log.events)[-7:]
    assert undone == [
        "start member-1",
        "heal None",
        "slow-follower broker-3",
        "resume broker-2",
        "reconnect broker-3",
        "start broker-1",
        "stop-workload producer-writer",
    ]


LOST = {
    "the whole ensemble": (
        "  - zookeeper: {kill: [member-1, member-2, member-3]}\n",
        ["start member-1", "start member-2", "start member-3"],
    ),
    "a log directory": (
        "  - wait: {event: {kind: BecameFollower, node: broker-2}}\n  - fail-log-dir: broker-2\n    partitions: orders-0\n",
        ["stop broker-2", "start broker-2"],
    ),
    "a broker in order": ("  - stop: broker-3\n", ["start broker-3"]),
    "everybody": ("  - kill: all\n", ["start broker-1, broker-2, broker-3"]),
    "nothing": ("  - wait: {controller: any}\n", []),
}


@pytest.mark.parametrize("lost", LOST)
def test_whatever_is_lost_comes_back(tmp_path: Path, lost: str) -> None:
    steps, undone = LOST[lost]
    tail = "afterwards: {}\nexpect:\n  - {running: all, registered: all, in-sync: all, controller: any}\n"
    verdict, log = run(tmp_path, steps, tail)
    assert [judged.observed for judged in verdict.results if judged.outcome.value != "held"] == []
    assert done(log.events)[len(done(log.events)) - len(undone) :] == undone


def test_a_fault_that_is_still_armed_is_triggered_no_more(tmp_path: Path) -> None:
    """Starting the dead broker makes the controller write; the controller, armed to die at a write, survives."""
    steps = """\
  - kill: follower-of orders-0
  - wait: {event: {kind: SessionClosed, error: SESSIONEXPIRED}}
  - wait: {isr: {orders-0: [1, 3]}, within: 1s}
    if-possible: true
  - kill: controller
    at-write: before
    if-possible: true
"""
    verdict, log = run(tmp_path, steps, "afterwards: {}\nexpect:\n  - running: all\n")
    assert verdict.exit_status == 0
    assert [line.partition(":")[0] for line in skipped(log)][-1] == "kill"


def test_without_it_nothing_is_undone_and_nothing_judged_that_needs_rest(tmp_path: Path) -> None:
    verdict, log = run(tmp_path, TROUBLE)
    assert (violated(verdict), verdict.exit_status) == ([], 0)
    assert done(log.events)[-1] == "kill broker-3"


def test_a_cluster_that_does_not_recover_in_time_is_reported(tmp_path: Path) -> None:
    """The dead broker's session lasts two more seconds, and its partition has to wait for that."""
    verdict, _ = run(tmp_path, "  - kill: broker-2\n", "afterwards: {within: 1s}\n")
    assert verdict.results[0].claim == ALL_COME_BACK
    assert verdict.results[0].observed.startswith("broker-2 cannot be started")
    assert verdict.exit_status == 1


def test_what_a_scenario_leaves_undone_is_found_afterwards(tmp_path: Path) -> None:
    """No process cleans up a znode that was written by hand."""
    steps = "  - zk-create: {path: /config/topics/ghost, data: {version: 1, config: {}}}\n"
    verdict, _ = run(tmp_path, steps, "afterwards: {}\n")
    assert violated(verdict) == ["no-znode-of-a-topic-is-orphaned"]


STRANGER = "  - zk-set: {path: /controller, data: {version: 1, brokerid: 9, timestamp: '0'}}\n"
"""/controller names a broker that does not exist, so there is no controller."""


def test_a_run_that_ends_quiet_is_judged_so_though_nothing_was_undone(tmp_path: Path) -> None:
    late = "  - wait: {controller: none, within: 20s}\n    if-possible: true\n"
    verdict, _ = run(tmp_path, STRANGER)
    assert violated(verdict) == []
    verdict, _ = run(tmp_path, STRANGER + late)
    assert violated(verdict) == ["there-is-one-controller"]


def test_a_link_with_a_fault_keeps_a_run_from_being_quiet(tmp_path: Path) -> None:
    """Whatever waits for a message over it has to continue later."""
    link = "  - slow-link: {from: broker-3, to: broker-2, delay: 100ms}\n"
    steps = "  - wait: {controller: none, within: 20s}\n    if-possible: true\n"
    verdict, _ = run(tmp_path, STRANGER + link + steps)
    assert violated(verdict) == []


def test_a_paused_broker_keeps_a_run_from_being_quiet(tmp_path: Path) -> None:
    steps = "  - pause: broker-2\n  - wait: {controller: none, within: 20s}\n    if-possible: true\n"
    verdict, _ = run(tmp_path, STRANGER + steps)
    assert violated(verdict) == []
