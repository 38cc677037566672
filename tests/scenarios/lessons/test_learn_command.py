"""kcsim learn as a user sees it: the list, a lesson, a handout, and its error messages."""

import fcntl
import json
import os
import pty
import re
import select
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent

import pytest
from typer.testing import CliRunner, Result

from kcsim.eventlog.event_log import read_trace
from kcsim.scenarios.cli.app import app
from kcsim.scenarios.lessons import lesson_file
from kcsim.scenarios.lessons.progress import LessonProgress, keep_progress, progress_file, read_progress
from tests.requirements import require
from tests.scenarios.lessons.lesson_fixtures import lesson_text, played, the_course
from tests.scenarios.lessons.lesson_names import NAMES
from tests.scenarios.lessons.test_lesson_file import OWN
from tests.scenarios.long_timeouts import patient
from tests.scenarios.run_sources import without_source
from tests.scenarios.scenario_library import of_library

PATIENCE_S = 600
SESSION_MS = 6_000
"""The session timeout: as short as a busy machine allows, because three brokers are killed."""


def kcsim(*arguments: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(app, arguments, input=typed)


@pytest.fixture
def _course_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lesson_file, "course", the_course)


@pytest.mark.usefixtures("_course_read_once")
def test_without_a_lesson_they_are_listed() -> None:
    result = kcsim("learn")
    assert result.exit_code == 0
    assert [name for name in NAMES if name in result.stdout] == NAMES
    assert "kcsim learn 1 plays the first" in result.stdout


@pytest.mark.usefixtures("_course_read_once")
def test_the_list_is_for_programs_too() -> None:
    listed = json.loads(kcsim("learn", "--output", "json").stdout)
    assert [lesson["name"] for lesson in listed] == NAMES
    assert listed[0].keys() == {"number", "name", "title", "minutes", "you_will_know", "progress"}
    assert listed[0]["progress"] is None


def test_without_a_terminal_everything_is_printed_and_nothing_waited_for() -> None:
    result = kcsim("learn", "4")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("Lesson 4: When no replica in sync is left\n")
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
    assert "Not right. Your answer was [1, 2]; the right answer is: [3]" in result.stdout
    assert "1 of 6 right, 4 shown." in result.stdout


def test_answers_can_come_from_stdin() -> None:
    right = "\n".join(question.right.text for question in played("unclean-election").questions)
    assert "That was it. 6 of 6 right." in kcsim("learn", "4", "--answers", "-", typed=right).stdout


def test_programs_learn_what_was_answered() -> None:
    document = json.loads(kcsim("learn", "4", "--answers", "-", "--output", "json", typed="3\n2\n").stdout)
    assert document["score"] == {"right": 1, "asked": 6, "given": ["[3]", "[2]", None, None, None, None]}


def test_a_handout_is_markdown() -> None:
    result = kcsim("learn", "4", "--print")
    assert result.stdout.startswith("# When no replica in sync is left\n")
    assert result.stdout.index("**Question 6.**") < result.stdout.index("## Answers")


def test_a_lesson_of_ones_own_is_checked(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(OWN)
    result = kcsim("learn", "check", str(file))
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"{file}: in order: 1 pages, 1 questions" in result.stdout
    assert kcsim("learn", str(file)).stdout.startswith("A lesson of one's own\n")


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
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
def test_what_makes_no_sense_ends_with_64(arguments: list[str], status: int, message: str) -> None:
    result = kcsim("learn", *arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (status, "", message)


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
    """The event numbers of the trace must mean the same to kcsim why."""
    taught, run = tmp_path / "taught.jsonl", tmp_path / "run.jsonl"
    assert kcsim("learn", "4", "--trace", str(taught)).exit_code == 0
    assert kcsim("run", "last-isr-member-lost", "--zookeeper", "simulated", "--trace", str(run)).exit_code == 0
    assert without_source(read_trace(taught)) == without_source(read_trace(run))


@pytest.mark.parametrize(
    ("key", "status", "goodbye"),
    [
        pytest.param(b"\x03", 130, b"Until next time. No question was asked yet.", id="Ctrl-C"),
        pytest.param(b"\x04", 0, b"Until next time. No question was asked yet.", id="Ctrl-D", marks=pytest.mark.slow),
    ],
)
def test_a_reader_leaves_when_they_want_to(key: bytes, status: int, goodbye: bytes) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "kcsim.scenarios", "learn", "4"]
    process = subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, preexec_fn=own_terminal
    )
    os.close(slave)
    output = b"".join(read_until(master, b"Your answer"))
    os.write(master, key)
    output += b"".join(read_until(master, None))
    os.close(master)
    assert process.wait(PATIENCE_S) == status, output
    assert goodbye in output


