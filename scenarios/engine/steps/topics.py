"""The steps about topics and partitions: what operators request with Kafka's tools."""

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kcsim.controller.admin.topics import NewTopic
from kcsim.controller.decisions.broker_ring import RackAwareMode
from kcsim.controller.decisions.placement import Replicas
from kcsim.controller.events import ElectionResults, ElectionType
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.run_actions import RUN_STARTED_SEQ, ClusterError
from kcsim.scenarios.engine.steps.step_execution import StepExecution
from kcsim.scenarios.engine.steps.step_spec import SUPPORTED, Absent, StepKind, StepSpec
from kcsim.scenarios.language.step import ScenarioStep
from kcsim.scenarios.language.topic_steps import (
    AddPartitionsStep,
    CancelReassignmentStep,
    CreateTopicStep,
    DeleteTopicStep,
    ElectPreferredStep,
    ElectUncleanStep,
    ReassignStep,
    SetConfigStep,
)
from kcsim.scenarios.language.topic_types import ALL_PARTITIONS
from kcsim.scenarios.language.value_types import ALL
from kcsim.vocabulary import BrokerId, TopicPartition

S = TypeVar("S", bound=ScenarioStep)


async def _create_topic(on: StepExecution, step: CreateTopicStep) -> None:
    declared = on.scenario.cluster.topics
    for name in declared if ALL in step.create_topic else step.create_topic:
        topic = declared[name]
        mode = RackAwareMode.ENFORCED if topic.rack_aware else RackAwareMode.DISABLED
        explicit = None if topic.assignment is None else [topic.assignment[p] for p in sorted(topic.assignment)]
        wanted = NewTopic(name, topic.partitions or 1, topic.replication_factor or 1, explicit, topic.config, mode)
        # Each topic has its own generator, so that what it draws does not depend on which other topics there are.
        seed = on.cluster.log.events[RUN_STARTED_SEQ].seed or 0
        drawn = random.Random(f"{seed} {name}")
        await on.cluster.topics.create(wanted, _StartAndShift(drawn, topic.start_index, topic.shift))


async def _delete_topic(on: StepExecution, step: DeleteTopicStep) -> None:
    for name in sorted(on.cluster.state.of_topics.topics) if ALL in step.delete_topic else step.delete_topic:
        await on.cluster.topics.delete(name)


async def _add_partitions(on: StepExecution, step: AddPartitionsStep) -> None:
    for name, wanted in step.add_partitions.items():
        if isinstance(wanted, int):
            await on.cluster.topics.add_partitions(name, wanted)
        else:
            whole = _whole_assignment(on, name, wanted)
            await on.cluster.topics.add_partitions(name, len(whole), whole)


def _whole_assignment(on: StepExecution, name: str, added: Mapping[int, Replicas]) -> list[Replicas]:
    """Return the new partitions after empty entries for the present ones. Raises: ClusterError."""
    there = on.cluster.state.of_topics.topics.get(name)
    first = len(there.assignments) if there else 0
    if sorted(added) != list(range(first, first + len(added))):
        raise ClusterError(f"{name} has {first} partitions; new ones go on from {first}, not {sorted(added)}")
    return [added.get(partition, ()) for partition in range(first + len(added))]


async def _reassign(on: StepExecution, step: ReassignStep) -> None:
    if step.via == "znode":
        await on.cluster.topics.reassign(step.reassign)
    else:
        await _alter_reassignments(on, step.reassign)


async def _cancel_reassignment(on: StepExecution, step: CancelReassignmentStep) -> None:
    await _alter_reassignments(on, dict.fromkeys(step.cancel_reassignment or on.cluster.state.of_topics.reassigning()))


async def _alter_reassignments(on: StepExecution, targets: Mapping[TopicPartition, tuple[BrokerId, ...] | None]) -> None:
    if not targets:
        raise ClusterError("nothing is being reassigned")
    _refuse_errors(await on.cluster.alter_partition_reassignments(targets))


async def _elect_preferred(on: StepExecution, step: ElectPreferredStep) -> None:
    partitions = _named(on, step.elect_preferred)
    if step.via == "znode":
        await on.cluster.topics.elect_preferred(partitions)
    else:
        _refuse_failures(await on.cluster.elect_leaders(ElectionType.PREFERRED, partitions))


async def _elect_unclean(on: StepExecution, step: ElectUncleanStep) -> None:
    _refuse_failures(await on.cluster.elect_leaders(ElectionType.UNCLEAN, _named(on, step.elect_unclean)))


async def _set_config(on: StepExecution, step: SetConfigStep) -> None:
    change = step.set_config
    for topic, changes in (change.topics or {}).items():
        await on.cluster.topics.change_topic_config(topic, changes)
    if change.broker_defaults is not None:
        await on.cluster.topics.change_broker_defaults(change.broker_defaults)


def _named(on: StepExecution, partitions: Sequence[TopicPartition]) -> Sequence[TopicPartition]:
    return list(on.cluster.state.of_topics.partitions()) if partitions == ALL_PARTITIONS else partitions


@dataclass
class _StartAndShift:
    """Returns the two numbers of a placement, which are requested in this order: the given ones, or else drawn ones.

    As in Kafka, a given start is also the shift, unless the shift is given.
    """

    drawn: random.Random
    start_index: int | None
    shift: int | None
    _is_started: bool = False

    def randrange(self, stop: int, /) -> int:
        wanted = (self.start_index if self.shift is None else self.shift) if self._is_started else self.start_index
        self._is_started = True
        return self.drawn.randrange(stop) if wanted is None else wanted


def _refuse_failures(answer: ElectionResults) -> None:
    """Raise ClusterError for partitions that got no leader."""
    _refuse_errors({partition: result.error for partition, result in answer.items()})


def _refuse_errors(answer: Mapping[TopicPartition, ErrorCode]) -> None:
    """Raise ClusterError for partitions that the controller refused. ELECTION_NOT_NEEDED is not a refusal."""
    fine = (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)
    refused = [f"{partition}: {error.name}" for partition, error in sorted(answer.items()) if error not in fine]
    if refused:
        raise ClusterError("; ".join(refused))


def _spec(
    step: type[S], run: Callable[[StepExecution, S], Awaitable[None]], kind: StepKind = StepKind.ACTION
) -> StepSpec[S]:
    return StepSpec(
        step,
        kind,
        run,
        undone_by=Absent("an operator's request is no fault"),
        command=Absent("Kafka's own tools do it, as do kcsim topics, reassign and elect-leaders"),
        on_kafka=SUPPORTED,
        on_processes=SUPPORTED,
    )


TOPIC_SPECS = (
    _spec(CreateTopicStep, _create_topic, StepKind.SETUP),
    _spec(DeleteTopicStep, _delete_topic),
    _spec(AddPartitionsStep, _add_partitions),
    _spec(ReassignStep, _reassign),
    _spec(CancelReassignmentStep, _cancel_reassignment),
    _spec(ElectPreferredStep, _elect_preferred),
    _spec(ElectUncleanStep, _elect_unclean),
    _spec(SetConfigStep, _set_config),
)
