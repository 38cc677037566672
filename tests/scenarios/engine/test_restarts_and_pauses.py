"""Restarts, rolling restarts, pauses that end by themselves, and bounds beside a wait."""

from itertools import pairwise

import pytest

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.engine.python_api import RunResult, run
from kcsim.scenarios.language.scenario_file import load_text

HEAD = """\
name: restarts
description: Three brokers that are restarted or paused.
cluster:
  brokers: 3
  settings: {zookeeper.session.timeout.ms: 6000}
  topics:
    orders: {partitions: 3, replication-factor: 3}
timetable:
  - start: all
  - create-topic: orders
  - wait: {in-sync: all}
"""
VERSION = "inter.broker.protocol.version"
HEAD_AT_2_6 = HEAD.replace("settings: {", f"settings: {{{VERSION}: 2.6, ")
"""At which leaders write ISRs to ZooKeeper themselves."""
EXPECT = "expect:\n  - {claim: All is well., controller: any, in-sync: all, within: 30s}\n"


def result_of(steps: str, expect: str = EXPECT, head: str = HEAD) -> RunResult:
    return run(load_text(f"{head}{steps}{expect}", "restarts.yaml").scenario)


def acts(result: RunResult, *ops: str) -> list[str]:
    """Return the actions of these names, each with its target."""
    found = [event for event in result.events if event.kind in (EventKind.ADMIN_ACT, EventKind.FAULT)]
    return [f"{name} {event.target}" for event in found if (name := event.op or event.fault) in ops]


def states(result: RunResult, node: str) -> list[Event]:
    return [event for event in result.events if event.kind is EventKind.PROCESS_STATE and event.node == node]


def test_a_restart_stops_a_broker_in_order_and_starts_it_again() -> None:
    result = result_of("  - restart: controller\n    as: restarted\n")
    assert result.held, str(result)
    stopped, started = acts(result, "stop", "start")[1:]
    assert stopped.replace("stop", "start") == started
    shutdowns = [event for event in result.events if event.kind is EventKind.CONTROLLED_SHUTDOWN]
    assert shutdowns, "its leaders are moved away first"


def test_a_rolling_restart_waits_for_the_replicas_of_each_broker() -> None:
    result = result_of("  - rolling-restart: all\n", head=HEAD_AT_2_6)
    assert result.held, str(result)
    names = [name for number in (1, 2, 3) for name in (f"stop broker-{number}", f"start broker-{number}")]
    assert acts(result, "stop", "start")[1:] == names
    stops = [event.seq for event in result.events if event.kind is EventKind.ADMIN_ACT and event.op == "stop"]
    expanded = [event.seq for event in result.events if event.kind is EventKind.ISR_EXPANDED]
    assert all(any(first < seq < second for seq in expanded) for first, second in pairwise(stops))


def test_changes_of_server_properties_stay_for_later_starts() -> None:
    """A broker at 3.9 asks the controller for its ISR; one at 2.6 writes it itself."""
    change = f"    settings: {{{VERSION}: 3.9}}\n"
    steps = f"  - rolling-restart: [broker-2, broker-3]\n{change}  - restart: broker-2\n  - restart: broker-1\n"
    result = result_of(steps, head=HEAD_AT_2_6)
    assert result.held, str(result)
    starts = [event.data for event in result.events if event.kind is EventKind.ADMIN_ACT and event.op == "start"]
    changed = f'{{"{VERSION}":"3.9"}}'
    assert starts == [None, changed, changed, None, None]
    asking = {e.node for e in result.events if e.kind is EventKind.REQUEST_SENT and e.event == "AlterIsr"}
    assert asking == {"broker-2", "broker-3"}


def test_one_broker_may_have_settings_of_its_own_from_the_start() -> None:
    text = HEAD_AT_2_6.replace("brokers: 3", f"brokers: [{{id: 1}}, {{id: 2, settings: {{{VERSION}: 3.9}}}}, {{id: 3}}]")
    result = run(load_text(f"{text}  - restart: broker-1\n{EXPECT}", "restarts.yaml").scenario)
    assert result.held, str(result)
    assert {e.node for e in result.events if e.kind is EventKind.REQUEST_SENT and e.event == "AlterIsr"} == {"broker-2"}


