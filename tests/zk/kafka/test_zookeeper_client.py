"""Kafka's ZooKeeper client: waiting, retries, watches, and the expiry of its session."""

import pytest

from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.sink import Cause
from kcsim.runtime.ports import Promise
from kcsim.vocabulary import ZkVersion
from kcsim.zk.errors import NodeExistsError, NoNodeError, SessionExpiredError, ZooKeeperUnavailableError
from kcsim.zk.kafka.zookeeper_client import MULTI_READ_PATHS, NodeHandler, SessionHandler, ZooKeeperClientExpiredError
from kcsim.zk.operations import (
    Create,
    Created,
    DataRead,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Multi,
    MultiRead,
    Request,
    SessionState,
    SetData,
)
from tests.zk.kafka.scripted import Bench, writes


def is_create(request: Request) -> bool:
    return isinstance(request, Create)


def seen_by_broker(bench: Bench, *kinds: EventKind) -> list[Event]:
    return [e for e in bench.log.events if e.node == "broker-1" and e.kind in kinds]


# --- retries


def test_a_request_whose_answer_was_lost_is_sent_again_and_may_meet_its_own_success(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        bench.zookeeper.lose_reply(is_create, is_applied=True)
        assert await bench.client.request([Create("/a")]) == [NodeExistsError("/a")]

    bench.runtime.run(main())


def test_only_what_was_lost_is_sent_again(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        bench.zookeeper.lose_reply(lambda r: r == Create("/b"), is_applied=False)
        first, second, third = await bench.client.request([Create("/a"), Create("/b"), GetData("/nowhere")])
        assert (type(first), type(second), third) == (Created, Created, NoNodeError("/nowhere"))
        assert writes(bench.session.calls) == [Create("/a"), Create("/b"), GetData("/nowhere"), Create("/b")]

    bench.runtime.run(main())


def test_it_waits_for_the_connection_as_long_as_it_takes(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        bench.zookeeper.lose_reply(is_create, is_applied=False, is_back_at_once=False)
        answers: list[object] = []

        async def ask() -> None:
            answers.extend(await bench.client.request([Create("/a")]))

        task = bench.runtime.spawn("ask", ask())
        await bench.runtime.sleep_ms(24 * 3600 * 1000)
        assert not task.is_done
        assert len(bench.session.calls) == 1
        bench.session.reconnect()
        await task.join()
        assert isinstance(answers[0], Created)

    bench.runtime.run(main())


def test_a_session_that_expires_while_requests_wait_is_an_error(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        bench.zookeeper.lose_reply(is_create, is_applied=True, is_back_at_once=False)

        async def ask() -> None:
            with pytest.raises(ZooKeeperClientExpiredError, match="before or while waiting for connection"):
                await bench.client.request([Create("/a")])

        task = bench.runtime.spawn("ask", ask())
        await bench.runtime.sleep_ms(10)
        bench.session.expire()
        await task.join()

    bench.runtime.run(main())


def test_it_is_the_old_session_that_a_waiting_request_belongs_to(bench: Bench) -> None:
    """This holds even if the new session is open before the request learns of the end of the old one."""

    async def main() -> None:
        await bench.connect()
        old = bench.session
        old.suspend()
        outcomes: list[str] = []

        async def ask() -> None:
            try:
                await bench.client.request([Create("/a")])
            except ZooKeeperClientExpiredError:
                outcomes.append("expired")

        task = bench.runtime.spawn("ask", ask())
        await bench.runtime.sleep_ms(10)
        old.expire()
        await task.join()
        await bench.runtime.sleep_ms(10)
        assert bench.client.session_state is SessionState.CONNECTED
        assert outcomes == ["expired"]
        assert writes(bench.session.calls) == []

    bench.runtime.run(main())


def test_answers_of_a_dead_session_are_returned_as_they_are(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        bench.zookeeper.refusals = 1
        bench.session.expire()
        assert await bench.client.request([Exists("/a")]) == [SessionExpiredError("/a")]

    bench.runtime.run(main())


# --- watches


class Heard:
    """Handlers that keep the arguments of their calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Cause]] = []

    def node_handler(self) -> NodeHandler:
        return NodeHandler(
            created=lambda cause: self.calls.append(("created", cause)),
            deleted=lambda cause: self.calls.append(("deleted", cause)),
            data_changed=lambda cause: self.calls.append(("data_changed", cause)),
        )

    def child_handler(self, cause: Cause) -> None:
        self.calls.append(("children", cause))

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.calls]


def test_reads_watch_what_has_a_handler_when_they_are_sent_and_nothing_else(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        reads: list[Request] = [Exists("/a"), GetData("/a"), GetChildren("/a", watch=True), GetChildren("/a")]
        await bench.client.request([*reads, Exists("/b", watch=True)])
        bench.client.register_node_handler("/a", NodeHandler())
        bench.client.register_child_handler("/a", lambda _: None)
        await bench.client.request(reads)
        unwatched, watched = bench.session.calls
        assert unwatched[0] == [Exists("/a"), GetData("/a"), GetChildren("/a"), GetChildren("/a"), Exists("/b")]
        assert watched[0] == [
            Exists("/a", watch=True),
            GetData("/a", watch=True),
            GetChildren("/a", watch=True),
            GetChildren("/a"),
        ]

    bench.runtime.run(main())


def test_registering_says_whether_the_znode_exists_and_arms_the_watch(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        heard = Heard()
        assert await bench.client.register_and_check_existence("/a", heard.node_handler()) is False
        await bench.tree(Create("/a"))
        assert heard.names == ["created"]
        assert await bench.client.check_existence("/a") is True

    bench.runtime.run(main())


def test_a_watch_fires_once_and_the_next_read_arms_it_again(bench: Bench) -> None:
    """Two changes between two reads are reported as one."""

    async def main() -> None:
        await bench.connect()
        await bench.tree(Create("/a", b"0"))
        heard = Heard()
        await bench.client.register_and_check_existence("/a", heard.node_handler())
        await bench.tree(SetData("/a", b"1"), SetData("/a", b"2"))
        assert heard.names == ["data_changed"]
        await bench.client.request([GetData("/a")])
        await bench.tree(SetData("/a", b"3"))
        assert heard.names == ["data_changed", "data_changed"]

    bench.runtime.run(main())


def test_children_are_reported_to_the_child_handler_only(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        await bench.tree(Create("/a"))
        node, children = Heard(), Heard()
        await bench.client.register_and_check_existence("/a", node.node_handler())
        bench.client.register_child_handler("/a", children.child_handler)
        await bench.client.request([GetChildren("/a", watch=True)])
        await bench.tree(Create("/a/b"))
        assert (node.names, children.names) == ([], ["children"])

    bench.runtime.run(main())


def test_an_armed_watch_without_a_handler_is_dropped_and_logged(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        heard = Heard()
        await bench.client.register_and_check_existence("/a", heard.node_handler())
        bench.client.unregister_node_handler("/a")
        await bench.tree(Create("/a"))
        assert heard.names == []

    bench.runtime.run(main())
    (fired,) = seen_by_broker(bench, EventKind.WATCH_FIRED)
    assert fired.detail is not None
    assert "dropped" in fired.detail


def test_a_change_without_a_callback_uses_the_watch_up(bench: Bench) -> None:
    """A creation after a deletion by hand is therefore not seen (recorded for the two admin nodes)."""

    async def main() -> None:
        await bench.connect()
        await bench.tree(Create("/a"))
        heard = Heard()
        await bench.client.register_and_check_existence("/a", NodeHandler(created=heard.node_handler().created))
        await bench.tree(SetData("/a", b"1"), Delete("/a"), Create("/a"))
        assert heard.names == []

    bench.runtime.run(main())


def test_callbacks_are_given_the_watch_event_whose_cause_is_the_transaction(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        heard = Heard()
        await bench.client.register_and_check_existence("/a", heard.node_handler())
        await bench.tree(Create("/a"))
        ((_, cause),) = heard.calls
        assert isinstance(cause, int)
        fired = bench.log.events[cause]
        assert (fired.kind, fired.path, fired.event) == (EventKind.WATCH_FIRED, "/a", "NodeCreated")
        assert fired.zxid == bench.zookeeper.server.zxid

    bench.runtime.run(main())


def test_many_reads_go_in_multi_reads_except_the_watched_ones(bench: Bench) -> None:
    """The server does not accept watches in a MultiRead."""

    async def main() -> None:
        await bench.connect()
        nodes = [f"/n{i}" for i in range(MULTI_READ_PATHS + 2)]
        await bench.tree(*(Create(node, node.encode()) for node in nodes[:-1]))
        bench.client.register_node_handler("/n1", NodeHandler())
        *found, missing = await bench.client.read_data(nodes)
        assert [r.data for r in found if isinstance(r, DataRead)] == [node.encode() for node in nodes[:-1]]
        assert missing == NoNodeError(nodes[-1])
        first, second, third = writes(bench.session.calls)
        assert first == GetData("/n1", watch=True)
        assert isinstance(second, MultiRead)
        assert isinstance(third, MultiRead)
        assert (len(second.ops), len(third.ops)) == (MULTI_READ_PATHS, 1)

    bench.runtime.run(main())


# --- a new session after expiry


class Gate:
    """Work started by a before-new-session callback; it begins when the test lets it."""

    def __init__(self, promise: "Promise[None]") -> None:
        self.promise = promise

    async def wait_until_begun(self) -> None:
        await self.promise.wait()


def test_expiry_runs_before_callbacks_then_opens_a_session_then_runs_after_callbacks(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        old = bench.client.session_id
        story: list[str] = []
        gate = Gate(bench.runtime.promise())

        def before(cause: Cause) -> Gate:
            assert isinstance(cause, int)
            assert bench.log.events[cause].state == "expired"
            story.append("before")
            return gate

        bench.client.register_session_handler(
            "test", SessionHandler(before, lambda cause: story.append(f"after, in {bench.client.session_state.value}"))
        )
        bench.session.expire()
        assert story == ["before"]
        await bench.runtime.sleep_ms(10_000)
        assert (story, bench.client.session_id) == (["before"], old)
        gate.promise.resolve(None)
        await bench.runtime.sleep_ms(10)
        assert story == ["before", "after, in connected"]
        assert bench.client.session_id != old

    bench.runtime.run(main())


def test_a_new_session_is_tried_for_every_second_until_it_can_be_opened(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        bench.zookeeper.refusals = 3
        began_ms = bench.runtime.now_ms()
        opened: list[int] = []
        bench.client.register_session_handler(
            "test", SessionHandler(after_new_session=lambda _: opened.append(bench.runtime.now_ms() - began_ms))
        )
        bench.session.expire()
        await bench.runtime.sleep_ms(10_000)
        assert opened == [3 * 1000 + 4]

    bench.runtime.run(main())


def test_handlers_outlive_the_session_and_watches_do_not(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        heard = Heard()
        await bench.client.register_and_check_existence("/a", heard.node_handler())
        bench.session.expire()
        await bench.runtime.sleep_ms(10)
        await bench.tree(Create("/a"))
        assert heard.names == []
        await bench.client.check_existence("/a")
        await bench.tree(SetData("/a", b"1"))
        assert heard.names == ["data_changed"]

    bench.runtime.run(main())


def test_an_unregistered_session_handler_is_not_called(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        story: list[str] = []
        bench.client.register_session_handler("test", SessionHandler(after_new_session=lambda _: story.append("after")))
        bench.client.unregister_session_handler("test")
        bench.session.expire()
        await bench.runtime.sleep_ms(10)
        assert story == []

    bench.runtime.run(main())


def test_a_second_expiry_gives_a_third_session(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        for _ in range(2):
            bench.session.expire()
            await bench.runtime.sleep_ms(10)
        assert bench.client.session_state is SessionState.CONNECTED

    bench.runtime.run(main())
    states = [e.state for e in seen_by_broker(bench, EventKind.SESSION_STATE)]
    assert states == ["connected", "expired", "connected", "expired", "connected"]


def test_the_end_of_a_session_in_order_follows_from_what_it_was_closed_for(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        await bench.client.close(17)
        (closed,) = [e for e in seen_by_broker(bench, EventKind.SESSION_STATE) if e.state == "closed"]
        assert closed.cause == 17

    bench.runtime.run(main())


def test_closing_ends_the_session_and_the_search_for_a_new_one(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        session = bench.session
        await bench.client.close()
        await bench.client.close()
        assert session.state is SessionState.CLOSED
        bench.zookeeper.refusals = 1_000
        other = bench.zookeeper.sessions[1]
        other.expire()
        await bench.other.close()
        bench.zookeeper.refusals = 0
        await bench.runtime.sleep_ms(10_000)
        assert len(bench.zookeeper.sessions) == 2

    bench.runtime.run(main())


def test_no_server_at_the_start_is_an_error(bench: Bench) -> None:
    async def main() -> None:
        bench.zookeeper.refusals = 1
        with pytest.raises(ZooKeeperUnavailableError):
            await bench.client.connect()

    bench.runtime.run(main())


# --- the event log


def test_session_states_are_logged_with_the_fault_behind_them(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        fault = bench.log.sink("scenario").emit(EventKind.FAULT, fault="cut")
        bench.session.suspend(fault)
        bench.session.reconnect(fault)

    bench.runtime.run(main())
    connected, suspended, again = seen_by_broker(bench, EventKind.SESSION_STATE)
    assert (connected.state, connected.session_id, connected.duration_ms) == ("connected", "0x0100000000000000", 18_000)
    assert (suspended.state, again.state) == ("suspended", "connected")
    assert bench.log.events[suspended.cause or -1].kind is EventKind.FAULT


def test_a_write_is_logged_before_it_is_sent_and_is_the_cause_of_what_it_does(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        why = bench.log.sink("broker-1").emit(EventKind.ELECTION_STARTED)
        await bench.client.request([Create("/a"), SetData("/a", b"1", ZkVersion(0)), Create("/a")], why)
        begun = bench.session.calls[0][1]
        assert isinstance(begun, int)
        event = bench.log.events[begun]
        assert (event.kind, event.cause, event.op, event.path, event.count) == (EventKind.ZK_WRITE, why, "multi", "/a", 3)
        assert event.inputs == "create /a, set /a if version 0, create /a"
        created, data_set, refused = bench.log.events[begun + 1 :]
        assert (created.kind, created.op, created.cause) == (EventKind.ZK_WRITE_APPLIED, "create", begun)
        assert (data_set.op, data_set.zk_version, data_set.outcome) == ("set", 1, "applied")
        assert (refused.kind, refused.error, refused.outcome) == (EventKind.ZK_WRITE_REFUSED, "NODEEXISTS", "not applied")
        assert created.zxid is not None
        assert created.zxid < (data_set.zxid or 0)

    bench.runtime.run(main())


def test_a_lost_write_is_logged_as_unknown_and_the_second_attempt_as_its_consequence(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        bench.zookeeper.lose_reply(is_create, is_applied=True)
        await bench.client.request([Create("/a")])

    bench.runtime.run(main())
    kinds = (EventKind.ZK_WRITE, EventKind.ZK_WRITE_APPLIED, EventKind.ZK_WRITE_REFUSED)
    first, lost, second, refused = seen_by_broker(bench, *kinds)
    assert (first.kind, second.kind) == (EventKind.ZK_WRITE, EventKind.ZK_WRITE)
    assert (lost.error, lost.outcome, lost.cause) == ("CONNECTIONLOSS", "unknown", first.seq)
    assert (refused.error, refused.outcome, second.cause) == ("NODEEXISTS", "not applied", lost.seq)


def test_a_write_that_is_given_up_with_its_session_is_logged_as_a_consequence_of_its_loss(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        bench.zookeeper.lose_reply(is_create, is_applied=False, is_back_at_once=False)

        async def ask() -> None:
            with pytest.raises(ZooKeeperClientExpiredError):
                await bench.client.request([Create("/a"), GetData("/a")])

        task = bench.runtime.spawn("ask", ask())
        await bench.runtime.sleep_ms(10)
        bench.session.expire()
        await task.join()

    bench.runtime.run(main())
    begun, lost, given_up = seen_by_broker(bench, EventKind.ZK_WRITE, EventKind.ZK_WRITE_REFUSED)
    assert (lost.error, lost.cause) == ("CONNECTIONLOSS", begun.seq)
    assert (given_up.error, given_up.outcome, given_up.path, given_up.cause) == (
        "SESSIONEXPIRED",
        "unknown",
        "/a",
        lost.seq,
    )


def test_a_large_batch_is_summed_up(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        await bench.client.request([Create(f"/n{i % 25}") for i in range(30)])

    bench.runtime.run(main())
    begun, applied, refused = seen_by_broker(
        bench, EventKind.ZK_WRITE, EventKind.ZK_WRITE_APPLIED, EventKind.ZK_WRITE_REFUSED
    )
    assert (begun.count, begun.inputs) == (30, None)
    assert (applied.kind, applied.count, applied.path, applied.zxid is not None) == (
        EventKind.ZK_WRITE_APPLIED,
        25,
        "/n0",
        True,
    )
    assert (refused.kind, refused.count, refused.path, refused.error) == (
        EventKind.ZK_WRITE_REFUSED,
        5,
        "/n0",
        "NODEEXISTS",
    )


def test_a_refused_multi_is_one_refusal_that_names_the_operation_that_failed(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        await bench.client.request([Multi((Create("/a"), SetData("/nowhere", b"")))])

    bench.runtime.run(main())
    (refused,) = seen_by_broker(bench, EventKind.ZK_WRITE_REFUSED)
    assert (refused.path, refused.op, refused.error, refused.count) == ("/nowhere", "set", "NONODE", 2)


def test_reads_are_not_logged(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        before = len(bench.log.events)
        await bench.client.request([Exists("/a"), GetChildren("/")])
        assert len(bench.log.events) == before

    bench.runtime.run(main())
