"""The transitions that a history records, read from its state znodes with SQL alone.

The replay (folding/) decides each transition anew, and so verifies the history; this module decides nothing. The kind of a
change is taken from the latest decision of the controller before it, if the change agrees with that decision, else from its
content: a leader keeps the leader epoch, a controller raises it.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_
from typing import NamedTuple

from kcsim.controller.decisions.election import ElectionRule, PartitionLeaderElectionStrategy
from kcsim.eventlog.events import EventKind
from kcsim.scenarios.analysis.analyses.facts import IN_A_RUN, ZNODES
from kcsim.scenarios.analysis.engines.frames import Column, DataFrame, F, Window
from kcsim.scenarios.analysis.folding.replay_fact import STATE_PATH
from kcsim.scenarios.analysis.folding.transition import Transition
from kcsim.scenarios.analysis.folding.trigger import Trigger
from kcsim.znodes import paths

PARTITION = ("batch", "run", "topic", "partition")
TOPIC_PATH = rf"^{paths.BROKER_TOPICS}/([^/]+)$"
STATE_JSON = "leader BIGINT, leader_epoch BIGINT, isr ARRAY<BIGINT>, controller_epoch BIGINT"
TOPIC_JSON = ", ".join(
    f"{name} MAP<STRING, ARRAY<BIGINT>>" for name in ("partitions", "adding_replicas", "removing_replicas")
)
DECISIONS = (EventKind.LEADER_ELECTION, EventKind.REPLICA_REMOVED_FROM_ISR, EventKind.LEADER_EPOCH_BUMPED)
MOVES = (EventKind.PARTITION_STATE_CHANGE, EventKind.REPLICA_STATE_CHANGE)
STRATEGIES = {
    ElectionRule.ALIVE_AND_IN_ISR: PartitionLeaderElectionStrategy.OFFLINE,
    ElectionRule.UNCLEAN: PartitionLeaderElectionStrategy.OFFLINE,
    ElectionRule.REASSIGNMENT_TARGET: PartitionLeaderElectionStrategy.REASSIGN,
    ElectionRule.PREFERRED_LEADER: PartitionLeaderElectionStrategy.PREFERRED,
    ElectionRule.CONTROLLED_SHUTDOWN: PartitionLeaderElectionStrategy.CONTROLLED_SHUTDOWN,
}
TRIGGERS = {
    EventKind.TOPIC_CHANGE: Trigger.TOPIC_CREATED,
    EventKind.CONTROLLER_FAILOVER: Trigger.CONTROLLER_FAILOVER,
    EventKind.PARTITION_REASSIGNMENT: Trigger.REASSIGNMENT,
    EventKind.TOPIC_DELETION: Trigger.TOPIC_DELETION,
    EventKind.LEADER_REBALANCE: Trigger.LEADER_REBALANCE,
}
TRIGGERS_OF_EVENTS = {
    "ControlledShutdown": Trigger.CONTROLLED_SHUTDOWN,
    "ReplicaLeaderElection": Trigger.PREFERRED_ELECTION,
    "UncleanLeaderElectionEnable": Trigger.UNCLEAN_ELECTION,
    "TopicUncleanLeaderElectionEnable": Trigger.UNCLEAN_ELECTION,
    "LeaderAndIsrResponseReceived": Trigger.LOG_DIR_FAILED,
}
_ISR = "array<bigint>"


def recorded_transitions(events: DataFrame) -> DataFrame:
    """Return the table of transitions of a recorded history, in the columns of Transition.

    What the events do not record is null or Unknown: the strategy and the trigger where the history has no decisions of a
    controller (production histories), the replicas where it has no assignment. Where one controller event found both stopped
    and started brokers, the trigger is the failure. Every deletion of a state counts as a part of its topic's deletion,
    whichever client deleted it.
    """
    moments = _states(events).unionByName(_assignments(events)).unionByName(_decisions(events))
    in_order = Window.partitionBy(*PARTITION).orderBy("t_ms", "seq")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, 0)
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    rows = moments.select(
        *PARTITION,
        *("seq", "t_ms", "state", "assigned", "decided"),
        F.last("state", ignorenulls=True).over(before).alias("before"),
        F.last("assigned", ignorenulls=True).over(so_far).alias("assignment"),
        (F.count("assigned").over(before) > 0).alias("was_assigned"),
        F.last("decided", ignorenulls=True).over(so_far).alias("decision"),
    )
    return _numbered(_transitions(rows, (_change(), _failed_election(), _reassignment())))


# --- what is read ----------------------------------------------------------------------------------------------------------


def _states(events: DataFrame) -> DataFrame:
    """Return what was written to state znodes: `state` is set."""
    content = F.from_json("data", STATE_JSON)
    chosen = events.where(F.col("kind").isin(*ZNODES) & F.col("path").startswith(f"{paths.BROKER_TOPICS}/"))
    read = chosen.where(F.col("path").rlike(STATE_PATH)).select(
        *IN_A_RUN,
        F.regexp_extract("path", STATE_PATH, 1).alias("topic"),
        F.regexp_extract("path", STATE_PATH, 2).cast("long").alias("partition"),
        *("seq", "t_ms", "kind", "zk_version", "cause"),
        F.when(F.col("kind") != EventKind.ZNODE_DELETED, content).alias("c"),
    )
    readable = F.col("c.leader").isNotNull() & F.col("c.isr").isNotNull() & F.col("c.leader_epoch").isNotNull()
    field = {
        name: F.when(readable, F.col(f"c.{name}")).alias(name)
        for name in ("leader", "leader_epoch", "isr", "controller_epoch")
    }
    version = F.when(readable, F.col("zk_version")).alias("zk_version")
    state = F.struct("seq", "cause", "kind", version, *field.values())
    return read.select(
        *PARTITION, "seq", "t_ms", state.alias("state"), _nothing(_ASSIGNED, "assigned"), _nothing(_DECIDED, "decided")
    )


_LEADER_AND_ISR = "leader: bigint, leader_epoch: bigint, isr: array<bigint>"
_STATE = f"struct<seq: bigint, cause: bigint, kind: string, zk_version: bigint, {_LEADER_AND_ISR}, controller_epoch: bigint>"
_ASSIGNED = "struct<cause: bigint, replicas: array<bigint>, adding: array<bigint>, removing: array<bigint>>"
_DECIDED = f"struct<seq: bigint, cause: bigint, kind: string, {_LEADER_AND_ISR}, rule: string, trigger: string>"


def _nothing(of_type: str, name: str) -> Column:
    return F.lit(None).cast(of_type).alias(name)


def _assignments(events: DataFrame) -> DataFrame:
    """Return what topics' znodes assigned to each partition: `assigned` is set."""
    content = F.from_json("data", TOPIC_JSON)
    none = F.array().cast(_ISR)
    written = (EventKind.ZNODE_CREATED, EventKind.ZNODE_CHANGED)
    chosen = events.where(F.col("kind").isin(*written) & F.col("path").startswith(f"{paths.BROKER_TOPICS}/"))
    read = (
        chosen.where(F.col("path").rlike(TOPIC_PATH))
        .select(
            *IN_A_RUN, F.regexp_extract("path", TOPIC_PATH, 1).alias("topic"), "seq", "t_ms", "cause", content.alias("c")
        )
        .select(*IN_A_RUN, "topic", "seq", "t_ms", "cause", "c", F.explode(F.map_entries("c.partitions")).alias("entry"))
        .withColumns({"number": F.col("entry.key"), "replicas": F.col("entry.value")})
    )
    assigned = F.struct(
        "cause",
        "replicas",
        F.coalesce(F.try_element_at("c.adding_replicas", F.col("number")), none).alias("adding"),
        F.coalesce(F.try_element_at("c.removing_replicas", F.col("number")), none).alias("removing"),
    )
    partition = F.col("number").try_cast("long").alias("partition")
    named = read.select(*IN_A_RUN, "topic", partition, "seq", "t_ms", assigned.alias("assigned"))
    was = F.lag("assigned").over(Window.partitionBy(*PARTITION).orderBy("t_ms", "seq"))
    differs = [F.col(f"_was.{name}") != F.col(f"assigned.{name}") for name in ("replicas", "adding", "removing")]
    changed = named.withColumn("_was", was).where(F.col("_was").isNull() | differs[0] | differs[1] | differs[2])
    return changed.select(*PARTITION, "seq", "t_ms", _nothing(_STATE, "state"), "assigned", _nothing(_DECIDED, "decided"))


