"""The controller's queues and senders. Source: docs/kafka/requests.md 3 (ControllerChannelManager, RequestSendThread)."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from msgspec import structs

from kcsim.controller.channels.channel_manager import ControllerChannelManager
from kcsim.controller.config import ControllerConfig
from kcsim.controller.requests import (
    ErrorCode,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StateChangeResponse,
    StopReplicaRequest,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import Event, EventKind
from kcsim.runtime.simulated import DeadlockError, SimulatedRuntime
from kcsim.vocabulary import BrokerEpoch, BrokerId, ControllerEpoch, ReplicaAssignment, TopicPartition
from tests.controller.scripted_brokers import Does, ScriptedBrokers
from tests.controller.synthetic_cluster import ORDERS, ids, registered, state

B1, B2, B3 = ids(1, 2, 3)
AT_1, AT_2, AT_3 = 9093, 9094, 9095  # where `registered` says that they listen
REPLICA = LeaderAndIsrPartitionState(state(1, 1, 2), ReplicaAssignment(ids(1, 2)), is_new=False)
LAI = LeaderAndIsrRequest(B1, ControllerEpoch(5), BrokerEpoch(102), {ORDERS: REPLICA}, ())
UM = UpdateMetadataRequest(B1, ControllerEpoch(5), BrokerEpoch(102), {}, ())
SR = StopReplicaRequest(B1, ControllerEpoch(5), BrokerEpoch(102), {})
HOUR_MS = 3_600_000


class Bench:
    """A channel manager in front of scripted brokers."""

    def __init__(self, config: ControllerConfig | None = None) -> None:
        self.runtime = SimulatedRuntime()
        self.log = EventLog(self.runtime.now_ms)
        self.brokers = ScriptedBrokers(self.runtime)
        sink = self.log.sink("broker-1")
        self.manager = ControllerChannelManager(self.runtime, self.brokers, sink, config or ControllerConfig())
        self.root = self.log.append("broker-1", EventKind.CONTROLLER_EVENT_BEGUN, None, {"event": "BrokerChange"})
        self.answers: list[tuple[StateChangeResponse, int]] = []

    def play(self, *acts: Callable[[], Awaitable[None] | None]) -> None:
        """Carry out these actions in order, and wait an hour after the last."""

        async def script() -> None:
            for act in acts:
                if (doing := act()) is not None:
                    await doing
            await self.runtime.sleep_ms(HOUR_MS)

        self.runtime.run(script())

    def start(self, *brokers: BrokerId) -> None:
        self.manager.startup([registered(broker) for broker in brokers], self.root)

    def send(self, broker: BrokerId, *requests: LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest) -> None:
        for request in requests:
            self.manager.send_request(broker, request, self._heard, self.root)

    def _heard(self, response: StateChangeResponse, seq: int) -> None:
        self.answers.append((response, seq))

    def events(self, kind: EventKind) -> list[Event]:
        return [event for event in self.log.events if event.kind is kind]

    def event(self, kind: EventKind) -> Event:
        (event,) = self.events(kind)
        return event


# --- order of requests


def test_a_broker_gets_its_requests_in_order_and_one_at_a_time() -> None:
    bench = Bench()
    bench.brokers.script(AT_2, to_request=(50, 50, 50))
    bench.play(lambda: bench.start(B2), lambda: bench.send(B2, LAI, UM, SR))
    assert bench.brokers.journal == [
        (0, AT_2, "connect"),
        (0, AT_2, "LeaderAndIsr"),
        (50, AT_2, "UpdateMetadata"),
        (100, AT_2, "StopReplica"),
    ]


def test_a_request_is_passed_on_as_it_is_not_as_a_copy() -> None:
    """With a hundred thousand partitions, a copy per broker would dominate the memory."""
    bench = Bench()
    bench.play(lambda: bench.start(B2), lambda: bench.send(B2, LAI))
    assert bench.brokers.got[AT_2][0] is LAI


def test_nothing_is_connected_before_there_is_something_to_send() -> None:
    bench = Bench()
    bench.play(lambda: bench.start(B1, B2, B3), lambda: bench.send(B3, UM))
    assert bench.brokers.journal == [(0, AT_3, "connect"), (0, AT_3, "UpdateMetadata")]


def test_a_broker_that_keeps_silent_blocks_its_own_queue_only() -> None:
    bench = Bench()
    bench.brokers.script(AT_2, to_request=(Does.KEEPS_SILENT,) * 1000)
    bench.play(
        lambda: bench.start(B2, B3),
        lambda: bench.send(B2, LAI, UM),
        lambda: bench.send(B3, LAI, UM),
    )
    assert set(bench.brokers.journal_of(AT_2)) == {"connect", "LeaderAndIsr", "close"}
    assert bench.brokers.journal_of(AT_3) == ["connect", "LeaderAndIsr", "UpdateMetadata"]


def test_the_callback_gets_each_answer_with_the_event_that_reports_it() -> None:
    bench = Bench()
    bench.play(lambda: bench.start(B2), lambda: bench.send(B2, LAI, UM))
    received = [event.seq for event in bench.events(EventKind.RESPONSE_RECEIVED)]
    assert bench.answers == [(LeaderAndIsrResponse(), received[0]), (UpdateMetadataResponse(), received[1])]


def test_who_gives_no_callback_hears_nothing() -> None:
    bench = Bench()
    bench.play(lambda: bench.start(B2), lambda: bench.manager.send_request(B2, LAI, None, bench.root))
    assert bench.event(EventKind.RESPONSE_RECEIVED).event == "LeaderAndIsr"


# --- failures: the same request again, without limit


def test_a_refused_connection_is_tried_again_every_100_ms_until_it_stands() -> None:
    bench = Bench()
    bench.brokers.script(AT_2, to_connect=(Does.REFUSES,) * 500)
    bench.play(lambda: bench.start(B2), lambda: bench.send(B2, LAI))
    assert bench.brokers.times("connect") == [100 * attempt for attempt in range(501)]
    assert bench.brokers.times("LeaderAndIsr") == [50_000]


def test_a_refused_connection_is_reported_each_time_and_follows_from_what_the_request_follows_from() -> None:
    bench = Bench()
    bench.brokers.script(AT_2, to_connect=(Does.REFUSES,) * 2)
    bench.play(lambda: bench.start(B2), lambda: bench.send(B2, LAI))
    failed = bench.events(EventKind.REQUEST_FAILED)
    assert [(e.count, e.cause, e.broker_id, e.event, e.error) for e in failed] == [
        (1, bench.root, 2, "LeaderAndIsr", "NETWORK_EXCEPTION"),
        (2, bench.root, 2, "LeaderAndIsr", "NETWORK_EXCEPTION"),
    ]
    assert failed[0].detail == "broker 2, no connection: localhost:9094: connection refused; tried again in 100 ms"


def test_connecting_is_given_up_after_controller_socket_timeout_ms() -> None:
    bench = Bench(ControllerConfig(controller_socket_timeout_ms=7000))
    bench.brokers.script(AT_2, to_connect=(Does.KEEPS_SILENT,))
    bench.play(lambda: bench.start(B2), lambda: bench.send(B2, LAI))
    assert bench.brokers.times("connect") == [0, 7100]
    assert bench.event(EventKind.REQUEST_FAILED).error == "REQUEST_TIMED_OUT"


def test_without_an_answer_in_request_timeout_ms_the_same_request_is_sent_again_on_a_new_connection() -> None:
    bench = Bench(ControllerConfig(request_timeout_ms=20_000))
    bench.brokers.script(AT_2, to_request=(Does.KEEPS_SILENT,))
    bench.play(lambda: bench.start(B2), lambda: bench.send(B2, LAI, UM))
    assert bench.brokers.journal == [
        (0, AT_2, "connect"),
        (0, AT_2, "LeaderAndIsr"),
        (20_000, AT_2, "close"),
        (20_100, AT_2, "connect"),
        (20_100, AT_2, "LeaderAndIsr"),
        (20_100, AT_2, "UpdateMetadata"),
    ]
    assert bench.brokers.got[AT_2][1] is LAI


def test_a_connection_that_breaks_under_a_request_costs_100_ms() -> None:
    bench = Bench()
    bench.brokers.script(AT_2, to_request=(10, Does.HANGS_UP))
    bench.play(lambda: bench.start(B2), lambda: bench.send(B2, LAI, UM))
    assert bench.brokers.journal == [
        (0, AT_2, "connect"),
        (0, AT_2, "LeaderAndIsr"),
        (10, AT_2, "UpdateMetadata"),
        (10, AT_2, "close"),
        (110, AT_2, "connect"),
        (110, AT_2, "UpdateMetadata"),
    ]


def test_a_request_sent_again_is_reported_as_sent_once_and_as_failed_each_time() -> None:
    bench = Bench()
    bench.brokers.script(AT_2, to_request=(Does.HANGS_UP, Does.HANGS_UP))
    bench.play(lambda: bench.start(B2), lambda: bench.send(B2, LAI))
    sent = bench.event(EventKind.REQUEST_SENT)
    failed = bench.events(EventKind.REQUEST_FAILED)
    assert [(e.count, e.cause, e.error) for e in failed] == [
        (1, sent.seq, "NETWORK_EXCEPTION"),
        (2, sent.seq, "NETWORK_EXCEPTION"),
    ]
    assert failed[0].detail == "broker 2, LeaderAndIsr not answered: the connection was broken; tried again in 100 ms"
    assert bench.event(EventKind.RESPONSE_RECEIVED).cause == sent.seq
    assert bench.brokers.causes == [sent.seq] * 3


def test_a_connection_that_broke_while_nothing_was_under_way_is_no_failure() -> None:
    """A broker may be back before the controller has a request for it."""
    bench = Bench()

    def break_it() -> None:
        bench.brokers.open[0].is_open = False

    bench.play(
        lambda: bench.start(B2),
        lambda: bench.send(B2, LAI),
        lambda: bench.runtime.sleep_ms(10),
        break_it,
        lambda: bench.send(B2, UM),
    )
    assert bench.brokers.journal_of(AT_2) == ["connect", "LeaderAndIsr", "close", "connect", "UpdateMetadata"]
    assert bench.events(EventKind.REQUEST_FAILED) == []


@pytest.mark.parametrize("error", [ErrorCode.STALE_BROKER_EPOCH, ErrorCode.STALE_CONTROLLER_EPOCH])
def test_an_error_in_an_answer_is_an_answer_and_nothing_is_sent_again(error: ErrorCode) -> None:
    bench = Bench()
    refused = LeaderAndIsrResponse(error, {ORDERS: error})
    bench.brokers.script(AT_2, to_request=(refused,))
    bench.play(lambda: bench.start(B2), lambda: bench.send(B2, LAI))
    assert bench.brokers.journal_of(AT_2) == ["connect", "LeaderAndIsr"]
    received = bench.event(EventKind.RESPONSE_RECEIVED)
    assert bench.answers == [(refused, received.seq)]
    assert (received.error, received.count, received.detail) == (error.name, 1, f"orders-0: {error.name}")


# --- brokers added and removed


def test_a_removed_broker_s_requests_are_lost_the_one_under_way_among_them() -> None:
    bench = Bench()
    bench.brokers.script(AT_2, to_request=(1000,))
    bench.play(
        lambda: bench.start(B2),
        lambda: bench.send(B2, LAI, UM, UM, SR),
        lambda: bench.runtime.sleep_ms(500),
        lambda: bench.manager.remove_broker(B2, bench.root),
    )
    assert bench.brokers.journal == [(0, AT_2, "connect"), (0, AT_2, "LeaderAndIsr"), (500, AT_2, "close")]
    assert bench.answers == []
    abandoned = bench.event(EventKind.REQUEST_ABANDONED)
    assert (abandoned.count, abandoned.broker_id, abandoned.cause) == (4, 2, bench.root)
    assert abandoned.rule == "broker 2 is removed: its queue goes with it"
    assert abandoned.detail == (
        "LeaderAndIsr under way, it may have been processed; never sent: 1 StopReplica, 2 UpdateMetadata"
    )


def test_a_request_whose_connection_never_stood_was_never_sent() -> None:
    bench = Bench()
    bench.brokers.script(AT_2, to_connect=(Does.REFUSES,) * 1000)
    bench.play(
        lambda: bench.start(B2),
        lambda: bench.send(B2, LAI, LAI),
        lambda: bench.runtime.sleep_ms(250),
        lambda: bench.manager.remove_broker(B2, bench.root),
    )
    assert bench.brokers.times("connect") == [0, 100, 200]
    assert bench.event(EventKind.REQUEST_ABANDONED).detail == "never sent: 2 LeaderAndIsr"


def test_what_was_queued_in_the_very_moment_of_the_removal_is_counted() -> None:
    """The sender has not been woken yet: a request between the queue and the sender must be counted, too."""
    bench = Bench()
    bench.play(
        lambda: bench.start(B2),
        lambda: bench.runtime.sleep_ms(10),
        lambda: bench.send(B2, LAI),
        lambda: bench.manager.remove_broker(B2, bench.root),
    )
    assert bench.brokers.journal == []
    assert bench.event(EventKind.REQUEST_ABANDONED).count == 1


def test_removing_a_broker_that_has_answered_everything_loses_nothing() -> None:
    bench = Bench()
    bench.play(
        lambda: bench.start(B2),
        lambda: bench.send(B2, LAI),
        lambda: bench.runtime.sleep_ms(10),
        lambda: bench.manager.remove_broker(B2, bench.root),
        lambda: bench.manager.remove_broker(B3, bench.root),
    )
    assert bench.brokers.journal_of(AT_2) == ["connect", "LeaderAndIsr", "close"]
    assert bench.events(EventKind.REQUEST_ABANDONED) == []


def test_a_bounced_broker_begins_with_an_empty_queue_and_a_new_connection() -> None:
    """Requests to its previous incarnation are not sent to this one. Source: docs/kafka/controller.md 6.1-4."""
    bench = Bench()
    bench.brokers.script(AT_2, to_request=(Does.KEEPS_SILENT,))
    bench.play(
        lambda: bench.start(B2),
        lambda: bench.send(B2, LAI, SR),
        lambda: bench.runtime.sleep_ms(10),
        lambda: bench.manager.remove_broker(B2, bench.root),
        lambda: bench.manager.add_broker(registered(B2), bench.root),
        lambda: bench.send(B2, UM),
    )
    assert bench.brokers.journal_of(AT_2) == ["connect", "LeaderAndIsr", "close", "connect", "UpdateMetadata"]


def test_adding_a_broker_that_is_there_changes_nothing() -> None:
    bench = Bench()
    moved = replace(registered(B2), endpoints=registered(B3).endpoints)
    bench.play(
        lambda: bench.start(B2),
        lambda: bench.send(B2, LAI),
        lambda: bench.manager.add_broker(moved, bench.root),
        lambda: bench.send(B2, UM),
    )
    assert bench.brokers.journal_of(AT_2) == ["connect", "LeaderAndIsr", "UpdateMetadata"]


def test_a_request_for_an_unknown_broker_is_dropped_and_reported() -> None:
    bench = Bench()
    bench.play(lambda: bench.start(B2), lambda: bench.send(B3, LAI))
    abandoned = bench.event(EventKind.REQUEST_ABANDONED)
    assert (abandoned.broker_id, abandoned.event, abandoned.count, abandoned.cause) == (3, "LeaderAndIsr", 1, bench.root)
    assert abandoned.rule == "broker 3 is not among the brokers that this controller knows how to reach"
    assert bench.brokers.journal == []


def test_a_broker_without_the_inter_broker_listener_is_never_sent_to() -> None:
    bench = Bench(ControllerConfig(inter_broker_listener_name="REPLICATION"))
    bench.play(lambda: bench.start(B2), lambda: bench.send(B2, LAI))
    at_start, at_send = bench.events(EventKind.REQUEST_ABANDONED)
    assert (at_start.count, at_start.error) == (0, "BrokerEndPointNotAvailable")
    assert at_start.detail == ("broker 2 has no endpoint of listener REPLICATION; it registered PLAINTEXT://localhost:9094")
    assert at_send.count == 1
    assert bench.brokers.journal == []


def test_requests_go_to_the_inter_broker_listener() -> None:
    bench = Bench(ControllerConfig(inter_broker_listener_name="REPLICATION"))
    (client_side,) = registered(B2).endpoints
    two_sided = replace(registered(B2), endpoints=(client_side, replace(client_side, listener="REPLICATION", port=19094)))
    bench.play(lambda: bench.manager.add_broker(two_sided, bench.root), lambda: bench.send(B2, LAI))
    assert bench.brokers.journal == [(0, 19094, "connect"), (0, 19094, "LeaderAndIsr")]


def test_the_end_of_a_term_ends_every_sender_wherever_it_stands() -> None:
    """One sender waits for an answer, one in the pause after a failure, one is idle.

    Source: docs/kafka/controller.md 5.2-6.
    """
    bench = Bench()
    bench.brokers.script(AT_1, to_request=(Does.KEEPS_SILENT,))
    bench.brokers.script(AT_2, to_connect=(Does.REFUSES,) * 1000)
    bench.play(
        lambda: bench.start(B1, B2, B3),
        lambda: bench.send(B1, LAI, UM),
        lambda: bench.send(B2, UM),
        lambda: bench.runtime.sleep_ms(50),
        lambda: bench.manager.shutdown(bench.root),
        lambda: bench.manager.shutdown(bench.root),
    )
    assert bench.brokers.journal[-1] == (50, AT_1, "close")
    abandoned = bench.events(EventKind.REQUEST_ABANDONED)
    assert [(e.broker_id, e.count) for e in abandoned] == [(1, 2), (2, 1)]
    assert {e.rule for e in abandoned} == {"the controller's term is over: its queues go with it"}


def test_a_manager_begins_anew_in_the_next_term() -> None:
    bench = Bench()
    bench.play(
        lambda: bench.start(B2),
        lambda: bench.manager.shutdown(bench.root),
        lambda: bench.send(B2, LAI),
        lambda: bench.start(B2),
        lambda: bench.send(B2, UM),
    )
    assert bench.brokers.journal_of(AT_2) == ["connect", "UpdateMetadata"]


def test_a_callback_may_end_the_term() -> None:
    """The callback runs on the sender's own task, which cannot be killed from within without affecting the caller."""
    bench = Bench()
    ended: list[int] = []

    def end_term(_: StateChangeResponse, cause: int) -> None:
        bench.manager.shutdown(cause)
        ended.append(bench.manager.total_queue_size)

    with pytest.raises(DeadlockError, match=r"these still wait: main$"):  # and no sender
        bench.play(
            lambda: bench.start(B2, B3),
            lambda: bench.manager.send_request(B2, LAI, end_term, bench.root),
            lambda: bench.send(B2, UM),
            lambda: bench.runtime.promise().wait(),
        )
    assert ended == [0]
    assert bench.brokers.journal_of(AT_2) == ["connect", "LeaderAndIsr", "close"]
    assert bench.event(EventKind.REQUEST_ABANDONED).count == 1


