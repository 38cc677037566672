"""Events that the model emits about itself, with their causes."""

from typing import Any

import pytest

from kcsim.eventlog.events import EventKind, TransactionRef
from kcsim.vocabulary import ZkVersion, Zxid
from kcsim.zk.operations import Check, Create, Delete, Exists, Multi, SetData
from tests.zk.memory.environment import Environment, run

ZNODE_KINDS = EventKind.ZNODE_CREATED, EventKind.ZNODE_CHANGED, EventKind.ZNODE_DELETED


def test_each_znode_change_is_reported_once_with_its_columns() -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open()
        await client.ask(Create("/a", b"1", ephemeral=True), SetData("/a", b"2"), Delete("/a"), Create("/a"))
        name = f"{client.session.session_id:#018x}"
        return name, [
            (e.kind, e.path, e.data, e.zxid, e.zk_version, e.ephemeral, e.session_id)
            for e in environment.events(*ZNODE_KINDS)
        ]

    name, reported = run(main)
    assert len(name) == 18
    assert reported == [
        (EventKind.ZNODE_CREATED, "/a", "1", 2, 0, True, name),
        (EventKind.ZNODE_CHANGED, "/a", "2", 3, 1, True, name),
        (EventKind.ZNODE_DELETED, "/a", None, 4, 1, True, name),
        (EventKind.ZNODE_CREATED, "/a", None, 5, 0, False, name),
    ]


@pytest.mark.parametrize(("data", "text"), [(None, None), (b"", ""), ("é".encode(), "é"), (b"\xff\x00", "base64:/wA=")])
def test_data_is_reported_as_text(data: bytes | None, text: str | None) -> None:
    async def main(environment: Environment) -> Any:
        await (await environment.open()).ask(Create("/a", data))
        return environment.events(EventKind.ZNODE_CREATED)[0].data

    assert run(main) == text


def test_a_change_is_reported_when_it_is_applied_and_names_its_cause() -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open()
        requested_ms = environment.runtime.now_ms()
        await client.ask(Create("/a"), cause=0)
        (event,) = environment.events(EventKind.ZNODE_CREATED)
        return event.t_ms - requested_ms, event.node, event.cause

    assert run(main, latency_ms=lambda _: 5) == (5, "zookeeper", 0)


def test_a_cause_may_be_a_transaction() -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open()
        await client.ask(Create("/a"))
        await client.ask(Create("/b"), cause=TransactionRef(Zxid(2), "/a"))
        first, second = environment.events(EventKind.ZNODE_CREATED)
        return second.cause == first.seq

    assert run(main)


def test_a_multi_reports_each_change_under_one_zxid_and_a_refused_one_nothing() -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open()
        await client.ask(Multi((Create("/a"), SetData("/a", b"1"), Check("/a", ZkVersion(1)))))
        await client.ask(Multi((Create("/b"), Check("/a", ZkVersion(7)))), Create("/a"))
        return [(e.kind, e.zxid) for e in environment.events(*ZNODE_KINDS)]

    assert run(main) == [(EventKind.ZNODE_CREATED, 2), (EventKind.ZNODE_CHANGED, 2)]


def test_a_session_s_beginning_is_reported_with_the_time_out_granted() -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open(90_000)
        (opened,) = environment.events(EventKind.SESSION_CREATED)
        return opened.duration_ms, opened.session_id == f"{client.session.session_id:#018x}"

    assert run(main, tick_time_ms=100) == (2000, True)


def test_a_closed_session_is_the_cause_of_its_ephemerals_going() -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open()
        await client.ask(Create("/e1", ephemeral=True), Create("/e2", ephemeral=True))
        await client.session.close(cause=0)
        (closed,) = environment.events(EventKind.SESSION_CLOSED)
        deleted = environment.events(EventKind.ZNODE_DELETED)
        return closed.cause, closed.error, {(e.cause == closed.seq, e.zxid == closed.zxid) for e in deleted}, len(deleted)

    assert run(main) == (0, None, {(True, True)}, 2)


@pytest.mark.parametrize("fault", ["freeze", "abandon", "refuse_connections"])
def test_an_expiry_names_the_fault_behind_it(fault: str) -> None:
    async def main(environment: Environment) -> Any:
        client, other = await environment.open(400), await environment.open()
        await client.ask(Create("/e", ephemeral=True))
        await other.ask(Exists("/e", watch=True))
        getattr(client.session, fault)(cause=0)
        if fault == "refuse_connections":
            await client.session.cut()
        await other.until_event("/e")
        (closed,) = environment.events(EventKind.SESSION_CLOSED)
        return closed.cause, closed.error

    assert run(main) == (0, "SESSIONEXPIRED")


def test_a_fault_that_was_survived_is_not_the_cause_of_the_end() -> None:
    async def main(environment: Environment) -> Any:
        client, other = await environment.open(400), await environment.open()
        await client.ask(Create("/e", ephemeral=True))
        await other.ask(Exists("/e", watch=True))
        await client.session.cut(cause=0)
        await environment.runtime.sleep_ms(100)
        client.session.abandon()
        await other.until_event("/e")
        (closed,) = environment.events(EventKind.SESSION_CLOSED)
        return closed.cause, closed.error

    assert run(main) == (None, "SESSIONEXPIRED")
