"""Which events a fold reads: one declaration, with the same meaning for events, record batches and Spark's tables."""

from collections.abc import Sequence

import msgspec
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.analysis.folding.arrow_rows import COLUMNS, fact_mask, facts_in
from kcsim.scenarios.analysis.folding.replay_fact import CLUSTER_FACTS, FACT_COLUMNS, PARTITION_FACTS, fact_of
from kcsim.scenarios.analysis.replay import facts_of
from kcsim.scenarios.analysis.tables.events_table import events_arrow_schema
from tests.scenarios.analysis.folding.simulated_runs import library_run

STATE = "/brokers/topics/orders/partitions/3/state"
READ = [
    Event(0, 0, "zookeeper", EventKind.ZNODE_CREATED, path=STATE),
    Event(1, 0, "zookeeper", EventKind.ZNODE_DELETED, path=STATE, topic="orders", partition=3),
    Event(2, 0, "zookeeper", EventKind.ZNODE_CHANGED, path="/brokers/topics/orders"),
    Event(3, 0, "zookeeper", EventKind.ZNODE_CHANGED, path="/controller_epoch"),
    Event(4, 0, "broker-1", EventKind.LEADER_ELECTION, topic="orders", partition=0),
    Event(5, 0, "broker-1", EventKind.REPLICA_STATE_CHANGE, topic="orders", partition=0),
    Event(6, 0, "broker-1", EventKind.REPLICA_STATE_CHANGE),
    Event(7, 0, "broker-1", EventKind.BROKER_CHANGE),
    Event(8, 0, "broker-1", EventKind.CONTROLLER_EVENT_BEGUN, event="ControlledShutdown(3)"),
]
NOT_READ = [
    Event(9, 0, "zookeeper", EventKind.ZNODE_CHANGED, path=f"{STATE}/below"),
    Event(10, 0, "zookeeper", EventKind.ZNODE_CHANGED, path="/brokers/topics/orders/partitions"),
    Event(11, 0, "zookeeper", EventKind.ZNODE_CHANGED, path="/before/controller_epoch"),
    Event(12, 0, "broker-1", EventKind.LEADER_ELECTION, topic="orders"),
    Event(13, 0, "broker-1", EventKind.BROKER_CHANGE, partition=0),
    Event(14, 0, "broker-1", EventKind.CONTROLLER_EVENT_BEGUN, event="BrokerChange"),
    Event(15, 0, "broker-1", EventKind.CONTROLLER_EVENT_DONE, event="ControlledShutdown(3)"),
    Event(16, 0, "broker-1", EventKind.WATCH_FIRED, path=STATE),
]


def events() -> Sequence[Event]:
    """Return the examples above and all events of a run."""
    return [*READ, *NOT_READ, *library_run("deletion-with-dead-broker")]


def table(rows: Sequence[Event]) -> pa.Table:
    """Return events as a table of one run."""
    columns = [{"batch": "b", "run": "r", **msgspec.structs.asdict(event), "kind": str(event.kind)} for event in rows]
    return pa.Table.from_pylist(columns, schema=events_arrow_schema())


def test_only_what_decides_about_partitions_is_read() -> None:
    assert [event.seq for event in READ + NOT_READ if fact_of(event) is not None] == [event.seq for event in READ]


def test_a_state_znode_names_its_partition() -> None:
    facts = [fact_of(event) for event in READ[:2]]
    assert [(fact.topic, fact.partition) for fact in facts if fact is not None] == [("orders", 3), ("orders", 3)]


def test_a_row_has_the_columns_that_are_declared_and_no_others() -> None:
    """A fold that needs another column fails at once. It must not read nulls where only the declared columns were read."""
    fact = fact_of(READ[7])
    assert fact is not None
    assert fact.__struct_fields__ == FACT_COLUMNS
    assert not hasattr(fact, "detail")


def test_record_batches_are_filtered_as_events_are() -> None:
    found = table(events()).combine_chunks().to_batches()[0]
    rules = (*PARTITION_FACTS, *CLUSTER_FACTS)
    assert fact_mask(found, rules).to_pylist() == [fact_of(event) is not None for event in events()]


@pytest.mark.slow
def test_spark_filters_a_table_as_events_are_filtered(spark: SparkSession) -> None:
    found = facts_of(spark.createDataFrame(table(events()))).select(*COLUMNS).toArrow()
    expected = [fact for event in events() if (fact := fact_of(event)) is not None]
    assert sorted(map(as_text, (fact for _, _, fact in facts_in(found.to_batches())))) == sorted(map(as_text, expected))


def as_text(fact: Event) -> str:
    """Return all columns of a fact; lists are equal whether they were lists or tuples."""
    return msgspec.json.encode(msgspec.structs.asdict(fact)).decode()
