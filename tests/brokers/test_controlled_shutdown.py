"""A broker's request for its controlled shutdown. Source: docs/kafka/requests.md 10."""

from collections.abc import Sequence

import pytest

from kcsim import znodes
from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.controlled_shutdown import ControlledShutdownClient
from kcsim.brokers.network.network import Interface, MemoryNetwork
from kcsim.brokers.ports import BrokerPorts, ListenerClosedError
from kcsim.controller.config import ControllerConfig
from kcsim.controller.requests import ControlledShutdownRequest, ControlledShutdownResponse, ErrorCode
from kcsim.eventlog.events import EventKind
from kcsim.vocabulary import BrokerId, BrokerInfo, ControllerNode, Endpoint
from kcsim.zk.memory.server import EPOCH_MS
from kcsim.zk.operations import Create, Delete, SetData
from kcsim.znodes import paths
from tests.brokers.broker_bench import B1, B2, B3, ORDERS_0, OWN_EPOCH
from tests.zk.kafka.scripted import Bench

BACKOFF_MS = 5_000
NOTHING_LEFT = ControlledShutdownResponse()
ONE_LEFT = ControlledShutdownResponse(remaining_partitions=(ORDERS_0,))
NOT_THE_CONTROLLER = ControlledShutdownResponse(ErrorCode.STALE_CONTROLLER_EPOCH)


class ShutdownBench(Bench):
    """Broker 1, about to stop; the test acts as the controllers."""

    def __init__(self, config: BrokerConfig | None = None) -> None:
        super().__init__()
        self.network = MemoryNetwork(self.runtime)
        self.requested_ms: list[tuple[BrokerId, int]] = []
        self.asked: list[ControlledShutdownRequest] = []
        self.hosts: dict[BrokerId, Interface] = {}
        self.took_ms = 0
        self.shutdown = ControlledShutdownClient(
            B1,
            config or BrokerConfig(),
            BrokerPorts(self.runtime, self.network.interface(), self.log.sink("broker-1"), EPOCH_MS),
            self.kafka_zk.controller,
            self.kafka_zk.brokers,
            lambda: OWN_EPOCH,
        )

    async def elect(self, broker: BrokerId) -> None:
        """Write the znodes of a controller."""
        endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 9092 + broker)
        await self.by_hand.znodes.create_recursively(
            paths.broker_id(broker), znodes.encode_broker(BrokerInfo(broker, (endpoint,)))
        )
        data = znodes.encode_controller(ControllerNode(broker, 0))
        there = await self.by_hand.znodes.exists(paths.CONTROLLER)
        await self.tree(SetData(paths.CONTROLLER, data) if there else Create(paths.CONTROLLER, data))

    def answers(self, broker: BrokerId, responses: Sequence[ControlledShutdownResponse | None]) -> None:
        """Let a broker listen, and give these answers; None: it dies of the request, and is back before the next."""
        self.runtime.spawn("controller", self._answer(broker, list(responses)))

    async def _answer(self, broker: BrokerId, responses: list[ControlledShutdownResponse | None]) -> None:
        host = self.hosts[broker] = self.network.interface()
        listening = host.listen("localhost", 9092 + broker)
        while responses:
            try:
                incoming = await listening.accept()
            except ListenerClosedError:
                return
            self.asked.append(incoming.request)
            self.requested_ms.append((broker, self.runtime.now_ms()))
            response = responses.pop(0)
            if response is not None:
                incoming.respond(response)
            else:
                host.close()
                listening = host.listen("localhost", 9092 + broker)

    async def run(self) -> bool:
        began_ms = self.runtime.now_ms()
        done = await self.shutdown.run(0)
        self.took_ms = self.runtime.now_ms() - began_ms
        return done

    @property
    def steps(self) -> list[str | None]:
        return [e.step for e in self.log.events if e.kind is EventKind.CONTROLLED_SHUTDOWN]


def play(
    responses: Sequence[ControlledShutdownResponse | None], config: BrokerConfig | None = None
) -> tuple[ShutdownBench, bool]:
    """Run the controlled shutdown with controller 2, which gives these answers."""
    bench = ShutdownBench(config)
    done: list[bool] = []

    async def script() -> None:
        await bench.connect()
        await bench.elect(B2)
        bench.answers(B2, responses)
        done.append(await bench.run())

    bench.runtime.run(script())
    return bench, done[0]


