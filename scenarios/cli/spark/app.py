"""The group of subcommands of kcsim spark."""

import typer

from kcsim.scenarios.cli.spark import analyse, explore, follow, generate, import_, ingest, losses, odds, replay, report
from kcsim.scenarios.cli.spark.spark_command import SparkCommand

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Generate, replay, search, import and analyse on Spark.")

app.command(cls=SparkCommand)(ingest.ingest)
app.command(cls=SparkCommand)(generate.generate)
app.command(cls=SparkCommand)(replay.replay)
app.command(cls=SparkCommand)(follow.follow)
app.command(cls=SparkCommand)(explore.explore)
app.command(cls=SparkCommand)(odds.odds)
app.command(cls=SparkCommand)(losses.losses)
app.command(cls=SparkCommand)(report.report)
app.command(cls=SparkCommand)(analyse.analyse)
app.add_typer(import_.app, name="import")
