"""The settings of a generated cluster: its size, and the rates of its events.

The settings decide a history completely: the same settings give the same bytes on any number of executors.
"""

from dataclasses import asdict, dataclass, fields
from typing import Any

from kcsim.scenarios.analysis.generating.durations import DAY_MS, LONGEST_DAYS, MS_PER_LONG_UNIT

FORMAT = 1
MINUTE_MS = 60_000
MOST_PARTITIONS = 10_000_000
CONSUMER_OFFSETS = "__consumer_offsets"
CONSUMER_OFFSETS_PARTITIONS = 50


class SettingsError(ValueError):
    """Settings that no cluster can have. The message says which, in one line."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a history is made from. All durations are in milliseconds; a rate of None or 0 means never.

    Attributes:
        brokers, racks, topics, partitions: how many; partitions in all topics together, __consumer_offsets included.
        length_ms: from the start of the cluster to the end of the history.
        mtbf_ms, mttr_ms: mean time between the crashes of one broker, and from a crash to its return (exponential).
        rack_mtbf_ms: mean time between outages of one rack, all of whose brokers die at once.
        rolling_restart_ms: from the beginning of one rolling restart to that of the next.
        isr_flaps_per_day: how often on average a follower of one partition falls behind and catches up; some partitions flap
            more often.
        session_expiry_ms: mean time between expiries of a broker's session while its process lives.
        controller_change_ms: mean time between expiries of the controller's session, in addition to session_expiry_ms.
        reassignment_ms: mean time between reassignments of a partition to other brokers.
        topic_deletion_ms: mean time between deletions of a topic; at most a tenth of the topics, the smallest.
        unclean: share of the topics with unclean.leader.election.enable, 0 to 1.
        catch_up_ms: mean time that a replica takes to return to the ISR.
        rebalance: auto.leader.rebalance.enable, every 5 minutes beyond 10 %.
    """

    seed: int = 1
    batch: str = "generated"
    brokers: int = 12
    racks: int = 3
    topics: int = 100
    partitions: int = 1_000
    replication_factor: int = 3
    length_ms: int = 30 * DAY_MS
    mtbf_ms: int | None = 30 * DAY_MS
    mttr_ms: int = 10 * MINUTE_MS
    rack_mtbf_ms: int | None = 180 * DAY_MS
    rolling_restart_ms: int | None = 7 * DAY_MS
    isr_flaps_per_day: float = 1.0
    session_expiry_ms: int | None = 60 * DAY_MS
    controller_change_ms: int | None = 14 * DAY_MS
    reassignment_ms: int | None = DAY_MS
    topic_deletion_ms: int | None = 7 * DAY_MS
    unclean: float = 0.1
    catch_up_ms: int = 20_000
    rebalance: bool = True

    @property
    def run(self) -> str:
        """The name of the one run of the history."""
        return f"seed-{self.seed}"

    def check(self) -> None:
        """Check the settings. Raises: SettingsError for the first setting that is invalid."""
        for claim, holds in self._claims():
            if not holds:
                raise SettingsError(claim)

    def _claims(self) -> list[tuple[str, bool]]:
        rf, smallest = self.replication_factor, MS_PER_LONG_UNIT["h"]
        durations = [
            f for f in fields(self) if f.name.endswith("_ms") and f.name not in ("length_ms", "mttr_ms", "catch_up_ms")
        ]
        return [
            ("there must be at least one broker", self.brokers >= 1),
            (
                f"there are {self.brokers} brokers on {self.racks} racks: at least one, and one broker each",
                1 <= self.racks <= self.brokers,
            ),
            ("the replication factor must be at least 1", rf >= 1),
            (f"replication factor {rf} is larger than the number of brokers, {self.brokers}", rf <= self.brokers),
            ("there must be at least one topic", self.topics >= 1),
            (
                f"{self.topics} topics need at least as many partitions, not {self.partitions}",
                self.partitions >= self.topics,
            ),
            (f"at most {MOST_PARTITIONS} partitions", self.partitions <= MOST_PARTITIONS),
            ("the seed must not be negative", self.seed >= 0),
            ("the batch must have a name that a folder can have", _is_name(self.batch)),
            ("a history lasts an hour at least, and a century at most", smallest <= self.length_ms <= LONGEST_DAYS * DAY_MS),
            ("mttr must be at least 20s: a session has to expire first", self.mttr_ms >= 20_000),
            ("the time to catch up must be at least 100ms", self.catch_up_ms >= 100),
            ("the rate of ISR flaps must be from 0 to 10000 a day", 0 <= self.isr_flaps_per_day <= 10_000),
            ("the share of unclean topics must be from 0 to 1", 0 <= self.unclean <= 1),
            *(
                (f"{f.name.removesuffix('_ms')} must be at least an hour", (getattr(self, f.name) or smallest) >= smallest)
                for f in durations
            ),
        ]

    def as_json(self) -> dict[str, Any]:
        """Return the settings that a dataset was made from, so that it can be made again."""
        return {"format": FORMAT, **asdict(self)}


def _is_name(text: str) -> bool:
    is_plain = all(c.isalnum() or c in "-_." for c in text)
    return 0 < len(text) <= 100 and is_plain and text[0] not in ".-" and not text.startswith("__")
