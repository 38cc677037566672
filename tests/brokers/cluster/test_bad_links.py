"""Effects of a bad network on connections, as with TCP: on both runtimes, or in virtual time where time matters."""

from collections.abc import Callable, Coroutine
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from kcsim.brokers.cluster.network_faults import NetworkFaults
from kcsim.brokers.network.link_conditions import EVERYWHERE, Links
from kcsim.brokers.network.link_stream import LinkFaultContext
from kcsim.brokers.network.network import SIMULATED_DELAY_MS, MemoryNetwork
from kcsim.brokers.ports import BrokerConnection, ListenerClosedError
from kcsim.controller.ports import BrokerConnectionError
from kcsim.errors import TimedOutError
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import Event, EventFields, EventKind
from kcsim.eventlog.run_actions import ClusterError, RunActionLog
from kcsim.runtime.ports import Promise, Runtime
from kcsim.runtime.simulated import SimulatedRuntime
from kcsim.runtime.wallclock import WallClockRuntime

HOST, PORT = "localhost", 9092
CAUSE = 0
SOON_MS = 5_000
B1, B2, B3 = frozenset({"broker-1"}), frozenset({"broker-2"}), frozenset({"broker-3"})
BETWEEN = Links(B1, B2, both_ways=True)
THERE, BACK = Links(B1, B2), Links(B2, B1)


class Place:
    """A network with a log; broker-2 answers all requests and keeps them, broker-1 sends them."""

    def __init__(self, runtime: Runtime, delay_ms: int = SIMULATED_DELAY_MS, seed: int = 0) -> None:
        self.runtime = runtime
        self.log = EventLog(runtime.now_ms)
        self.log.append("scenario", EventKind.RUN_STARTED, None, EventFields())
        self.numbers = Random(seed)
        self.network = MemoryNetwork(runtime, delay_ms, LinkFaultContext(self.numbers, self.log.sink))
        self.faults = NetworkFaults(runtime, RunActionLog(self.log), self.network, ("broker-1", "broker-2", "broker-3"))
        self.server = self.network.interface("broker-2")
        self.client = self.network.interface("broker-1")
        self.handled: list[tuple[int, Any]] = []
        self.listening = self.server.listen(HOST, PORT)
        runtime.spawn("server", self._serve())

    async def _serve(self) -> None:
        with suppress(ListenerClosedError):
            while True:
                incoming = await self.listening.accept()
                self.handled.append((self.runtime.now_ms(), incoming.request))
                incoming.respond(f"to {incoming.request}")

    async def connect(self, timeout_ms: int = SOON_MS) -> BrokerConnection:
        return await self.client.connect(HOST, PORT, timeout_ms)

    def ask(self, connection: BrokerConnection, request: Any, timeout_ms: int = SOON_MS) -> "Promise[Any]":
        """Send from a task of its own; the promise holds the answer with the time of its arrival, or the error."""
        answer: Promise[Any] = self.runtime.promise()

        async def work() -> None:
            try:
                answer.resolve((await connection.send(request, timeout_ms, CAUSE), self.runtime.now_ms()))
            except (BrokerConnectionError, TimedOutError) as error:
                answer.fail(error)

        self.runtime.spawn(f"ask {request}", work())
        return answer

    def events_of(self, kind: EventKind) -> list[Event]:
        return [event for event in self.log.events if event.kind is kind]

    def logged(self) -> list[tuple[str, str | None]]:
        """Return kind and detail of all events since the run began."""
        return [(event.kind.value, event.detail) for event in self.log.events[1:]]


Script = Callable[[Place], Coroutine[Any, Any, Any]]


def play(script: Script, seed: int = 0) -> Any:
    """Run a script in virtual time."""
    runtime = SimulatedRuntime()
    return runtime.run(script(Place(runtime, seed=seed)))


@pytest.fixture(params=[SimulatedRuntime, WallClockRuntime])
def run(request: pytest.FixtureRequest) -> Callable[[Script], Any]:
    def run_script(script: Script) -> Any:
        runtime = request.param()
        return runtime.run(script(Place(runtime)))

    return run_script


# --- partitions ------------------------------------------------------------------------------------------------------------


def test_what_is_sent_into_a_partition_vanishes_and_nobody_is_notified(run: Callable[[Script], Any]) -> None:
    async def script(place: Place) -> Any:
        connection = await place.connect()
        place.faults.partition(BETWEEN)
        with pytest.raises(TimedOutError):
            await connection.send("lost", 50, CAUSE)
        return connection.is_open, place.handled

    assert run(script) == (True, [])


