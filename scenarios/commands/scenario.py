"""kcsim scenario: the library of scenarios, and the format of their files."""

import json
import sys
from typing import Annotated

import typer

from kcsim.scenarios.commands.ending import ExitStatus, Output, give_up

app = typer.Typer(
    help="Look at the scenarios that come with the simulator, and check your own.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("list")
def list_scenarios(output: Annotated[Output, typer.Option(help="How to print the list.")] = Output.TABLE) -> None:
    """List the scenarios of the library, each with what it shows."""
    from rich.table import Table

    from kcsim.scenarios.language.scenario_file import find_scenario, library_names, load_scenario
    from kcsim.scenarios.telling.timeline import TABLE_WIDTH, console_on

    scenarios = [load_scenario(find_scenario(name)).scenario for name in library_names()]
    if output is Output.JSON:
        told = [
            {
                "name": s.name,
                "description": s.description,
                "brokers": len(s.cluster.members()),
                "zookeepers": s.zookeeper.members,
            }
            for s in scenarios
        ]
        print(json.dumps(told, indent=2, ensure_ascii=False))
        return
    console = console_on(sys.stdout)
    table = Table(width=min(console.width, TABLE_WIDTH), show_lines=True)
    table.add_column("Name", no_wrap=True)
    table.add_column("What it shows")
    for scenario in scenarios:
        table.add_row(scenario.name, scenario.description)
    console.print(table)


@app.command()
def show(name: Annotated[str, typer.Argument(help="A name of the library, or a file.")]) -> None:
    """Print a scenario's file: the place to begin one of your own."""
    from kcsim.scenarios.language.scenario_file import ScenarioFileError, find_scenario

    try:
        print(find_scenario(name).read_text(encoding="utf-8"), end="")
    except ScenarioFileError as error:
        give_up(str(error), ExitStatus.USAGE)


@app.command()
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors.

    With it an editor completes keys and marks mistakes: put `# yaml-language-server: $schema=FILE` at the top of
    a scenario.
    """
    from kcsim.scenarios.language.schema import json_schema

    print(json.dumps(json_schema(), indent=2))


@app.command()
def check(files: Annotated[list[str], typer.Argument(help="Scenario files, or names of the library.")]) -> None:
    """Check scenario files without running anything. Every problem is one line: FILE:LINE: what.

    Exit status: 0 all can be run, 64 one cannot.
    """
    from kcsim.scenarios.language.scenario_file import ScenarioFileError, find_scenario, load_scenario

    problems = []
    for name in files:
        try:
            loaded = load_scenario(find_scenario(name))
        except ScenarioFileError as error:
            problems.append(str(error))
        else:
            steps, expectations = len(loaded.scenario.timetable), len(loaded.scenario.expect)
            print(f"{loaded.file}: ok, {steps} steps, {expectations} expectations")
    if problems:
        give_up("\n".join(problems), ExitStatus.USAGE)
