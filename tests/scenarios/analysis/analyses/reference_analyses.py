"""The same analyses, computed slowly and obviously: from the whole state at each millisecond of a run."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.analysis.analyses.scope import Liveness, Scope
from tests.scenarios.analysis.analyses.stories import Story

TP = tuple[str, int]


@dataclass
class Partition:
    """The state of a partition at one millisecond."""

    leader: int
    isr: Sequence[int]
    replicas: Sequence[int]
    wanted: Sequence[int]
    min_isr: int

    @property
    def is_under_replicated(self) -> bool:
        return len(self.isr) < len(self.wanted)


@dataclass
class Moment:
    """The state of the cluster at one millisecond, after all its events."""

    live: dict[int, bool] = field(default_factory=dict)
    partitions: dict[TP, Partition] = field(default_factory=dict)

    def is_live(self, broker: int) -> bool:
        return self.live.get(broker, True)

    def offline(self) -> set[TP]:
        return {tp for tp, p in self.partitions.items() if p.leader == -1 or not self.is_live(p.leader)}


def moments(story: Story, scope: Scope, end_ms: int) -> list[Moment]:
    """Return the state of the cluster at each millisecond of a run."""
    return [_moment(story, scope, t_ms) for t_ms in range(end_ms)]


def _moment(story: Story, scope: Scope, t_ms: int) -> Moment:
    events = [event for event in story.events if event["t_ms"] <= t_ms]
    settings = {topic: _settings(events, topic) for topic in {row["topic"] for row in story.transitions}}
    now = Moment(live=_live(story.events, len(events), scope.liveness))
    for row in story.transitions:
        if row["t_ms"] > t_ms:
            break
        tp = row["topic"], row["partition"]
        is_fruitless = row["kind"] == EventKind.LEADER_ELECTION and row["leader"] is None
        if row["kind"] == EventKind.ZNODE_DELETED:
            now.partitions.pop(tp, None)
        elif not is_fruitless or row["n"] == 0:
            wanted = [b for b in row["replicas"] if b not in row["adding"]]
            leader = -1 if row["leader"] is None else row["leader"]
            min_isr = settings[row["topic"]][1] or scope.min_insync_replicas
            now.partitions[tp] = Partition(leader, row["isr"], row["replicas"], wanted, min_isr)
    for topic, (is_deleting, _) in settings.items():
        if is_deleting:
            now.partitions = {tp: p for tp, p in now.partitions.items() if tp[0] != topic}
    if scope.topics:
        now.partitions = {tp: p for tp, p in now.partitions.items() if tp[0] in scope.topics}
    return now


def _settings(events: Sequence[dict[str, Any]], topic: str) -> tuple[bool, int]:
    """Return whether the topic's deletion is requested, and its min.insync.replicas (0 if it is not set)."""
    deleting, min_isr = False, 0
    for event in events:
        if event.get("path") == f"/admin/delete_topics/{topic}":
            deleting = event["kind"] != EventKind.ZNODE_DELETED
        if event.get("path") == f"/config/topics/{topic}":
            min_isr = int(json.loads(event["data"])["config"].get("min.insync.replicas", 0))
    return deleting, min_isr


def first_there(story: Story, broker: int, liveness: Liveness, end_ms: int) -> int:
    """Return when a broker was live first, even if for less than a millisecond; end_ms if it never was."""
    live = (_live(story.events, past, liveness).get(broker, True) for past in range(len(story.events) + 1))
    when = [0, *(event["t_ms"] for event in story.events)]
    return next((t_ms for t_ms, is_live in zip(when, live, strict=True) if is_live), end_ms)