def test_no_connection_can_be_made_through_a_partition(run: Callable[[Script], Any]) -> None:
    """A route that drops packets has the same effect: the attempt hangs until the client's time-out."""

    async def script(place: Place) -> None:
        place.faults.partition(BETWEEN)
        with pytest.raises(TimedOutError, match="no answer within 50 ms"):
            await place.connect(50)

    run(script)


def test_after_healing_what_was_sent_arrives_by_itself(run: Callable[[Script], Any]) -> None:
    """TCP has kept retransmitting it."""

    async def script(place: Place) -> Any:
        connection = await place.connect()
        place.faults.partition(BETWEEN)
        answer = place.ask(connection, "late")
        with pytest.raises(TimedOutError):
            await answer.wait(50)
        place.faults.heal()
        return (await answer.wait(SOON_MS))[0]

    assert run(script) == "to late"


def test_a_partition_that_refuses_breaks_the_senders_connection_and_refuses_new_ones(run: Callable[[Script], Any]) -> None:
    async def script(place: Place) -> Any:
        connection = await place.connect()
        place.faults.partition(BETWEEN, refuses=True)
        with pytest.raises(BrokerConnectionError, match="refused by the network on the way to broker-2"):
            await connection.send("lost", SOON_MS, CAUSE)
        with pytest.raises(BrokerConnectionError, match="refused by the network"):
            await place.connect()
        return connection.is_open, place.handled

    assert run(script) == (False, [])


def test_a_partition_that_swallows_answers_lets_requests_be_done(run: Callable[[Script], Any]) -> None:
    """This is the most dangerous partition: the client gets no answer, although its request was carried out."""

    async def script(place: Place) -> Any:
        connection = await place.connect()
        place.faults.partition(BACK)
        with pytest.raises(TimedOutError):
            await connection.send("done", 50, CAUSE)
        return [request for _, request in place.handled]

    assert run(script) == ["done"]


def test_one_way_hides_the_requests_but_not_what_the_other_side_asks() -> None:
    async def script(place: Place) -> Any:
        other = place.client.listen(HOST, PORT + 1)
        there, back = await place.connect(), await place.server.connect(HOST, PORT + 1, SOON_MS)
        place.faults.partition(THERE)
        asked = place.ask(back, "request")
        (await other.accept()).respond("an answer that is on the cut link")
        with pytest.raises(TimedOutError):
            await asked.wait(100)
        with pytest.raises(TimedOutError):
            await there.send("lost", 100, CAUSE)
        return [(event.node, event.target, event.event) for event in place.events_of(EventKind.NETWORK_STALLED)]

    assert play(script) == [("broker-1", "broker-2", "answer to str"), ("broker-1", "broker-2", "str")]


def test_others_are_not_concerned_and_nobody_is_cut_off_from_itself() -> None:
    async def script(place: Place) -> Any:
        third = place.network.interface("broker-3")
        place.faults.partition(Links(B1, None, both_ways=True))
        from_elsewhere = await third.connect(HOST, PORT, SOON_MS)
        from_itself = await place.server.connect(HOST, PORT, SOON_MS)
        answers = [await c.send("x", SOON_MS, CAUSE) for c in (from_elsewhere, from_itself)]
        place.client.listen(HOST, PORT + 1)
        await place.client.connect(HOST, PORT + 1, SOON_MS)
        return answers

    assert play(script) == ["to x", "to x"]


def test_a_dead_brokers_address_is_as_unreachable_as_it_was() -> None:
    """The host that would refuse the connection is behind the partition."""

    async def script(place: Place) -> None:
        place.server.close()
        with pytest.raises(BrokerConnectionError, match="no listener there"):
            await place.connect()
        place.faults.partition(BETWEEN)
        with pytest.raises(TimedOutError):
            await place.connect()

    play(script)


def test_word_of_a_death_does_not_pass_a_partition_but_comes_after_it() -> None:
    async def script(place: Place) -> Any:
        connection = await place.connect()
        place.faults.partition(BETWEEN, for_ms=10_000)
        place.server.close()
        await place.runtime.sleep_ms(9_000)
        before = connection.is_open
        await place.runtime.sleep_ms(10_000)
        return before, connection.is_open

    assert play(script) == (True, False)


