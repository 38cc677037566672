"""Follows what one loss would do to each partition of a step, through a run."""

from collections.abc import Mapping, Sequence

import msgspec

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.eventlog.events import Event
from kcsim.eventlog.state_changes import PartitionChanged, RegistrationChanged
from kcsim.scenarios.rehearsal.exposure import AS_GRAVE, GRAVITY, Exposed, Exposure, InSync, exposures
from kcsim.scenarios.what_if.cluster_health import KnownSizes
from kcsim.vocabulary import TopicPartition


class PlanHarm(msgspec.Struct, frozen=True):
    """An exposure of a partition that had none as grave before a step.

    Attributes:
        at_ms: after the beginning of the step.
        exposure: the name of the Exposure.
        text: for people; it goes on after the ISR.
        brokers: those whose loss does the harm.
    """

    partition: str
    at_ms: int
    exposure: str
    text: str
    brokers: tuple[int, ...]
    isr: tuple[int, ...]

    @property
    def is_by_rack(self) -> bool:
        """Whether the loss of a rack does the harm."""
        return self.exposure in (Exposure.OFFLINE_BY_RACK.name, Exposure.BELOW_MIN_ISR_BY_RACK.name)

    def __str__(self) -> str:
        return f"{self.partition} has ISR {list(self.isr)}, {self.text}"


class ExposureTimes(msgspec.Struct, frozen=True):
    """The exposures of one partition, by name: before and after a step, and for how many ms during it."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    during_ms: dict[str, int]


class ExposureTracker:
    """The exposures of all partitions of a cluster from now on. Subscribe `observe` to the event log.

    Args:
        racks: broker -> its rack.

    Attributes:
        before: partition -> its exposures in the beginning.
        smallest_isr: partition -> its smallest ISR so far.
    """

    def __init__(self, cluster: Cluster, sizes: KnownSizes, racks: Mapping[int, str | None]) -> None:
        self._cluster = cluster
        self._sizes = sizes
        self._racks = racks
        self._began_ms = cluster.runtime.now_ms()
        self._partitions = tuple(cluster.state.of_topics.partitions())
        self._now = {tp: exposures(self.in_sync(tp), racks) for tp in self._partitions}
        self._since_ms = dict.fromkeys(self._partitions, self._began_ms)
        self._ms: dict[TopicPartition, dict[str, int]] = {tp: {} for tp in self._partitions}
        self._harms: dict[tuple[TopicPartition, Exposure], PlanHarm] = {}
        self.before: Mapping[TopicPartition, Mapping[Exposure, Exposed]] = dict(self._now)
        self.smallest_isr = {str(tp): len(self.in_sync(tp).isr) for tp in self._partitions}

    def in_sync(self, tp: TopicPartition) -> InSync:
        topics = self._cluster.state.of_topics
        is_led = topics.leader(tp) in self._cluster.state.registered
        return InSync(tuple(topics.isr(tp)), is_led, self._sizes.min_isr(tp))

    def observe(self, event: Event) -> None:
        for change in self._cluster.state.changes:
            match change:
                case PartitionChanged(tp) if tp in self._now:
                    self._look(tp, event.t_ms)
                case RegistrationChanged():
                    for tp in self._partitions:
                        self._look(tp, event.t_ms)
                case _:
                    pass

    def _look(self, tp: TopicPartition, t_ms: int) -> None:
        of = self.in_sync(tp)
        self.smallest_isr[str(tp)] = min(len(of.isr), self.smallest_isr[str(tp)])
        self._add_time(tp, t_ms)
        self._now[tp] = exposures(of, self._racks)
        for exposure, exposed in self._now[tp].items():
            if AS_GRAVE[exposure].isdisjoint(self.before[tp]):
                harm = PlanHarm(str(tp), t_ms - self._began_ms, exposure.name, str(exposed), exposed.brokers, of.isr)
                self._harms.setdefault((tp, exposure), harm)

    def _add_time(self, tp: TopicPartition, t_ms: int) -> None:
        for exposure in self._now[tp]:
            self._ms[tp][exposure.name] = self._ms[tp].get(exposure.name, 0) + t_ms - self._since_ms[tp]
        self._since_ms[tp] = t_ms

    def harms(self) -> Sequence[PlanHarm]:
        """Return the exposures of partitions that had none as grave before, each once, in the order of their times.

        Only the gravest of a partition is returned, for its data and for acks=all each: while replicas are removed one by
        one, the ISR passes through others.
        """
        gravest: dict[tuple[TopicPartition, bool], Exposure] = {}
        for tp, exposure in self._harms:
            key = tp, exposure.is_offline
            gravest[key] = min(gravest.get(key, exposure), exposure, key=GRAVITY.__getitem__)
        found = [self._harms[tp, exposure] for (tp, _), exposure in gravest.items()]
        return sorted(found, key=lambda harm: (harm.at_ms, harm.partition))

    def times(self) -> dict[str, ExposureTimes]:
        """Return the exposures of each partition that has had any, up to now."""
        now_ms = self._cluster.runtime.now_ms()
        for tp in self._partitions:
            self._add_time(tp, now_ms)
        return {
            str(tp): ExposureTimes(_names(self.before[tp]), _names(self._now[tp]), dict(self._ms[tp]))
            for tp in self._partitions
            if self.before[tp] or self._ms[tp]
        }


def _names(exposures_of: Mapping[Exposure, Exposed]) -> tuple[str, ...]:
    return tuple(exposure.name for exposure in exposures_of)
