"""The answer of a what-if as text and as JSON."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot
from kcsim.scenarios.views.narration.story_words import duration
from kcsim.scenarios.views.terminal.table import table
from kcsim.scenarios.what_if.what_if_run import WhatIfAnswer, WhatIfStep
from kcsim.text import summarize

NONE = "-"
BROKERS_SHOWN = 20
"""A table of more brokers has the brokers with the most leaders only, unless all are asked for."""
ASSUMED = (
    "Assumed: replicas in the ISR have all records; replicas outside it stay behind until their broker restarts.\n"
    "Settings that ZooKeeper does not have are Kafka's defaults, without automatic balancing of leaders.\n"
    "Times are virtual: session time-outs are those of the settings, the controller's own work is not that of your machines."
)
Row = tuple[str, Callable[[WhatIfStep], object]]

ROWS: tuple[Row, ...] = (
    ("controller", lambda step: NONE if step.health.controller is None else f"broker-{step.health.controller}"),
    ("partitions offline", lambda step: len(step.health.offline)),
    ("below min.insync.replicas", lambda step: len(step.health.below_min_isr)),
    ("under-replicated", lambda step: len(step.health.under_replicated)),
    ("unclean elections", lambda step: len(step.unclean)),
    ("unavailable for a time", lambda step: step.unavailable),
    ("  the longest", lambda step: duration(step.longest_unavailable_ms) if step.longest_unavailable_ms else NONE),
    ("sessions ended after", lambda step: _duration(step.unregistered_ms)),
    ("new controller ready after", lambda step: _duration(step.controller_ms)),
    ("last change after", lambda step: _duration(step.settled_ms or None)),
)


def answer_lines(snapshot: ControlPlaneSnapshot, answer: WhatIfAnswer, everything: bool) -> Iterator[str]:
    """Yield the lines of an answer: a table with a column for each step, then what each step did to which partitions."""
    yield from heading(snapshot)
    yield ""
    steps = answer.steps
    rows = [(name, *(str(of(step)) for step in steps)) for name, of in ROWS]
    yield from table(("", *(step.what for step in steps)), [*rows, *_broker_rows(snapshot, steps, everything)])
    if changed := _changed_at_once(snapshot, steps[0]):
        yield ""
        yield f"led otherwise than in the snapshot as soon as a controller looks: {_listed(changed, everything)}"
    for before, step in zip((None, *steps), steps, strict=False):
        yield from _details(before, step, everything)
    yield ""
    yield ASSUMED


def _changed_at_once(snapshot: ControlPlaneSnapshot, now: WhatIfStep) -> list[str]:
    """Return the partitions whose leader a controller replaces at once: it had died, or was written by hand."""
    registered = snapshot.registered_ids
    leaders = {str(tp): of.leader if of.leader in registered else None for tp, of in snapshot.partitions()}
    return [name for name, of in now.health.partitions.items() if of.leader != leaders.get(name)]


def _listed(names: Sequence[str], everything: bool) -> str:
    return ", ".join(names) if everything else summarize(names)


def heading(snapshot: ControlPlaneSnapshot) -> Iterator[str]:
    partitions = sum(len(topic.partitions) for topic in snapshot.topics)
    yield f"{snapshot.source}, as of {snapshot.taken}: {len(snapshot.brokers)} brokers, {partitions} partitions"
    if missing := snapshot.partitions_without_size:
        yield f"sizes of {missing} of {partitions} partitions are not known"


def _broker_rows(snapshot: ControlPlaneSnapshot, steps: Sequence[WhatIfStep], everything: bool) -> Iterator[tuple[str, ...]]:
    """Yield what each broker leads, and how much that is, as far as sizes are known."""
    has_sizes = snapshot.partitions_without_size < sum(len(topic.partitions) for topic in snapshot.topics)
    has_rates = any(partition.bytes_in_per_s is not None for _, partition in snapshot.partitions())
    brokers = sorted(snapshot.registered_ids, key=lambda one: (-max(_leaders(step, one) for step in steps), one))
    for broker in sorted(brokers if everything else brokers[:BROKERS_SHOWN]):
        yield f"broker-{broker} leads", *(str(_leaders(step, broker)) for step in steps)
        if has_sizes:
            yield "  bytes", *(str(_share(step, broker, "size_bytes")) for step in steps)
        if has_rates:
            yield "  bytes in per s", *(f"{_share(step, broker, 'bytes_in_per_s'):.0f}" for step in steps)
    if not everything and len(brokers) > BROKERS_SHOWN:
        yield f"({len(brokers) - BROKERS_SHOWN} more brokers: --all)", *("" for _ in steps)


def _leaders(step: WhatIfStep, broker: int) -> int:
    return int(_share(step, broker, "leaders"))


def _share(step: WhatIfStep, broker: int, field: str) -> float:
    share = step.health.shares.get(broker)
    return 0 if share is None else getattr(share, field)


def _details(before: WhatIfStep | None, step: WhatIfStep, everything: bool) -> Iterator[str]:
    health = step.health
    lists: list[tuple[str, Sequence[str]]] = [("offline", health.offline)]
    lists.append(("below min.insync.replicas", health.below_min_isr))
    lists.append(("unclean elections: records are lost", step.unclean))
    if before is not None:
        moves = health.led_otherwise(before.health)
        lists.append(
            ("led by another broker", [f"{name} {_moved(*pair)}" for name, pair in moves.items() if None not in pair])
        )
        lists.append(("served again", [f"{name} by broker-{new}" for name, (old, new) in moves.items() if old is None]))
    shown = [(what, found) for what, found in lists if found]
    if shown:
        yield ""
        yield f"{step.what}:"
    for what, found in shown:
        yield f"  {what}: {_listed(found, everything)}"


def _moved(old: int | None, new: int | None) -> str:
    return f"{old} -> {new}"


def _duration(ms: int | None) -> str:
    return NONE if ms is None else duration(ms)


def step_json(step: WhatIfStep) -> dict[str, Any]:
    """Return a step as JSON: its fields, and the lists of partitions that follow from them."""
    health = step.health
    lists = {"offline": health.offline, "below_min_isr": health.below_min_isr}
    return {**msgspec.to_builtins(step, str_keys=True), **lists}


def answer_json(snapshot: ControlPlaneSnapshot, answer: WhatIfAnswer) -> dict[str, Any]:
    return {"source": snapshot.source, "taken": snapshot.taken, "steps": [step_json(step) for step in answer.steps]}
