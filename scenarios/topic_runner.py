"""Does the steps of a timetable that are about topics: turns each into an act on the cluster."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from kcsim.controller.decisions.broker_ring import RackAwareMode
from kcsim.controller.decisions.placement import Replicas
from kcsim.controller.events import ElectionType
from kcsim.controller.requests import ErrorCode
from kcsim.scenarios.admin.topics import NewTopic
from kcsim.scenarios.deeds import RUN_BEGAN, ClusterError
from kcsim.scenarios.language.topic_model import TopicModel
from kcsim.scenarios.language.topic_steps import (
    AddPartitions,
    CancelReassignment,
    CreateTopic,
    DeleteTopic,
    ElectPreferred,
    ElectUnclean,
    Reassign,
    SetConfig,
    TopicStep,
)
from kcsim.scenarios.language.topic_words import ALL_PARTITIONS
from kcsim.scenarios.language.words import ALL
from kcsim.scenarios.scenario_cluster import ScenarioCluster
from kcsim.zk.vocabulary import BrokerId, TopicPartition


class TopicRunner:
    """Does steps on a cluster.

    Args:
        declared: the topics of the scenario, by name.
    """

    def __init__(self, cluster: ScenarioCluster, declared: Mapping[str, TopicModel]) -> None:
        self._cluster = cluster
        self._declared = declared

    async def do(self, step: TopicStep) -> None:
        """Do one step. Raises: ClusterError when it cannot be done."""
        topics = self._cluster.topics
        match step:
            case CreateTopic(create_topic=names):
                for name in self._declared if ALL in names else names:
                    await self._create(name)
            case DeleteTopic(delete_topic=names):
                for name in sorted(self._cluster.state.of_topics.topics) if ALL in names else names:
                    await topics.delete(name)
            case AddPartitions(add_partitions=growth):
                for name, wanted in growth.items():
                    await self._add_partitions(name, wanted)
            case Reassign(reassign=targets, via=via):
                await (topics.reassign(targets) if via == "znode" else self._alter(targets))
            case CancelReassignment(cancel_reassignment=partitions):
                await self._alter(dict.fromkeys(partitions or self._moving()))
            case ElectPreferred(elect_preferred=partitions, via=via):
                named = self._named(partitions)
                await (topics.elect_preferred(named) if via == "znode" else self._elect(ElectionType.PREFERRED, named))
            case ElectUnclean(elect_unclean=partitions):
                await self._elect(ElectionType.UNCLEAN, self._named(partitions))
            case SetConfig(set_config=change):
                for topic, changes in (change.topics or {}).items():
                    await topics.change_topic_config(topic, changes)
                if change.broker_defaults is not None:
                    await topics.change_broker_defaults(change.broker_defaults)
            case _:
                assert_never(step)

    async def _create(self, name: str) -> None:
        topic = self._declared[name]
        mode = RackAwareMode.ENFORCED if topic.rack_aware else RackAwareMode.DISABLED
        explicit = None if topic.assignment is None else [topic.assignment[p] for p in sorted(topic.assignment)]
        wanted = NewTopic(name, topic.partitions or 1, topic.replication_factor or 1, explicit, topic.config, mode)
        # Each topic has a generator of its own: what one draws does not depend on which others there are.
        drawn = random.Random(f"{self._seed} {name}")
        await self._cluster.topics.create(wanted, _StartAndShift(drawn, topic.start_index, topic.shift))

    async def _add_partitions(self, name: str, wanted: int | Mapping[int, Replicas]) -> None:
        if isinstance(wanted, int):
            await self._cluster.topics.add_partitions(name, wanted)
            return
        there = self._cluster.state.of_topics.topics.get(name)
        first = len(there.assignments) if there else 0
        if sorted(wanted) != list(range(first, first + len(wanted))):
            raise ClusterError(f"{name} has {first} partitions; new ones go on from {first}, not {sorted(wanted)}")
        whole = [wanted.get(partition, ()) for partition in range(first + len(wanted))]
        await self._cluster.topics.add_partitions(name, len(whole), whole)

    # --- by a request to the controller

    async def _alter(self, targets: Mapping[TopicPartition, tuple[BrokerId, ...] | None]) -> None:
        if not targets:
            raise ClusterError("nothing is being reassigned")
        _refuse_errors(await self._cluster.alter_partition_reassignments(targets))

    async def _elect(self, election_type: ElectionType, partitions: Sequence[TopicPartition]) -> None:
        _refuse_errors(await self._cluster.elect_leaders(election_type, partitions))

    # --- what is meant

    @property
    def _seed(self) -> int:
        """Of the run: its first event says."""
        return self._cluster.log.events[RUN_BEGAN].seed or 0

    def _moving(self) -> list[TopicPartition]:
        return self._cluster.state.of_topics.reassigning()

    def _named(self, partitions: Sequence[TopicPartition]) -> Sequence[TopicPartition]:
        if partitions != ALL_PARTITIONS:
            return partitions
        return list(self._cluster.state.of_topics.partitions())


@dataclass
class _StartAndShift:
    """The two numbers of a placement, which are asked for in this order: those given, else drawn.

    As in Kafka, a given start is the shift too, unless that is given.
    """

    drawn: random.Random
    start_index: int | None
    shift: int | None
    _is_started: bool = False

    def randrange(self, stop: int, /) -> int:
        wanted = (self.start_index if self.shift is None else self.shift) if self._is_started else self.start_index
        self._is_started = True
        return self.drawn.randrange(stop) if wanted is None else wanted


def _refuse_errors(answer: Mapping[TopicPartition, ErrorCode]) -> None:
    """Raises: ClusterError with what the controller refused. That an election was not needed is no refusal."""
    fine = (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)
    refused = [f"{partition}: {error.name}" for partition, error in sorted(answer.items()) if error not in fine]
    if refused:
        raise ClusterError("; ".join(refused))