def test_a_sender_to_a_dead_process_is_notified() -> None:
    """A process dies behind a partition that outlasts TCP's retransmissions: a later sender learns of its end."""

    async def script(place: Place) -> None:
        connection = await place.connect()
        place.faults.partition(BACK)
        place.server.close()
        await place.runtime.sleep_ms(20 * 60_000)
        place.faults.heal()
        assert connection.is_open
        with pytest.raises(BrokerConnectionError, match="broken from the other side"):
            await connection.send("anybody there?", SOON_MS, CAUSE)

    play(script)


# --- TCP retransmission ----------------------------------------------------------------------------------------------------


def test_what_is_lost_is_sent_again_after_200_ms_and_then_twice_as_long_each_time() -> None:
    """The link is cut for 1 s: TCP sends at 0, 200, 600 and 1,400 ms."""

    async def script(place: Place) -> Any:
        connection = await place.connect()
        began_ms = place.runtime.now_ms()
        place.faults.partition(BETWEEN, for_ms=1_000)
        await connection.send("late", SOON_MS, CAUSE)
        (resumed,) = place.events_of(EventKind.NETWORK_RESUMED)
        return place.handled[0][0] - began_ms, resumed.duration_ms, resumed.count

    assert play(script) == (1_400 + SIMULATED_DELAY_MS, 1_400, 1)


def test_a_connection_that_is_being_opened_is_tried_for_after_1_3_and_7_seconds() -> None:
    async def script(place: Place) -> Any:
        place.faults.partition(BETWEEN, for_ms=4_000)
        began_ms = place.runtime.now_ms()
        await place.connect(60_000)
        return place.runtime.now_ms() - began_ms

    assert play(script) == 7_000 + 2 * SIMULATED_DELAY_MS


def test_what_was_sent_meanwhile_arrives_with_the_first_and_after_it() -> None:
    async def script(place: Place) -> Any:
        connection = await place.connect()
        place.faults.partition(BETWEEN, for_ms=100)
        answers = [place.ask(connection, number) for number in range(3)]
        await answers[-1].wait(SOON_MS)
        (resumed,) = place.events_of(EventKind.NETWORK_RESUMED)
        return [request for _, request in place.handled], resumed.count

    assert play(script) == ([0, 1, 2], 3)


def test_after_a_quarter_of_an_hour_the_senders_end_breaks() -> None:
    """Fifteen retransmissions, the last ones two minutes apart: 924.6 s, the default of Linux (tcp_retries2)."""

    async def script(place: Place) -> Any:
        connection = await place.connect()
        place.faults.partition(BETWEEN)
        began_ms = place.runtime.now_ms()
        with pytest.raises(BrokerConnectionError, match="nothing has arrived at broker-2 in 924600 ms"):
            await connection.send("lost", 3_600_000, CAUSE)
        (stalled,), (broken,) = (
            place.events_of(EventKind.NETWORK_STALLED),
            place.events_of(EventKind.NETWORK_CONNECTION_BROKEN),
        )
        assert broken.cause == stalled.seq
        return place.runtime.now_ms() - began_ms

    assert play(script) == 924_600


def test_a_request_whose_sender_has_given_up_may_still_be_done_after_the_partition() -> None:
    """The request is in the send buffer of the sender's kernel.

    A client that resends it on another connection has it executed twice.
    """

    async def script(place: Place) -> Any:
        connection = await place.connect()
        place.faults.partition(BETWEEN, for_ms=2_000)
        with pytest.raises(TimedOutError):
            await connection.send("twice", 1_000, CAUSE)
        connection.close()
        await place.runtime.sleep_ms(1_000)
        await (await place.connect()).send("twice", SOON_MS, CAUSE)
        await place.runtime.sleep_ms(5_000)
        return [request for _, request in place.handled]

    assert play(script) == ["twice", "twice"]


def test_a_connection_given_up_before_it_stood_is_not_made_later() -> None:
    async def script(place: Place) -> Any:
        place.faults.partition(BETWEEN, for_ms=2_000)
        with pytest.raises(TimedOutError):
            await place.connect(1_500)
        await place.runtime.sleep_ms(60_000)
        return len(place.listening.links)

    assert play(script) == 0


# --- slow, lossy, breaking -------------------------------------------------------------------------------------------------


