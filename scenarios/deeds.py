"""What is done to a run from outside, as the event log has it: admin acts, and faults with what was then seen of them."""

from collections.abc import Collection

from kcsim.scenarios.history import EventLog
from kcsim.zk.events import EventFields, EventKind
from kcsim.zk.vocabulary import TopicPartition

SCENARIO = "scenario"
"""The node in whose name it is logged."""
RUN_BEGAN = 0
"""seq of the first event of every run, which is its beginning: the cause of what has no nearer one."""


class ClusterError(Exception):
    """Something asked of the cluster cannot be done: says what, to whom, and why."""


class Deeds:
    """Appends them; each returns the seq that what follows from it names as its cause."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    def act(self, op: str, target: str | None, detail: str | None = None) -> int:
        """Something that an operator does to a broker or a server; None: to none in particular."""
        fields = EventFields(op=op)
        if target is not None:
            fields["target"] = target
        return self._act(fields, detail)

    def act_on_topic(self, op: str, topic: str, detail: str | None = None) -> int:
        """Something that an operator does to a topic."""
        return self._act(EventFields(op=op, topic=topic), detail)

    def act_on_partitions(self, op: str, partitions: Collection[TopicPartition], detail: str | None = None) -> int:
        """Something that an operator does to partitions; without a detail of its own it tells which."""
        fields = EventFields(op=op, count=len(partitions))
        if len(partitions) == 1:
            ((fields["topic"], fields["partition"]),) = partitions
        return self._act(fields, detail or ", ".join(map(str, partitions)))

    def _act(self, fields: EventFields, detail: str | None) -> int:
        if detail is not None:
            fields["detail"] = detail
        return self._log.append(SCENARIO, EventKind.ADMIN_ACT, None, fields)

    def act_on_znode(self, op: str, path: str) -> int:
        """A znode written by hand."""
        return self._log.append(SCENARIO, EventKind.ADMIN_ACT, None, EventFields(op=op, path=path))

    def fault(self, fault: str, target: str, detail: str | None = None) -> int:
        """A fault, injected or armed."""
        fields = EventFields(fault=fault, target=target)
        if detail is not None:
            fields["detail"] = detail
        return self._log.append(SCENARIO, EventKind.FAULT, None, fields)

    def fault_on_links(self, fault: str, detail: str) -> int:
        """A fault of the network, injected or armed."""
        return self._log.append(SCENARIO, EventKind.FAULT, None, EventFields(fault=fault, detail=detail))

    def confirm_on_links(self, cause: int, fault: str, detail: str) -> None:
        """What a fault of the network was seen to do."""
        self._log.append(SCENARIO, EventKind.FAULT_CONFIRMED, cause, EventFields(fault=fault, detail=detail))

    def confirm(self, cause: int, fault: str, target: str, detail: str) -> None:
        """What a fault was seen to do."""
        fields = EventFields(fault=fault, target=target, detail=detail)
        self._log.append(SCENARIO, EventKind.FAULT_CONFIRMED, cause, fields)
