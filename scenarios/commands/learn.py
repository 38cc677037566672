"""kcsim learn: lessons, played in the terminal; the run itself says what is right."""

import json
import select
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.commands.ending import ExitStatus, Output, give_up
from kcsim.scenarios.commands.run import MAX_SEED
from kcsim.scenarios.commands.zookeeper_argument import zookeeper_choice

if TYPE_CHECKING:
    from kcsim.scenarios.lessons.lesson_file import LoadedLesson
    from kcsim.scenarios.lessons.lesson_run import LessonRun
    from kcsim.scenarios.lessons.player import Ask
    from kcsim.scenarios.lessons.scenes import Scene

CHECK = "check"
STDIN = "-"
TABLE_WIDTH = 110
TEXT_WIDTH = 100
"""Of lines that go to a file or a pipe."""


def learn(
    lesson: Annotated[
        str | None, typer.Argument(help=f"A lesson: its number, its name, or a file; `{CHECK}` to check one of yours.")
    ] = None,
    file: Annotated[Path | None, typer.Argument(help=f"With `{CHECK}`: the lesson file.")] = None,
    show: Annotated[bool, typer.Option("--show", help="Tell everything; ask and wait for nothing.")] = False,
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
        Output, typer.Option(help="json: the list of lessons, or a lesson's questions with their right answers.")
    ] = Output.TABLE,
) -> None:
    """Learn how Kafka's controller works: a story, a question before each outcome, and the run's own answer.

    Without a lesson: the list of them. An answer is a letter, or what it says, as 2 or 1,2; Enter alone has it told. Ctrl-D
    ends a lesson early, and so does Ctrl-C.

    \b
    kcsim learn
    kcsim learn 1
    kcsim learn unclean-election --print > handout.md
    kcsim learn check my-lesson.yaml

    Exit status: 0 played or in order, 2 the run did not go as the lesson needs it, 64 there is no such lesson or its file
    makes no sense, 130 interrupted.
    """
    if lesson is None:
        _list(output)
        return
    if lesson == CHECK:
        _check(file)
        return
    if file is not None:
        give_up(f"{file}: only `kcsim learn {CHECK}` takes a file besides", ExitStatus.USAGE)
    loaded = _load(lesson)
    ask = None if answers is None else _from_file(answers, echo=output is Output.TABLE)
    run, scenes = _set_up(loaded, zookeeper, seed, trace)
    if output is Output.JSON:
        _print_json(loaded, run, scenes, ask)
    elif printed:
        _print_handout(loaded, run, scenes)
    else:
        _play(loaded, run, scenes, ask, show)


# --- the list, and the check -----------------------------------------------------------------------------------------------


def _list(output: Output) -> None:
    from kcsim.scenarios.lessons.lesson_file import course

    lessons = [loaded.lesson for loaded in course()]
    if output is Output.JSON:
        keys = ("number", "name", "title", "minutes", "you_will_know")
        print(json.dumps([{key: getattr(one, key) for key in keys} for one in lessons], indent=2, ensure_ascii=False))
        return
    from rich.table import Table
    from rich.text import Text

    from kcsim.scenarios.telling.timeline import console_on

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
        give_up(str(error), ExitStatus.USAGE)


def _check(file: Path | None) -> None:
    """Read it, run its scenario, and see whether every page finds its point and every question its answer."""
    from kcsim.scenarios.lessons.retelling import Retelling

    if file is None:
        give_up(f"{CHECK}: name the file to check, as `kcsim learn {CHECK} my-lesson.yaml`", ExitStatus.USAGE)
    loaded = _load(str(file))
    run, scenes = _set_up(loaded, "simulated", 1, None)
    retelling = Retelling(run)
    for question in (scene.question for scene in scenes if scene.question is not None):
        evidence = question.right.evidence
        told = "" if evidence is None else f"  (#{evidence.seq} {evidence.node} {retelling.of(evidence)})"
        print(f"{question.number}. {question.text}\n   {question.right.text}{told}")
    pages, questions = len(scenes), sum(scene.question is not None for scene in scenes)
    print(f"{file}: in order: {pages} pages, {questions} questions, {len(run.events)} events in its run")


# --- a lesson --------------------------------------------------------------------------------------------------------------