def _decisions(events: DataFrame) -> DataFrame:
    """Return what controllers decided: `decided` is set."""
    words = _triggers_by_cause(events)
    chosen = events.where(F.col("kind").isin(*DECISIONS) & F.col("topic").isNotNull()).select(
        *PARTITION, *("seq", "t_ms", "kind", "leader", "leader_epoch", "isr", "rule", "cause")
    )
    joined = chosen.join(words, [*IN_A_RUN, "cause"], "left")
    is_unclean_request = (F.col("trigger") == Trigger.PREFERRED_ELECTION) & (F.col("rule") != ElectionRule.PREFERRED_LEADER)
    trigger = F.when(is_unclean_request, Trigger.UNCLEAN_ELECTION).otherwise(F.coalesce("trigger", F.lit(Trigger.UNKNOWN)))
    decided = F.struct("seq", "cause", "kind", "leader", "leader_epoch", "isr", "rule", trigger.alias("trigger"))
    return joined.select(
        *PARTITION, "seq", "t_ms", _nothing(_STATE, "state"), _nothing(_ASSIGNED, "assigned"), decided.alias("decided")
    )


def _triggers_by_cause(events: DataFrame) -> DataFrame:
    """Return the triggers of the controller's events that decisions follow from: batch, run, cause (its seq), trigger."""
    kind = F.col("kind")
    begun = F.substring_index("event", "(", 1)
    word = F.coalesce(
        *(F.when(kind == event_kind, F.lit(trigger)) for event_kind, trigger in TRIGGERS.items()),
        *(
            F.when((kind == EventKind.CONTROLLER_EVENT_BEGUN) & (begun == n), F.lit(t))
            for n, t in TRIGGERS_OF_EVENTS.items()
        ),
        F.when(kind == EventKind.BROKER_CHANGE, _of_broker_change()),
    )
    reasons = events.where(kind.isin(*TRIGGERS, EventKind.CONTROLLER_EVENT_BEGUN, EventKind.BROKER_CHANGE)).select(
        *IN_A_RUN, F.col("seq").alias("cause"), word.alias("trigger")
    )
    reasons = reasons.where(F.col("trigger").isNotNull())
    moves = events.where(kind.isin(*MOVES)).select(*IN_A_RUN, "seq", "cause").join(reasons, [*IN_A_RUN, "cause"])
    return reasons.unionByName(moves.select(*IN_A_RUN, F.col("seq").alias("cause"), "trigger"))


