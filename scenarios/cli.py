"""The command kcsim. Each subcommand lives in a file of commands/ and imports what it needs only when it is called.

Exit status: 0 all expectations held, 1 one was violated, 2 undecided, 64 usage, 130 interrupted.
"""

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from kcsim.scenarios.commands import (
    assign,
    compare,
    diagram,
    diff,
    doctor,
    elect_leaders,
    explore,
    fault,
    groups,
    import_,
    infer,
    learn,
    reassign,
    report,
    run,
    scenario,
    show,
    topics,
    up,
    why,
    zk,
)
from kcsim.scenarios.commands.ending import ExitStatus, Finished
from kcsim.scenarios.commands.spark import app as spark

LIBRARY_STATUSES = {1: ExitStatus.UNDECIDED, 2: ExitStatus.USAGE}
"""What the command-line library ends with when nobody reads on (kcsim run … | head), or the arguments make no sense."""


class StatusGroup(TyperGroup):
    """Ends with our exit statuses: 64 for usage errors, so that 2 is free to mean undecided."""

    def main(self, args: Sequence[str] | None = None, *more: Any, **options: Any) -> Any:
        try:
            return super().main(args, *more, **options)
        except Finished as finished:
            sys.exit(int(finished.status))
        except SystemExit as ended:
            # Our own statuses travel as Finished: a 1 or a 2 that comes this way is none of them.
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
app.command()(compare.compare)
app.command()(up.up)
app.command()(fault.fault)
app.command()(why.why)
app.command()(show.show)
app.command()(diff.diff)
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
        print(f"kcsim {doctor.own_version()}")
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
    app(prog_name="kcsim")
