"""Events for what is done to a run from outside: admin actions, faults, and the observed effects of faults."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.vocabulary import TopicPartition

SCENARIO = "scenario"
"""The node of these events."""
RUN_STARTED_SEQ = 0
"""seq of the first event of every run (RunStarted): the cause of events that have no nearer cause."""


class ClusterError(Exception):
    """A requested action cannot be done on the cluster: the message says which action, on which target, and why."""


@dataclass(frozen=True, slots=True)
class ArmedWrite:
    """The write to ZooKeeper that triggers an armed fault, in the text and in the columns of events.

    Attributes:
        moment: before or after the write.
        path: only a write to this path or below it counts; None: any write.
    """

    moment: str
    path: str | None = None

    def __str__(self) -> str:
        return f"{self.moment} a write{f' to {self.path}' if self.path else ''}"

    @property
    def fields(self) -> EventFields:
        """The columns of the fault, and of the effect that it has on a process."""
        fields = EventFields(breakpoint=self.moment)
        if self.path:
            fields["breakpoint_path"] = self.path
        return fields


def process_state_fields(state: str, where: ArmedWrite | str) -> EventFields:
    """Return the columns of a ProcessState event; `where`: the point that the process had reached, if known."""
    fields = EventFields(state=state)
    if where:
        fields["detail"] = str(where)
    return {**fields, **where.fields} if isinstance(where, ArmedWrite) else fields


class RunActionLog:
    """Appends events for actions and faults.

    Each method but `confirm` and `confirm_on_links` returns the event's seq, which the events that follow from the action or
    fault name as their cause.
    """

    def __init__(self, log: EventLog) -> None:
        self._log = log

    def act(self, op: str, target: str | None, detail: str | None = None) -> int:
        """Log an operator's action on a broker or a server; target None means that the action has no particular target."""
        fields = EventFields(op=op)
        if target is not None:
            fields["target"] = target
        return self._act(fields, detail)

    def act_on_settings(self, op: str, target: str, settings: Mapping[str, object], release: str | None = None) -> int:
        """Log an operator's action on brokers that may change their settings, by Kafka's dotted names, or their release."""
        changes = {**({} if release is None else {"release": release}), **settings}
        fields = EventFields(op=op, target=target)
        if not changes:
            return self._act(fields, None)
        fields["data"] = json.dumps(changes, separators=(",", ":"))
        return self._act(fields, "with " + ", ".join(f"{name} {value}" for name, value in changes.items()))

    def act_on_topic(self, op: str, topic: str, detail: str | None = None) -> int:
        """Log an operator's action on a topic."""
        return self._act(EventFields(op=op, topic=topic), detail)

    def act_on_partitions(self, op: str, partitions: Collection[TopicPartition], detail: str | None = None) -> int:
        """Log an operator's action on partitions; without `detail`, the event's detail lists the partitions."""
        fields = EventFields(op=op, count=len(partitions))
        if len(partitions) == 1:
            ((fields["topic"], fields["partition"]),) = partitions
        return self._act(fields, detail or ", ".join(map(str, partitions)))

    def act_on_links(self, op: str, detail: str, links: EventFields, cause: int | None = None) -> int:
        """Log an action on links of the network. Args: links: the columns that name them; cause: the fault that it ends."""
        return self._log.append(SCENARIO, EventKind.ADMIN_ACT, cause, {"op": op, "detail": detail, **links})

    def _act(self, fields: EventFields, detail: str | None) -> int:
        if detail is not None:
            fields["detail"] = detail
        return self._log.append(SCENARIO, EventKind.ADMIN_ACT, None, fields)

    def act_on_znode(self, op: str, path: str) -> int:
        """Log that an operator wrote a znode by hand."""
        return self._log.append(SCENARIO, EventKind.ADMIN_ACT, None, EventFields(op=op, path=path))

    def arm(self, fault: str, target: str, at: ArmedWrite) -> int:
        """Log a fault that was armed: it is injected at a write to ZooKeeper."""
        fields = EventFields(fault=fault, target=target, detail=f"armed: {at}")
        return self._log.append(SCENARIO, EventKind.FAULT, None, {**fields, **at.fields})

    def fault(self, fault: str, target: str, detail: str | None = None) -> int:
        """Log a fault that was injected."""
        fields = EventFields(fault=fault, target=target)
        if detail is not None:
            fields["detail"] = detail
        return self._log.append(SCENARIO, EventKind.FAULT, None, fields)

    def fault_on_links(self, fault: str, detail: str, links: EventFields) -> int:
        """Log a network fault that was injected or armed; `links` holds the columns that name its links."""
        return self._log.append(SCENARIO, EventKind.FAULT, None, {"fault": fault, "detail": detail, **links})

    def confirm_on_links(self, cause: int, fault: str, detail: str, count: int | None = None) -> None:
        """Log the observed effect of a network fault; `count`: on how many links."""
        fields = EventFields(fault=fault, detail=detail)
        if count is not None:
            fields["count"] = count
        self._log.append(SCENARIO, EventKind.FAULT_CONFIRMED, cause, fields)

    def confirm(self, cause: int, fault: str, target: str, detail: str) -> None:
        """Log the observed effect of a fault."""
        fields = EventFields(fault=fault, target=target, detail=detail)
        self._log.append(SCENARIO, EventKind.FAULT_CONFIRMED, cause, fields)
