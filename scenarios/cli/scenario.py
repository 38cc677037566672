"""kcsim scenario: the library of scenarios, and the format of their files."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli import completion
from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus, OutputFormat, fail

if TYPE_CHECKING:
    from kcsim.scenarios.language.scenario_file import LoadedScenario

app = typer.Typer(
    help="Look at the scenarios that come with the simulator; write and check your own.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


SCHEMA_FILE = "kcsim-scenario.schema.json"


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="A name for it: small letters, digits and hyphens.")],
    like: Annotated[
        str | None,
        typer.Option("--from", metavar="NAME", help="Begin with a copy of this one: a name of the library, or a file."),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-o", metavar="FILE", help="Where to write it; NAME.yaml if not given.")
    ] = None,
    editor: Annotated[
        bool,
        typer.Option("--editor", help=f"Also write {SCHEMA_FILE} beside it, so that editors complete it and mark mistakes."),
    ] = False,
) -> None:
    """Write a first scenario of your own: small, explained line by line, and ready to run.

    \b
    kcsim scenario new my-failover
    kcsim scenario new my-failover --from controller-failover -o tests/my-failover.yaml

    A file that exists is not overwritten: exit status 64.
    """
    from kcsim.scenarios.language.new_scenario import BadNameError, text_for
    from kcsim.scenarios.language.scenario_file import ScenarioFileError
    from kcsim.scenarios.language.schema import json_schema

    path = file or Path(f"{name}.yaml")
    schema_path = path.parent / SCHEMA_FILE
    try:
        text = text_for(name, like, SCHEMA_FILE if editor else None)
        with path.open("x", encoding="utf-8") as written:
            written.write(text)
        if editor:
            schema_path.write_text(json.dumps(json_schema(), indent=2) + "\n", encoding="utf-8")
    except BadNameError as error:
        fail(str(error), ExitStatus.USAGE)
    except ScenarioFileError as error:
        fail(str(error), ExitStatus.USAGE)
    except FileExistsError:
        fail(f"{path}: is there already; name another with -o", ExitStatus.USAGE)
    except OSError as error:
        fail(f"{error.filename}: cannot be written: {error.strerror}", ExitStatus.USAGE)
    print(f"{path}: written. Next: kcsim run {path} --zookeeper simulated")


@app.command("list")
def list_scenarios(
    words: Annotated[
        list[str] | None, typer.Argument(help="Only those whose name or description has all of these words.")
    ] = None,
    output: Annotated[OutputFormat, typer.Option(help="How to print the list.")] = OutputFormat.TABLE,
) -> None:
    """List the scenarios of the library with their descriptions."""
    from rich.table import Table

    from kcsim.scenarios.language.library import library_entries
    from kcsim.scenarios.views.narration.timeline import TABLE_WIDTH, console_on

    wanted = [word.lower() for word in words or ()]
    scenarios = [s for s in library_entries() if all(word in f"{s.name} {s.description}".lower() for word in wanted)]
    if not scenarios and output is OutputFormat.TABLE:
        fail(f"no scenario speaks of {' and '.join(words or ())}; `kcsim scenario list` has all", ExitStatus.USAGE)
    if output is OutputFormat.JSON:
        print(json.dumps([entry._asdict() for entry in scenarios], indent=2, ensure_ascii=False))
        return
    console = console_on(sys.stdout)
    table = Table(width=min(console.width, TABLE_WIDTH), show_lines=True)
    table.add_column("Name", no_wrap=True)
    table.add_column("What it shows")
    for scenario in scenarios:
        table.add_row(scenario.name, scenario.description)
    console.print(table)


@app.command()
def show(
    name: Annotated[str, typer.Argument(autocompletion=completion.scenarios, help="A name of the library, or a file.")],
) -> None:
    """Print a scenario's file, for example to write your own from it."""
    from kcsim.scenarios.language.scenario_file import ScenarioFileError, find_scenario

    try:
        print(find_scenario(name).read_text(encoding="utf-8"), end="")
    except ScenarioFileError as error:
        fail(str(error), ExitStatus.USAGE)


@app.command()
def words(
    word: Annotated[
        str | None, typer.Argument(metavar="[WORD]", help="A step, as pause; a condition, as in-sync; a type of values.")
    ] = None,
) -> None:
    """List the words of the scenario language, or show the keys and values of one.

    \b
    kcsim scenario words
    kcsim scenario words pause
    kcsim scenario words in-sync

    The reference page is docs/reference/scenario-schema.md.
    """
    from kcsim.scenarios.cli.reference_text import print_entries
    from kcsim.scenarios.cli.scenario_words import all_words, explained
    from kcsim.text import did_you_mean

    found = all_words() if word is None else explained(word)
    if not found:
        known = [name for entries in all_words().values() for name, _ in entries]
        hint = did_you_mean(word, known) or "; `kcsim scenario words` lists them"
        fail(f"{word!r} is no word of the scenario language{hint}", ExitStatus.USAGE)
    for heading, entries in found.items():
        print_entries(heading, entries)


@app.command()
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors.

    With it an editor completes keys and marks mistakes: put `# yaml-language-server: $schema=FILE` at the top of
    a scenario. `kcsim scenario new --editor` does both.
    """
    from kcsim.scenarios.language.schema import json_schema

    print(json.dumps(json_schema(), indent=2))


@app.command()
def check(
    files: Annotated[
        list[str], typer.Argument(autocompletion=completion.scenarios, help="Scenario files, or names of the library.")
    ],
    static: Annotated[
        bool, typer.Option("--static", help="Do not run valid scenarios in virtual time for warnings.")
    ] = False,
    without_faults: Annotated[
        bool,
        typer.Option(
            "--without-faults", help="Also run each scenario without its faults: some expectation must not hold then."
        ),
    ] = False,
) -> None:
    """Check scenario files. Every problem is one line: FILE:LINE: problem. So is every warning, on standard error.

    Warnings are about topics that no step creates, brokers that no step starts, waits that are true already, and
    expectations that are judged at the moment of a fault. A scenario is run in virtual time for them; no server is
    started.

    Exit status: 0 all are valid, 3 with --without-faults: all expectations of one hold without its faults, too,
    64 one is not valid.
    """
    from kcsim.scenarios.language.scenario_file import ScenarioFileError, find_scenario, load_scenario

    problems, is_blind = [], False
    for name in files:
        try:
            loaded = load_scenario(find_scenario(name))
        except ScenarioFileError as error:
            problems.append(str(error))
            continue
        steps, expectations = len(loaded.scenario.timetable), len(loaded.scenario.expect)
        invariants = len(loaded.scenario.invariants.names())
        print(f"{loaded.file}: ok, {steps} steps, {expectations} expectations, {invariants} invariants", flush=True)
        if not static:
            _print_warnings(loaded)
        if without_faults:
            from kcsim.scenarios.engine.trial_runs import run_without_faults

            result = run_without_faults(loaded)
            print(f"{loaded.file}: {result}")
            is_blind = is_blind or not result.not_held
    if problems:
        fail("\n".join(problems), ExitStatus.USAGE)
    if is_blind:
        raise CommandExit(ExitStatus.NEGATIVE)


def _print_warnings(loaded: "LoadedScenario") -> None:
    from kcsim.scenarios.engine.trial_runs import warnings

    for warning in warnings(loaded):
        place = f"{warning.file}:{warning.line}" if warning.line else warning.file
        print(f"{place}: warning: {warning.message}", file=sys.stderr)
