"""The losses that a what-if asks about: brokers by name or rack, or every combination of them."""

import random
from collections.abc import Collection, Sequence
from itertools import combinations
from typing import NamedTuple

from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot
from kcsim.scenarios.what_if.what_if_run import Loss
from kcsim.text import did_you_mean

BROKER_PREFIX = "broker-"
RACK_PREFIX = "rack="
ANY = {"any-1": 1, "any-2": 2}


class LossError(ValueError):
    """A loss that the cluster of the snapshot cannot have. The message is one line."""


class AnyLosses(NamedTuple):
    """Losses of which each is tried. Attributes: left_out: how many more there are, that were not drawn."""

    losses: tuple[Loss, ...]
    left_out: int = 0


def parse_loss(text: str, snapshot: ControlPlaneSnapshot) -> Loss:
    """Return the loss that a text denotes: broker-7, broker-7,broker-8 or rack=b. Raises: LossError."""
    if text.startswith(RACK_PREFIX):
        return _rack_loss(text.removeprefix(RACK_PREFIX), snapshot)
    names = text.split(",")
    known = {f"{BROKER_PREFIX}{broker}": broker for broker in snapshot.registered_ids}
    for name in names:
        if name not in known:
            absent = name in [f"{BROKER_PREFIX}{broker}" for broker in snapshot.absent_ids]
            what = "is not registered in the snapshot: it is lost already" if absent else "is no broker of the snapshot"
            raise LossError(f"{name!r} {what}{did_you_mean(name, (*known, *ANY))}")
    return Loss(", ".join(names), tuple(known[name] for name in names))


def _rack_loss(rack: str, snapshot: ControlPlaneSnapshot) -> Loss:
    racks = racks_of(snapshot)
    if rack not in racks:
        there = f"; the racks are {', '.join(racks)}" if racks else "; its brokers have no racks"
        raise LossError(f"no registered broker of the snapshot is in rack {rack!r}{there}")
    return Loss(f"rack {rack}", racks[rack])


def racks_of(snapshot: ControlPlaneSnapshot) -> dict[str, tuple[int, ...]]:
    """Return the registered brokers of each rack, by rack."""
    racks: dict[str, list[int]] = {}
    for broker in snapshot.brokers:
        if broker.rack is not None:
            racks.setdefault(broker.rack, []).append(broker.id)
    return {rack: tuple(racks[rack]) for rack in sorted(racks)}


def any_losses(
    count: int, snapshot: ControlPlaneSnapshot, lost: Collection[int] = (), at_most: int | None = None, seed: int = 0
) -> AnyLosses:
    """Return every loss of so many brokers, or of so many racks of which one has several brokers, at once.

    Args:
        lost: brokers that are lost before.
        at_most: how many to draw with the seed, if there are more; None: all.
    """
    brokers = [Loss(f"{BROKER_PREFIX}{broker}", (broker,)) for broker in snapshot.registered_ids if broker not in lost]
    of_racks = ((rack, tuple(one for one in ids if one not in lost)) for rack, ids in racks_of(snapshot).items())
    racks = [Loss(f"rack {rack}", ids) for rack, ids in of_racks if ids]
    found = [_together(chosen) for chosen in combinations(brokers, count)]
    found += [_together(chosen) for chosen in combinations(racks, count) if any(len(one.brokers) > 1 for one in chosen)]
    if at_most is None or len(found) <= at_most:
        return AnyLosses(tuple(found))
    drawn = sorted(random.Random(seed).sample(range(len(found)), at_most))
    return AnyLosses(tuple(found[index] for index in drawn), len(found) - at_most)


def _together(losses: Sequence[Loss]) -> Loss:
    return Loss(" and ".join(loss.what for loss in losses), tuple(broker for loss in losses for broker in loss.brokers))
