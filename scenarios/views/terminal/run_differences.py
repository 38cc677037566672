"""The differences of two runs: their settings, where they diverge, their final states, and their verdicts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

from kcsim.eventlog.state_changes import Znode
from kcsim.scenarios.views.terminal.alignment import DivergencePoint, ThreadDivergence, divergences, first_divergence
from kcsim.scenarios.views.terminal.cluster_snapshot import ClusterSnapshot
from kcsim.scenarios.views.terminal.run_digest import RunDigest, comparable_content

NONE = "none"


class ValueDifference(NamedTuple):
    """A fact in which two runs differ, as text; None if a run does not have it."""

    what: str
    left: str | None
    right: str | None


@dataclass(frozen=True, slots=True)
class RunDifferences:
    """All differences of two runs; everything is empty if the runs are the same.

    Attributes:
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

    def __bool__(self) -> bool:
        """Return whether there is any difference."""
        return any((self.settings, self.divergences, self.end, self.znodes, self.verdicts))


def run_differences(left: RunDigest, right: RunDigest) -> RunDifferences:
    """Return the differences of two runs."""
    return RunDifferences(
        settings=_value_differences(left.settings, right.settings),
        first_divergence=first_divergence(left.threads, right.threads),
        divergences=divergences(left.threads, right.threads),
        end=_value_differences(_things(left.end), _things(right.end)),
        znodes=list(_znode_differences(left.end.state.znodes, right.end.state.znodes)),
        verdicts=list(_verdict_differences(left.verdicts, right.verdicts)),
    )


def _value_differences(left: Mapping[str, str], right: Mapping[str, str]) -> list[ValueDifference]:
    names = dict.fromkeys([*left, *right])
    return [ValueDifference(name, left.get(name), right.get(name)) for name in names if left.get(name) != right.get(name)]


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
