"""Small histories written by hand: events and transitions of runs, as the tables that the analyses read."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.analysis.folding.transition import Transition, transitions_arrow_schema
from kcsim.scenarios.analysis.folding.trigger import Trigger
from kcsim.scenarios.analysis.tables.events_table import events_arrow_schema

BATCH = "by hand"
Row = dict[str, Any]


class Story:
    """One run. Every method appends an event or a transition; a later call gets a greater seq."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.events: list[Row] = []
        self.transitions: list[Row] = []
        self.latest: dict[tuple[str, int], Row] = {}

    def event(self, t_ms: int, kind: EventKind, node: str = "zookeeper", **fields: Any) -> int:
        seq = len(self.events)
        self.events.append({"batch": BATCH, "run": self.run, "seq": seq, "t_ms": t_ms, "node": node, "kind": kind, **fields})
        return seq

    def ends(self, t_ms: int) -> int:
        return self.event(t_ms, EventKind.RUN_ENDED, "scenario")

    # --- brokers and controllers

    def registers(self, t_ms: int, *brokers: int, rack: str | None = None) -> None:
        for broker in brokers:
            data = f'{{"rack":"{rack}","version":4}}' if rack else '{"version":4}'
            self.event(t_ms, EventKind.ZNODE_CREATED, path=f"/brokers/ids/{broker}", data=data)

    def unregisters(self, t_ms: int, broker: int, cause: int | None = None) -> int:
        return self.event(t_ms, EventKind.ZNODE_DELETED, path=f"/brokers/ids/{broker}", cause=cause)

    def process(self, t_ms: int, broker: int, state: str, cause: int | None = None) -> int:
        return self.event(t_ms, EventKind.PROCESS_STATE, f"broker-{broker}", state=state, cause=cause)

    def fault(self, t_ms: int, fault: str, target: str) -> int:
        return self.event(t_ms, EventKind.FAULT, "scenario", fault=fault, target=target)

    def controller(self, t_ms: int, broker: int | None, zxid: int, epoch: int | None = None) -> int:
        """Append the creation of the znode /controller, or its deletion if broker is None."""
        if broker is None:
            return self.event(t_ms, EventKind.ZNODE_DELETED, path="/controller", zxid=zxid)
        seq = self.event(t_ms, EventKind.ZNODE_CREATED, path="/controller", data=f'{{"brokerid":{broker}}}', zxid=zxid)
        if epoch is not None:
            self.event(t_ms, EventKind.ZNODE_CHANGED, path="/controller_epoch", data=str(epoch), zxid=zxid)
        return seq

    # --- topics and partitions

    def topic_config(self, t_ms: int, topic: str, min_isr: int | None) -> int:
        setting = "" if min_isr is None else f'"min.insync.replicas":"{min_isr}"'
        data = f'{{"version":1,"config":{{{setting}}}}}'
        return self.event(t_ms, EventKind.ZNODE_CHANGED, path=f"/config/topics/{topic}", data=data)

    def deletion(self, t_ms: int, topic: str, asked: bool = True) -> int:
        kind = EventKind.ZNODE_CREATED if asked else EventKind.ZNODE_DELETED
        return self.event(t_ms, kind, path=f"/admin/delete_topics/{topic}")

    def state(self, t_ms: int, topic: str, partition: int, leader: int | None, isr: Sequence[int], **fields: Any) -> int:
        """Append a transition and its event. Fields that are not given keep the value of the transition before."""
        before = self.latest.get((topic, partition), {})
        seq = self.event(t_ms, EventKind.ZNODE_CHANGED, path=f"/brokers/topics/{topic}/partitions/{partition}/state")
        known: Row = {"replicas": list(isr), "adding": [], "removing": [], **{k: before[k] for k in KEPT if k in before}}
        row: Row = dict.fromkeys(Transition.__struct_fields__)
        row |= {"batch": BATCH, "run": self.run, "topic": topic, "partition": partition, "seq": seq, "t_ms": t_ms}
        row |= {"n": before.get("n", -1) + 1, "kind": EventKind.LEADER_ELECTION, "leader": leader, "isr": list(isr), **known}
        epoch = before.get("leader_epoch")
        row |= {"leader_epoch": 0 if epoch is None else epoch + 1, "trigger": Trigger.UNKNOWN, "derived": False, **fields}
        if row["kind"] == EventKind.LEADER_ELECTION and leader is not None and row["clean"] is None:
            row["clean"] = True
        self.transitions.append(row)
        self.latest[topic, partition] = row
        return seq

    def gone(self, t_ms: int, topic: str, partition: int) -> int:
        return self.state(t_ms, topic, partition, None, [], kind=EventKind.ZNODE_DELETED, trigger=Trigger.TOPIC_DELETION)


KEPT = ("replicas", "adding", "removing")


def events_of(spark: SparkSession, stories: Sequence[Story]) -> DataFrame:
    """Return the table of events of these runs."""
    rows = [row for story in stories for row in story.events]
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema=events_arrow_schema()))


def transitions_of(spark: SparkSession, stories: Sequence[Story]) -> DataFrame:
    """Return the table of transitions of these runs."""
    rows = [row for story in stories for row in story.transitions]
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema=transitions_arrow_schema()))


def written(folder: Path, stories: Sequence[Story]) -> Path:
    """Write a dataset of these runs."""
    for table, schema in (("events", events_arrow_schema()), ("transitions", transitions_arrow_schema())):
        (folder / table / f"batch={BATCH}").mkdir(parents=True)
        rows = [row for story in stories for row in getattr(story, table)]
        columns = pa.Table.from_pylist(rows, schema=schema).drop_columns("batch")
        pq.write_table(columns, folder / table / f"batch={BATCH}" / "part-0.parquet")
    return folder
