"""The answer of a what-if as text and as JSON."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot
from kcsim.scenarios.views.human import size
from kcsim.scenarios.views.narration.story_words import duration
from kcsim.scenarios.views.terminal.table import table
from kcsim.scenarios.what_if.cluster_health import BrokerShare
from kcsim.scenarios.what_if.what_if_run import WhatIfAnswer, WhatIfStep
from kcsim.text import summarize

NONE = "-"
OFFLINE, BELOW, UNCLEAN = "offline", "below min.insync.replicas", "unclean elections: records are lost"
LED_OTHERWISE, SERVED_AGAIN = "led by another broker", "served again"
LEADERS, SIZE, RATE = "leaders", "size_bytes", "bytes_in_per_s"
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
    if changed := changed_at_once(snapshot, steps[0]):
        yield ""
        yield f"led otherwise than in the snapshot as soon as a controller looks: {_listed(changed, everything)}"
    for before, step in zip((None, *steps), steps, strict=False):
        yield from _details(before, step, everything)
    yield ""
    yield ASSUMED


def known_shares(snapshot: ControlPlaneSnapshot) -> tuple[str, ...]:
    """Return the fields of BrokerShare that say something: bytes do if the size, or the rate, of a partition is known."""
    has_sizes = snapshot.partitions_without_size < sum(len(topic.partitions) for topic in snapshot.topics)
    has_rates = any(partition.bytes_in_per_s is not None for _, partition in snapshot.partitions())
    return (LEADERS, *([SIZE] if has_sizes else []), *([RATE] if has_rates else []))


def share_of(shares: Mapping[int, BrokerShare], broker: int, field: str) -> float:
    """Return a field of what a broker leads; 0 if it is not registered."""
    share = shares.get(broker)
    return 0 if share is None else getattr(share, field)


def changed_at_once(snapshot: ControlPlaneSnapshot, now: WhatIfStep) -> list[str]:
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
    known = known_shares(snapshot)
    brokers = sorted(snapshot.registered_ids, key=lambda one: (-max(_leaders(step, one) for step in steps), one))
    for broker in sorted(brokers if everything else brokers[:BROKERS_SHOWN]):
        yield f"broker-{broker} leads", *(str(_leaders(step, broker)) for step in steps)
        if SIZE in known:
            yield "  bytes", *(size(share_of(step.health.shares, broker, SIZE)) for step in steps)
        if RATE in known:
            yield "  bytes in per s", *(size(share_of(step.health.shares, broker, RATE)) for step in steps)
    if not everything and len(brokers) > BROKERS_SHOWN:
        yield f"({len(brokers) - BROKERS_SHOWN} more brokers: --all)", *("" for _ in steps)


def _leaders(step: WhatIfStep, broker: int) -> int:
    return int(share_of(step.health.shares, broker, LEADERS))


def _details(before: WhatIfStep | None, step: WhatIfStep, everything: bool) -> Iterator[str]:
    moves = {} if before is None else step.health.led_otherwise(before.health)
    lists = [(what, [_named(name, moves.get(name), what) for name in names]) for what, names in affected(before, step)]
    shown = [(what, found) for what, found in lists if found]
    if shown:
        yield ""
        yield f"{step.what}:"
    for what, found in shown:
        yield f"  {what}: {_listed(found, everything)}"


def affected(before: WhatIfStep | None, step: WhatIfStep) -> list[tuple[str, Sequence[str]]]:
    """Return what has become of which partitions since the step before, the worst first."""
    moves = {} if before is None else step.health.led_otherwise(before.health)
    return [
        (OFFLINE, step.health.offline),
        (BELOW, step.health.below_min_isr),
        (UNCLEAN, step.unclean),
        (LED_OTHERWISE, [name for name, pair in moves.items() if None not in pair]),
        (SERVED_AGAIN, [name for name, (old, _) in moves.items() if old is None]),
    ]


def _named(name: str, moved: tuple[int | None, int | None] | None, what: str) -> str:
    if moved is not None and what == LED_OTHERWISE:
        return f"{name} {moved[0]} -> {moved[1]}"
    return f"{name} by broker-{moved[1]}" if moved is not None and what == SERVED_AGAIN else name


def _duration(ms: int | None) -> str:
    return NONE if ms is None else duration(ms)


def step_json(step: WhatIfStep) -> dict[str, Any]:
    """Return a step as JSON: its fields, and the lists of partitions that follow from them."""
    health = step.health
    lists = {"offline": health.offline, "below_min_isr": health.below_min_isr}
    return {**msgspec.to_builtins(step, str_keys=True), **lists}


def answer_json(snapshot: ControlPlaneSnapshot, answer: WhatIfAnswer) -> dict[str, Any]:
    return {"source": snapshot.source, "taken": snapshot.taken, "steps": [step_json(step) for step in answer.steps]}