# --- events


def test_a_request_is_reported_when_it_is_first_sent_with_its_epochs_its_size_and_its_first_partitions() -> None:
    bench = Bench()
    bench.brokers.script(AT_2, to_connect=(Does.REFUSES,))
    many = structs.replace(LAI, partitions={TopicPartition("orders", n): REPLICA for n in range(100)})
    bench.play(lambda: bench.start(B2), lambda: bench.send(B2, many))
    sent = bench.event(EventKind.REQUEST_SENT)
    assert (sent.t_ms, sent.cause, sent.broker_id, sent.event) == (100, bench.root, 2, "LeaderAndIsr")
    assert (sent.controller_epoch, sent.broker_epoch, sent.count) == (5, 102, 100)
    assert sent.detail is not None
    assert sent.detail.startswith("orders-0: leader 1, leader epoch 7, ISR [1, 2]; orders-1: ")
    assert sent.detail.endswith("; and 95 more")


def test_an_answer_is_reported_with_how_long_it_took_since_the_request_was_first_sent() -> None:
    bench = Bench()
    bench.brokers.script(AT_2, to_request=(Does.HANGS_UP, 30))
    bench.play(lambda: bench.start(B2), lambda: bench.send(B2, LAI))
    received = bench.event(EventKind.RESPONSE_RECEIVED)
    assert (received.duration_ms, received.error, received.count, received.detail) == (130, None, None, None)


