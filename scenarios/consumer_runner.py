"""Does the steps of a timetable that are about consumers: makes them of what the file declares, and acts on them."""

from collections.abc import Mapping
from typing import assert_never

from kcsim.brokers.groups.subscriptions import Subscription, TopicList, TopicPattern
from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.consumers.consumer_config import ConsumerConfig, ConsumerSpec
from kcsim.scenarios.language.consumer_model import GroupModel, MemberModel
from kcsim.scenarios.language.consumer_steps import (
    ConsumerStep,
    CrashConsumers,
    PauseConsumers,
    ResumeConsumers,
    StallConsumers,
    StartConsumers,
    StopConsumers,
)


class ConsumerRunner:
    """Does steps on a cluster.

    Args:
        declared: the groups of the scenario, by id.
    """

    def __init__(self, cluster: Cluster, declared: Mapping[str, GroupModel]) -> None:
        self._consumers = cluster.consumers
        self._consumers.declare(consumers_of(declared))

    async def do(self, step: ConsumerStep) -> None:
        """Do one step. Raises: ClusterError, TimedOutError."""
        consumers = self._consumers
        match step:
            case StartConsumers(start_consumers=names):
                await consumers.start(names)
            case StopConsumers(stop_consumers=names):
                for name in names:
                    await consumers.stop(name)
            case CrashConsumers(crash_consumers=names):
                for name in names:
                    await consumers.kill(name)
            case PauseConsumers(pause_consumers=names):
                for name in names:
                    await consumers.pause(name)
            case ResumeConsumers(resume_consumers=names):
                for name in names:
                    await consumers.resume(name)
            case StallConsumers(stall_consumers=names, for_=for_ms):
                for name in names:
                    await consumers.stall(name, for_ms)
            case _:
                assert_never(step)


def consumers_of(declared: Mapping[str, GroupModel]) -> list[ConsumerSpec]:
    """The consumers of a scenario, in the order of the file."""
    return [
        _consumer(name, group_id, group, member)
        for group_id, group in declared.items()
        for name, member in group.each_member().items()
    ]


def _consumer(name: str, group_id: str, group: GroupModel, member: MemberModel) -> ConsumerSpec:
    config = ConsumerConfig.of(group.settings, member.assignors or group.assignors)
    return ConsumerSpec(name, group_id, _subscription(group, member), name if group.static else None, config)


def _subscription(group: GroupModel, member: MemberModel) -> Subscription:
    own = member.topics is not None or member.pattern is not None
    topics, pattern = (member.topics, member.pattern) if own else (group.topics, group.pattern)
    return TopicPattern(pattern) if pattern is not None else TopicList(topics or ())
