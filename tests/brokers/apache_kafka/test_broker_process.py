"""A broker of Apache Kafka obeys the calls of its process object, and its end ends no other process."""

import asyncio
import signal
import socket
from pathlib import Path

import pytest

from kcsim.brokers.apache_kafka import broker_process
from kcsim.brokers.apache_kafka.errors import BrokerExitedError
from kcsim.brokers.apache_kafka.installation import LOG4J_BINDING, find_kafka
from kcsim.errors import TimedOutError
from kcsim.zk.servers.errors import MemberStateError, PortTakenError
from kcsim.zk.servers.free_ports import free_ports
from tests.brokers.apache_kafka.real_brokers import DOWN_WITHIN_S, UP_WITHIN_S, Znodes, broker_on, logged
from tests.zk.servers.processes import line_from, processes_about, python_program, until

pytestmark = [pytest.mark.kafka, pytest.mark.live, pytest.mark.slow]
REGISTRATION = "/brokers/ids/1"
TERMINATED = 128 + signal.SIGTERM


def test_a_broker_starts_ends_in_order_and_starts_again_on_its_old_log(znodes: Znodes, tmp_path: Path) -> None:
    async def story() -> None:
        async with broker_on(znodes, tmp_path) as broker:
            assert broker.state is None
            await broker.start()
            assert broker.state == "up"
            await broker.wait_until_up(UP_WITHIN_S)
            registered = znodes.content(REGISTRATION)
            assert (registered["port"], registered["rack"], registered["version"]) == (broker.port, "east", 5)
            assert (await znodes.until("/controller", lambda held: held is not None, "a controller"))["brokerid"] == 1

            assert await broker.terminate(DOWN_WITHIN_S) == TERMINATED == broker.state
            # The broker closed its session instead of letting it expire: its znodes are gone without delay.
            assert znodes.content(REGISTRATION) is None
            assert znodes.content("/controller") is None

            port = broker.port
            await broker.start({"inter.broker.protocol.version": "2.6"})
            await broker.wait_until_up(UP_WITHIN_S)
            registered = znodes.content(REGISTRATION)
            assert (broker.port, registered["port"]) == (port, port)
            assert (registered["rack"], registered["version"]) == ("east", 4), "with this setting changed, and no other"
            await znodes.until("/controller_epoch", lambda held: held == 2, "the second election")
            assert (broker.log_dirs[0] / "meta.properties").is_file()
            # Each file contains both runs.
            await logged(broker.logs / "server.log", "[KafkaServer id=1] started (kafka.server.KafkaServer)", 2)
            await logged(broker.logs / "controller.log", "1 successfully elected as the controller", 2)
            await logged(broker.logs / "state-change.log", "TRACE [Controller id=1 epoch=2] Received response", 1)
            assert "kafka.controller.KafkaController" not in (broker.logs / "server.log").read_text()

    asyncio.run(story())


def test_a_frozen_broker_loses_its_session_comes_back_and_killed_leaves_it_to_expire(znodes: Znodes, tmp_path: Path) -> None:
    async def story() -> None:
        async with broker_on(znodes, tmp_path) as broker:
            await broker.start()
            await broker.wait_until_up(UP_WITHIN_S)

            await broker.pause()
            assert broker.state == "paused"
            await znodes.until(REGISTRATION, lambda held: held is None, "the session of a frozen broker to expire")
            with pytest.raises(TimedOutError, match=r"waited 0\.1 s for broker-1 to answer requests; last seen: paused"):
                await broker.wait_until_up(0.1)
            with pytest.raises(MemberStateError, match="cannot terminate broker-1: it is paused"):
                await broker.terminate(1)

            await broker.resume()
            await broker.wait_until_up(UP_WITHIN_S)
            await znodes.until(REGISTRATION, lambda held: held is not None, "it to register anew")

            await broker.pause()
            await broker.kill()
            with pytest.raises(MemberStateError, match=r"cannot resume broker-1: it is down \(status -9\)"):
                await broker.resume()
            assert znodes.content(REGISTRATION) is not None
            await znodes.until(REGISTRATION, lambda held: held is None, "the session of a killed broker to expire")

    asyncio.run(story())