@pytest.mark.slow
def test_keys_typed_too_early_are_neither_an_answer_nor_left_to_the_shell() -> None:
    """They are typed before the question is there; what a lesson leaves in the terminal the shell would execute."""
    master, slave = pty.openpty()
    attributes = termios.tcgetattr(slave)
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(slave, termios.TCSANOW, attributes)
    os.write(master, b"3\nexit\n")
    command = [sys.executable, "-m", "kcsim.scenarios", "learn", "4"]
    process = subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, preexec_fn=own_terminal
    )
    output = b"".join(read_until(master, b"Your answer"))
    os.write(master, b"3\n")
    output += b"".join(read_until(master, b"Enter goes on"))
    os.write(master, b"\x04")
    output += b"".join(read_until(master, b"Until next time. 1 of 1 right."))
    assert process.wait(PATIENCE_S) == 0, output
    assert select.select([slave], [], [], 0)[0] == []
    assert read_progress(progress_file()) == {"unclean-election": LessonProgress(questions=6, asked=1, right=1)}
    os.close(slave)
    os.close(master)


def test_a_page_of_the_run_opens_at_each_event_that_a_lesson_names(tmp_path: Path) -> None:
    result = kcsim("learn", "4", "--page", str(tmp_path))
    assert result.exit_code == 0
    page, trace = tmp_path / "unclean-election.html", tmp_path / "unclean-election.jsonl"
    assert result.stderr == f"the run: {page}, {trace}\n"
    assert sorted(tmp_path.iterdir()) == [page, trace]
    named = {int(number) for number in re.findall(r"The cluster at #([0-9]+), ", result.stdout)}
    assert named == {scene.at.seq for scene in played("unclean-election").scenes}
    assert named <= {event.seq for event in read_trace(trace)}
    assert "unclean-election.html#e=12 shows event #12" in " ".join(result.stdout.split())


def test_a_page_of_the_run_does_not_replace_a_file(tmp_path: Path) -> None:
    there = tmp_path / "unclean-election.html"
    there.write_text("mine")
    result = kcsim("learn", "4", "--page", str(tmp_path))
    assert (result.exit_code, result.stdout, there.read_text()) == (64, "", "mine")
    assert result.stderr == f"--page: {there} is there already; name another directory, or delete the file\n"


def test_progress_is_listed_unless_it_is_not_wanted() -> None:
    keep_progress(progress_file(), "watches", LessonProgress(questions=6, asked=6, right=5))
    keep_progress(progress_file(), "deletion", LessonProgress(questions=5, asked=2, right=2))
    listed = {lesson["name"]: lesson["progress"] for lesson in json.loads(kcsim("learn", "--output", "json").stdout)}
    assert listed["watches"] == {"questions": 6, "asked": 6, "right": 5}
    table = kcsim("learn").stdout
    assert "5 of 6" in table
    assert "2 of 5" in table
    assert [name for name in NAMES if name in table] == NAMES
    assert "5 of 6" not in kcsim("learn", "--no-progress").stdout


def own_terminal() -> None:
    """Make the terminal that this process was given its controlling terminal, so that Ctrl-C there reaches the process."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def read_until(terminal: int, mark: bytes | None) -> Iterator[bytes]:
    """Yield the output on a terminal up to a mark, or until its process has ended if mark is None.

    Fail if that takes too long.
    """
    shown = b""
    while mark is None or mark not in shown:
        ready, _, _ = select.select([terminal], [], [], PATIENCE_S)
        assert ready, f"nothing more after {shown!r}"
        try:
            more = os.read(terminal, 4096)
        except OSError:  # Linux: no process has the terminal open for writing any more
            return
        if not more:
            return
        shown += more
        yield more


@pytest.mark.slow
@pytest.mark.live
def test_a_lesson_can_be_run_on_a_real_zookeeper(tmp_path: Path) -> None:
    """The pages are the same; the right answers are computed from the run on the real ZooKeeper."""
    require("java")
    by_name = "scenario: last-isr-member-lost\n"
    scenario = indent(patient(of_library("last-isr-member-lost"), SESSION_MS).scenario.to_yaml(), "  ")
    file = tmp_path / "unclean-election.yaml"
    assert by_name in lesson_text("unclean-election")
    file.write_text(lesson_text("unclean-election").replace(by_name, f"scenario:\n{scenario}"))
    result = kcsim("learn", str(file), "--zookeeper", "embedded", "--output", "json")
    assert result.exit_code == 0, result.stderr
    right = [page["question"]["right"] for page in json.loads(result.stdout)["pages"]]
    assert right == ["[3]", "[3]", "nobody", "broker-2", "[2]", "no"]


def test_the_text_of_each_lesson_fits_its_lines() -> None:
    assert [(name, line) for name in NAMES for line in lesson_text(name).splitlines() if len(line) > 125] == []
