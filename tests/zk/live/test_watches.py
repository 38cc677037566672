"""Watches that a client considers armed, as ZooKeeper's Java client does."""

import pytest

from kcsim.zk.live.watches import WatchTable
from kcsim.zk.live.wire import WireWatchEvent, encode_set_watches
from kcsim.zk.operations import Exists, GetChildren, GetData, Request, WatchKind

CREATED, DELETED, CHANGED, CHILDREN = (
    WatchKind.NODE_CREATED.value,
    WatchKind.NODE_DELETED.value,
    WatchKind.NODE_DATA_CHANGED.value,
    WatchKind.NODE_CHILDREN_CHANGED.value,
)


def armed(request: Request, found: bool) -> WatchTable:
    table = WatchTable()
    table.arm(request, "/a", found)
    return table


@pytest.mark.parametrize(
    ("request_", "found", "data", "exist", "child"),
    [
        (Exists("/a", watch=True), True, ["/a"], [], []),
        (Exists("/a", watch=True), False, [], ["/a"], []),
        (GetData("/a", watch=True), True, ["/a"], [], []),
        (GetChildren("/a", watch=True), True, [], [], ["/a"]),
    ],
)
def test_a_watch_is_of_the_kind_that_its_answer_says(
    request_: Request, found: bool, data: list[str], exist: list[str], child: list[str]
) -> None:
    assert list(armed(request_, found).set_watches(7)) == [encode_set_watches(7, data, exist, child)]


@pytest.mark.parametrize(
    ("request_", "found"),
    [
        (GetData("/a", watch=True), False),
        (GetChildren("/a", watch=True), False),
        (Exists("/a"), True),
        (GetData("/a"), True),
        (GetChildren("/a"), True),
    ],
)
def test_a_read_that_set_no_watch_arms_none(request_: Request, found: bool) -> None:
    assert list(armed(request_, found).set_watches(7)) == []


@pytest.mark.parametrize(
    ("request_", "found", "kind"),
    [
        (Exists("/a", watch=True), False, CREATED),
        (Exists("/a", watch=True), True, CHANGED),
        (Exists("/a", watch=True), True, DELETED),
        (GetData("/a", watch=True), True, CHANGED),
        (GetData("/a", watch=True), True, DELETED),
        (GetChildren("/a", watch=True), True, CHILDREN),
        (GetChildren("/a", watch=True), True, DELETED),
    ],
)
def test_an_event_uses_up_its_watch(request_: Request, found: bool, kind: int) -> None:
    table = armed(request_, found)
    assert [table.fire(WireWatchEvent(kind, "/a")), table.fire(WireWatchEvent(kind, "/a"))] == [True, False]
    assert list(table.set_watches(7)) == []


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        (GetData("/a", watch=True), CHILDREN),
        (GetChildren("/a", watch=True), CHANGED),
        (GetChildren("/a", watch=True), CREATED),
    ],
)
def test_an_event_of_another_kind_leaves_the_watch_alone(request_: Request, kind: int) -> None:
    table = armed(request_, True)
    assert not table.fire(WireWatchEvent(kind, "/a"))
    assert table.fire(WireWatchEvent(DELETED, "/a"))


def test_one_deletion_uses_up_all_watches_of_the_path() -> None:
    table = armed(GetData("/a", watch=True), True)
    table.arm(GetChildren("/a", watch=True), "/a", True)
    assert [table.fire(WireWatchEvent(DELETED, "/a")), table.fire(WireWatchEvent(DELETED, "/a"))] == [True, False]


def test_what_is_armed_again_is_cut_into_requests_that_the_server_takes() -> None:
    """jute.maxbuffer is 1 MB."""
    table = WatchTable()
    for n in range(3_000):
        table.arm(Exists("", watch=True), f"/{'x' * 200}-{n}", n % 2 == 0)
    bodies = list(table.set_watches(7))
    assert len(bodies) > 1
    assert max(map(len, bodies)) < 200 * 1024
    assert sum(body.count(b"/x") for body in bodies) == 3_000