def test_a_slow_link_delays_one_direction() -> None:
    async def script(place: Place) -> Any:
        connection = await place.connect()
        place.faults.slow(THERE, 300)
        began_ms = place.runtime.now_ms()
        await connection.send("x", SOON_MS, CAUSE)
        return place.handled[0][0] - began_ms, place.runtime.now_ms() - place.handled[0][0]

    assert play(script) == (300 + SIMULATED_DELAY_MS, SIMULATED_DELAY_MS)


def test_jitter_reorders_between_connections_and_never_within_one() -> None:
    """Delays are distributed evenly between 100 and 500 ms."""

    async def script(place: Place) -> Any:
        one, other = await place.connect(), await place.connect()
        place.faults.slow(THERE, 300, 200)
        began_ms = place.runtime.now_ms()
        answers = [place.ask(c, (number, name)) for number in range(50) for name, c in (("one", one), ("other", other))]
        for answer in answers:
            await answer.wait(SOON_MS)
        arrived = [request for _, request in place.handled]
        delays = [at_ms - began_ms - SIMULATED_DELAY_MS for at_ms, _ in place.handled]
        assert 100 <= min(delays) < max(delays) <= 500
        assert [n for n, name in arrived if name == "one"] == [n for n, name in arrived if name == "other"] == [*range(50)]
        return arrived

    arrived = play(script)
    assert arrived != sorted(arrived)


def test_on_a_healed_link_nothing_overtakes_what_is_still_slow() -> None:
    async def script(place: Place) -> Any:
        connection = await place.connect()
        place.faults.slow(THERE, 1_000)
        slow = place.ask(connection, "slow")
        await place.runtime.sleep_ms(1)
        place.faults.heal()
        await connection.send("quick", SOON_MS, CAUSE)
        assert slow.is_settled
        return [request for _, request in place.handled]

    assert play(script) == ["slow", "quick"]


def test_a_lossy_link_delivers_everything_once_and_late() -> None:
    """About a third of 200 requests is retransmitted, 200 ms later or more."""

    async def script(place: Place) -> Any:
        connection = await place.connect()
        place.faults.lossy(THERE, 1 / 3)
        for number in range(200):
            await connection.send(number, 600_000, CAUSE)
        stalled, resumed = place.events_of(EventKind.NETWORK_STALLED), place.events_of(EventKind.NETWORK_RESUMED)
        assert [event.cause for event in resumed] == [event.seq for event in stalled]
        assert {event.rule for event in stalled} == {"lost"}
        assert min(event.duration_ms or 0 for event in resumed) == 200
        return [request for _, request in place.handled], len(stalled)

    arrived, lost = play(script)
    assert arrived == list(range(200))
    assert 45 <= lost <= 90


def test_a_breaking_link_has_requests_done_whose_answer_never_comes() -> None:
    """This is the source of duplicates: a client sends such a request again."""

    async def script(place: Place) -> Any:
        place.faults.breaking(THERE, 0.5)
        done, unanswered = 0, 0
        for number in range(100):
            connection = await place.connect()
            try:
                await connection.send(number, SOON_MS, CAUSE)
                done += 1
            except BrokerConnectionError:
                unanswered += 1
        assert [request for _, request in place.handled] == list(range(100))
        assert len(place.events_of(EventKind.NETWORK_CONNECTION_BROKEN)) == unanswered
        return done, unanswered

    done, unanswered = play(script)
    assert done + unanswered == 100
    assert 30 <= unanswered <= 70


# --- connections broken by hand --------------------------------------------------------------------------------------------


def test_open_connections_are_broken_and_counted(run: Callable[[Script], Any]) -> None:
    async def script(place: Place) -> Any:
        connections = [await place.connect() for _ in range(3)]
        unanswered = place.ask(connections[0], "lost")
        place.faults.break_connections(BACK)
        with pytest.raises(BrokerConnectionError, match="the network has reset the connection"):
            await unanswered.wait(SOON_MS)
        assert await (await place.connect()).send("x", SOON_MS, CAUSE) == "to x"
        return [c.is_open for c in connections], place.logged()[1]

    assert run(script) == (
        [False, False, False],
        ("FaultConfirmed", "3 connections broken from broker-2 to broker-1"),
    )


