"""In what two runs differ: how they were set up, where they part, how they ended, and how they were judged."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

from kcsim.scenarios.reading.alignment import Divergence, Parting, divergences, parting
from kcsim.scenarios.reading.cluster_at import ClusterAt
from kcsim.scenarios.reading.run_digest import RunDigest, says
from kcsim.scenarios.state import Znode

NONE = "none"


class Unlike(NamedTuple):
    """One thing that two runs do not have alike, in words; None where one does not have it."""

    what: str
    left: str | None
    right: str | None


@dataclass(frozen=True, slots=True)
class RunDifferences:
    """Everything in which they differ; all empty for two runs that are the same.

    Attributes:
        parting: where what happens differs first; None if it never does. When it happens, does not count.
        divergences: each place where it differs, in the order in which they part.
        end: brokers, partitions and groups as the runs left them.
        znodes: the same of the tree, less times and where brokers listen.
    """

    settings: Sequence[Unlike]
    parting: Parting | None
    divergences: Sequence[Divergence]
    end: Sequence[Unlike]
    znodes: Sequence[Unlike]
    verdicts: Sequence[Unlike]

    def __bool__(self) -> bool:
        """Whether there is any."""
        return any((self.settings, self.divergences, self.end, self.znodes, self.verdicts))


def run_differences(left: RunDigest, right: RunDigest) -> RunDifferences:
    """Compare two runs."""
    return RunDifferences(
        settings=_unlike(left.settings, right.settings),
        parting=parting(left.threads, right.threads),
        divergences=divergences(left.threads, right.threads),
        end=_unlike(_things(left.end), _things(right.end)),
        znodes=list(_unlike_znodes(left.end.state.znodes, right.end.state.znodes)),
        verdicts=list(_unlike_verdicts(left.verdicts, right.verdicts)),
    )


def _unlike(left: Mapping[str, str], right: Mapping[str, str]) -> list[Unlike]:
    names = dict.fromkeys([*left, *right])
    return [Unlike(name, left.get(name), right.get(name)) for name in names if left.get(name) != right.get(name)]


def _things(at: ClusterAt) -> dict[str, str]:
    """Everything in a cluster by its name, in words that two runs can have in common."""
    epoch = NONE if at.controller_epoch is None else at.controller_epoch
    things = {"controller": f"{NONE if at.controller is None else f'broker-{at.controller}'}, controller epoch {epoch}"}
    for broker in at.brokers:
        registered = "not registered" if broker.broker_epoch is None else "registered"
        role = "" if broker.controller_epoch is None else f", holds itself for the controller of {broker.controller_epoch}"
        things[broker.name] = f"{broker.process or 'process unknown'}, {registered}{role}"
    for partition in at.partitions:
        told = _in_words({name: v for name, v in asdict(partition).items() if name not in ("topic", "partition")})
        things[f"{partition.topic}-{partition.partition}"] = told
    for group in at.groups:
        things[f"group {group.group}"] = f"{group.state}, generation {group.generation}"
    for consumer in at.consumers:
        owned = ", ".join(consumer.partitions) or "nothing"
        things[consumer.name] = f"{consumer.process or 'process unknown'}, consumes {owned}"
    return things


def _in_words(fields: Mapping[str, Any]) -> str:
    """leader 1, leader epoch 2, isr 1,2; what is so of few partitions, only where it is."""
    told = []
    for name, value in fields.items():
        label = name.removeprefix("is_").replace("_", " ")
        if name.startswith("is_"):
            told += [label] if value else []
        elif isinstance(value, tuple | list):
            told += [f"{label} {','.join(map(str, value))}"] if value or name == "isr" else []
        else:
            told.append(f"{label} {NONE if value is None else value}")
    return ", ".join(told)


def _unlike_znodes(left: Mapping[str, Znode], right: Mapping[str, Znode]) -> Iterator[Unlike]:
    for path in sorted(left.keys() | right.keys()):
        a, b = left.get(path), right.get(path)
        if a is None or b is None or _content(path, a) != _content(path, b):
            yield Unlike(path, _data(a), _data(b))


def _content(path: str, znode: Znode) -> tuple[str, bool]:
    return says(path, znode.data), znode.ephemeral


def _data(znode: Znode | None) -> str | None:
    if znode is None:
        return None
    return ("null" if znode.data is None else znode.data or '""') + (" (ephemeral)" if znode.ephemeral else "")


def _unlike_verdicts(left: Sequence[tuple[str, str]], right: Sequence[tuple[str, str]]) -> Iterator[Unlike]:
    """Claims by name; one that is judged several times, in order."""
    for claim in dict.fromkeys(claim for claim, _ in (*left, *right)):
        of_claim = ([outcome for other, outcome in side if other == claim] for side in (left, right))
        for a, b in zip_longest(*of_claim):
            if a != b:
                yield Unlike(claim, a, b)
