"""kcsim zk log, zk tree --at, import zookeeper and run --zk-log as a user sees them."""

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kcsim.eventlog.event_log import read_trace
from kcsim.scenarios.cli.app import app
from kcsim.vocabulary import SessionId, ZkVersion, Zxid
from kcsim.zk.files.log_writer import LogWriter
from kcsim.zk.files.transactions import CheckVersionTxn, CreateSessionTxn, CreateTxn, ErrorTxn, SetDataTxn, Transaction
from tests.scenarios.scenario_files import BASE, written
from tests.zk.files.snapshots import write_snapshot

BEGAN_MS = 1_714_566_600_000  # 2024-05-01T12:30:00Z
BROKER, TOOL = SessionId(0x100), SessionId(0x200)
STATE = "/brokers/topics/orders/partitions/0/state"


def kcsim(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def state(leader: int, isr: list[int]) -> bytes:
    content = {"controller_epoch": 1, "leader": leader, "version": 1, "leader_epoch": 0, "isr": isr}
    return json.dumps(content, separators=(",", ":")).encode()


HISTORY = [
    (BROKER, [CreateSessionTxn(6000)]),
    (BROKER, [CreateTxn("/brokers", None, False, 1)]),
    (BROKER, [CreateTxn("/brokers/ids", None, False, 1)]),
    (BROKER, [CreateTxn("/brokers/ids/1", None, True, 1), SetDataTxn("/brokers/ids/1", b"{}", ZkVersion(1))]),
    (TOOL, [CreateSessionTxn(6000)]),
    (TOOL, [CreateTxn(STATE, state(1, [1, 2]), False, 1)]),
    (BROKER, [CheckVersionTxn("/controller_epoch", ZkVersion(3)), SetDataTxn(STATE, state(1, [1]), ZkVersion(1))]),
    (BROKER, [ErrorTxn(-103)]),
]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Return a data directory with eight transactions, one per second: a broker registers, and an ISR shrinks."""
    with LogWriter(tmp_path / "data") as log:
        for place, (session, ops) in enumerate(HISTORY, start=1):
            time_ms = BEGAN_MS + 1000 * place
            log.write(Transaction(Zxid(place), session, place, time_ms, tuple(ops), len(ops) > 1))  # type: ignore[arg-type]
    return tmp_path / "data"


# --- zk log ----------------------------------------------------------------------------------------------------------------


def test_the_log_shows_who_did_what_and_what_that_changed(directory: Path) -> None:
    """A broker's session is shown by the broker's name from its first request on."""
    result = kcsim("zk", "log", str(directory))
    assert (result.exit_code, result.stderr) == (0, "")
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[0] == "0x1 2024-05-01T12:30:01.000Z broker-1 open-session time-out 6000 ms"
    assert lines[3:5] == [
        "0x4 2024-05-01T12:30:04.000Z broker-1 create /brokers/ids/1 null (ephemeral)",
        "0x4 2024-05-01T12:30:04.000Z broker-1 set /brokers/ids/1 null → {} (version 1)",
    ]
    assert lines[5] == "0x5 2024-05-01T12:30:05.000Z 0x0000000000000200 open-session time-out 6000 ms"
    assert lines[7:] == [
        "0x7 2024-05-01T12:30:07.000Z broker-1 check /controller_epoch at version 3",
        f"0x7 2024-05-01T12:30:07.000Z broker-1 set {STATE} isr [1, 2] → [1] (version 1)",
        "0x8 2024-05-01T12:30:08.000Z broker-1 refused BADVERSION",
    ]


@pytest.mark.parametrize(
    ("options", "zxids"),
    [
        (["--zxid", "0x4"], ["0x4"]),
        (["--zxid", "0x3..0x5"], ["0x3", "0x4", "0x5"]),
        (["--path", "/brokers/topics"], ["0x6", "0x7"]),
        (["--path", "/brokers/ids/1", "--path", "/controller_epoch"], ["0x4", "0x7"]),
        (["--session", "0x200"], ["0x5", "0x6"]),
        (["--session", "broker-1", "--from", "2024-05-01T12:30:04Z"], ["0x4", "0x7", "0x8"]),
        (["--to", "2024-05-01T12:30:02Z"], ["0x1", "0x2"]),
        (["--path", "/nowhere"], []),
    ],
)
def test_filters_choose_transactions(directory: Path, options: list[str], zxids: list[str]) -> None:
    transactions = json.loads(kcsim("zk", "log", str(directory), *options, "--output", "json").stdout)
    assert [transaction["zxid"] for transaction in transactions] == zxids


def test_json_is_for_programs(directory: Path) -> None:
    (transaction,) = json.loads(kcsim("zk", "log", str(directory), "--zxid", "0x7", "--output", "json").stdout)
    assert {key: transaction[key] for key in ("time", "session", "by", "refused")} == {
        "time": "2024-05-01T12:30:07.000Z",
        "session": "0x0000000000000100",
        "by": "broker-1",
        "refused": False,
    }
    assert transaction["ops"][1] == {
        "op": "set",
        "path": STATE,
        "what": "isr [1, 2] → [1] (version 1)",
        "data": state(1, [1]).decode(),
    }


def test_one_file_is_read_as_well_and_compressed_too(directory: Path, tmp_path: Path) -> None:
    plain = directory / "version-2" / "log.1"
    packed = tmp_path / "log.1.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert kcsim("zk", "log", str(packed)).stdout == kcsim("zk", "log", str(plain)).stdout != ""


def test_a_torn_end_is_reported_on_stderr(directory: Path) -> None:
    path = directory / "version-2" / "log.1"
    path.write_bytes(path.read_bytes()[:-1])
    result = kcsim("zk", "log", str(directory))
    assert (result.exit_code, result.stdout.count("0x8 ")) == (0, 0)
    assert result.stderr.endswith("record cut short; all before it counts\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--zxid", "seven"], "--zxid: 'seven' is not a zxid: as 0x1a"),
        (["--from", "noon"], "--from: 'noon' is not a time: as 2024-05-01T12:30:00Z; without a zone it is UTC"),
        (["--session", "me"], "--session: 'me' is neither a session's id (0x…) nor broker-N"),
        (["--path", "brokers"], "--path: 'brokers' does not begin with /"),
        (["--chroot", "kafka"], "--chroot: 'kafka' does not begin with /"),
    ],
)
def test_an_option_that_makes_no_sense_ends_with_64(directory: Path, arguments: list[str], message: str) -> None:
    result = kcsim("zk", "log", str(directory), *arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (64, "", f"{message}\n")


# --- zk tree --at ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", ["0x6", "2024-05-01T12:30:06.999Z"])
def test_a_tree_is_printed_as_it_was(directory: Path, at: str) -> None:
    result = kcsim("zk", "tree", "--at", at, str(directory), "/brokers")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "/brokers  (version 0)",
        "/brokers/ids  (version 0)",
        "/brokers/ids/1  (version 1, ephemeral of 0x100)  {}",
        f"{STATE}  (version 0)  {state(1, [1, 2]).decode()}",
    ]


@pytest.mark.parametrize(
    ("at", "path", "status", "message"),
    [
        ("0x9", "/", 2, "the logs end with transaction 0x8, before 0x9"),
        ("2024-05-01T12:30:00Z", "/", 2, "the logs begin after that time"),
        ("soon", "/", 64, "--at: 'soon' is not a zxid (0x1a) or a time"),
        ("0x3", "/brokers/id", 64, "there was no znode /brokers/id then; did you mean /brokers/ids?"),
    ],
)
def test_a_tree_that_there_never_was_is_refused(directory: Path, at: str, path: str, status: int, message: str) -> None:
    result = kcsim("zk", "tree", "--at", at, str(directory), path)
    assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (status, "", 1)
    assert message in result.stderr


# --- import ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cluster.jsonl", "cluster.parquet"])
def test_a_history_is_imported_and_can_be_asked_why(directory: Path, tmp_path: Path, name: str) -> None:
    trace = tmp_path / name
    done = kcsim("import", "zookeeper", str(directory), "-o", str(trace))
    assert (done.exit_code, done.stderr) == (0, "")
    first = done.stdout.splitlines()[0]
    events = list(read_trace(trace))
    span = "from 2024-05-01T12:30:01.000Z to 2024-05-01T12:30:08.000Z"
    assert first == f"{trace}: {len(events)} events of 8 transactions, {span}"
    why = kcsim("why", str(trace), "last:IsrShrunk", "--topic", "orders")
    assert why.exit_code == 0
    assert "removes lagging followers from the ISR of orders-0: ISR [1]" in why.stdout


def test_what_lies_below_a_chroot_is_imported_by_its_name(tmp_path: Path) -> None:
    with LogWriter(tmp_path / "data") as log:
        for place, path in enumerate(["/kafka", "/kafka/brokers", "/kafka/brokers/ids", "/other"], start=1):
            log.write(Transaction(Zxid(place), BROKER, place, BEGAN_MS, (CreateTxn(path, b"", False, 1),)))
        ops = (CreateTxn("/kafka/brokers/ids/7", b"{}", True, 1),)
        log.write(Transaction(Zxid(5), BROKER, 5, BEGAN_MS, ops))
    trace = tmp_path / "cluster.jsonl"
    wrong = kcsim("import", "zookeeper", str(tmp_path / "data"), "-o", str(trace))
    assert wrong.stderr == "no broker registers in it: if Kafka's znodes are below a chroot, name it with --chroot\n"
    right = kcsim("import", "zookeeper", str(tmp_path / "data"), "-o", str(trace), "--chroot", "/kafka/")
    assert (right.exit_code, right.stderr) == (0, "")
    assert [event.path for event in read_trace(trace) if event.path] == ["/brokers", "/brokers/ids", "/brokers/ids/7"]


def test_an_import_may_stop_early(directory: Path, tmp_path: Path) -> None:
    done = kcsim("import", "zookeeper", str(directory), "-o", str(tmp_path / "t.jsonl"), "--to", "2024-05-01T12:30:03Z")
    assert "of 3 transactions" in done.stdout


def test_a_directory_without_logs_ends_with_64(tmp_path: Path) -> None:
    for command in (["zk", "log"], ["zk", "tree", "--at", "0x1"], ["import", "zookeeper", "-o", str(tmp_path / "t.jsonl")]):
        result = kcsim(*command, str(tmp_path))
        assert (result.exit_code, result.stdout) == (64, "")
        assert result.stderr == f"{tmp_path} has no transaction log (log.…) in it, nor has a version-2 below it\n"
    assert list(tmp_path.iterdir()) == []


def test_a_log_of_another_magic_ends_with_2(directory: Path, tmp_path: Path) -> None:
    (directory / "version-2" / "log.9").write_bytes(b"ZKXX" + bytes(60))
    result = kcsim("import", "zookeeper", str(directory), "-o", str(tmp_path / "t.jsonl"))
    assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (2, "", 1)
    assert "log.9, offset 0: no transaction log of version 2, it begins 5a4b5858" in result.stderr
    assert not (tmp_path / "t.jsonl").exists()


def test_a_snapshot_newer_than_every_log_ends_with_2(directory: Path, tmp_path: Path) -> None:
    """The transactions in the logs can be imported if the command asks for those."""
    write_snapshot(directory / "version-2", 0x20, [])
    result = kcsim("import", "zookeeper", str(directory), "-o", str(tmp_path / "t.jsonl"))
    assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (2, "", 1)
    assert "snapshot.20 is newer than every log: the last transaction there is 0x8" in result.stderr
    assert kcsim("import", "zookeeper", str(directory), "-o", str(tmp_path / "t.jsonl"), "--to", "0x8").exit_code == 0


# --- run --zk-log ----------------------------------------------------------------------------------------------------------


def test_a_simulated_run_keeps_zookeeper_s_log_and_can_be_imported_from_it(tmp_path: Path) -> None:
    zk_log, trace = tmp_path / "zk", tmp_path / "imported.jsonl"
    run = kcsim("run", str(written(tmp_path, BASE)), "--zookeeper", "simulated", "--zk-log", str(zk_log))
    assert run.exit_code == 0, run.output
    assert "/controller" in kcsim("zk", "log", str(zk_log), "--path", "/controller").stdout
    assert kcsim("import", "zookeeper", str(zk_log), "-o", str(trace)).exit_code == 0
    assert "wins the election: controller epoch 1" in kcsim("why", str(trace), "ElectionWon").stdout


def test_two_runs_of_one_seed_keep_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        kcsim("run", str(written(tmp_path, BASE)), "--zookeeper", "simulated", "--zk-log", str(tmp_path / name))
    one, two = ((tmp_path / name / "version-2" / "log.1").read_bytes() for name in ("one", "two"))
    assert one == two


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--zookeeper", "ensemble"], "--zk-log: only with --zookeeper simulated, model or embedded, and one server of it"),
        (["--zookeeper", "embedded"], "has a transaction log already; name a directory without one"),
        (["--zookeeper", "simulated"], "has a transaction log already; name a directory without one"),
    ],
)
def test_a_log_that_cannot_be_kept_is_refused_before_the_run(directory: Path, arguments: list[str], message: str) -> None:
    result = kcsim("run", "controller-race", *arguments, "--zk-log", str(directory))
    assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (64, "", 1)
    assert message in result.stderr
