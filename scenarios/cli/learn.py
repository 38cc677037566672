"""kcsim learn: lessons, played in the terminal. The run itself provides the right answers."""

import json
import select
import sys
import termios
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli import completion
from kcsim.scenarios.cli.command_exit import ExitStatus, OutputFormat, fail
from kcsim.scenarios.cli.run_options import MAX_SEED
from kcsim.scenarios.cli.zookeeper_argument import zookeeper_choice

if TYPE_CHECKING:
    from kcsim.scenarios.lessons.lesson_file import LoadedLesson
    from kcsim.scenarios.lessons.lesson_pages import LessonPage
    from kcsim.scenarios.lessons.lesson_run import LessonRun
    from kcsim.scenarios.lessons.player import Ask, Score, ShowRunPage

CHECK = "check"
STDIN = "-"
TABLE_WIDTH = 110
DONE_WIDTH = 7  # as `6 of 7`, with `right` below it
TEXT_WIDTH = 100
"""Width of lines that are written to a file or a pipe."""


def learn(
    lesson: Annotated[
        str | None,
        typer.Argument(
            autocompletion=completion.lessons,
            help=f"A lesson: its number, its name, or a file; `{CHECK}` to check one of yours.",
        ),
    ] = None,
    file: Annotated[Path | None, typer.Argument(help=f"With `{CHECK}`: the lesson file.")] = None,
    show: Annotated[bool, typer.Option("--show", help="Show the whole lesson, without questions and pauses.")] = False,
    answers: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Take the answers from a file, a line for each question; - is stdin.")
    ] = None,
    printed: Annotated[bool, typer.Option("--print", help="A handout in Markdown, with the answers at its end.")] = False,
    zookeeper: Annotated[
        str,
        typer.Option(
            metavar="WHICH",
            help="simulated: at once, and the same each time. embedded: a real ZooKeeper, in real time; ensemble, docker, "
            "model: as for kcsim run.",
        ),
    ] = "simulated",
    seed: Annotated[int, typer.Option(help="Seed of every random choice.", min=-MAX_SEED - 1, max=MAX_SEED)] = 1,
    trace: Annotated[Path | None, typer.Option(help="Keep the run's event log here, for kcsim why and the like.")] = None,
    page: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the run's page for the browser, and its event log, into DIR.")
    ] = None,
    no_progress: Annotated[
        bool, typer.Option("--no-progress", help="Neither show nor keep which lessons are done.")
    ] = False,
    output: Annotated[
        OutputFormat, typer.Option(help="json: the list of lessons, or a lesson's questions with their right answers.")
    ] = OutputFormat.TABLE,
) -> None:
    """Learn how Kafka's controller works: a story, a question before each outcome, and the run's own answer.

    Without a lesson: the list of them. An answer is a letter, or its text, such as 2 or 1,2; Enter alone shows the answer.
    `back` shows the page before, `page` writes the run's page for the browser. Ctrl-D or Ctrl-C ends a lesson early.

    \b
    kcsim learn
    kcsim learn 1
    kcsim learn unclean-election --print > handout.md
    kcsim learn check my-lesson.yaml

    Exit status: 0 played or valid, 2 the run did not fit the lesson, 64 there is no such lesson or its file is invalid,
    130 interrupted.
    """
    if lesson is None:
        _list(output, with_progress=not no_progress)
        return
    if lesson == CHECK:
        _check(file)
        return
    if file is not None:
        fail(f"{file}: only `kcsim learn {CHECK}` takes a file besides", ExitStatus.USAGE)
    loaded = _load(lesson)
    ask = None if answers is None else _from_file(answers, echo=output is OutputFormat.TABLE)
    _check_page(page, loaded)
    run, pages = _set_up(loaded, zookeeper, seed, trace)
    written = None if page is None else _write_page(loaded, run, page)
    if output is OutputFormat.JSON:
        _print_json(loaded, run, pages, ask)
    elif printed:
        _print_handout(loaded, run, pages)
    else:
        _play(loaded, run, pages, ask=ask, show=show, written=written, keeps_progress=not no_progress)
    if written is not None:
        print(f"the run: {written}, {written.with_suffix('.jsonl')}", file=sys.stderr)


