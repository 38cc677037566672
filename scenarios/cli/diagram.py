"""kcsim diagram: the state machines of the code as diagrams."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kcsim.scenarios.cli.command_exit import ExitStatus, fail


class DiagramFormat(StrEnum):
    """--format: text for Markdown pages, or a picture."""

    MERMAID = "mermaid"
    SVG = "svg"


def diagram(
    name: Annotated[str | None, typer.Argument(help="Which; without one, the list of them.")] = None,
    format_: Annotated[DiagramFormat, typer.Option("--format", help="As what.")] = DiagramFormat.MERMAID,
    file: Annotated[
        Path | None, typer.Option("--file", "-o", metavar="FILE", help="Where to write it; to stdout if not given.")
    ] = None,
    highlight: Annotated[
        list[str] | None, typer.Option(metavar="STATE", help="Mark this state. Can be given several times.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of them in Mermaid, as a part of a Markdown page.")] = False,
) -> None:
    """Draw a state machine from the table of transitions that the code uses.

    \b
    kcsim diagram
    kcsim diagram partition-states
    kcsim diagram replica-states --format svg -o replica-states.svg

    Exit status: 0 drawn, 2 the file cannot be written, 64 there is no such diagram or state.
    """
    from kcsim.scenarios.views.diagrams.machines import MACHINES, UnknownMachineError
    from kcsim.scenarios.views.diagrams.mermaid import fragment, mermaid
    from kcsim.scenarios.views.diagrams.svg import svg

    if name is None and not everything:
        for drawn in MACHINES.values():
            print(f"{drawn.name:<18} {drawn.title}")
        return
    try:
        if name is None:
            text = fragment()
        elif format_ is DiagramFormat.SVG:
            text = svg(name, highlight or (), standalone=True)
        else:
            text = mermaid(name, highlight or ())
    except UnknownMachineError as error:
        fail(str(error), ExitStatus.USAGE)
    if file is None:
        sys.stdout.write(text)
        return
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        fail(f"{file}: {error.strerror or error}", ExitStatus.UNDECIDED)