def test_nothing_left_is_success_at_once() -> None:
    bench, is_clean = play([NOTHING_LEFT])
    assert is_clean
    assert bench.asked == [ControlledShutdownRequest(B1, OWN_EPOCH)]
    sent, received = (e for e in bench.log.events if e.kind in (EventKind.REQUEST_SENT, EventKind.RESPONSE_RECEIVED))
    assert (sent.broker_id, sent.event, received.cause) == (2, "ControlledShutdown", sent.seq)


@pytest.mark.parametrize("failure", [ONE_LEFT, NOT_THE_CONTROLLER, None])
def test_a_failed_attempt_is_followed_by_another_after_the_back_off(failure: ControlledShutdownResponse | None) -> None:
    """Failures are: partitions left, an error, a broken connection."""
    bench, is_clean = play([failure, NOTHING_LEFT])
    assert is_clean
    (_, first_ms), (_, second_ms) = bench.requested_ms
    assert BACKOFF_MS <= second_ms - first_ms <= BACKOFF_MS + 5


def test_three_attempts_in_all_then_it_goes_down_uncleanly() -> None:
    """controlled.shutdown.max.retries is the number of attempts; the back-off follows the last one, too."""
    bench, is_clean = play([ONE_LEFT] * 4)
    assert not is_clean
    assert len(bench.asked) == 3
    assert 3 * BACKOFF_MS <= bench.took_ms <= 3 * BACKOFF_MS + 20
    assert bench.steps == [
        "attempt 1 of 3 failed",
        "attempt 2 of 3 failed",
        "attempt 3 of 3 failed",
        "proceeding with an unclean shutdown",
    ]


def test_attempts_and_back_off_are_settings() -> None:
    config = BrokerConfig(controlled_shutdown_max_retries=1, controlled_shutdown_retry_backoff_ms=200)
    bench, is_clean = play([ONE_LEFT] * 4, config)
    assert (is_clean, len(bench.asked)) == (False, 1)
    assert 200 <= bench.took_ms <= 210


def test_a_controller_that_says_nothing_is_given_up_after_the_socket_time_out() -> None:
    config = BrokerConfig(controlled_shutdown_max_retries=1, controller=ControllerConfig(controller_socket_timeout_ms=700))
    bench = ShutdownBench(config)

    async def script() -> None:
        await bench.connect()
        await bench.elect(B2)
        bench.network.interface().listen("localhost", 9092 + B2)
        assert not await bench.run()

    bench.runtime.run(script())
    assert 700 + BACKOFF_MS <= bench.took_ms <= 710 + BACKOFF_MS
    assert [e.error for e in bench.log.events if e.kind is EventKind.REQUEST_FAILED] == ["TimedOutError"]


def test_without_a_controller_every_attempt_counts() -> None:
    bench = ShutdownBench()

    async def script() -> None:
        await bench.connect()
        assert not await bench.run()

    bench.runtime.run(script())
    assert bench.steps.count("there is no controller in ZooKeeper") == 3
    assert 3 * BACKOFF_MS <= bench.took_ms <= 3 * BACKOFF_MS + 20


def test_the_next_attempt_asks_the_controller_of_that_moment() -> None:
    bench = ShutdownBench()

    async def script() -> None:
        await bench.connect()
        await bench.elect(B2)
        bench.answers(B2, [NOT_THE_CONTROLLER])
        bench.answers(B3, [NOTHING_LEFT])
        running = bench.runtime.spawn("shutdown", _drop(bench))
        await bench.runtime.sleep_ms(100)
        await bench.elect(B3)
        await running.join()

    bench.runtime.run(script())
    assert [broker for broker, _ in bench.requested_ms] == [B2, B3]


def test_a_controller_known_before_is_asked_again_when_zookeeper_names_none() -> None:
    """Its znode may be gone for the moment of an election."""
    bench = ShutdownBench()

    async def script() -> None:
        await bench.connect()
        await bench.elect(B2)
        bench.answers(B2, [ONE_LEFT, NOTHING_LEFT])
        running = bench.runtime.spawn("shutdown", _drop(bench))
        await bench.runtime.sleep_ms(100)
        await bench.tree(Delete(paths.CONTROLLER))
        await running.join()

    bench.runtime.run(script())
    assert [broker for broker, _ in bench.requested_ms] == [B2, B2]


async def _drop(bench: ShutdownBench) -> None:
    assert await bench.run()


def test_without_a_session_it_goes_down_at_once() -> None:
    bench = ShutdownBench()

    async def script() -> None:
        await bench.connect()
        bench.session.expire()
        assert not await bench.run()

    bench.runtime.run(script())
    assert bench.took_ms < BACKOFF_MS
    assert bench.steps[-1] == "proceeding with an unclean shutdown"
