"""The differences of two runs: their settings, where they diverge, their final states, and their verdicts."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, NamedTuple

from kcsim.eventlog.state_changes import Znode
from kcsim.scenarios.views.terminal.alignment import DivergencePoint, ThreadDivergence, divergences, first_divergence
from kcsim.scenarios.views.terminal.cluster_snapshot import ClusterSnapshot
from kcsim.scenarios.views.terminal.run_digest import RunDigest, RunOutcome, ThreadEntry, comparable_content
from kcsim.scenarios.views.trace.event_importance import RankedEvent

NONE = "none"
SAME_MS = 100
"""Durations whose difference is smaller are equal: on the wall clock no two runs take the same time."""

DIFFERENT_IN_EVERY_RUN = re.compile(r'\b0x[0-9a-f]+\b|\b(?:zxid|broker epoch) \d+|\b\d+(?:\.\d+)? m?s\b|"timestamp":"?\d+')
"""Session ids, transaction ids and times in the narration of an event."""


class ValueDifference(NamedTuple):
    """A fact in which two runs differ, as text; None if a run does not have it."""

    what: str
    left: str | None
    right: str | None


@dataclass(frozen=True, slots=True)
class RunDifferences:
    """All differences of two runs; everything is empty if the runs are the same.

    Attributes:
        outcome: durations and counts of the whole runs. Durations that differ by less than SAME_MS, or by less than a tenth,
            are equal.
        first_divergence: where the events differ first; None if they never do. Times are not compared.
        divergences: each thread that differs, in the order in which they diverge.
        end: brokers, partitions and groups at the end of the runs.
        znodes: the znodes at the end, without times and listener addresses.
    """

    settings: Sequence[ValueDifference]
    first_divergence: DivergencePoint | None
    divergences: Sequence[ThreadDivergence]
    end: Sequence[ValueDifference]
    znodes: Sequence[ValueDifference]
    verdicts: Sequence[ValueDifference]
    outcome: Sequence[ValueDifference]

    def __bool__(self) -> bool:
        """Return whether there is any difference."""
        return any((self.settings, self.divergences, self.end, self.znodes, self.verdicts, self.outcome))


def run_differences(left: RunDigest, right: RunDigest) -> RunDifferences:
    """Return the differences of two runs."""
    return RunDifferences(
        settings=[
            *_broker_setting_differences(left, right),
            *_value_differences(left.settings, right.settings),
            *_text_differences(left, right),
        ],
        first_divergence=first_divergence(left.threads, right.threads),
        divergences=divergences(left.threads, right.threads),
        end=_value_differences(_things(left.end), _things(right.end)),
        znodes=list(_znode_differences(left.end.state.znodes, right.end.state.znodes)),
        verdicts=list(_verdict_differences(left.verdicts, right.verdicts)),
        outcome=list(_outcome_differences(left.outcome, right.outcome)),
    )


def without_equal_narrations(
    differences: RunDifferences,
    digests: tuple[RunDigest, RunDigest],
    ranked: tuple[Mapping[int, RankedEvent], Mapping[int, RankedEvent]],
) -> RunDifferences:
    """Leave out the threads whose events read the same in both runs, but for times, session ids and transaction ids.

    Args:
        ranked: all events of the divergences, with their narration.
    """
    kept = [one for one in differences.divergences if _narrations(one.left, ranked[0]) != _narrations(one.right, ranked[1])]
    if len(kept) == len(differences.divergences):
        return differences
    left, right = ({one.thread: digest.threads.get(one.thread, []) for one in kept} for digest in digests)
    return replace(differences, divergences=kept, first_divergence=first_divergence(left, right))


def _narrations(entries: Sequence[ThreadEntry], ranked: Mapping[int, RankedEvent]) -> list[tuple[str, str]]:
    events = [ranked[entry.seq] for entry in entries]
    return [(one.event.node, DIFFERENT_IN_EVERY_RUN.sub("…", one.says)) for one in events]


def _outcome_differences(left: RunOutcome, right: RunOutcome) -> Iterator[ValueDifference]:
    for name in dict.fromkeys([*left.durations, *right.durations]):
        a, b = left.durations.get(name, 0), right.durations.get(name, 0)
        if abs(a - b) >= max(SAME_MS, max(a, b) / 10):
            yield ValueDifference(name, f"{a / 1000:.3f} s", f"{b / 1000:.3f} s")
    yield from _value_differences(*({name: str(n) for name, n in side.counts.items()} for side in (left, right)))


def _text_differences(left: RunDigest, right: RunDigest) -> Iterator[ValueDifference]:
    """Yield the lines that differ in the texts of the scenarios, if both traces have them."""
    if left.scenario_text is None or right.scenario_text is None:
        return
    a, b = left.scenario_text.splitlines(), right.scenario_text.splitlines()
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        for place, (one, two) in enumerate(zip_longest(a[i1:i2], b[j1:j2])):
            yield ValueDifference(f"scenario, line {(j1 if one is None else i1) + place + 1}", one, two)


def _value_differences(left: Mapping[str, str], right: Mapping[str, str]) -> list[ValueDifference]:
    names = dict.fromkeys([*left, *right])
    return [ValueDifference(name, left.get(name), right.get(name)) for name in names if left.get(name) != right.get(name)]


def _broker_setting_differences(left: RunDigest, right: RunDigest) -> list[ValueDifference]:
    """Return the settings with different values; of a run that does not name all settings, only those that it names."""
    found = _value_differences(left.broker_settings, right.broker_settings)
    is_unknown = {None} if not (left.names_all_settings and right.names_all_settings) else set()
    return [one for one in found if one.left not in is_unknown and one.right not in is_unknown]


def _things(snapshot: ClusterSnapshot) -> dict[str, str]:
    """Return everything in a cluster by its name, as texts that two runs can have in common."""
    epoch = NONE if snapshot.controller_epoch is None else snapshot.controller_epoch
    things = {
        "controller": f"{NONE if snapshot.controller is None else f'broker-{snapshot.controller}'}, controller epoch {epoch}"
    }
    for broker in snapshot.brokers:
        registered = "not registered" if broker.broker_epoch is None else "registered"
        role = "" if broker.controller_epoch is None else f", holds itself for the controller of {broker.controller_epoch}"
        things[broker.name] = f"{broker.process or 'process unknown'}, {registered}{role}"
    for partition in snapshot.partitions:
        text = _in_words({name: v for name, v in asdict(partition).items() if name not in ("topic", "partition")})
        things[f"{partition.topic}-{partition.partition}"] = text
    for group in snapshot.groups:
        things[f"group {group.group}"] = f"{group.state}, generation {group.generation}"
    for consumer in snapshot.consumers:
        owned = ", ".join(consumer.partitions) or "nothing"
        things[consumer.name] = f"{consumer.process or 'process unknown'}, consumes {owned}"
    return things


def _in_words(fields: Mapping[str, Any]) -> str:
    """Return fields as text: leader 1, leader epoch 2, isr 1,2. Flags and most lists appear only if they are not empty."""
    words = []
    for name, value in fields.items():
        label = name.removeprefix("is_").replace("_", " ")
        if name.startswith("is_"):
            words += [label] if value else []
        elif isinstance(value, tuple | list):
            words += [f"{label} {','.join(map(str, value))}"] if value or name == "isr" else []
        else:
            words.append(f"{label} {NONE if value is None else value}")
    return ", ".join(words)


def _znode_differences(left: Mapping[str, Znode], right: Mapping[str, Znode]) -> Iterator[ValueDifference]:
    for path in sorted(left.keys() | right.keys()):
        a, b = left.get(path), right.get(path)
        if a is None or b is None or _content(path, a) != _content(path, b):
            yield ValueDifference(path, _data(a), _data(b))


def _content(path: str, znode: Znode) -> tuple[str, bool]:
    return comparable_content(path, znode.data), znode.ephemeral


def _data(znode: Znode | None) -> str | None:
    if znode is None:
        return None
    return ("null" if znode.data is None else znode.data or '""') + (" (ephemeral)" if znode.ephemeral else "")


def _verdict_differences(left: Sequence[tuple[str, str]], right: Sequence[tuple[str, str]]) -> Iterator[ValueDifference]:
    """Yield the claims with different outcomes; a claim that is judged several times is compared in order."""
    for claim in dict.fromkeys(claim for claim, _ in (*left, *right)):
        of_claim = ([outcome for other, outcome in side if other == claim] for side in (left, right))
        for a, b in zip_longest(*of_claim):
            if a != b:
                yield ValueDifference(claim, a, b)