# --- metrics


def test_queues_are_measured_without_what_is_under_way() -> None:
    """TotalQueueSize and QueueSize. Source: docs/kafka/controller.md 2.1."""
    bench = Bench()
    bench.brokers.script(AT_2, to_request=(Does.KEEPS_SILENT,))
    bench.brokers.script(AT_3, to_request=(Does.KEEPS_SILENT,))
    seen: list[tuple[int, ...]] = []

    def measure() -> None:
        sizes = (bench.manager.queue_size(broker) for broker in ids(1, 2, 3))
        seen.append((bench.manager.total_queue_size, *sizes))

    bench.play(
        lambda: bench.start(B2, B3),
        lambda: bench.send(B2, LAI, UM, SR),
        lambda: bench.send(B3, LAI, UM),
        measure,
        lambda: bench.runtime.sleep_ms(10),
        measure,
    )
    assert seen == [(5, 0, 3, 2), (3, 0, 2, 1)]


def test_queue_times_are_measured_from_the_queue_s_end_to_its_head_not_to_the_answer() -> None:
    bench = Bench()
    bench.brokers.script(AT_2, to_request=(40, 40))
    bench.play(lambda: bench.start(B2), lambda: bench.send(B2, LAI, UM, SR))
    assert bench.manager.request_queue_times_ms(B2) == (0, 40, 80)
    assert bench.manager.request_queue_times_ms(B3) == ()


def test_the_latest_thousand_queue_times_are_kept() -> None:
    bench = Bench()
    bench.brokers.script(AT_2, to_request=(40,))
    bench.play(lambda: bench.start(B2), lambda: bench.send(B2, *[UM] * 1_001))
    assert bench.manager.request_queue_times_ms(B2) == (40,) * 1_000
