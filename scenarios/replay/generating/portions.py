"""A history in portions: ranges of partitions, a file each, as the settings alone divide them.

The division does not depend on who does the work, so that the files are the same on one executor and on a hundred.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from kcsim.scenarios.replay.generating.durations import DAY_MS
from kcsim.scenarios.replay.generating.partition_history import PartitionHistory
from kcsim.scenarios.replay.generating.rows import Row
from kcsim.scenarios.replay.generating.settings import Settings, SettingsError
from kcsim.scenarios.replay.generating.topic_history import TopicHistory
from kcsim.scenarios.replay.generating.world import World, WorldMaker

PARTITIONS_FOR_SIZE = 24
PARTITIONS_FOR_LENGTH = 400
SAMPLED_MS = 28 * DAY_MS
EVENTS_OF_CREATION = 3
MINUTE_MS = 60_000
ROWS_OF_A_LARGE_FILE = 3_000_000
ROWS_OF_A_SMALL_FILE = 200_000
FILES_OF_A_SMALL_HISTORY = 16


def rows_of_partitions(world: World, indices: range) -> Iterator[list[Row]]:
    """The events of these partitions, and of the topics whose partition 0 is among them: one history after the other."""
    layout, plans = world.layout, world.plans
    index = indices.start
    while index < indices.stop:
        topic = layout.topic_of(index)
        world.turn_to(topic)
        assignment = layout.assignment(topic)
        moves, deletion = plans.moves.get(topic.number, []), plans.deletions.get(topic.number)
        if index == topic.first_index:
            yield list(TopicHistory(layout, world.history, topic, moves, deletion).rows(assignment))
        last = min(indices.stop, topic.first_index + topic.partitions)
        for partition in range(index - topic.first_index, last - topic.first_index):
            own = [move for move in moves if move.partition == partition]
            yield PartitionHistory(world, topic, partition, assignment[partition], own, deletion).rows()
        index = last


def portions_of(partitions: int, rows: int) -> list[range]:
    """Divide the partitions. Args: rows: about as many as all of them will have."""
    wanted = max(min(rows // FILES_OF_A_SMALL_HISTORY, ROWS_OF_A_LARGE_FILE), ROWS_OF_A_SMALL_FILE)
    count = max(1, min(partitions, round(rows / wanted)))
    bounds = [partitions * i // count for i in range(count + 1)]
    return [range(a, b) for a, b in pairwise(bounds)]


def expected_rows(world: World) -> int:
    """About how many events all partitions together will have: judged by a few of them."""
    return round(_mean_rows(world, PARTITIONS_FOR_SIZE) * world.layout.partitions)


def length_for(settings: Settings, events: int) -> int:
    """The length of a history of about so many events, in whole minutes: measured on some partitions over some weeks.

    Raises: SettingsError, also when it would be too short or too long.
    """
    at_first = EVENTS_OF_CREATION * settings.partitions
    if events <= at_first:
        raise SettingsError(
            f"{events} events are too few: {at_first} come with the creation of {settings.partitions} partitions"
        )
    maker = WorldMaker(replace(settings, length_ms=SAMPLED_MS))
    of_cluster = sum(1 for _ in maker.events())
    partitions = maker.world.layout.partitions
    later = _mean_rows(maker.world, PARTITIONS_FOR_LENGTH) * partitions - at_first + of_cluster
    length_ms = round((events - at_first) * SAMPLED_MS / max(later, 1) / MINUTE_MS) * MINUTE_MS
    replace(settings, length_ms=length_ms).check()
    return length_ms


def _mean_rows(world: World, sampled: int) -> float:
    partitions = world.layout.partitions
    indices = sorted({partitions * i // sampled for i in range(sampled)})
    return sum(len(rows) for index in indices for rows in rows_of_partitions(world, range(index, index + 1))) / len(indices)
