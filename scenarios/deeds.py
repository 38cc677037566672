"""What is done to a run from outside, as the event log has it: admin acts, and faults with what was then seen of them."""

from kcsim.scenarios.history import EventLog
from kcsim.zk.events import EventFields, EventKind

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

    def act(self, op: str, target: str) -> int:
        """Something that an operator does to a broker or a server."""
        return self._log.append(SCENARIO, EventKind.ADMIN_ACT, None, EventFields(op=op, target=target))

    def act_on_znode(self, op: str, path: str) -> int:
        """A znode written by hand."""
        return self._log.append(SCENARIO, EventKind.ADMIN_ACT, None, EventFields(op=op, path=path))

    def fault(self, fault: str, target: str, detail: str | None = None) -> int:
        """A fault, injected or armed."""
        fields = EventFields(fault=fault, target=target)
        if detail is not None:
            fields["detail"] = detail
        return self._log.append(SCENARIO, EventKind.FAULT, None, fields)

    def confirm(self, cause: int, fault: str, target: str, detail: str) -> None:
        """What a fault was seen to do."""
        fields = EventFields(fault=fault, target=target, detail=detail)
        self._log.append(SCENARIO, EventKind.FAULT_CONFIRMED, cause, fields)
