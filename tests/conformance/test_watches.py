"""When a watch fires, and in which order a client receives events; both adapters must conform.

Source: ZooKeeper 3.9 Programmer's Guide, "ZooKeeper Watches"; the rows are those of docs/kafka/zookeeper_semantics.md.
"""

from typing import Any

import pytest

from kcsim.zk.operations import (
    Create,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Multi,
    Request,
    SetData,
    WatchEvent,
    WatchKind,
)
from tests.conformance.environment import Environment, Run

CREATED, DELETED, CHANGED, CHILDREN = "NODE_CREATED", "NODE_DELETED", "NODE_DATA_CHANGED", "NODE_CHILDREN_CHANGED"

TABLE: list[tuple[Request, list[Request], Request, list[tuple[str, str]]]] = [
    # the watch, what exists before, the write, the events
    (Exists("/a", watch=True), [], Create("/a"), [(CREATED, "/a")]),
    (Exists("/a", watch=True), [Create("/a")], SetData("/a", b"x"), [(CHANGED, "/a")]),
    (Exists("/a", watch=True), [Create("/a")], Delete("/a"), [(DELETED, "/a")]),
    (Exists("/a", watch=True), [Create("/a")], Create("/a/b"), []),
    (GetData("/a", watch=True), [], Create("/a"), []),
    (GetData("/a", watch=True), [Create("/a")], SetData("/a", b"x"), [(CHANGED, "/a")]),
    (GetData("/a", watch=True), [Create("/a")], Delete("/a"), [(DELETED, "/a")]),
    (GetData("/a", watch=True), [Create("/a")], Create("/a/b"), []),
    (GetChildren("/a", watch=True), [], Create("/a"), []),
    (GetChildren("/a", watch=True), [Create("/a")], Create("/a/b"), [(CHILDREN, "/a")]),
    (GetChildren("/a", watch=True), [Create("/a"), Create("/a/b")], Delete("/a/b"), [(CHILDREN, "/a")]),
    (GetChildren("/a", watch=True), [Create("/a"), Create("/a/b")], SetData("/a/b", b"x"), []),
    (GetChildren("/a", watch=True), [Create("/a"), Create("/a/b")], Create("/a/b/c"), []),
    (GetChildren("/a", watch=True), [Create("/a")], SetData("/a", b"x"), []),
    (GetChildren("/a", watch=True), [Create("/a")], Delete("/a"), [(DELETED, "/a")]),
    (Exists("/a"), [], Create("/a"), []),
    (GetData("/a"), [Create("/a")], SetData("/a", b"x"), []),
]


@pytest.mark.parametrize(("watch", "before", "act", "heard"), TABLE, ids=lambda value: type(value).__name__)
def test_a_watch_fires_on_what_it_watches_and_on_nothing_else(
    run: Run, watch: Request, before: list[Request], act: Request, heard: list[tuple[str, str]]
) -> None:
    """Row 5."""

    async def main(environment: Environment) -> Any:
        actor, watcher = await environment.open(), await environment.open()
        await actor.ask(*before)
        await watcher.ask(watch)
        await actor.ask(act)
        return await watcher.events()

    assert run(main) == heard


def test_a_watch_fires_once(run: Run) -> None:
    """Row 5."""

    async def main(environment: Environment) -> Any:
        client = await environment.open()
        await client.ask(Create("/a"), GetData("/a", watch=True), SetData("/a", b"1"), SetData("/a", b"2"))
        return await client.events()

    assert run(main) == [(CHANGED, "/a")]


def test_the_same_watch_set_twice_fires_once(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open()
        await client.ask(Create("/a"), GetData("/a", watch=True), GetData("/a", watch=True), Exists("/a", watch=True))
        await client.ask(SetData("/a", b"1"), SetData("/a", b"2"))
        return await client.events()

    assert run(main) == [(CHANGED, "/a")]


def test_a_deletion_is_heard_once_by_one_who_watches_data_and_children(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open()
        await client.ask(Create("/a"), GetData("/a", watch=True), GetChildren("/a", watch=True), Delete("/a"))
        return await client.events()

    assert run(main) == [(DELETED, "/a")]


def test_the_deletion_of_a_znode_is_heard_before_that_of_a_child_of_its_parent(run: Run) -> None:
    """One transaction fires both, the znode's own watch first."""

    async def main(environment: Environment) -> Any:
        client = await environment.open()
        await client.ask(
            Create("/a"), Create("/a/b"), GetData("/a/b", watch=True), GetChildren("/a", watch=True), Delete("/a/b")
        )
        return await client.events()

    assert run(main) == [(DELETED, "/a/b"), (CHILDREN, "/a")]


def test_a_creation_is_heard_before_the_change_of_the_parent_s_children(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open()
        await client.ask(Create("/a"), Exists("/a/b", watch=True), GetChildren("/a", watch=True), Create("/a/b"))
        return await client.events()

    assert run(main) == [(CREATED, "/a/b"), (CHILDREN, "/a")]


def test_the_operations_of_a_multi_fire_in_their_order(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open()
        await client.ask(Create("/a"), Create("/b"), Exists("/c", watch=True))
        await client.ask(GetData("/a", watch=True), GetData("/b", watch=True))
        await client.ask(Multi((SetData("/b", b"1"), Create("/c"), Delete("/a"))))
        return await client.events()

    assert run(main) == [(CHANGED, "/b"), (CREATED, "/c"), (DELETED, "/a")]


def test_a_refused_multi_fires_nothing(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open()
        await client.ask(Create("/a"), GetData("/a", watch=True), Multi((SetData("/a", b"1"), Delete("/none"))))
        return await client.events()

    assert run(main) == []


def test_an_event_names_the_transaction_that_fired_it(run: Run) -> None:
    """ZooKeeper 3.9 puts its zxid into the notification's header."""

    async def main(environment: Environment) -> None:
        actor, watcher = await environment.open(), await environment.open()
        await watcher.ask(Exists("/a", watch=True))
        created, _ = await actor.ask(Create("/a"), Create("/b"))
        assert await watcher.heard() == [WatchEvent(WatchKind.NODE_CREATED, "/a", created.zxid)]  # type: ignore[union-attr]

    run(main)


def test_a_client_hears_of_a_change_before_it_reads_it(run: Run) -> None:
    """Row 6: whenever a read shows the new state, the notice has already arrived."""

    async def main(environment: Environment) -> None:
        actor, watcher = await environment.open(), await environment.open()
        await actor.ask(Create("/a", b"0"))
        for n in range(1, 30):
            await watcher.ask(GetData("/a", watch=True))
            await actor.ask(SetData("/a", str(n).encode()))
            (read,) = await watcher.ask(GetData("/a"))
            assert read.data == str(n).encode()  # type: ignore[union-attr]
            assert len(watcher.notices) == n

    run(main)


def test_events_come_in_the_order_of_their_transactions(run: Run) -> None:
    """Row 6, over several writers."""

    async def main(environment: Environment) -> Any:
        watcher, *writers = [await environment.open() for _ in range(4)]
        paths = [f"/n{n}" for n in range(60)]
        await watcher.ask(*(Exists(path, watch=True) for path in paths))
        tasks = [
            environment.runtime.spawn(f"writer {n}", _each_alone(writer, [Create(p) for p in paths[n::3]]))
            for n, writer in enumerate(writers)
        ]
        for task in tasks:
            await task.join()
        return await watcher.heard()

    heard = run(main)
    assert len(heard) == 60
    assert [event.zxid for event in heard] == sorted(event.zxid for event in heard)


async def _each_alone(client: Any, requests: list[Request]) -> None:
    for request in requests:
        await client.ask(request)
