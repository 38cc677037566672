"""The group of subcommands of kcsim spark."""

import typer

from kcsim.scenarios.cli.spark import analyse, explore, generate, import_, ingest, odds, replay, report

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Generate, replay, search, import and analyse on Spark.")

app.command()(ingest.ingest)
app.command()(generate.generate)
app.command()(replay.replay)
app.command()(explore.explore)
app.command()(odds.odds)
app.command()(report.report)
app.command()(analyse.analyse)
app.add_typer(import_.app, name="import")
