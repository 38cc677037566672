"""kcsim spark follow on a topic of a real broker: the tables are those of the batch replay of the log that was produced."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from kcsim.brokers.apache_kafka.broker_process import KafkaBroker
from kcsim.brokers.apache_kafka.commands import run_kafka_command
from kcsim.brokers.apache_kafka.installation import find_kafka
from kcsim.scenarios.analysis.streaming.follow import follow
from kcsim.scenarios.analysis.streaming.followed import FollowSettings, opened
from kcsim.scenarios.analysis.streaming.kafka_topic import KafkaTopic
from kcsim.scenarios.analysis.streaming.run_status import of_runs
from kcsim.scenarios.analysis.tables.dataset import Dataset
from kcsim.scenarios.cli.app import app
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from kcsim.zk.servers.free_ports import free_ports
from tests.brokers.apache_kafka.real_brokers import UP_WITHIN_S, broker_on, until, znodes_below
from tests.requirements import require
from tests.scenarios.analysis.folding.simulated_runs import library_run
from tests.scenarios.analysis.streaming.killed_follow import micro_batches
from tests.scenarios.analysis.streaming.portions import BATCH
from tests.scenarios.analysis.streaming.test_follow import expected, written_transitions
from tests.scenarios.analysis.synthetic_traces import line

pytestmark = [pytest.mark.kafka, pytest.mark.live, pytest.mark.slow]
RUN = "leader-crash-acks-one"
COMMAND_WITHIN_S = 180.0
PARTITIONS = 3
Story = Callable[[KafkaBroker], Coroutine[None, None, None]]


@pytest.fixture
def on_broker(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Story], None]:
    """Return a function that runs a story beside a broker that is up."""
    require("java", "kafka")
    server: EmbeddedZooKeeper = request.getfixturevalue("server")

    def run_story(story: Story) -> None:
        async def beside() -> None:
            async with _up(server, tmp_path) as broker:
                await story(broker)

        asyncio.run(beside())

    return run_story


@asynccontextmanager
async def _up(server: EmbeddedZooKeeper, directory: Path) -> AsyncIterator[KafkaBroker]:
    with znodes_below(server, directory.name) as znodes:
        async with broker_on(znodes, directory / "brokers") as broker:
            await broker.start()
            await broker.wait_until_up(UP_WITHIN_S)
            yield broker


async def kafka_command(name: str, broker: KafkaBroker, *args: str, stdin: str | None = None) -> None:
    args = ("--bootstrap-server", broker.address, *args)
    ended = await run_kafka_command(find_kafka(None), name, args, stdin, COMMAND_WITHIN_S)
    assert ended.rc == 0, ended.err


async def create_topic(broker: KafkaBroker, topic: str) -> None:
    options = ("--partitions", str(PARTITIONS), "--replication-factor", "1")
    await kafka_command("kafka.admin.TopicCommand", broker, "--create", "--topic", topic, *options)


async def produce(broker: KafkaBroker, topic: str, records: Sequence[tuple[str, bytes]]) -> None:
    """Produce records with Kafka's own producer. The key of each chooses its partition."""
    text = "".join(f"{key}\t{value.decode().rstrip()}\n" for key, value in records)
    with_keys = ("--property", "parse.key=true", "--property", "key.separator=\t")
    await kafka_command("kafka.tools.ConsoleProducer", broker, "--topic", topic, *with_keys, stdin=text)


