"""Physical lines become records, whole or marked as broken; no line is lost."""

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcsim.brokers.apache_kafka.log_import.entries import StateWrite
from kcsim.brokers.apache_kafka.log_import.record_parsing import read_lines
from kcsim.brokers.apache_kafka.log_lines.records import MOST_LINES, BrokenLines, LogRecord, read_records
from tests.brokers.apache_kafka.log_import.lines import shown, writes
from tests.brokers.apache_kafka.log_import.recordings import NAMES, RECORDINGS

TIME = "2021-05-04 10:15:32,101"
HEAD = f"[{TIME}] INFO "
ZK = "kafka.zk.KafkaZkClient"
LINE = re.compile(r"\A\[2021-05-04 10:15:32,101\] INFO [ab (]*( \(a\))?\Z")
LOGS = sorted(RECORDINGS.glob("*/broker-*/*.log"))


def test_a_line_is_a_record() -> None:
    assert list(read_records([f"{HEAD}Resigned (kafka.controller.KafkaController)\n"])) == [
        LogRecord(1, TIME, "INFO", "kafka.controller.KafkaController", "Resigned")
    ]


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_any_line_end_will_do(end: str) -> None:
    (found,) = read_records([f"{HEAD}a (b){end}"])
    assert found == LogRecord(1, TIME, "INFO", "b", "a")


def test_a_message_of_several_lines_ends_with_its_logger() -> None:
    """Its first line has no logger, and may contain parentheses of another kind."""
    lines = [f"{HEAD}Stat of the znode is: 26,26 (id: 2 rack: null)\n", "more\n", f" ({ZK})\n", f"{HEAD}next (b)\n"]
    assert list(read_records(lines)) == [
        LogRecord(1, TIME, "INFO", ZK, "Stat of the znode is: 26,26 (id: 2 rack: null)\nmore\n"),
        LogRecord(4, TIME, "INFO", "b", "next"),
    ]


def test_a_stack_trace_follows_the_line_with_the_logger() -> None:
    trace = ["java.io.IOException: broken (really)", "\tat a.B.c(B.java:1)", "Caused by: x", "\t... 12 more"]
    (found,) = read_records([f"{HEAD}failed (b)", *trace])
    assert found == LogRecord(1, TIME, "INFO", "b", "failed", "\n".join(trace))


def test_lines_before_the_first_record_are_broken_together() -> None:
    """A rolled file may begin in the middle of a stack trace."""
    first, second = read_records(["\tat a.B.c(B.java:1)\n", "\t... 12 more\n", f"{HEAD}a (b)\n"])
    assert first == BrokenLines(1, 2, "no record begins before them")
    assert isinstance(second, LogRecord)


def test_a_message_cut_off_by_the_next_record_is_broken() -> None:
    first, second = read_records([f"{HEAD}cut in the midd\n", f"{HEAD}a (b)\n"])
    assert first == BrokenLines(1, 1, "the message does not end with its logger")
    assert isinstance(second, LogRecord)


def test_a_record_without_end_is_not_held() -> None:
    """A file that continues with other content is counted, not kept in memory."""
    (found,) = read_records([f"{HEAD}begun\n", *("\x00" * 100 for _ in range(3 * MOST_LINES))])
    assert found == BrokenLines(1, 3 * MOST_LINES + 1, "the message does not end with its logger")


@pytest.mark.parametrize("path", LOGS, ids=lambda path: "/".join(path.parts[-3:]))
def test_every_line_of_a_recording_is_in_a_record(path: Path) -> None:
    text = path.read_text()
    found = list(read_records(text.splitlines(keepends=True)))
    assert [one for one in found if isinstance(one, BrokenLines)] == []
    assert sum(lines_in(one) for one in found) == len(text.splitlines())


def lines_in(found: LogRecord | BrokenLines) -> int:
    if isinstance(found, BrokenLines):
        return found.count
    after = found.continuation.count("\n") + 1 if found.continuation else 0
    return 1 + found.message.count("\n") + after


# --- damage ----------------------------------------------------------------------------------------------------------------


@given(st.lists(st.text(max_size=100) | st.from_regex(LINE), max_size=20))
def test_no_text_breaks_the_reader_and_every_line_is_accounted_for(texts: list[str]) -> None:
    lines = [text.replace("\n", " ").replace("\r", " ") or "-" for text in texts]
    assert sum(lines_in(one) for one in read_records(lines)) == len(lines)


@given(st.sampled_from(LOGS), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_a_file_cut_anywhere_gives_the_records_before_the_cut(path: Path, seed: int) -> None:
    """The record in which the file was cut comes out broken, or whole."""
    text = path.read_text()
    cut = random.Random(seed).randrange(len(text))
    whole = list(read_records(text.splitlines(keepends=True)))
    found = list(read_records(text[:cut].splitlines(keepends=True)))
    assert found[:-1] == whole[: max(len(found) - 1, 0)]


@given(st.sampled_from(NAMES), st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_damage_takes_writes_away_and_never_makes_one(name: str, seed: int) -> None:
    """Lines are cut in the middle, overwritten, or left out: every write that is still reported did happen."""
    rng = random.Random(seed)
    files = {
        str(path): path.read_text().splitlines(keepends=True) for path in sorted((RECORDINGS / name).glob("broker-*/*.log"))
    }
    true = {content(write) for write in writes(shown(files))}
    damaged = {file: [line for text in lines for line in damage(text, rng)] for file, lines in files.items()}
    for write in writes(shown(damaged)):
        if write.is_whole and write.shown == "at once":
            assert known(write) in {one[:4] for one in true}


def damage(text: str, rng: random.Random) -> list[str]:
    """Leave nine of ten lines as they are."""
    match rng.randrange(30):
        case 0:
            return [text[: rng.randrange(len(text))] + "\n"]
        case 1:
            return []
        case 2:
            return [text[: rng.randrange(len(text))]]  # the next line follows on the same physical line
        case _:
            return [text]


def content(write: StateWrite) -> tuple[object, ...]:
    return (*known(write), write.leader_epoch)


def known(write: StateWrite) -> tuple[object, ...]:
    return write.tp, write.zk_version, write.isr, write.leader


def test_what_a_damaged_file_contains_goes_the_same_way() -> None:
    assert list(read_lines(["nothing\n"])) == [BrokenLines(1, 1, "no record begins before them")]