def _of_broker_change() -> Column:
    found = {name: F.size(name) > 0 for name in ("stopped", "bounced", "started")}
    return (
        F.when(found["stopped"], Trigger.BROKER_FAILED)
        .when(found["bounced"], Trigger.BROKER_BOUNCED)
        .when(found["started"], Trigger.BROKER_STARTED)
    )


# --- what is returned ------------------------------------------------------------------------------------------------------


class _Case(NamedTuple):
    """A kind of moments that are transitions, and the fields of such a transition by their names."""

    holds: Column
    fields: dict[str, Column]


def _transitions(rows: DataFrame, cases: Sequence[_Case]) -> DataFrame:
    """Return the moments that are transitions. Each is of one case at most, so that one pass finds those of all."""
    first, *others = cases
    fields = []
    for name, column in first.fields.items():
        chosen = F.when(first.holds, column)
        for case in others:
            chosen = chosen.when(case.holds, case.fields[name])
        fields.append(chosen.alias(name))
    is_one = reduce(or_, (F.coalesce(case.holds, F.lit(False)) for case in cases))
    decided = rows.withColumn("_decided", _is_decided()).withColumn("_kind", _kind())
    return decided.where(is_one).select(*PARTITION, "seq", "t_ms", *fields)


def _is_decided() -> Column:
    """Return whether the controller's latest decision is what the state znode has."""
    now, decision, was = _of("state"), _of("decision"), _of("before")
    agrees = (
        (decision("leader_epoch") == now("leader_epoch"))
        & (decision("isr") == now("isr"))
        & decision("leader").eqNullSafe(now("leader"))
    )
    is_newer = decision("seq") > F.coalesce(was("seq"), F.lit(-1))
    return F.coalesce(agrees & is_newer, F.lit(False)) & ~_same_epoch()


def _kind() -> Column:
    """Return the kind of a change of a state znode."""
    now, was = _of("state"), _of("before")
    by_leader = _same_epoch() & (now("isr") != was("isr"))
    return (
        F.when(F.col("_decided"), F.col("decision.kind"))
        .when(by_leader & (F.size(F.array_except("before.isr", "state.isr")) > 0), EventKind.ISR_SHRUNK)
        .when(by_leader & (F.size(F.array_except("state.isr", "before.isr")) > 0), EventKind.ISR_EXPANDED)
        .otherwise(now("kind"))
    )


