"""The page of a what-if: what each step, or each loss of a ranking, does to which partitions and brokers."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot
from kcsim.scenarios.views.html.charts import HALF, PHONE, Bars, Figure, Series
from kcsim.scenarios.views.html.single_file import Tile, render_page
from kcsim.scenarios.views.human import count, size
from kcsim.scenarios.views.narration.story_words import duration, plural
from kcsim.scenarios.what_if.answer_text import (
    ASSUMED,
    BELOW,
    BROKERS_SHOWN,
    LEADERS,
    LED_OTHERWISE,
    NONE,
    OFFLINE,
    RATE,
    ROWS,
    SIZE,
    UNCLEAN,
    affected,
    changed_at_once,
    known_shares,
    share_of,
)
from kcsim.scenarios.what_if.cluster_health import BrokerShare
from kcsim.scenarios.what_if.loss_ranking import LossEffect
from kcsim.scenarios.what_if.what_if_run import WhatIfAnswer, WhatIfQuestion, WhatIfStep
from kcsim.text import summarize
from kcsim.versions import own_version

HERE = Path(__file__).parent
PARTITIONS_SHOWN = 500
LOSSES_SHOWN = 100
BROKERS_OF_A_LOSS = 10

Shares = Mapping[int, BrokerShare]
Lists = Iterable[tuple[str, Sequence[str]]]


class EffectCell(NamedTuple):
    """A figure of a loss in the list of all. Attributes: key: what the list is sorted by; value: sorted; text: shown."""

    key: str
    name: str
    value: int
    text: str


class AffectedPartition(NamedTuple):
    """A row of a table of partitions. Attributes: before, now: leaders, for people; before, isr: None where not shown."""

    name: str
    what: str
    before: str | None
    now: str
    isr: str | None = None


@dataclass(frozen=True)
class Effect:
    """What a step or a loss does. Attributes: name: for people; left_out: how many more partitions there are."""

    name: str
    figures: Sequence[Figure]
    partitions: Sequence[AffectedPartition]
    left_out: int
    loss: LossEffect | None = None


def answer_page(snapshot: ControlPlaneSnapshot, question: WhatIfQuestion, answer: WhatIfAnswer, everything: bool) -> str:
    """Return the page with the steps of a what-if. Args: everything: whether it has all partitions and brokers."""
    steps = answer.steps
    page = _WhatIfPage(snapshot, question, everything)
    changed = changed_at_once(snapshot, steps[0])
    at_once = [f"Led otherwise than in the snapshot as soon as a controller looks: {summarize(changed, PARTITIONS_SHOWN)}."]
    return page.render(
        tiles=list(_tiles_of_steps(steps)),
        remarks=at_once if changed else [],
        heads=[step.what for step in steps],
        rows=[(name.strip(), [str(of(step)) for step in steps]) for name, of in ROWS],
        effects=[page.of_step(*pair) for pair in zip((None, *steps), steps, strict=False)],
        losses=[],
        losses_left_out=0,
    )


def ranking_page(
    snapshot: ControlPlaneSnapshot,
    question: WhatIfQuestion,
    before: Sequence[WhatIfStep],
    effects: Sequence[LossEffect],
    not_drawn: int,
    everything: bool,
) -> str:
    """Return the page of a sweep.

    Args:
        before: the steps before each of the losses; the first is the snapshot.
        effects: the worst first.
        not_drawn: how many losses were not tried.
        everything: whether the page has all losses, partitions and brokers.
    """
    page = _WhatIfPage(snapshot, question, everything)
    shown = effects if everything else effects[:LOSSES_SHOWN]
    return page.render(
        tiles=list(_tiles_of_losses(effects, not_drawn)),
        remarks=[],
        heads=[step.what for step in before],
        rows=[(name.strip(), [str(of(step)) for step in before]) for name, of in ROWS],
        effects=[page.of_step(*pair) for pair in zip((None, *before), before, strict=False)],
        losses=[page.of_loss(before[-1], effect) for effect in shown],
        losses_left_out=len(effects) - len(shown),
    )


class _WhatIfPage:
    def __init__(self, snapshot: ControlPlaneSnapshot, question: WhatIfQuestion, everything: bool) -> None:
        self._snapshot = snapshot
        self._question = question
        self._everything = everything
        self._known = known_shares(snapshot)
        self._racks = {broker.id: broker.rack for broker in snapshot.brokers}

    def render(self, *, remarks: Sequence[str], **values: Any) -> str:
        snapshot = self._snapshot
        partitions = sum(len(topic.partitions) for topic in snapshot.topics)
        settings = ", ".join(f"{name}={value}" for name, value in self._question.settings.items())
        missing = snapshot.partitions_without_size
        brokers = plural(len(snapshot.brokers), "broker")
        return render_page(
            [HERE],
            "what_if.html",
            ["report.css", "what_if.css"],
            ["report.js", "what_if.js"],
            title=f"{snapshot.source}: what if",
            sentence=f"As of {snapshot.taken}: {brokers}, {plural(partitions, 'partition')}.",
            remarks=[
                *([f"Settings of all brokers: {settings}."] if settings else []),
                *([f"Sizes of {missing:,} of {plural(partitions, 'partition')} are not known."] if missing else []),
                *remarks,
            ],
            assumed=ASSUMED.splitlines(),
            version=own_version(),
            effect_cells=_effect_cells,
            sort_keys=[("rank", "rank"), *((key, name) for key, name, _ in LOSS_FIGURES)],
            HARMS=HARMS,
            HALF=HALF,
            PHONE=PHONE,
            **values,
        )

    # --- effects

    def of_step(self, before: WhatIfStep | None, step: WhatIfStep) -> Effect:
        figures = self._figures(None if before is None else before.health.shares, step.health.shares, BROKERS_SHOWN)
        what_became = _by_partition(affected(before, step))
        rows = [
            AffectedPartition(
                name,
                what,
                None if before is None else self._leader(before, name),
                self._leader(step, name),
                self._isr(step, name),
            )
            for name, what in self._cut(what_became)
        ]
        return Effect(step.what, figures, rows, len(what_became) - len(rows))

    def of_loss(self, before: WhatIfStep, effect: LossEffect) -> Effect:
        lists = [(OFFLINE, effect.offline), (BELOW, effect.below_min_isr), (UNCLEAN, effect.unclean)]
        what_became = _by_partition([*lists, (LED_OTHERWISE, [*effect.led_otherwise])])
        rows = []
        for name, what in self._cut(what_became):
            old = self._leader(before, name)
            _, new = effect.led_otherwise.get(name, (None, None))
            now = NONE if name in effect.offline else old if new is None else self._broker(new)
            rows.append(AffectedPartition(name, what, old, now))
        figures = self._figures(before.health.shares, effect.shares, BROKERS_OF_A_LOSS)
        return Effect(effect.what, figures, rows, len(what_became) - len(rows), effect)

    def _cut(self, what_became: Mapping[str, str]) -> list[tuple[str, str]]:
        rows = [*what_became.items()]
        return rows if self._everything else rows[:PARTITIONS_SHOWN]

    # --- partitions

    def _leader(self, step: WhatIfStep, name: str) -> str:
        served = step.health.partitions.get(name)
        return NONE if served is None or served.leader is None else self._broker(served.leader)

    def _broker(self, broker: int) -> str:
        rack = self._racks.get(broker)
        return f"broker-{broker}" if rack is None else f"broker-{broker}, rack {rack}"

    @staticmethod
    def _isr(step: WhatIfStep, name: str) -> str:
        served = step.health.partitions[name]
        return f"{', '.join(map(str, served.isr))} (min {served.min_isr})"

    # --- brokers

    def _figures(self, before: Shares | None, now: Shares, at_most: int) -> list[Figure]:
        return [self._figure(field, before, now, at_most) for field in self._known]

    def _figure(self, field: str, before: Shares | None, now: Shares, at_most: int) -> Figure:
        """Return a figure of what brokers lead. Args: before: None: nothing is compared."""
        title, unit, shown = QUANTITIES[field]
        brokers = self._snapshot.registered_ids
        new = {broker: share_of(now, broker, field) for broker in brokers}
        old = new if before is None else {broker: share_of(before, broker, field) for broker in brokers}
        first = sorted(brokers, key=lambda one: (-abs(new[one] - old[one]), -new[one], one))
        chosen = sorted(brokers if self._everything else first[:at_most])
        rows = [(self._broker(one), _parts(old[one], new[one]), _change(old[one], new[one], shown)) for one in chosen]
        series = [Series(name, style) for style, name in enumerate(("as before", "in addition", "no longer"))]
        caption = "Of the partitions that each broker leads."
        if len(chosen) < len(brokers):
            which = "lead most" if before is None else "change most"
            caption += f" The {len(chosen)} of {len(brokers)} brokers that {which}."
        if before is None:
            series, rows = [Series(title.lower(), 0)], [(name, parts[:1], text) for name, parts, text in rows]
        return Figure(title, caption, Bars(series, rows, title, unit, shown).draw if rows else None)


def _rate(number: float) -> str:
    return f"{size(number)}/s"


QUANTITIES = {
    LEADERS: ("Leaders", "partitions", count),
    SIZE: ("Bytes led", "bytes", size),
    RATE: ("Bytes in", "bytes per second", _rate),
}
"""Title of a figure, the unit of its axis, and what formats a value, by the field of BrokerShare."""


LOSS_FIGURES: Sequence[tuple[str, str, Callable[[LossEffect], int]]] = (
    ("offline", "offline", lambda effect: len(effect.offline)),
    ("below", "below min ISR", lambda effect: len(effect.below_min_isr)),
    ("unclean", "unclean", lambda effect: len(effect.unclean)),
    ("unavailable", "unavailable", lambda effect: effect.unavailable),
    ("longest", "longest", lambda effect: effect.longest_unavailable_ms),
    ("leaders", "most leaders", lambda effect: effect.most_leaders[1] if effect.most_leaders else 0),
)
"""What the list of losses shows: key, name, value. The same as the table in the terminal."""
HARMS = ("offline", "below", "unclean")


def _effect_cells(effect: LossEffect) -> list[EffectCell]:
    """Return the figures of a loss."""
    texts = {
        "longest": duration(effect.longest_unavailable_ms) if effect.longest_unavailable_ms else NONE,
        "leaders": "broker-{}: {:,}".format(*effect.most_leaders) if effect.most_leaders else NONE,
    }
    values = [(key, name, value(effect)) for key, name, value in LOSS_FIGURES]
    return [EffectCell(key, name, value, texts.get(key, count(value))) for key, name, value in values]


def _by_partition(lists: Lists) -> dict[str, str]:
    """Return all that has become of each partition, by its name; in the order of the lists."""
    found: dict[str, list[str]] = {}
    for what, names in lists:
        for name in names:
            found.setdefault(name, []).append(what)
    return {name: "; ".join(whats) for name, whats in found.items()}


def _parts(old: float, new: float) -> tuple[float, ...]:
    """Return what a broker leads as before, in addition, and no longer."""
    return min(old, new), max(0, new - old), max(0, old - new)


def _change(old: float, new: float, shown: Callable[[float], str]) -> str:
    """Return a value, and in brackets what it was if that is something else."""
    return shown(new) if old == new else f"{shown(new)} (was {shown(old)})"


STEP_HARMS: Sequence[tuple[str, Callable[[WhatIfStep], int]]] = (
    ("partitions offline", lambda step: len(step.health.offline)),
    ("partitions below min.insync.replicas", lambda step: len(step.health.below_min_isr)),
    ("unclean elections: records are lost", lambda step: len(step.unclean)),
    ("partitions unavailable for a time", lambda step: step.unavailable),
)
LOSS_HARMS: Sequence[tuple[str, Callable[[LossEffect], int]]] = (
    ("take partitions offline", lambda effect: len(effect.offline)),
    ("take partitions below min.insync.replicas", lambda effect: len(effect.below_min_isr)),
    ("lead to unclean elections: records are lost", lambda effect: len(effect.unclean)),
)


def _tiles_of_steps(steps: Sequence[WhatIfStep]) -> Iterator[Tile]:
    for what, number in STEP_HARMS:
        worst = max(steps, key=number)
        most = number(worst)
        yield Tile(count(most), f"{what}, at most: {worst.what}" if most else what, most > 0)
    longest = max(steps, key=lambda step: step.longest_unavailable_ms)
    if longest.longest_unavailable_ms:
        yield Tile(duration(longest.longest_unavailable_ms), f"the longest of these times: {longest.what}")


def _tiles_of_losses(effects: Sequence[LossEffect], not_drawn: int) -> Iterator[Tile]:
    more = f"; {count(not_drawn)} more were not drawn" if not_drawn else ""
    yield Tile(count(len(effects)), f"losses tried, each alone{more}")
    for what, number in LOSS_HARMS:
        worst = max(effects, key=number)
        most = number(worst)
        harmful = sum(number(effect) > 0 for effect in effects)
        yield Tile(count(harmful), f"of them {what}" + (f"; at most {count(most)}: {worst.what}" if most else ""), most > 0)
    longest = max(effects, key=lambda effect: effect.longest_unavailable_ms)
    if longest.longest_unavailable_ms:
        yield Tile(duration(longest.longest_unavailable_ms), f"a partition is unavailable at most: {longest.what}")