# --- the list, and the check -----------------------------------------------------------------------------------------------


def _list(output: OutputFormat, with_progress: bool) -> None:
    from kcsim.scenarios.lessons.lesson_file import course
    from kcsim.scenarios.lessons.progress import progress_file, read_progress

    progress = read_progress(progress_file()) if with_progress else {}
    lessons = [loaded.lesson for loaded in course()]
    if output is OutputFormat.JSON:
        keys = ("number", "name", "title", "minutes", "you_will_know")
        listed = [
            {
                **{key: getattr(one, key) for key in keys},
                "progress": asdict(progress[one.name]) if one.name in progress else None,
            }
            for one in lessons
        ]
        print(json.dumps(listed, indent=2, ensure_ascii=False))
        return
    from rich.table import Table
    from rich.text import Text

    from kcsim.scenarios.views.narration.timeline import console_on

    console = console_on(sys.stdout)
    table = Table(width=min(console.width, TABLE_WIDTH), show_lines=True)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("Lesson", ratio=2)
    table.add_column("You will know", ratio=3)
    table.add_column("Min.", justify="right", no_wrap=True)
    if progress:
        table.add_column("Done", max_width=DONE_WIDTH)
    for one in lessons:
        title = Text.assemble((one.title, "bold"), f"\n{one.name}")
        done = (str(progress.get(one.name, "")),) if progress else ()
        table.add_row(str(one.number or ""), title, Text(one.you_will_know), str(one.minutes), *done)
    console.print(table)
    console.print("kcsim learn 1 plays the first; by its number or its name each of the others.", soft_wrap=True)


def _load(wanted: str) -> "LoadedLesson":
    from kcsim.scenarios.lessons.lesson_file import LessonFileError, find_lesson, load_lesson

    try:
        return load_lesson(find_lesson(wanted))
    except LessonFileError as error:
        fail(str(error), ExitStatus.USAGE)


def _check(file: Path | None) -> None:
    """Read a lesson file, run its scenario, and check that every page has its point and every question its answer."""
    from kcsim.scenarios.lessons.run_narration import RunNarration

    if file is None:
        fail(f"{CHECK}: name the file to check, as `kcsim learn {CHECK} my-lesson.yaml`", ExitStatus.USAGE)
    loaded = _load(str(file))
    run, pages = _set_up(loaded, "simulated", 1, None)
    narration = RunNarration(run)
    for question in (scene.question for scene in pages if scene.question is not None):
        evidence = question.right.evidence
        explanation = "" if evidence is None else f"  (#{evidence.seq} {evidence.node} {narration.sentence(evidence)})"
        print(f"{question.number}. {question.text}\n   {question.right.text}{explanation}")
    page_count, question_count = len(pages), sum(scene.question is not None for scene in pages)
    print(f"{file}: in order: {page_count} pages, {question_count} questions, {len(run.events)} events in its run")


# --- a lesson --------------------------------------------------------------------------------------------------------------