def test_a_connection_that_is_still_being_opened_is_none_that_could_break() -> None:
    async def script(place: Place) -> Any:
        place.faults.partition(BETWEEN, for_ms=500)
        opened: Promise[BrokerConnection] = place.runtime.promise()

        async def work() -> None:
            opened.resolve(await place.connect())

        place.runtime.spawn("connect", work())
        await place.runtime.sleep_ms(100)
        with pytest.raises(ClusterError, match="no connection is open"):
            place.faults.break_connections(BETWEEN)
        return (await opened.wait(SOON_MS)).is_open

    assert play(script) is True


class WantedRequest:
    """A request that the event log names Wanted."""


def test_a_connection_breaks_once_a_certain_request_is_delivered(run: Callable[[Script], Any]) -> None:
    async def script(place: Place) -> Any:
        place.faults.break_once_delivered(THERE, "Wanted")
        connection = await place.connect()
        await connection.send("another", SOON_MS, CAUSE)
        with pytest.raises(BrokerConnectionError):
            await connection.send(WantedRequest(), SOON_MS, CAUSE)
        assert await (await place.connect()).send(WantedRequest(), SOON_MS, CAUSE)
        (confirmed,) = place.events_of(EventKind.FAULT_CONFIRMED)
        return len(place.handled), confirmed.detail

    assert run(script) == (3, "the connection of broker-1 to broker-2 broke when Wanted had been delivered")


# --- together, healing, refusals -------------------------------------------------------------------------------------------


def test_of_one_kind_the_latest_counts_and_different_kinds_add_up() -> None:
    async def script(place: Place) -> Any:
        connection = await place.connect()
        place.faults.slow(THERE, 900)
        place.faults.slow(BETWEEN, 100)
        place.faults.partition(THERE, for_ms=150)
        began_ms = place.runtime.now_ms()
        await connection.send("x", SOON_MS, CAUSE)
        return place.runtime.now_ms() - began_ms

    assert play(script) == 200 + 100 + 100 + 2 * SIMULATED_DELAY_MS


def test_healing_some_links_leaves_the_others_as_they_are() -> None:
    async def script(place: Place) -> Any:
        connection = await place.connect()
        place.faults.slow(BETWEEN, 100)
        place.faults.heal(THERE)
        began_ms = place.runtime.now_ms()
        await connection.send("x", SOON_MS, CAUSE)
        return place.runtime.now_ms() - began_ms, place.logged()[-1]

    assert play(script) == (100 + 2 * SIMULATED_DELAY_MS, ("AdminAct", "from broker-1 to broker-2, 1 link in trouble"))


def test_what_is_healed_is_named_in_columns_and_a_fault_that_ends_by_itself_leads_to_its_end() -> None:
    """A reader of the log knows the state of each link without reading texts."""

    async def script(place: Place) -> list[Event]:
        cut = place.faults.partition(THERE, for_ms=100)
        await place.runtime.sleep_ms(200)
        place.faults.partition(BETWEEN)
        place.faults.heal(BETWEEN)
        ended, healed = [event for event in place.log.events if event.op == "heal"]
        assert ended.cause == cut
        assert (healed.cause, healed.both_ways) == (None, True)
        return [ended, healed]

    for event in play(script):
        assert (event.sources, event.targets) == (["broker-1"], ["broker-2"])


def test_a_fault_for_a_while_ends_by_itself_unless_it_was_healed_or_outdone() -> None:
    async def script(place: Place) -> Any:
        place.faults.partition(BETWEEN, for_ms=1_000)
        place.faults.heal()
        place.faults.slow(BETWEEN, 50, for_ms=1_000)
        place.faults.slow(BETWEEN, 60)
        place.faults.lossy(BETWEEN, 0.5, for_ms=1_000)
        before = len(place.logged())
        await place.runtime.sleep_ms(5_000)
        return place.logged()[before:]

    assert play(script) == [("AdminAct", "between broker-1 and broker-2, 2 links, after 1000 ms")]


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda faults: faults.heal(), "heal has no effect: nothing is wrong between all and all"),
        (lambda faults: faults.heal(THERE), "heal has no effect: nothing is wrong from broker-1 to broker-2"),
        (
            lambda faults: faults.break_connections(BETWEEN),
            "break-connections has no effect: no connection is open between broker-1 and broker-2",
        ),
        (lambda faults: faults.partition(Links(B1, B1)), "there is no link from broker-1 to broker-1"),
        (
            lambda faults: faults.partition(Links(B1, frozenset({"broker-4"}))),
            "no broker-4 on the network; there are broker-1, broker-2, broker-3",
        ),
        (lambda faults: faults.slow(THERE, 100, 200), "a delay of 100 ms cannot vary by 200 ms"),
        (lambda faults: faults.lossy(THERE, 1.5), "1.5 is no probability, which lies between 0 and 1"),
        (lambda faults: faults.breaking(THERE, -0.1), "-0.1 is no probability, which lies between 0 and 1"),
    ],
)
def test_what_would_have_no_effect_is_refused_and_leaves_no_trace(
    attempt: Callable[[NetworkFaults], object], message: str
) -> None:
    async def script(place: Place) -> Any:
        with pytest.raises(ClusterError) as refused:
            attempt(place.faults)
        return str(refused.value), place.logged()

    assert play(script) == (message, [])