def test_a_verb_without_effect_is_refused(znodes: Znodes, tmp_path: Path) -> None:
    async def story() -> None:
        async with broker_on(znodes, tmp_path) as broker:
            for verb in (broker.kill, broker.pause, broker.resume):
                with pytest.raises(MemberStateError, match=r"cannot \w+ broker-1: it is not started"):
                    await verb()
            await broker.start()
            with pytest.raises(MemberStateError, match="cannot start broker-1: it is up"):
                await broker.start()
            await broker.kill()
            with pytest.raises(MemberStateError, match=r"cannot kill broker-1: it is down \(status -9\)"):
                await broker.kill()

    asyncio.run(story())


def test_a_broker_of_another_cluster_is_reported_with_its_own_message(znodes: Znodes, tmp_path: Path) -> None:
    """Its log directory belongs to a cluster with another id: the broker refuses to start."""

    async def story() -> None:
        async with broker_on(znodes, tmp_path) as broker:
            broker.log_dirs[0].mkdir(parents=True)
            (broker.log_dirs[0] / "meta.properties").write_text("version=0\nbroker.id=1\ncluster.id=elsewhere\n")
            await broker.start()
            with pytest.raises(BrokerExitedError, match="elsewhere") as ended:
                await broker.wait_until_up(UP_WITHIN_S)
            assert not ended.value.reason.startswith("[")  # the exception, not the line that announces it
            assert ended.value.exit_status == broker.state == 1
            assert "shutting down" in "".join(broker.last_lines(6))

    asyncio.run(story())


def test_a_port_that_is_taken_is_reported(znodes: Znodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The port is checked before anything starts, where possible; if it is taken after that, the broker reports it."""

    async def story(port: int) -> None:
        async with broker_on(znodes, tmp_path, port=port) as broker:
            with pytest.raises(PortTakenError, match=f"port {port} of 127.0.0.1, meant for broker-1, is taken"):
                await broker.start()
            monkeypatch.setattr(broker_process, "is_free", lambda _: True)
            await broker.start()
            with pytest.raises(BrokerExitedError, match=f"127.0.0.1:{port}: Address already in use"):
                await broker.wait_until_up(UP_WITHIN_S)

    with socket.create_server(("127.0.0.1", free_ports(1)[0])) as taken:
        asyncio.run(story(taken.getsockname()[1]))


def test_a_broker_that_cannot_log_runs_and_its_end_is_reported_with_the_reason_for_the_silence(
    znodes: Znodes, tmp_path: Path
) -> None:
    """Kafka's own jars contain no slf4j binding; a user who downloads only those has a broker without log files."""
    libs = tmp_path / "kafka" / "libs"
    libs.mkdir(parents=True)
    for jar in find_kafka(None).jars():
        if not LOG4J_BINDING.fullmatch(jar.name):
            (libs / jar.name).symlink_to(jar)

    async def story() -> None:
        async with broker_on(znodes, tmp_path, kafka_home=libs.parent) as broker:
            await broker.start()
            await broker.wait_until_up(UP_WITHIN_S)
            assert [log.name for log in broker.logs.iterdir()] == ["console.log"]
            await broker.kill()
            with pytest.raises(
                BrokerExitedError, match="ended with status -9: the reason is unknown, because its libs folder"
            ):
                await broker.wait_until_up(UP_WITHIN_S)

    asyncio.run(story())


PARENT = """
import asyncio, sys
from pathlib import Path
from kcsim.brokers.apache_kafka.broker_process import KafkaBroker
from kcsim.brokers.apache_kafka.installation import find_kafka
from kcsim.brokers.apache_kafka.properties import KafkaBrokerSpec
connect, directory = {connect!r}, Path({directory!r})

async def start_two():
    for broker_id in (1, 2):
        broker = KafkaBroker(find_kafka(None), KafkaBrokerSpec(broker_id, connect, {{}}), directory / str(broker_id))
        await broker.start()
        brokers.append(broker)
    await broker.pause()

brokers = []
asyncio.run(start_two())
print([broker.state for broker in brokers], flush=True)
sys.stdin.read()
"""


def test_no_broker_outlives_us_not_even_a_frozen_one(znodes: Znodes, tmp_path: Path) -> None:
    with python_program(PARENT.format(connect=znodes.connect, directory=str(tmp_path))) as parent:
        assert line_from(parent) == "['up', 'paused']"
        about = str(tmp_path / "1" / "server.properties"), str(tmp_path / "2" / "server.properties")
        assert [len(processes_about(word)) for word in about] == [1, 1]
        parent.kill()
    until(lambda: [processes_about(word) for word in about], lambda seen: seen == [[], []], "the brokers to go")