def _set_up(loaded: "LoadedLesson", zookeeper: str, seed: int, trace: Path | None) -> "tuple[LessonRun, list[Scene]]":
    """Run the scenario, and set the lesson against it; what goes wrong ends the command."""
    from kcsim.scenarios.commands.run import check_trace, chosen_zookeeper
    from kcsim.scenarios.history import TraceError
    from kcsim.scenarios.lessons.lesson_run import FailedRunError, run_lesson
    from kcsim.scenarios.lessons.scenes import LessonError, scenes
    from kcsim.scenarios.zookeeper_choice import ZooKeeperKind
    from kcsim.zk.errors import ZooKeeperUnavailableError
    from kcsim.zk.servers.errors import ServerError

    check_trace(trace)
    if zookeeper_choice(zookeeper).kind is ZooKeeperKind.EXTERNAL:
        give_up("--zookeeper: a lesson runs on a ZooKeeper that is started for it", ExitStatus.USAGE)
    choice = chosen_zookeeper(zookeeper, loaded.scenario)
    if choice.kind is not ZooKeeperKind.SIMULATED:
        print(f"running {loaded.scenario.scenario.name} on ZooKeeper: {zookeeper} …", file=sys.stderr)
    try:
        run = run_lesson(loaded.scenario, choice, zookeeper, seed, trace)
        return run, scenes(loaded.lesson, run)
    except (LessonError, FailedRunError) as error:
        give_up(f"{loaded.file}: {error}", ExitStatus.UNDECIDED)
    except TraceError as error:
        give_up(f"--trace: {error}", ExitStatus.UNDECIDED)
    except (ServerError, ZooKeeperUnavailableError) as error:
        give_up(str(error), ExitStatus.UNDECIDED)


def _print_json(loaded: "LoadedLesson", run: "LessonRun", scenes: "list[Scene]", ask: "Ask | None") -> None:
    """The questions with their right answers; with answers given, how many of those were right."""
    from kcsim.scenarios.lessons.handout import lesson_json
    from kcsim.scenarios.lessons.player import Player
    from kcsim.scenarios.lessons.retelling import Retelling

    told = lesson_json(loaded.lesson, scenes, Retelling(run))
    if ask is not None:
        score = Player(lambda line, style: None, ask, TEXT_WIDTH, waits=False).play(loaded.lesson, scenes, Retelling(run))
        told["score"] = {"right": score.right, "asked": len(score.given), "given": score.given}
    print(json.dumps(told, indent=2, ensure_ascii=False))


def _print_handout(loaded: "LoadedLesson", run: "LessonRun", scenes: "list[Scene]") -> None:
    from kcsim.scenarios.lessons.handout import handout
    from kcsim.scenarios.lessons.retelling import Retelling

    for line in handout(loaded.lesson, scenes, Retelling(run)):
        print(line)


def _play(loaded: "LoadedLesson", run: "LessonRun", scenes: "list[Scene]", ask: "Ask | None", show: bool) -> None:
    from rich.text import Text

    from kcsim.scenarios.lessons.player import Player, Style
    from kcsim.scenarios.lessons.retelling import Retelling
    from kcsim.scenarios.telling.timeline import console_on

    console = console_on(sys.stdout)
    width = console.width if console.is_terminal else TEXT_WIDTH
    has_reader = ask is None and not show and sys.stdin.isatty() and console.is_terminal
    if has_reader:
        ask = _from_terminal

    def show_line(line: str, style: Style) -> None:
        console.print(Text(line, style=STYLES[style]), soft_wrap=True)

    Player(show_line, ask, width, waits=has_reader).play(loaded.lesson, scenes, Retelling(run))


STYLES = {
    "heading": "bold",
    "prose": "",
    "event": "cyan",
    "asked": "bold",
    "right": "green",
    "wrong": "yellow",
    "reason": "dim",
}
"""Colour only repeats what the words say."""


HEARD_WITHIN_S = 0.1
"""A Ctrl-C that comes while we turn to the terminal interrupts no read that has yet to begin: so none lasts longer."""


def _from_terminal(prompt: str) -> str | None:
    print(prompt, end="", flush=True)
    try:
        while not select.select([sys.stdin], [], [], HEARD_WITHIN_S)[0]:
            pass
        line = sys.stdin.readline()
        return line.removesuffix("\n") if line else None
    except KeyboardInterrupt:
        print()  # the shell's prompt begins on a line of its own
        raise


def _from_file(path: Path, echo: bool) -> "Ask":
    """Answers from a file, a line for each question; after the last line there are none any more, and all is told."""
    try:
        text = sys.stdin.read() if str(path) == STDIN else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not text in UTF-8"
        give_up(f"--answers: {path}: {why}", ExitStatus.USAGE)
    lines = iter(text.splitlines())

    def ask(prompt: str) -> str:
        line = next(lines, "")
        if echo:
            print(f"{prompt}{line}", flush=True)
        return line

    return ask