def test_what_is_so_already_is_refused() -> None:
    async def script(place: Place) -> Any:
        place.faults.partition(BETWEEN)
        with pytest.raises(ClusterError) as refused:
            place.faults.partition(THERE)
        return str(refused.value)

    assert play(script) == "partition has no effect: it is so already from broker-1 to broker-2"


def test_a_fault_with_probability_0_leaves_the_run_as_it_is() -> None:
    """Nothing is drawn, nothing is logged, and no message takes another way."""

    async def script(place: Place, is_faulted: bool) -> Any:
        if is_faulted:
            assert place.faults.lossy(EVERYWHERE, 0) is None
            assert place.faults.breaking(EVERYWHERE, 0, for_ms=10) is None
            assert place.faults.slow(EVERYWHERE, 0) is None
        connection = await place.connect()
        for number in range(10):
            await connection.send(number, SOON_MS, CAUSE)
        return place.log.events, place.handled, place.numbers.getstate()

    assert play(lambda place: script(place, True)) == play(lambda place: script(place, False))


def test_links_in_no_trouble_of_their_own_draw_nothing() -> None:
    async def script(place: Place) -> Any:
        before = place.numbers.getstate()
        place.faults.lossy(Links(B3, None, both_ways=True), 0.9)
        place.faults.slow(BETWEEN, 10)
        place.faults.partition(BETWEEN, for_ms=500)
        await (await place.connect()).send("x", SOON_MS, CAUSE)
        return before == place.numbers.getstate()

    assert play(script) is True


def test_one_seed_loses_the_same_and_another_seed_something_else() -> None:
    async def script(place: Place) -> Any:
        place.faults.lossy(BETWEEN, 0.3)
        place.faults.slow(THERE, 50, 50)
        connection = await place.connect(600_000)
        for number in range(20):
            await connection.send(number, 600_000, CAUSE)
        return place.log.events, place.handled

    assert play(script, seed=1) == play(script, seed=1)
    assert play(script, seed=1) != play(script, seed=2)


def test_an_event_of_a_bad_link_leads_back_to_its_fault() -> None:
    async def script(place: Place) -> Any:
        connection = await place.connect()
        place.faults.slow(BETWEEN, 5)
        cut = place.faults.partition(BETWEEN, for_ms=100)
        place.faults.slow(BETWEEN, 7)
        await connection.send("x", SOON_MS, CAUSE)
        (stalled,), (resumed,) = place.events_of(EventKind.NETWORK_STALLED), place.events_of(EventKind.NETWORK_RESUMED)
        return stalled.cause == cut, resumed.cause == stalled.seq, stalled.detail

    assert play(script) == (True, True, "str: nothing passes to broker-2; sent again in 200 ms")


def test_the_refusal_of_a_port_without_a_listener_is_logged_if_it_does_not_arrive() -> None:
    """Who waits for quiescence has to know that a client waits for its time-out."""

    async def refuse_later(place: Place) -> None:
        await place.runtime.sleep_ms(500)
        place.faults.partition(BACK, refuses=True)

    async def script(place: Place) -> Any:
        place.listening.close()
        place.faults.partition(BACK)
        place.runtime.spawn("refuse later", refuse_later(place))
        with pytest.raises(TimedOutError):
            await place.connect()
        network = (EventKind.NETWORK_STALLED, EventKind.NETWORK_CONNECTION_BROKEN)
        return [(event.kind, event.node, event.event) for event in place.log.events if event.kind in network]

    assert play(script) == [
        (EventKind.NETWORK_STALLED, "broker-2", "answer to Connect"),
        (EventKind.NETWORK_CONNECTION_BROKEN, "broker-2", "answer to Connect"),
    ]