def _set_up(loaded: "LoadedLesson", zookeeper: str, seed: int, trace: Path | None) -> "tuple[LessonRun, list[LessonPage]]":
    """Run the scenario and compute the lesson's pages from the run. Errors end the command."""
    from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperKind
    from kcsim.eventlog.event_log import TraceWriteError
    from kcsim.scenarios.cli.run_options import check_trace, chosen_zookeeper
    from kcsim.scenarios.lessons.lesson_pages import LessonError, lesson_pages
    from kcsim.scenarios.lessons.lesson_run import FailedRunError, run_lesson
    from kcsim.zk.errors import ZooKeeperUnavailableError
    from kcsim.zk.servers.errors import ServerError

    check_trace(trace)
    if zookeeper_choice(zookeeper).kind is ZooKeeperKind.EXTERNAL:
        fail("--zookeeper: a lesson runs on a ZooKeeper that is started for it", ExitStatus.USAGE)
    choice = chosen_zookeeper(zookeeper, loaded.scenario)
    if choice.kind is not ZooKeeperKind.SIMULATED:
        print(f"running {loaded.scenario.scenario.name} on ZooKeeper: {zookeeper} …", file=sys.stderr)
    try:
        run = run_lesson(loaded.scenario, choice, zookeeper, seed, trace)
        return run, lesson_pages(loaded.lesson, run)
    except (LessonError, FailedRunError) as error:
        fail(f"{loaded.file}: {error}", ExitStatus.UNDECIDED)
    except TraceWriteError as error:
        fail(f"--trace: {error}", ExitStatus.UNDECIDED)
    except (ServerError, ZooKeeperUnavailableError) as error:
        fail(str(error), ExitStatus.UNDECIDED)


def _print_json(loaded: "LoadedLesson", run: "LessonRun", pages: "list[LessonPage]", ask: "Ask | None") -> None:
    """Print the questions with their right answers and, if answers are given, how many of those are right."""
    from kcsim.scenarios.lessons.handout import lesson_json
    from kcsim.scenarios.lessons.player import Player
    from kcsim.scenarios.lessons.run_narration import RunNarration

    result = lesson_json(loaded.lesson, pages, RunNarration(run))
    if ask is not None:
        score = Player(lambda line, style: None, ask, TEXT_WIDTH, waits=False).play(loaded.lesson, pages, RunNarration(run))
        result["score"] = {"right": score.right, "asked": len(score.given), "given": score.given}
    print(json.dumps(result, indent=2, ensure_ascii=False))


def _print_handout(loaded: "LoadedLesson", run: "LessonRun", pages: "list[LessonPage]") -> None:
    from kcsim.scenarios.lessons.handout import handout
    from kcsim.scenarios.lessons.run_narration import RunNarration

    for line in handout(loaded.lesson, pages, RunNarration(run)):
        print(line)


def _play(
    loaded: "LoadedLesson",
    run: "LessonRun",
    pages: "list[LessonPage]",
    *,
    ask: "Ask | None",
    show: bool,
    written: Path | None,
    keeps_progress: bool,
) -> None:
    from rich.text import Text

    from kcsim.scenarios.lessons.player import Player, Style
    from kcsim.scenarios.lessons.run_narration import RunNarration
    from kcsim.scenarios.views.narration.timeline import console_on

    console = console_on(sys.stdout)
    width = console.width if console.is_terminal else TEXT_WIDTH
    has_reader = ask is None and not show and sys.stdin.isatty() and console.is_terminal

    def show_line(line: str, style: Style) -> None:
        console.print(Text(line, style=STYLES[style]), soft_wrap=True)

    if not has_reader:
        Player(show_line, ask, width, waits=False).play(loaded.lesson, pages, RunNarration(run))
        return
    with _keys_read_here(), _pages_on_request(loaded, run, written) as show_run_page:
        player = Player(show_line, _from_terminal, width, waits=True, show_run_page=show_run_page)
        try:
            player.play(loaded.lesson, pages, RunNarration(run))
        finally:
            if keeps_progress:
                _keep_progress(loaded, player.score, pages)


def _keep_progress(loaded: "LoadedLesson", score: "Score", pages: "list[LessonPage]") -> None:
    """Keep the progress in a lesson of the course. That it cannot be kept is a message, not an error of the lesson."""
    from kcsim.scenarios.lessons.lesson_names import LESSONS
    from kcsim.scenarios.lessons.progress import LessonProgress, keep_progress, progress_file

    if Path(loaded.file).parent != LESSONS:
        return
    questions = sum(page.question is not None for page in pages)
    try:
        keep_progress(progress_file(), loaded.lesson.name, LessonProgress(questions, len(score.given), score.right))
    except OSError as error:
        print(f"progress is not kept: {progress_file()}: {error.strerror or error}", file=sys.stderr)


