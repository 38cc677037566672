"""kcsim learn as a person meets it: the list, a lesson, a handout, and what it says when it cannot."""

import fcntl
import json
import os
import pty
import select
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kcsim.scenarios.cli import app
from kcsim.scenarios.history import read_trace
from tests.requirements import require
from tests.scenarios.lessons.played import lesson_text, played
from tests.scenarios.lessons.test_course import NAMES
from tests.scenarios.lessons.test_lesson_file import OWN

PATIENCE_S = 60


def kcsim(*arguments: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(app, arguments, input=typed)


def test_without_a_lesson_they_are_listed() -> None:
    result = kcsim("learn")
    assert result.exit_code == 0
    assert [name for name in NAMES if name in result.stdout] == NAMES
    assert "kcsim learn 1 plays the first" in result.stdout


def test_the_list_is_for_programs_too() -> None:
    told = json.loads(kcsim("learn", "--output", "json").stdout)
    assert [lesson["name"] for lesson in told] == NAMES
    assert told[0].keys() == {"number", "name", "title", "minutes", "you_will_know"}


def test_without_a_terminal_everything_is_told_and_nothing_waited_for() -> None:
    result = kcsim("learn", "4")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("Lesson 4: When nobody in sync is left\n")
    assert "It is: [3]" in result.stdout
    assert "Your answer" not in result.stdout


def test_show_does_not_read_what_is_typed() -> None:
    assert kcsim("learn", "4", "--show", typed="3\n").stdout == kcsim("learn", "4").stdout


def test_answers_can_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "answers"
    file.write_text("3\n1,2\n\n")
    result = kcsim("learn", "4", "--answers", str(file))
    assert result.exit_code == 0
    assert "Right: [3]" in result.stdout
    assert "Not so. You said [1, 2]; it is: [3]" in result.stdout
    assert "1 of 6 right, 4 told." in result.stdout


def test_answers_can_come_from_stdin() -> None:
    right = "\n".join(question.right.text for question in played("unclean-election").questions)
    assert "That was it. 6 of 6 right." in kcsim("learn", "4", "--answers", "-", typed=right).stdout


def test_programs_learn_what_was_answered() -> None:
    told = json.loads(kcsim("learn", "4", "--answers", "-", "--output", "json", typed="3\n2\n").stdout)
    assert told["score"] == {"right": 1, "asked": 6, "given": ["[3]", "[2]", None, None, None, None]}


def test_a_handout_is_markdown() -> None:
    result = kcsim("learn", "4", "--print")
    assert result.stdout.startswith("# When nobody in sync is left\n")
    assert result.stdout.index("**Question 6.**") < result.stdout.index("## Answers")


def test_a_lesson_of_ones_own_is_checked(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(OWN)
    result = kcsim("learn", "check", str(file))
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"{file}: in order: 1 pages, 1 questions" in result.stdout
    assert kcsim("learn", str(file)).stdout.startswith("A lesson of one's own\n")


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["77"], 64, "77: there is no lesson of this number; there are 1 to 13\n"),
        (["zombie"], 64, "zombie: neither a file nor a lesson; did you mean zombie-controller?\n"),
        (["4", "other.yaml"], 64, "other.yaml: only `kcsim learn check` takes a file besides\n"),
        (["4", "--zookeeper", "localhost:2181"], 64, "--zookeeper: a lesson runs on a ZooKeeper that is started for it\n"),
        (["4", "--answers", "/nowhere/answers"], 64, "--answers: /nowhere/answers: No such file or directory\n"),
        (["4", "--trace", "/nowhere/run.jsonl"], 64, "--trace: there is no directory /nowhere\n"),
        (["check"], 64, "check: name the file to check, as `kcsim learn check my-lesson.yaml`\n"),
    ],
)
def test_what_makes_no_sense_ends_with_64(arguments: list[str], status: int, told: str) -> None:
    result = kcsim("learn", *arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (status, "", told)


def test_a_lesson_whose_run_lacks_a_page_ends_with_2(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(OWN.replace("{kind: ProcessState, state: dead}", "{kind: LogDirFailed}"))
    result = kcsim("learn", "check", str(file))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"kcsim: {file}: page 1 (")


def test_a_lesson_whose_scenario_cannot_be_run_ends_with_2_and_the_line(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(OWN.replace("controller-epoch: 2}}", "controller-epoch: 9}, within: 1s}"))
    result = kcsim("learn", str(file))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"kcsim: {file}: {file}:18: wait: not within 1000 ms")


def test_the_trace_of_a_lesson_is_that_of_its_scenario(tmp_path: Path) -> None:
    """So that its event numbers mean the same to kcsim why."""
    taught, run = tmp_path / "taught.jsonl", tmp_path / "run.jsonl"
    assert kcsim("learn", "4", "--trace", str(taught)).exit_code == 0
    assert kcsim("run", "last-isr-member-lost", "--zookeeper", "simulated", "--trace", str(run)).exit_code == 0
    assert list(read_trace(taught)) == list(read_trace(run))


@pytest.mark.parametrize(
    ("key", "status", "goodbye"),
    [(b"\x03", 130, b""), (b"\x04", 0, b"Until next time. No question was asked yet.")],
    ids=["Ctrl-C", "Ctrl-D"],
)
def test_a_reader_leaves_when_they_want_to(key: bytes, status: int, goodbye: bytes) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "kcsim.scenarios", "learn", "4"]
    process = subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, preexec_fn=own_terminal
    )
    os.close(slave)
    told = b"".join(read_until(master, b"Your answer"))
    os.write(master, key)
    told += b"".join(read_until(master, None))
    os.close(master)
    assert process.wait(PATIENCE_S) == status, told
    assert goodbye in told


def own_terminal() -> None:
    """Makes the terminal that a process was given its own, so that Ctrl-C there reaches it."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def read_until(terminal: int, mark: bytes | None) -> Iterator[bytes]:
    """Yield what is shown on a terminal, up to a mark; None: until its process is gone. Fails if that takes too long."""
    shown = b""
    while mark is None or mark not in shown:
        ready, _, _ = select.select([terminal], [], [], PATIENCE_S)
        assert ready, f"nothing more after {shown!r}"
        try:
            more = os.read(terminal, 4096)
        except OSError:  # how Linux says that nobody writes there any more
            return
        if not more:
            return
        shown += more
        yield more


@pytest.mark.live
def test_a_lesson_can_be_run_on_a_real_zookeeper() -> None:
    """The same pages, and what the real one answers: it was not asked what it would answer."""
    require("java")
    result = kcsim("learn", "unclean-election", "--zookeeper", "embedded", "--output", "json")
    assert result.exit_code == 0, result.stderr
    right = [page["question"]["right"] for page in json.loads(result.stdout)["pages"]]
    assert right == ["[3]", "[3]", "nobody", "broker-2", "[2]", "no"]


def test_the_text_of_each_lesson_fits_its_lines() -> None:
    assert [(name, line) for name in NAMES for line in lesson_text(name).splitlines() if len(line) > 125] == []
