"""The settings of the modelled ZooKeeper: how many servers it has, and their zoo.cfg."""

from dataclasses import dataclass

from kcsim.zk.memory.server import EPOCH_MS


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The settings of all members.

    Args:
        members: how many servers: 1 is standalone; 3, 5, … elect a leader.
        tick_time_ms: as in zoo.cfg. Time-outs are granted between 2 and 20 ticks, if the next two do not say otherwise.
        min_session_timeout_ms, max_session_timeout_ms: as in zoo.cfg.
        sync_limit: as in zoo.cfg: the number of ticks after which the others give up a paused member.
        election_ms: how long the election of a leader takes, and how long a started member takes to join the leader.
        epoch_ms: the time of the run's beginning, in ms since 1970, for the times in a Stat.
    """

    members: int = 1
    tick_time_ms: int = 2000
    min_session_timeout_ms: int | None = None
    max_session_timeout_ms: int | None = None
    sync_limit: int = 10
    election_ms: int = 300
    epoch_ms: int = EPOCH_MS


STANDALONE = ModelSettings()
"""One server with ZooKeeper's defaults."""
