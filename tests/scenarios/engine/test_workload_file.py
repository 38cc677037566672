"""A workload in a scenario file: it is understood, and every mistake in it is reported with its line."""

from pathlib import Path

import pytest

from kcsim.scenarios.engine.declared_clients import specs_of
from kcsim.scenarios.language.scenario_file import ScenarioFileError, load_scenario
from kcsim.vocabulary import TopicPartition
from tests.scenarios.language.json_schema import accepts, scenario_schema
from tests.scenarios.language.test_schema import plain
from tests.scenarios.scenario_files import WITH_WORKLOAD, written

PRODUCER = "writer: {topics: orders, records: 10}"
PRODUCER_LINE = 15
STEP_LINE = 10
CLAIM_LINE = 12


def problems(path: Path) -> list[str]:
    """Return the error messages about a file, without the file's name."""
    with pytest.raises(ScenarioFileError) as refused:
        load_scenario(path)
    return [f"{problem.line}: {problem.message}" for problem in refused.value.problems]


def with_producer(directory: Path, producer: str) -> Path:
    assert PRODUCER in WITH_WORKLOAD.splitlines()[PRODUCER_LINE - 1]
    return written(directory, WITH_WORKLOAD.replace(PRODUCER, producer))


def with_step(directory: Path, step: str) -> Path:
    return written(directory, WITH_WORKLOAD.replace("wait: {controller: any, within: 10s}", step))


def with_claim(directory: Path, claim: str) -> Path:
    return written(directory, WITH_WORKLOAD.replace("  - controller: any\n", f"  - {claim}\n"))


def test_a_producer_is_what_the_file_says(tmp_path: Path) -> None:
    producer = (
        "writer: {topics: [orders, clicks], rate: 50, records: 9, record-bytes: 10, "
        "shares: {orders-0: 3, clicks-3: 1}, settings: {acks: all, linger.ms: 20}}"
    )
    writer = specs_of(load_scenario(with_producer(tmp_path, producer)).scenario.workload)["writer"]
    assert (writer.topics, writer.rate, writer.records, writer.record_bytes) == (("orders", "clicks"), 50, 9, 10)
    assert writer.shares == {TopicPartition("orders", 0): 3, TopicPartition("clicks", 3): 1}
    assert (writer.config.acks, writer.config.linger_ms, writer.config.retry_backoff_ms) == (-1, 20, 100)


def test_without_a_workload_there_are_no_producers(tmp_path: Path) -> None:
    text = WITH_WORKLOAD.partition("workload:")[0]
    assert specs_of(load_scenario(written(tmp_path, text)).scenario.workload) == {}


BAD_PRODUCERS = [
    ("{topics: ordesr}", "unknown topic 'ordesr'; did you mean orders?"),
    ("{topics: []}", "an empty list names no topic"),
    ("{records: 5}", "topics is missing"),
    ("{topics: orders, rate: -5}", "rate: -5: input should be greater than or equal to 1"),
    ("{topics: orders, rate: 0}", "rate: 0: input should be greater than or equal to 1"),
    ("{topics: orders, rate: 10.5}", "rate: 10.5 is no whole number"),
    ("{topics: orders, records: 0}", "records: 0: input should be greater than or equal to 1"),
    ("{topics: orders, record-byte: 5}", "unknown key 'record-byte'; did you mean record-bytes?"),
    ("{topics: orders, shares: {clicks-0: 1}}", "clicks-0 is of no topic of this producer, which has orders"),
    ("{topics: orders, shares: {orders-7: 1}}", "unknown partition 'orders-7'; orders has 0 to 1"),
    ("{topics: orders, shares: {orders-0: 0}}", "0 is no share, which is a whole number from 1 to 1000"),
    ("{topics: orders, settings: {ack: all}}", "unknown producer setting 'ack'; did you mean acks?"),
    ("{topics: orders, settings: {acks: most}}", "'most' is no value of acks, which is 0, 1 or all"),
    (
        "{topics: orders, settings: {enable.idempotence: true, acks: 1}}",
        "Kafka refuses these settings: acks has to be all when enable.idempotence is true",
    ),
]


