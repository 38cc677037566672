"""The command kcsim. Each subcommand has a module in this folder and imports what it needs only when it is called.

Exit status: 0 all expectations held, 1 one was violated, 2 undecided, 64 usage, 130 interrupted.
"""

import gc
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from kcsim.scenarios.cli import (
    assign,
    compare,
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
    reassign,
    report,
    rerun,
    run,
    scenario,
    show,
    status,
    topics,
    up,
    why,
    zk,
)
from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus
from kcsim.scenarios.cli.spark import app as spark
from kcsim.versions import own_version

OBJECTS_BEFORE_COLLECTION = 50_000
"""Between two searches for cycles among the youngest objects. With Python's 700 they take an eighth of a command's time."""
LIBRARY_STATUSES = {1: ExitStatus.UNDECIDED, 2: ExitStatus.USAGE}
"""Exit statuses of the command-line library for a closed output pipe (kcsim run … | head) and for invalid arguments."""


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
            sys.exit(ended.code if known is None else int(known))


app = typer.Typer(
    name="kcsim",
    cls=StatusGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command()(run.run)
app.command()(rerun.rerun)
app.command()(compare.compare)
app.command()(up.up)
app.command()(status.status)
app.command()(status.watch)
app.command(help=fault.HELP)(fault.fault)
app.command()(why.why)
app.command()(show.show)
app.command()(diff.diff)
app.command()(events.events)
app.command()(report.report)
app.command()(learn.learn)
app.command()(diagram.diagram)
app.command()(explore.explore)
app.add_typer(scenario.app, name="scenario")
app.add_typer(zk.app, name="zk")
app.add_typer(import_.app, name="import")
app.add_typer(spark.app, name="spark")
app.command()(topics.topics)
app.command()(reassign.reassign)
app.command()(elect_leaders.elect_leaders)
app.command()(assign.assign)
app.command()(infer.infer)
app.add_typer(groups.app, name="groups")
app.command()(doctor.doctor)


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


def main() -> None:
    """Entry point of the command kcsim."""
    gc.set_threshold(OBJECTS_BEFORE_COLLECTION)
    app(prog_name="kcsim")
