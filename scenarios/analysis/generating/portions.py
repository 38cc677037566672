"""The portions of a history: ranges of partitions, one file each. The settings alone decide them.

The division does not depend on the executors, so that the files are the same on one executor and on a hundred.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from kcsim.scenarios.analysis.generating.durations import DAY_MS
from kcsim.scenarios.analysis.generating.generated_cluster import GeneratedCluster, GeneratedClusterMaker
from kcsim.scenarios.analysis.generating.partition_history import PartitionHistory
from kcsim.scenarios.analysis.generating.rows import GeneratedRow
from kcsim.scenarios.analysis.generating.settings import Settings, SettingsError
from kcsim.scenarios.analysis.generating.topic_history import TopicHistory

PARTITIONS_FOR_SIZE = 24
PARTITIONS_FOR_LENGTH = 400
SAMPLED_MS = 28 * DAY_MS
EVENTS_OF_CREATION = 3
MINUTE_MS = 60_000
ROWS_OF_A_LARGE_FILE = 800_000
"""A thousand million events make 1,250 files: several for each core of a hundred executors, so that they end together."""
ROWS_OF_A_SMALL_FILE = 200_000
FILES_OF_A_SMALL_HISTORY = 16


def rows_of_partitions(generated: GeneratedCluster, indices: range) -> Iterator[list[GeneratedRow]]:
    """Yield the events of these partitions, and of the topics whose partition 0 is among them, history by history."""
    layout, schedule = generated.layout, generated.admin_schedule
    index = indices.start
    while index < indices.stop:
        topic = layout.topic_of(index)
        generated.select_topic(topic)
        assignment = layout.assignment(topic)
        moves, deletion = schedule.moves.get(topic.number, []), schedule.deletions.get(topic.number)
        if index == topic.first_index:
            yield list(TopicHistory(layout, generated.history, topic, moves, deletion).rows(assignment))
        last = min(indices.stop, topic.first_index + topic.partitions)
        for partition in range(index - topic.first_index, last - topic.first_index):
            own = [move for move in moves if move.partition == partition]
            yield PartitionHistory(generated, topic, partition, assignment[partition], own, deletion).rows()
        index = last


def portions_of(partitions: int, rows: int) -> list[range]:
    """Divide the partitions. Args: rows: the approximate number of rows of all of them."""
    wanted = max(min(rows // FILES_OF_A_SMALL_HISTORY, ROWS_OF_A_LARGE_FILE), ROWS_OF_A_SMALL_FILE)
    count = max(1, min(partitions, round(rows / wanted)))
    bounds = [partitions * i // count for i in range(count + 1)]
    return [range(a, b) for a, b in pairwise(bounds)]


def expected_rows(generated: GeneratedCluster) -> int:
    """Return the approximate number of events of all partitions together, estimated from a few of them."""
    return round(_mean_rows(generated, PARTITIONS_FOR_SIZE) * generated.layout.partitions)


def length_for(settings: Settings, events: int) -> int:
    """Return the length of a history of about `events` events, in whole minutes: measured on some partitions and weeks.

    Raises: SettingsError, also when the history would be too short or too long.
    """
    at_first = EVENTS_OF_CREATION * settings.partitions
    if events <= at_first:
        raise SettingsError(
            f"{events} events are too few: {at_first} come with the creation of {settings.partitions} partitions"
        )
    maker = GeneratedClusterMaker(replace(settings, length_ms=SAMPLED_MS))
    of_cluster = sum(1 for _ in maker.events())
    partitions = maker.generated.layout.partitions
    later = _mean_rows(maker.generated, PARTITIONS_FOR_LENGTH) * partitions - at_first + of_cluster
    length_ms = round((events - at_first) * SAMPLED_MS / max(later, 1) / MINUTE_MS) * MINUTE_MS
    replace(settings, length_ms=length_ms).check()
    return length_ms


def _mean_rows(generated: GeneratedCluster, sampled: int) -> float:
    partitions = generated.layout.partitions
    indices = sorted({partitions * i // sampled for i in range(sampled)})
    return sum(len(rows) for index in indices for rows in rows_of_partitions(generated, range(index, index + 1))) / len(
        indices
    )