@pytest.mark.parametrize(("producer", "message"), BAD_PRODUCERS)
def test_what_is_wrong_with_a_producer_is_reported_with_its_line(tmp_path: Path, producer: str, message: str) -> None:
    path = with_producer(tmp_path, f"writer: {producer}")
    # The records of this producer are unknown now, so the steps are not reported for using it either.
    assert problems(path) == [f"{PRODUCER_LINE}: {message}"]


BAD_STEPS = [
    ("produce: wirter", "unknown producer 'wirter'; did you mean writer?"),
    ("produce: []", "an empty list names no producer"),
    ("produce: [writer, writer]", "'writer' is named twice"),
    ("produce: writer, records: -1", "records: -1: input should be greater than or equal to 1"),
    ("produce: endless", "endless would never end: write how many records, or start it with start-workload"),
    ("start-workload: xyz", "unknown producer 'xyz'; there are writer, endless"),
    ("stop-workload: broker-1", "unknown producer 'broker-1'; there are writer, endless"),
    ("wait: {lost: 0}", "lost is counted when the timetable is done: expect it"),
    (
        "wait: {acknowledged: {orders: '=> 5'}}",
        "'=> 5' is no number of records; write 120, or a comparison in quotes, as '>= 120'",
    ),
    (
        "wait: {event: {kind: RecordsAcknowledged, node: producer-writter}}",
        "unknown name 'producer-writter'; did you mean producer-writer?",
    ),
]


@pytest.mark.parametrize(("step", "expected"), BAD_STEPS)
def test_what_is_wrong_with_a_step_is_reported_with_its_line(tmp_path: Path, step: str, expected: str) -> None:
    first, _, more = step.partition(", records")
    path = with_step(tmp_path, first + (f"\n    records{more}" if more else ""))
    (problem,) = problems(path)
    line, _, message = problem.partition(": ")
    assert message == expected
    assert int(line) == STEP_LINE + bool(more)


BAD_CLAIMS = [
    ("acknowledged: {ordres: 5}", "unknown topic 'ordres'; did you mean orders?"),
    ("lost: {orders-7: 5}", "unknown partition 'orders-7'; orders has 0 to 1"),
    ("lost: -1", "-1 is no number of records; write 120, or a comparison in quotes, as '>= 120'"),
    ("lost: {}", "no number is given; write a number, or {orders: 120}, or {orders-0: 120}"),
    ("losst: 0", "unknown key 'losst'; did you mean lost?"),
]


@pytest.mark.parametrize(("claim", "message"), BAD_CLAIMS)
def test_what_is_wrong_with_a_claim_is_reported_with_its_line(tmp_path: Path, claim: str, message: str) -> None:
    assert f"{CLAIM_LINE}: {message}" in problems(with_claim(tmp_path, claim))


def test_where_no_producer_is_declared_the_message_says_where_to_declare_one(tmp_path: Path) -> None:
    text = WITH_WORKLOAD.partition("workload:")[0].replace("start: all", "produce: writer")
    message = "unknown producer 'writer'; the scenario has none; name them in workload: producers:"
    assert problems(written(tmp_path, text)) == [f"9: {message}"]


REFUSED_BY_BOTH = [
    "{topics: orders, rate: 0}",
    "{topics: orders, records: 1.5}",
    "{topics: []}",
    "{records: 5}",
    "{topics: orders, shares: {orders: 1}}",
    "{topics: orders, settings: {ack: all}}",
    "{topics: orders, settings: {acks: 2}}",
    "{topics: orders, settings: {linger.ms: -1}}",
]


@pytest.mark.parametrize("producer", REFUSED_BY_BOTH)
def test_the_schema_refuses_what_the_loader_refuses(tmp_path: Path, producer: str) -> None:
    path = with_producer(tmp_path, f"writer: {producer}")
    assert problems(path)
    assert not accepts(scenario_schema(), plain(path))


@pytest.mark.parametrize("claim", ["lost: -1", "lost: {}", "lost: '=> 5'", "divergent: {'or ders': 1}"])
def test_the_schema_refuses_the_same_claims(tmp_path: Path, claim: str) -> None:
    path = with_claim(tmp_path, claim)
    assert problems(path)
    assert not accepts(scenario_schema(), plain(path))


def test_the_schema_too_knows_that_lost_records_are_not_waited_for(tmp_path: Path) -> None:
    assert not accepts(scenario_schema(), plain(with_step(tmp_path, "wait: {lost: 0}")))