def test_a_broker_does_not_start_with_a_protocol_version_that_its_release_does_not_know() -> None:
    text = HEAD.replace("brokers: 3", "brokers: 3\n  release: 3.0")
    steps = f"  - restart: broker-2\n    settings: {{{VERSION}: 3.4}}\n"
    result = run(load_text(f"{text}{steps}{EXPECT}", "restarts.yaml").scenario)
    assert result.verdict.failure is not None
    assert f"Kafka 3.0 does not know {VERSION} 3.4" in result.verdict.failure.reason


def test_a_new_release_brings_its_own_protocol_version_unless_that_is_set() -> None:
    text = HEAD.replace("brokers: 3", "brokers: 3\n  release: 2.8")
    result = run(load_text(f"{text}  - rolling-restart: all\n    release: 3.9\n{EXPECT}", "restarts.yaml").scenario)
    assert result.held, str(result)
    elected = [e.data for e in result.events if e.kind is EventKind.ZNODE_CREATED and e.path == "/controller"]
    assert ["kraftControllerEpoch" in (data or "") for data in elected] == [False] + [True] * (len(elected) - 1)
    assert len(elected) > 1


def test_partitions_that_were_behind_before_do_not_hold_up_a_rolling_restart() -> None:
    steps = "  - kill: broker-3\n  - wait: {under-replicated: 3, within: 30s}\n  - rolling-restart: [broker-1, broker-2]\n"
    result = result_of(steps, "expect:\n  - {under-replicated: 3, as-recorded: true, within: 60s}\n")
    assert result.held, str(result)


def test_a_rolling_restart_is_undecided_when_a_broker_is_not_in_sync_again() -> None:
    steps = "  - partition: {between: broker-2, and: [broker-1, broker-3]}\n  - rolling-restart: broker-2\n    within: 5s\n"
    result = result_of(steps)
    assert result.verdict.failure is not None
    assert "not in sync" in result.verdict.failure.reason


def test_a_pause_with_a_duration_ends_by_itself_while_the_timetable_goes_on() -> None:
    result = result_of("  - pause: broker-2\n    for: 2s\n  - wait: {paused: broker-2}\n  - wait: {running: broker-2}\n")
    assert result.held, str(result)
    paused, running = states(result, "broker-2")[-2:]
    assert (paused.state, running.state) == ("paused", "running")
    assert running.t_ms - paused.t_ms == 2_000
    assert acts(result, "resume") == ["resume broker-2"]


def test_a_pause_in_the_middle_of_a_write_lasts_from_then_on() -> None:
    steps = """\
  - pause: controller
    as: frozen
    at-write: before
    path: /brokers/topics
    for: 1s
  - delete-topic: orders
  - wait: {paused: frozen}
  - wait: {running: frozen}
"""
    result = result_of(steps, "expect:\n  - {topics: none, within: 30s}\n")
    assert result.held, str(result)
    (paused,) = [event for event in result.events if event.kind is EventKind.PROCESS_STATE and event.state == "paused"]
    running = next(e for e in result.events if e.seq > paused.seq and e.node == paused.node and e.state == "running")
    assert running.t_ms - paused.t_ms == 1_000


@pytest.mark.parametrize("between", ["resume: broker-2", "kill: broker-2"])
def test_a_pause_that_has_ended_otherwise_is_not_ended_again(between: str) -> None:
    """A later pause of the same broker lasts as long as it says."""
    steps = f"  - pause: broker-2\n    for: 3s\n  - {between}\n"
    if between.startswith("resume"):
        steps += "  - pause: broker-2\n    after: 2s\n  - wait: {paused: broker-2}\n    after: 4s\n  - resume: broker-2\n"
    else:
        steps += "  - start: broker-2\n    after: 10s\n"
    result = result_of(steps)
    assert result.held, str(result)


def test_a_stop_of_a_frozen_broker_says_what_to_do_first() -> None:
    result = result_of("  - pause: broker-2\n  - stop: broker-2\n")
    assert result.verdict.failure is not None
    assert result.verdict.failure.reason == "broker-2 is paused; resume it, or kill it"


def test_the_bound_of_a_wait_can_stand_beside_it() -> None:
    result = result_of("  - wait: {controller: none}\n    within: 3s\n")
    assert result.verdict.failure is not None
    assert "not within 3000 ms" in result.verdict.failure.reason
