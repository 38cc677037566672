"""Dry-run writes: answered as the server would answer, on the model and on a real one, and not applied."""

from kcsim.scenarios.cli.kafka_tools.dry_run import DryRunZooKeeper, write_line
from kcsim.vocabulary import ZkVersion, Zxid
from kcsim.zk.errors import BadVersionError, NodeExistsError, NoNodeError
from kcsim.zk.operations import (
    ChildrenRead,
    Create,
    Created,
    DataRead,
    DataSet,
    Delete,
    Deleted,
    GetChildren,
    GetData,
    Request,
    SetData,
)
from tests.conformance.environment import BOUND_MS, LONGEST_TIMEOUT_MS, Environment, Run

THERE = Create("/there", b"old")


async def rehearse(environment: Environment, *requests: Request) -> tuple[list[object], list[str]]:
    """Return the answers of a dry-run session, and what it would have written; on a ZooKeeper with the znode /there."""
    rehearsed = DryRunZooKeeper(environment.zookeeper)
    session = await rehearsed.open_session(LONGEST_TIMEOUT_MS, lambda _: None, BOUND_MS)
    answers: list[object] = list(await session.call(list(requests)))
    await session.close()
    return answers, [write_line(write) for write in rehearsed.writes]


def test_nothing_is_written_and_everything_is_remembered(run: Run) -> None:
    async def main(environment: Environment) -> None:
        client = await environment.open()
        await client.does(THERE)
        answers, written = await rehearse(
            environment,
            Create("/new", b"1"),
            SetData("/there", b"2"),
            Create("/there/n_", None, sequential=True),
            Delete("/there"),
        )
        assert [type(answer) for answer in answers] == [Created, DataSet, Created, Deleted]
        assert written == ["create /new  1", "set /there  2", "create /there/n_…", "delete /there"]
        assert (await client.get(GetData("/there"), DataRead)).data == b"old"
        assert "new" not in (await client.get(GetChildren("/"), ChildrenRead)).children

    run(main)


def test_what_the_server_would_refuse_is_refused_and_not_remembered(run: Run) -> None:
    async def main(environment: Environment) -> None:
        await (await environment.open()).does(THERE)
        answers, written = await rehearse(
            environment,
            Create("/there"),
            Create("/no/child"),
            SetData("/no", b""),
            Delete("/no"),
            SetData("/there", b"", ZkVersion(7)),
        )
        assert answers == [
            NodeExistsError("/there"),
            NoNodeError("/no/child"),
            NoNodeError("/no"),
            NoNodeError("/no"),
            BadVersionError("/there"),
        ]
        assert written == []

    run(main)


def test_a_write_sees_those_rehearsed_before_it(run: Run) -> None:
    async def main(environment: Environment) -> None:
        await (await environment.open()).does(THERE)
        answers, written = await rehearse(
            environment, Create("/a"), Create("/a/b"), Create("/a"), Delete("/there"), SetData("/there", b"")
        )
        assert answers[2:] == [NodeExistsError("/a"), Deleted("/there", Zxid(0)), NoNodeError("/there")]
        assert written == ["create /a", "create /a/b", "delete /there"]

    run(main)


def test_reads_go_through_among_writes_and_without(run: Run) -> None:
    async def main(environment: Environment) -> None:
        await (await environment.open()).does(THERE)
        for others in ([], [Create("/other")]):
            answers, _ = await rehearse(environment, GetData("/there"), GetData("/no"), GetChildren("/there"), *others)
            data, refusal, children = answers[:3]
            assert isinstance(data, DataRead)
            assert isinstance(children, ChildrenRead)
            assert (data.data, refusal, children.children) == (b"old", NoNodeError("/no"), ())

    run(main)