def test_a_topic_is_followed_over_a_stop_to_the_tables_of_the_batch_replay(
    spark: SparkSession, on_broker: Callable[[Story], None], tmp_path: Path
) -> None:
    """Its events are in several partitions; some are there twice, and records that are no events are rejects."""
    run, chosen, out = library_run(RUN), random.Random(7), tmp_path / "out"
    records = [(str(chosen.randrange(8)), line(event)) for event in run]
    repeated = [(str(chosen.randrange(8)), line(event)) for event in run if chosen.random() < 0.1]
    cut = len(records) * 3 // 4

    async def story(broker: KafkaBroker) -> None:
        topic = KafkaTopic(broker.address, "events")
        settings = FollowSettings(str(topic), BATCH, 2, max_bytes=512 * (cut // 4))
        await create_topic(broker, topic.topic)
        await produce(broker, topic.topic, [*records[:cut], ("x", b"no JSON")])
        with opened(out, settings) as followed:
            query = follow(spark, followed, interval_ms=0)
            await until(lambda: micro_batches(out), (3).__le__, "a third micro-batch")
            query.stop()
            before = len(written_transitions(out))
            await produce(broker, topic.topic, [*repeated, *records[cut:]])
            follow(spark, followed, until_end=True).awaitTermination()
        assert before < len(written_transitions(out))
        (status,) = of_runs(followed.statuses)
        assert (status.run, status.events, status.late) == ("events", len(run), 0)
        assert status.repeated == len(repeated)
        assert len([offset for offset in followed.places(micro_batches(out) - 1).values() if offset]) > 1

    on_broker(story)
    assert written_transitions(out) == expected(events=run)
    assert not Dataset(out).has("mismatches")
    (reject,) = ds.dataset(out / "rejects", partitioning="hive").to_table().to_pylist()
    assert (reject["reason"], reject["text"], "/events/" in reject["file"]) == ("not JSON", "no JSON", True)


def test_aborted_transactions_are_no_events_and_leave_nothing_to_wait_for(
    on_broker: Callable[[Story], None],
) -> None:
    from confluent_kafka import Producer

    async def story(broker: KafkaBroker) -> None:
        topic = KafkaTopic(broker.address, "events")
        await create_topic(broker, topic.topic)
        producer = Producer({"bootstrap.servers": broker.address, "transactional.id": "t", "log_level": 0})
        await asyncio.to_thread(producer.init_transactions, COMMAND_WITHIN_S)
        run = library_run(RUN)
        for event, ends in zip(run[:3], (producer.commit_transaction, producer.abort_transaction) * 2, strict=False):
            producer.begin_transaction()
            producer.produce(topic.topic, line(event), partition=0)
            await asyncio.to_thread(producer.flush, COMMAND_WITHIN_S)  # to abort would take it back
            await asyncio.to_thread(ends, COMMAND_WITHIN_S)
        start = topic.beginning()
        # Each transaction ends with a marker, which the broker writes later.
        end = await until(lambda: topic.further(start, 2**40), lambda places: places["0"] == 6, "the last marker")
        parts = topic.parts(start, end, BATCH, 2 * 512)
        read = [len(part.chunks(1)[0].seqs) // 8 for part in parts]
        assert (len(parts), read) == (3, [1, 0, 1])

    on_broker(story)


def test_a_topic_that_is_not_there_or_was_created_anew_ends_the_command(
    on_broker: Callable[[Story], None], tmp_path: Path
) -> None:
    async def story(broker: KafkaBroker) -> None:
        topic = KafkaTopic(broker.address, "events")
        ended = await asyncio.to_thread(followed, str(topic), tmp_path / "out")
        assert ended == (64, f"{topic}: there is no such topic\n")
        await create_topic(broker, topic.topic)
        places = {str(partition): 5 for partition in range(PARTITIONS)}
        with pytest.raises(Exception, match="ends at offset 0, but was read up to 5: it was created anew"):
            topic.further(places, 2**40)

    on_broker(story)


def test_a_broker_that_is_not_there_ends_the_command(tmp_path: Path) -> None:
    topic = KafkaTopic(f"127.0.0.1:{free_ports(1)[0]}", "events")
    status, message = followed(str(topic), tmp_path / "out")
    assert (status, message.count("\n")) == (2, 1)
    assert f"{topic}: no broker has answered within 15 s" in message


@pytest.mark.parametrize("url", ["kafka://host/events", "kafka://host:9092", "kafka://host:9092/a/b", "kafka:///events"])
def test_a_url_that_names_no_topic_is_refused(tmp_path: Path, url: str) -> None:
    status, message = followed(url, tmp_path / "out")
    assert (status, message.startswith(f"{url}: no topic; write one as kafka://host:port/TOPIC")) == (64, True)


def followed(log: str, out: Path) -> tuple[int, str]:
    """Return the exit status of kcsim spark follow, and what it printed on stderr."""
    ended = CliRunner().invoke(app, ["spark", "follow", log, "-o", str(out)])
    return ended.exit_code, ended.stderr