# --- the page of the run ---------------------------------------------------------------------------------------------------


def _check_page(folder: Path | None, loaded: "LoadedLesson") -> None:
    """Check, before the run, that the page can be written into a folder without replacing anything."""
    if folder is None:
        return
    if not folder.is_dir() and (folder.exists() or not folder.absolute().parent.is_dir()):
        reason = "is no directory" if folder.exists() else f"there is no directory {folder.parent}"
        fail(f"--page: {folder}: {reason}", ExitStatus.USAGE)
    for suffix in (".html", ".jsonl"):
        if (there := folder / f"{loaded.lesson.name}{suffix}").exists():
            fail(f"--page: {there} is there already; name another directory, or delete the file", ExitStatus.USAGE)


def _write_page(loaded: "LoadedLesson", run: "LessonRun", folder: Path) -> Path:
    from kcsim.scenarios.lessons.run_page import write_run_page
    from kcsim.versions import own_version

    try:
        folder.mkdir(exist_ok=True)
        return write_run_page(run, folder, loaded.lesson.name, f"kcsim {own_version()}")
    except OSError as error:
        fail(f"--page: {error.filename or folder}: {error.strerror or error}", ExitStatus.UNDECIDED)


@contextmanager
def _pages_on_request(loaded: "LoadedLesson", run: "LessonRun", written: Path | None) -> "Iterator[ShowRunPage]":
    """Provide a function that writes the run's page when it is first called.

    Without a page that was written already, the page is in a temporary directory, which is deleted at the end.
    """
    from kcsim.scenarios.lessons.run_page import page_link

    with ExitStack() as at_the_end:
        at = written

        def show_run_page(seq: int) -> str:
            nonlocal at
            if at is None:
                at = _write_page(loaded, run, Path(at_the_end.enter_context(TemporaryDirectory(prefix="kcsim-learn-"))))
            until = "" if written else " (deleted when this lesson ends; --page DIR keeps it)"
            return f"#{seq} in the page of the run{until}: {page_link(at, seq)}"

        yield show_run_page


# --- the terminal ----------------------------------------------------------------------------------------------------------


STYLES = {
    "heading": "bold",
    "picture": "cyan",
    "prose": "",
    "event": "cyan",
    "asked": "bold",
    "right": "green",
    "wrong": "yellow",
    "reason": "dim",
}
"""Colour only repeats what the text says."""


POLL_INTERVAL_S = 0.1
"""Longest wait for a line of input.

A Ctrl-C that arrives just before a read begins does not interrupt that read, so each read is bounded.
"""


@contextmanager
def _keys_read_here() -> Iterator[None]:
    """Discard what was typed and not read when the lesson ends: the shell would execute it."""
    try:
        yield
    finally:
        _discard_typed()


def _discard_typed() -> None:
    with suppress(termios.error):  # the terminal was closed
        termios.tcflush(sys.stdin, termios.TCIFLUSH)


def _from_terminal(prompt: str) -> str | None:
    """Ask for a line. What was typed before the prompt is discarded: it answered nothing."""
    _discard_typed()
    print(prompt, end="", flush=True)
    try:
        while not select.select([sys.stdin], [], [], POLL_INTERVAL_S)[0]:
            pass
        line = sys.stdin.readline()
        return line.removesuffix("\n") if line else None
    except KeyboardInterrupt:
        print()  # so that the shell's prompt begins on a line of its own
        raise


def _from_file(path: Path, echo: bool) -> "Ask":
    """Return a function that reads the answers from a file, one line per question.

    After the last line there are no answers, and the lesson shows the right ones.
    """
    try:
        text = sys.stdin.read() if str(path) == STDIN else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not text in UTF-8"
        fail(f"--answers: {path}: {why}", ExitStatus.USAGE)
    lines = iter(text.splitlines())

    def ask(prompt: str) -> str:
        line = next(lines, "")
        if echo:
            print(f"{prompt}{line}", flush=True)
        return line

    return ask
