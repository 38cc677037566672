"""The losses of a sweep, the worst first."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot
from kcsim.scenarios.views.narration.story_words import duration
from kcsim.scenarios.views.terminal.table import table
from kcsim.scenarios.what_if.cluster_health import BrokerShare
from kcsim.scenarios.what_if.what_if_run import Loss, WhatIfQuestion, ask_what_if
from kcsim.text import summarize


class LossEffect(msgspec.Struct, frozen=True):
    """What one loss of a sweep changes, compared with the cluster before it.

    Attributes:
        offline, below_min_isr: the partitions that are so now, and were not before.
        led_otherwise: the partitions that another broker leads than before, with both brokers.
        shares: registered broker -> what it leads now.
    """

    what: str
    offline: tuple[str, ...]
    below_min_isr: tuple[str, ...]
    unclean: tuple[str, ...]
    unavailable: int
    longest_unavailable_ms: int
    led_otherwise: Mapping[str, tuple[int, int]]
    shares: Mapping[int, BrokerShare]

    @property
    def most_leaders(self) -> tuple[int, int] | None:
        """The broker that leads the most partitions now, with their number; None: none leads any."""
        counted = ((share.leaders, -broker) for broker, share in self.shares.items() if share.leaders)
        most = max(counted, default=None)
        return None if most is None else (-most[1], most[0])

    @property
    def badness(self) -> tuple[int, ...]:
        """The order of the ranking: what cannot be used, what is lost, what takes no records, then for how long."""
        counts = (len(self.offline), len(self.unclean), len(self.below_min_isr), self.unavailable)
        return (*counts, self.longest_unavailable_ms)


def effect_of(snapshot: ControlPlaneSnapshot, question: WhatIfQuestion, loss: Loss) -> LossEffect:
    """Return the effect of a loss after all that the question asks. Raises: ClusterError, TimedOutError."""
    asked = replace(question, losses=(*question.losses, loss), restarts=False, returns=False)
    *_, before, after = ask_what_if(snapshot, asked).steps
    moves = after.health.led_otherwise(before.health)
    return LossEffect(
        loss.what,
        _new(before.health.offline, after.health.offline),
        _new(before.health.below_min_isr, after.health.below_min_isr),
        after.unclean,
        after.unavailable,
        after.longest_unavailable_ms,
        {name: (old, new) for name, (old, new) in moves.items() if old is not None and new is not None},
        after.health.shares,
    )


def _new(before: Sequence[str], after: Sequence[str]) -> tuple[str, ...]:
    known = set(before)
    return tuple(name for name in after if name not in known)


def ranked(effects: Sequence[LossEffect]) -> list[LossEffect]:
    """Return the effects, the worst first; those that are as bad as each other in the order given."""
    return sorted(effects, key=lambda effect: effect.badness, reverse=True)


def ranking_lines(effects: Sequence[LossEffect], at_most: int | None) -> Iterator[str]:
    """Yield a table of ranked effects. Args: at_most: how many rows; None: all."""
    header = ("lost", "offline", "below min ISR", "unclean", "unavailable", "longest", "most leaders")
    rows = [
        (
            effect.what,
            len(effect.offline),
            len(effect.below_min_isr),
            len(effect.unclean),
            effect.unavailable,
            duration(effect.longest_unavailable_ms) if effect.longest_unavailable_ms else "-",
            "-" if effect.most_leaders is None else "broker-{}: {}".format(*effect.most_leaders),
        )
        for effect in effects[:at_most]
    ]
    yield from table(header, rows)
    if at_most is not None and len(effects) > at_most:
        yield f"({len(effects) - at_most} more: --all)"
    worst = effects[0]
    if worst.offline:
        yield f"offline without {worst.what}: {summarize(worst.offline)}"


def effect_json(effect: LossEffect) -> dict[str, Any]:
    return {**msgspec.to_builtins(effect, str_keys=True), "most_leaders": effect.most_leaders}
