"""kcsim learn: lessons, played in the terminal. The run itself provides the right answers."""

import json
import select
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli.command_exit import ExitStatus, OutputFormat, fail
from kcsim.scenarios.cli.run import MAX_SEED
from kcsim.scenarios.cli.zookeeper_argument import zookeeper_choice

if TYPE_CHECKING:
    from kcsim.scenarios.lessons.lesson_file import LoadedLesson
    from kcsim.scenarios.lessons.lesson_pages import LessonPage
    from kcsim.scenarios.lessons.lesson_run import LessonRun
    from kcsim.scenarios.lessons.player import Ask

CHECK = "check"
STDIN = "-"
TABLE_WIDTH = 110
TEXT_WIDTH = 100
"""Width of lines that are written to a file or a pipe."""


def learn(
    lesson: Annotated[
        str | None, typer.Argument(help=f"A lesson: its number, its name, or a file; `{CHECK}` to check one of yours.")
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
            help="simulated: at once, and the same each time. embedded: a real ZooKeeper, in real time; ensemble, docker: "
            "as for kcsim run.",
        ),
    ] = "simulated",
    seed: Annotated[int, typer.Option(help="Seed of every random choice.", min=-MAX_SEED - 1, max=MAX_SEED)] = 1,
    trace: Annotated[Path | None, typer.Option(help="Keep the run's event log here, for kcsim why and the like.")] = None,
    output: Annotated[
        OutputFormat, typer.Option(help="json: the list of lessons, or a lesson's questions with their right answers.")
    ] = OutputFormat.TABLE,
) -> None:
    """Learn how Kafka's controller works: a story, a question before each outcome, and the run's own answer.

    Without a lesson: the list of them. An answer is a letter, or its text, such as 2 or 1,2; Enter alone shows the answer.
    Ctrl-D ends a lesson early, and so does Ctrl-C.

    \b
    kcsim learn
    kcsim learn 1
    kcsim learn unclean-election --print > handout.md
    kcsim learn check my-lesson.yaml

    Exit status: 0 played or valid, 2 the run did not fit the lesson, 64 there is no such lesson or its file is invalid,
    130 interrupted.
    """
    if lesson is None:
        _list(output)
        return
    if lesson == CHECK:
        _check(file)
        return
    if file is not None:
        fail(f"{file}: only `kcsim learn {CHECK}` takes a file besides", ExitStatus.USAGE)
    loaded = _load(lesson)
    ask = None if answers is None else _from_file(answers, echo=output is OutputFormat.TABLE)
    run, pages = _set_up(loaded, zookeeper, seed, trace)
    if output is OutputFormat.JSON:
        _print_json(loaded, run, pages, ask)
    elif printed:
        _print_handout(loaded, run, pages)
    else:
        _play(loaded, run, pages, ask, show)


# --- the list, and the check -----------------------------------------------------------------------------------------------


def _list(output: OutputFormat) -> None:
    from kcsim.scenarios.lessons.lesson_file import course

    lessons = [loaded.lesson for loaded in course()]
    if output is OutputFormat.JSON:
        keys = ("number", "name", "title", "minutes", "you_will_know")
        print(json.dumps([{key: getattr(one, key) for key in keys} for one in lessons], indent=2, ensure_ascii=False))
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
    for one in lessons:
        title = Text.assemble((one.title, "bold"), f"\n{one.name}")
        table.add_row(str(one.number or ""), title, Text(one.you_will_know), str(one.minutes))
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
    from kcsim.scenarios.cli.run import check_trace, chosen_zookeeper
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


def _play(loaded: "LoadedLesson", run: "LessonRun", pages: "list[LessonPage]", ask: "Ask | None", show: bool) -> None:
    from rich.text import Text

    from kcsim.scenarios.lessons.player import Player, Style
    from kcsim.scenarios.lessons.run_narration import RunNarration
    from kcsim.scenarios.views.narration.timeline import console_on

    console = console_on(sys.stdout)
    width = console.width if console.is_terminal else TEXT_WIDTH
    has_reader = ask is None and not show and sys.stdin.isatty() and console.is_terminal
    if has_reader:
        ask = _from_terminal

    def show_line(line: str, style: Style) -> None:
        console.print(Text(line, style=STYLES[style]), soft_wrap=True)

    Player(show_line, ask, width, waits=has_reader).play(loaded.lesson, pages, RunNarration(run))


STYLES = {
    "heading": "bold",
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


def _from_terminal(prompt: str) -> str | None:
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