def _change() -> _Case:
    """A change of a state znode."""
    now, decision, was, kind = _of("state"), _of("decision"), _of("before"), F.col("_kind")
    is_election = F.col("_decided") & (kind == EventKind.LEADER_ELECTION)
    by_content = F.coalesce(F.array_contains(was("isr"), now("leader")), F.lit(True))
    clean = F.when(decision("rule").isNotNull(), decision("rule") != ElectionRule.UNCLEAN).otherwise(by_content)
    trigger = (
        F.when(F.col("_decided"), decision("trigger"))
        .when(kind.isin(EventKind.ISR_SHRUNK, EventKind.ISR_EXPANDED), Trigger.LEADER)
        .when(kind == EventKind.ZNODE_DELETED, Trigger.TOPIC_DELETION)
        .otherwise(Trigger.WRITTEN)
    )
    fields = {
        "kind": kind,
        "leader": now("leader"),
        "leader_epoch": now("leader_epoch"),
        "isr": F.coalesce(now("isr"), F.array().cast(_ISR)),
        **_assigned("assignment"),
        "controller_epoch": now("controller_epoch"),
        "zk_version": now("zk_version"),
        "strategy": F.when(is_election, _strategy(decision("rule"), decision("trigger"))),
        "rule": F.when(is_election, decision("rule")),
        "trigger": trigger,
        "cause": F.when(F.col("_decided"), decision("seq")).otherwise(now("cause")),
        "clean": F.when(is_election, clean),
    }
    return _Case(F.col("state").isNotNull(), fields)


def _of(struct: str) -> Callable[[str], Column]:
    return lambda field: F.col(f"{struct}.{field}")


def _same_epoch() -> Column:
    """Return whether a state has the leader and the leader epoch of the state before."""
    same = (F.col("state.leader_epoch") == F.col("before.leader_epoch")) & (F.col("state.leader") == F.col("before.leader"))
    return F.coalesce(same, F.lit(False))


def _failed_election() -> _Case:
    """An election that found no leader: it leaves the state unchanged."""
    decided, was = _of("decided"), _of("before")
    fields = {
        "kind": F.lit(EventKind.LEADER_ELECTION),
        "leader": F.lit(None).cast("long"),
        "leader_epoch": was("leader_epoch"),
        "isr": F.coalesce(was("isr"), F.array().cast(_ISR)),
        **_assigned("assignment"),
        "controller_epoch": was("controller_epoch"),
        "zk_version": was("zk_version"),
        "strategy": _strategy(decided("rule"), decided("trigger")),
        "rule": decided("rule"),
        "trigger": decided("trigger"),
        "cause": decided("cause"),
        "clean": F.lit(None).cast("boolean"),
    }
    return _Case((decided("kind") == EventKind.LEADER_ELECTION) & decided("leader").isNull(), fields)


def _reassignment() -> _Case:
    """A change of the assignment of a partition that has a state, or that awaits its first leader."""
    was, decision = _of("before"), _of("decision")
    sought = F.col("before").isNull() & (decision("kind") == EventKind.LEADER_ELECTION) & decision("leader").isNull()
    is_there = was("leader").isNotNull() | F.coalesce(sought, F.lit(False))
    fields = {
        "kind": F.lit(EventKind.PARTITION_REASSIGNMENT),
        "leader": was("leader"),
        "leader_epoch": was("leader_epoch"),
        "isr": F.coalesce(was("isr"), F.array().cast(_ISR)),
        **_assigned("assigned"),
        "controller_epoch": was("controller_epoch"),
        "zk_version": was("zk_version"),
        "strategy": F.lit(None).cast("string"),
        "rule": F.lit(None).cast("string"),
        "trigger": F.lit(Trigger.REASSIGNMENT),
        "cause": F.col("assigned.cause"),
        "clean": F.lit(None).cast("boolean"),
    }
    return _Case(F.col("assigned").isNotNull() & F.col("was_assigned") & is_there, fields)


def _assigned(column: str) -> dict[str, Column]:
    none = F.array().cast(_ISR)
    return {name: F.coalesce(F.col(f"{column}.{name}"), none) for name in ("replicas", "adding", "removing")}


def _strategy(rule: Column, trigger: Column) -> Column:
    """Return Kafka's name of the election strategy; null for a new partition, and where no rule is recorded."""
    by_admin = (trigger == Trigger.UNCLEAN_ELECTION) & rule.isin(ElectionRule.ALIVE_AND_IN_ISR, ElectionRule.UNCLEAN)
    named = F.when(by_admin, F.lit(PartitionLeaderElectionStrategy.OFFLINE_ALLOW_UNCLEAN))
    for known_rule, strategy in STRATEGIES.items():
        named = named.when(rule == known_rule, F.lit(strategy))
    return named


def _numbered(rows: DataFrame) -> DataFrame:
    """Return the columns of Transition, in its order."""
    in_order = Window.partitionBy(*PARTITION).orderBy("t_ms", "seq")
    complete = rows.withColumn("n", (F.row_number().over(in_order) - 1).cast("long")).withColumn("derived", F.lit(False))
    return complete.select(*Transition.__struct_fields__)
