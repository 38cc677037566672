"""Reads the plan to be rehearsed: one file of Kafka's, or the batches that `kcsim plan` has written into a folder."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kcsim.controller.admin.reassignment_files import parse_move_plan, parse_partitions_to_elect
from kcsim.controller.decisions.kafka_refusals import AdminCommandFailedError, AdminOperationError
from kcsim.controller.decisions.placement import Replicas
from kcsim.controller.decisions.reassignment import check_plan
from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot, SnapshotPartition
from kcsim.text import comma_separated, did_you_mean
from kcsim.vocabulary import TopicPartition

BATCH = re.compile(r"(.+)\.batch-(\d+)\.json")
PROPOSED = "Proposed partition reassignment configuration"
"""The line after which kafka-reassign-partitions --generate prints its proposal."""


class PlanFileError(ValueError):
    """A file is no plan for the cluster of the snapshot. The message is one line, with the file."""


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One file of a plan: what is handed to Kafka's tool at once.

    Attributes:
        name: of the file.
        targets: for kafka-reassign-partitions.
        elections: for kafka-leader-election: partitions whose preferred leader is elected; then there are no targets.
    """

    name: str
    targets: Mapping[TopicPartition, Replicas]
    elections: tuple[TopicPartition, ...] = ()

    @property
    def partitions(self) -> list[TopicPartition]:
        """The partitions that the step changes, sorted."""
        return sorted({*self.targets, *self.elections})


def read_plan(path: Path, snapshot: ControlPlaneSnapshot) -> tuple[PlanStep, ...]:
    """Return the steps of the plan in a file or a folder, checked against the cluster. Raises: PlanFileError, OSError.

    If there is a file of elections beside the plan, as `kcsim plan` writes it, they are the last step.
    """
    files, elections = _files(path)
    steps = tuple(PlanStep(file.name, _targets(file)) for file in files)
    for file, step in zip(files, steps, strict=True):
        for problem in _problems(step, snapshot):
            raise PlanFileError(f"{file}: {problem}")
    return (*steps, PlanStep(elections.name, {}, _elections(elections, steps))) if elections.exists() else steps


def _files(path: Path) -> tuple[list[Path], Path]:
    """Return the files of the steps, in order, and the file that would have the elections."""
    if not path.is_dir():
        return [path], path.with_name(f"{path.stem}.elections{path.suffix}")
    plans: dict[str, dict[int, Path]] = {}
    for file in sorted(path.iterdir()):
        if found := BATCH.fullmatch(file.name):
            plans.setdefault(found[1], {})[int(found[2])] = file
    if not plans:
        raise PlanFileError(f"{path}: there is no NAME.batch-1.json in this folder, as `kcsim plan --batches` writes it")
    if len(plans) > 1:
        raise PlanFileError(f"{path}: the batches of several plans: {comma_separated(plans)}; a folder has those of one")
    ((name, batches),) = plans.items()
    for expected in range(1, len(batches) + 1):
        if expected not in batches:
            raise PlanFileError(f"{path}: there is no {name}.batch-{expected}.json among {len(batches)} batches")
    return [batches[number] for number in sorted(batches)], path / f"{name}.elections.json"


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise PlanFileError(f"{file}: not a plan: it is no text in UTF-8") from None


def _targets(file: Path) -> dict[TopicPartition, Replicas]:
    text = _text(file)
    _, is_output, proposal = text.partition(PROPOSED)
    content = proposal if is_output else text
    if '"partitions"' not in content:
        raise PlanFileError(f'{file}: not a plan of kafka-reassign-partitions: it has no "partitions"')
    try:
        plan = parse_move_plan(content)
        check_plan(plan.moves)
    except (AdminOperationError, AdminCommandFailedError) as error:
        raise PlanFileError(f"{file}: not a plan of kafka-reassign-partitions: {error}") from None
    return plan.targets


def _problems(step: PlanStep, snapshot: ControlPlaneSnapshot) -> Iterator[str]:
    """Yield what the plan names and the snapshot does not have."""
    partitions = dict(snapshot.partitions())
    topics = {tp.topic for tp in partitions}
    moving = {TopicPartition(request.topic, request.partition) for request in snapshot.reassignment_requests}
    moving.update(tp for tp, partition in partitions.items() if partition.adding or partition.removing)
    brokers, absent = set(snapshot.registered_ids), set(snapshot.absent_ids)
    for tp, replicas in sorted(step.targets.items()):
        if tp.topic not in topics:
            yield f"topic {tp.topic!r} is not in the snapshot{did_you_mean(tp.topic, sorted(topics))}"
        elif tp not in partitions:
            count = sum(other.topic == tp.topic for other in partitions)
            yield f"partition {tp} is not in the snapshot; the topic has {count} partitions"
        elif tp.topic in snapshot.topic_deletions:
            yield f"topic {tp.topic} is being deleted"
        elif tp in moving:
            yield f"a reassignment of {tp} is under way: take the snapshot when it is complete"
        for broker in sorted(set(replicas).difference(brokers)):
            if broker in absent and broker in _replicas(partitions.get(tp)):
                continue  # it may stay where it is
            what = "is not registered in the snapshot" if broker in absent else "is no broker of the snapshot"
            yield f"{tp}: broker {broker} {what}; --start {broker}:RACK starts it first"


def _replicas(partition: SnapshotPartition | None) -> tuple[int, ...]:
    return () if partition is None else partition.replicas


def _elections(file: Path, steps: tuple[PlanStep, ...]) -> tuple[TopicPartition, ...]:
    try:
        elections = parse_partitions_to_elect(_text(file))
    except AdminOperationError as error:
        raise PlanFileError(f"{file}: {error}") from None
    of_steps = {tp for step in steps for tp in step.targets}
    for tp in elections:
        if tp not in of_steps:
            raise PlanFileError(f"{file}: partition {tp} is not in the plan")
    return tuple(elections)
