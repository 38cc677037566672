"""What is observed of a simulated cluster in the state of a snapshot: quiescence, outages, unclean elections."""

from collections.abc import Sequence

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.quiescence import QUIET_PERIOD_MS, QuiescenceDetector
from kcsim.errors import TimedOutError
from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import Event
from kcsim.eventlog.outage_view import OutageView
from kcsim.eventlog.outages import Outage, OutageTracker
from kcsim.eventlog.state_changes import PartitionChanged

LOOK_EVERY_MS = 1_000
QUIET_WITHIN_MS = 600_000


class ClusterObserver:
    """Follows the event log of a run.

    `before` is a subscriber of the run; `attach` is called when its script begins. So each event is seen before and after
    the cluster's own state has it.

    Attributes:
        unclean: partitions of which a replica outside the ISR was elected since the set was cleared last.
    """

    def __init__(self) -> None:
        self.unclean: set[str] = set()
        self._attached: _Attached | None = None

    def before(self, event: Event) -> None:
        """See an event that the cluster's state does not have yet."""
        if self._attached is not None:
            self._attached.outages.advance_to(event.t_ms)

    def attach(self, cluster: Cluster) -> None:
        self._attached = _Attached(cluster)
        cluster.log.subscribe(self._after)

    def _after(self, event: Event) -> None:
        attached = self._observed
        attached.outages.follow_changes()
        attached.quiescence.apply(event)
        for change in attached.state.changes:
            if isinstance(change, PartitionChanged) and change.before is not None and change.after is not None:
                leader = change.after.leader_and_isr.leader
                if leader is not None and leader not in change.before.leader_and_isr.isr:
                    self.unclean.add(str(change.partition))

    @property
    def _observed(self) -> "_Attached":
        assert self._attached is not None, "the observer is not attached to a cluster"
        return self._attached

    @property
    def last_change_ms(self) -> int:
        """When something happened for the last time."""
        last = self._observed.quiescence.last
        return last.t_ms if last else 0

    def outages_since(self, since_ms: int) -> Sequence[Outage]:
        """Return the outages, as clients see them, that began or lasted after a time."""
        outages = self._observed.outages.so_far().outages
        return [outage for outage in outages if outage.view == OutageView.CLIENTS and outage.until_ms > since_ms]

    async def wait_until_quiet(self) -> None:
        """Wait until nothing has happened for a while. Raises: TimedOutError."""
        runtime, quiescence = self._observed.cluster.runtime, self._observed.quiescence
        until_ms = runtime.now_ms() + QUIET_WITHIN_MS
        while quiescence.quiet_ms(runtime.now_ms()) < QUIET_PERIOD_MS:
            if runtime.now_ms() > until_ms:
                within = f"{QUIET_WITHIN_MS // 1000} s"
                raise TimedOutError(f"the simulated cluster is not at rest after {within}; last: {quiescence.last}")
            await runtime.sleep_ms(LOOK_EVERY_MS)


class _Attached:
    """The parts of an observer that follow the state of one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.state: ClusterState = cluster.state
        self.quiescence = QuiescenceDetector(cluster.state)
        self.outages = OutageTracker(cluster.state)
