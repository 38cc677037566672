"""The command kcsim. Each subcommand has a module in this folder and imports what it needs only when it is called.

The exit statuses are in command_exit.py; `main()` is in main.py.
"""

import gc
import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from kcsim.scenarios.cli import (
    assign,
    broker,
    compare,
    configs,
    controller,
    diagram,
    diff,
    doctor,
    elect_leaders,
    events,
    explore,
    fault,
    groups,
    import_,
    infer,
    learn,
    plan,
    play,
    reassign,
    rehearse,
    report,
    rerun,
    run,
    scenario,
    show,
    snapshot,
    status,
    step,
    topics,
    up,
    what_if,
    why,
    zk,
)
from kcsim.scenarios.cli.command_exit import INTERRUPTED_LINE, CommandExit, ExitStatus
from kcsim.scenarios.cli.spark import app as spark
from kcsim.versions import own_version

OBJECTS_BEFORE_COLLECTION = 50_000
"""Between two searches for cycles among the youngest objects. With Python's 700 they take an eighth of a command's time."""
WHOLE_SENTENCE = 200
"""Characters of a command's first sentence that the help text shows; longer lines are wrapped."""
LIBRARY_STATUSES = {1: ExitStatus.UNDECIDED, 2: ExitStatus.USAGE}
"""Exit statuses of the command-line library for a closed output pipe (kcsim run … | head) and for invalid arguments."""


COMMANDS: Mapping[str, Mapping[str, Callable[..., None] | typer.Typer]] = MappingProxyType(
    {
        "Run": {
            "run": run.run,
            "rerun": rerun.rerun,
            "compare": compare.compare,
            "explore": explore.explore,
            "scenario": scenario.app,
        },
        "Understand a run": {
            "show": show.show,
            "why": why.why,
            "diff": diff.diff,
            "report": report.report,
            "events": events.events,
        },
        "Learn": {"play": play.play, "learn": learn.learn, "diagram": diagram.diagram},
        "Keep a cluster up": {
            "up": up.up,
            "broker": broker.broker,
            "status": status.status,
            "watch": status.watch,
            "fault": fault.fault,
            "step": step.step,
        },
        "Kafka's tools": {
            "topics": topics.topics,
            "reassign": reassign.reassign,
            "configs": configs.configs,
            "elect-leaders": elect_leaders.elect_leaders,
            "controller": controller.app,
            "assign": assign.assign,
            "infer": infer.infer,
            "groups": groups.app,
        },
        "Ask about your own cluster": {
            "snapshot": snapshot.snapshot,
            "what-if": what_if.what_if,
            "plan": plan.plan,
            "rehearse": rehearse.rehearse,
        },
        "Other sources, and large histories": {"zk": zk.app, "import": import_.app, "spark": spark.app},
        "Help": {"doctor": doctor.doctor},
    }
)
"""What a user wants to do -> the commands for it, by name, in the order of the help text."""


class StatusGroup(TyperGroup):
    """A command group that ends with our exit statuses: 64 for usage errors, so that 2 is free to mean undecided."""

    def main(self, args: Sequence[str] | None = None, *more: Any, **options: Any) -> Any:
        try:
            return super().main(args, *more, **options)
        except CommandExit as command_exit:
            sys.exit(int(command_exit.status))
        except SystemExit as ended:
            # Our own statuses are raised as CommandExit: a SystemExit with 1 or 2 comes from the command-line library.
            known = LIBRARY_STATUSES.get(ended.code) if isinstance(ended.code, int) else None
            if ended.code == ExitStatus.INTERRUPTED:  # Ctrl-C, and no handler of the command's own
                print(INTERRUPTED_LINE, file=sys.stderr)
            sys.exit(ended.code if known is None else int(known))


class KcsimGroup(StatusGroup):
    """The command kcsim, whose help lists its commands by what they are for."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for title, commands in COMMANDS.items():
            found = [(name, self.get_command(ctx, name)) for name in commands]
            with formatter.section(title):
                formatter.write_dl([(name, one.get_short_help_str(WHOLE_SENTENCE)) for name, one in found if one])


app = typer.Typer(
    name="kcsim",
    cls=KcsimGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for title, commands in COMMANDS.items():
    for name, command in commands.items():
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, rich_help_panel=title)
        else:
            app.command(name, rich_help_panel=title)(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"kcsim {own_version()}")
        raise typer.Exit


@app.callback()
def kcsim(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Apache Kafka's controller on a real ZooKeeper, to break and to learn from.

    Brokers are simulated, ZooKeeper is not, unless you say so. Begin with:

    \b
    kcsim run controller-failover
    kcsim scenario list
    kcsim doctor
    """


def run_command_line() -> None:
    """Run the command that the command line names. `main()` in main.py turns every end into an exit status."""
    gc.set_threshold(OBJECTS_BEFORE_COLLECTION)
    app(prog_name="kcsim")
