"""The state of a TimelineBuilder between two portions of a history, as it is kept by a streaming query.

Sets of brokers are hexadecimal numbers in it, as a cluster can have more brokers than an integer of MessagePack has bits.
"""

from typing import NamedTuple

import msgspec

from kcsim.scenarios.analysis.folding.controller_action import (
    BrokerBits,
    ControllerAction,
    ControllerActionKind,
    ControllerView,
)
from kcsim.scenarios.analysis.folding.timeline import NO_VIEW, ControllerViews, Timeline, TopicTimeline
from kcsim.scenarios.analysis.folding.trigger import Trigger


class SavedView(NamedTuple):
    """A ControllerView; `live` and `shutting_down` are hexadecimal."""

    epoch: int
    live: str
    shutting_down: str
    is_unclean_allowed: bool
    phase: Trigger
    since: int


class SavedPhase(NamedTuple):
    """A phase of a BrokerChange that has not begun: its first step, the view from then on, its kind and its brokers."""

    step: str
    view: SavedView
    kind: ControllerActionKind
    brokers: tuple[int, ...]


class TimelineState(msgspec.Struct, array_like=True):
    """The state of a builder, and of its timeline without what only earlier events look up.

    Attributes:
        brokers: in the order of their bits.
        views: node -> (seq, view).
        log_dirs: (topic, partition, its failures).
        last_action: seq and kind of the latest action, which the answer of the controller can take back.
    """

    brokers: list[int] = []
    views: dict[str, list[tuple[int, SavedView]]] = {}
    topics: dict[str, TopicTimeline] = {}
    triggers: dict[int, Trigger] = {}
    owners: dict[str, int] = {}
    log_dirs: list[tuple[str, int, list[tuple[int, str, int]]]] = []
    read_at: dict[int, int] = {}
    racks: dict[int, str | None] = {}
    ended_ms: int = 0
    has_decisions: bool = False
    registered: str = "0"
    defaults: dict[str, bool] = {}
    epoch: int = 0
    next_phases: dict[str, list[SavedPhase]] = {}
    last_action: tuple[int, ControllerActionKind] | None = None


def saved_view(view: ControllerView) -> SavedView:
    """Return a view for the state."""
    return SavedView(
        view.epoch, f"{view.live:x}", f"{view.shutting_down:x}", view.is_unclean_allowed, view.phase, view.since
    )


def restored_view(saved: SavedView) -> ControllerView:
    """Return the view that was saved."""
    return ControllerView(
        saved.epoch,
        int(saved.live, 16),
        int(saved.shutting_down, 16),
        saved.is_unclean_allowed,
        saved.phase,
        saved.since,
    )


def restored_action(saved: tuple[int, ControllerActionKind]) -> ControllerAction:
    """Return the action that was saved, as far as a builder looks at it."""
    seq, kind = saved
    return ControllerAction(seq, 0, kind, NO_VIEW)


def restored_timeline(state: TimelineState) -> Timeline:
    """Return the timeline of a saved state."""
    views = {
        node: ControllerViews([seq for seq, _ in views], [restored_view(view) for _, view in views])
        for node, views in state.views.items()
    }
    return Timeline(
        BrokerBits(state.brokers),
        views,
        topics=state.topics,
        triggers=state.triggers,
        owners=state.owners,
        log_dirs={(topic, partition): failures for topic, partition, failures in state.log_dirs},
        read_at=state.read_at,
        racks=state.racks,
        ended_ms=state.ended_ms,
        has_decisions=state.has_decisions,
    )
