"""Follows what one loss would do to each partition of a plan, through a run."""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.eventlog.events import Event
from kcsim.eventlog.state_changes import PartitionChanged, RegistrationChanged
from kcsim.scenarios.rehearsal.exposure import GRAVITY, Exposed, Exposure, InSync, exposures
from kcsim.scenarios.what_if.cluster_health import KnownSizes
from kcsim.vocabulary import TopicPartition


class PlanHarm(msgspec.Struct, frozen=True):
    """An exposure of a partition that it did not have before the plan.

    Attributes:
        step: the number of the plan's step, from 1, that was under way, or was complete last.
        at_ms: after the beginning of the plan.
        exposure: the name of the Exposure.
        text: for people.
        brokers: those whose loss does the harm.
    """

    partition: str
    step: int
    at_ms: int
    exposure: str
    text: str
    brokers: tuple[int, ...]
    isr: tuple[int, ...]

    @property
    def is_by_rack(self) -> bool:
        """Whether the loss of a rack does the harm."""
        return self.exposure in (Exposure.OFFLINE_BY_RACK.name, Exposure.BELOW_MIN_ISR_BY_RACK.name)


class ExposureTracker:
    """The exposures of some partitions from now on. Subscribe `observe` to the event log.

    Args:
        racks: broker -> its rack.

    Attributes:
        step: the number of the plan's present step; its owner sets it.
        before: partition -> its exposures in the beginning.
        smallest_isr: partition -> its smallest ISR since the dictionary was cleared last.
    """

    def __init__(self, cluster: Cluster, sizes: KnownSizes, racks: Mapping[int, str | None]) -> None:
        self._cluster = cluster
        self._sizes = sizes
        self._racks = racks
        self._began_ms = cluster.runtime.now_ms()
        self._partitions = frozenset(cluster.state.of_topics.partitions())
        self._now = {tp: exposures(self.in_sync(tp), racks) for tp in sorted(self._partitions)}
        self._since_ms = dict.fromkeys(self._partitions, self._began_ms)
        self._ms = {exposure: Counter[TopicPartition]() for exposure in Exposure}
        self.before: Mapping[TopicPartition, Mapping[Exposure, Exposed]] = dict(self._now)
        self.step = 1
        self._harms: list[PlanHarm] = []
        self.smallest_isr: dict[str, int] = {}
        self._reported: set[tuple[TopicPartition, Exposure]] = set()

    def in_sync(self, tp: TopicPartition) -> InSync:
        topics = self._cluster.state.of_topics
        is_led = topics.leader(tp) in self._cluster.state.registered
        return InSync(tuple(topics.isr(tp)), is_led, self._sizes.min_isr(tp))

    def observe(self, event: Event) -> None:
        for change in self._cluster.state.changes:
            match change:
                case PartitionChanged(tp) if tp in self._partitions:
                    self._look(tp, event.t_ms)
                case RegistrationChanged():
                    for tp in sorted(self._partitions):
                        self._look(tp, event.t_ms)
                case _:
                    pass

    def _look(self, tp: TopicPartition, t_ms: int) -> None:
        of = self.in_sync(tp)
        self.note_isr(tp, len(of.isr))
        for exposure in self._now[tp]:
            self._ms[exposure][tp] += t_ms - self._since_ms[tp]
        self._since_ms[tp] = t_ms
        self._now[tp] = exposures(of, self._racks)
        for exposure, exposed in self._now[tp].items():
            if exposure not in self.before[tp] and (tp, exposure) not in self._reported:
                self._reported.add((tp, exposure))
                at_ms = t_ms - self._began_ms
                self._harms.append(PlanHarm(str(tp), self.step, at_ms, exposure.name, str(exposed), exposed.brokers, of.isr))

    def note_isr(self, tp: TopicPartition, size: int) -> None:
        self.smallest_isr[str(tp)] = min(size, self.smallest_isr.get(str(tp), size))

    def at_present(self, tp: TopicPartition) -> Mapping[Exposure, Exposed]:
        return self._now[tp]

    def harms(self) -> Sequence[PlanHarm]:
        """Return the exposures that partitions did not have before, each once, in the order of their times.

        Of those that one step brings a partition only the gravest is returned, for its data and for acks=all each: while
        replicas are removed one by one, the ISR passes through others.
        """
        gravest: dict[tuple[str, int, bool], PlanHarm] = {}
        for harm in self._harms:
            exposure = Exposure[harm.exposure]
            key = harm.partition, harm.step, exposure.is_offline
            if key not in gravest or GRAVITY[exposure] < GRAVITY[Exposure[gravest[key].exposure]]:
                gravest[key] = harm
        return sorted(gravest.values(), key=lambda harm: harm.at_ms)

    def mended_ms(self) -> Sequence[int]:
        """Return for each exposure, the gravest first, for how long partitions had it that do not have it now, summed up.

        What a partition still has in the end it has for ever: that says nothing about the order of the steps.
        """
        return [
            sum(ms for tp, ms in sorted(self._ms[exposure].items()) if exposure not in self._now[tp])
            for exposure in sorted(Exposure, key=GRAVITY.__getitem__)
        ]