def _live(events: Sequence[dict[str, Any]], past: int, liveness: Liveness) -> dict[int, bool]:
    """Return the brokers that any event mentions, and whether each is live after the first `past` events."""
    registered: dict[int, bool] = {}
    running: dict[int, bool] = {}
    for number, event in enumerate(events):
        is_past = number < past
        path = event.get("path") or ""
        if path.startswith("/brokers/ids/"):
            broker = int(path.split("/")[-1])
            exists = event["kind"] != EventKind.ZNODE_DELETED
            if is_past:
                registered[broker] = exists
            elif broker not in registered:
                registered[broker] = not exists  # its state before the first event that mentions it
        if event["kind"] == EventKind.PROCESS_STATE and is_past:
            running[int(event["node"].split("-")[1])] = event["state"] == "running"
    if liveness is Liveness.REGISTERED:
        return registered
    return {b: registered.get(b, True) and running.get(b, True) for b in registered.keys() | running.keys()}


# --- windows ---------------------------------------------------------------------------------------------------------------


def windows(held: Sequence[Collection[Any]], first_ms: int = 0) -> set[tuple[Any, int, int, bool]]:
    """Return what held during the run, as (item, from, to, whether it still held at the end)."""
    found = set()
    for what in {what for now in held for what in now}:
        began: int | None = None
        for t_ms, now in enumerate([*held, ()], first_ms):
            if what in now and began is None:
                began = t_ms
            if what not in now and began is not None:
                found.add((what, began, t_ms, t_ms == first_ms + len(held)))
                began = None
    return found


def under_min_isr(now: Moment) -> set[TP]:
    return {tp for tp, p in now.partitions.items() if len(p.isr) < p.min_isr}


def out_of_sync(now: Moment) -> set[tuple[TP, int]]:
    return {(tp, b) for tp, p in now.partitions.items() for b in p.wanted if b not in p.isr}


def health(now: Moment) -> tuple[int, int, int, int]:
    under = sum(p.is_under_replicated for p in now.partitions.values())
    return len(now.partitions), len(now.offline()), under, len(under_min_isr(now))


def load(held: Sequence[Moment], bucket_ms: int) -> dict[tuple[int, int], tuple[int, int]]:
    """(bucket, broker) -> the integrals of leaders and replicas over the bucket."""
    sums: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
    for t_ms, now in enumerate(held):
        for p in now.partitions.values():
            bucket = t_ms - t_ms % bucket_ms
            if p.leader != -1:
                sums[bucket, p.leader][0] += 1
            for b in p.replicas:
                sums[bucket, b][1] += 1
    return {key: (leaders, replicas) for key, (leaders, replicas) in sums.items()}


# --- losses ----------------------------------------------------------------------------------------------------------------

Damage = tuple[int, int, int, int, int]


def damage(now: Moment, lost: Collection[int]) -> tuple[Damage, set[TP]]:
    """Return the damage of losing these brokers (the figures of the analyses), and the partitions that go offline."""
    offline: set[TP] = set()
    unclean = under = moved = touched = 0
    for tp, p in now.partitions.items():
        live = [b for b in p.replicas if now.is_live(b)]
        in_sync = [b for b in live if b in p.isr]
        left, left_in_sync = ([b for b in some if b not in lost] for some in (live, in_sync))
        if in_sync and not left_in_sync:
            offline.add(tp)
        unclean += bool(live) and not left
        under += len(in_sync) >= p.min_isr > len(left_in_sync) > 0
        moved += p.leader in lost and p.leader in live
        touched += any(b in lost for b in live)
    return (len(offline), unclean, under, moved, touched), offline


def losses_of_pairs(now: Moment, groups: Mapping[Any, Collection[int]]) -> Iterator[tuple[Any, Damage, int, int]]:
    """Yield the pairs of groups that share partitions.

    Each is (pair, its damage, number of shared partitions, number of partitions offline only if both are lost).
    """
    for a, b in combinations(sorted(groups), 2):
        shared = [
            p
            for p in now.partitions.values()
            if all(any(now.is_live(x) and x in groups[g] for x in p.replicas) for g in (a, b))
        ]
        if shared:
            figures, offline = damage(now, {*groups[a], *groups[b]})
            only_both = offline - damage(now, groups[a])[1] - damage(now, groups[b])[1]
            yield (a, b), figures, len(shared), len(only_both)
