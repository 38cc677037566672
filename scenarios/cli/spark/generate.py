"""kcsim spark generate: a generated history of a cluster, of any size."""

import json
import sys
import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli.command_exit import ExitStatus, OutputFormat, fail
from kcsim.scenarios.cli.spark.options import DEFAULT_MASTER, Conf, Master, Place, place, refuse_existing, session

if TYPE_CHECKING:
    from kcsim.scenarios.analysis.generate import GeneratedDataset
    from kcsim.scenarios.analysis.generating.settings import Settings

NEVER = "never"
DEFAULT_DAYS = 30.0
MIB = 1024 * 1024
KINDS_SHOWN = 12


def generate(
    out: Annotated[
        Place, typer.Option("--out", "-o", parser=place, metavar="DIR", help="The dataset to write; must not exist.")
    ],
    brokers: Annotated[int, typer.Option(help="How many brokers.")] = 12,
    racks: Annotated[int, typer.Option(help="On how many racks they are.")] = 3,
    topics: Annotated[int, typer.Option(help="How many topics; few are large, most are small.")] = 100,
    partitions: Annotated[int, typer.Option(help="How many partitions in all topics together.")] = 1_000,
    replication_factor: Annotated[int, typer.Option(help="How many replicas each has.")] = 3,
    days: Annotated[
        float | None, typer.Option(help=f"How long a time; {DEFAULT_DAYS:g} if --events is not given either.")
    ] = None,
    events: Annotated[
        int | None, typer.Option(metavar="N", help="A length of time that yields about this number of events.")
    ] = None,
    mtbf: Annotated[str, typer.Option(metavar="TIME", help="Mean time between crashes of one broker; never.")] = "30d",
    mttr: Annotated[str, typer.Option(metavar="TIME", help="Mean time from a crash to the broker's return.")] = "10m",
    rack_mtbf: Annotated[str, typer.Option(metavar="TIME", help="Mean time between outages of one rack; never.")] = "180d",
    rolling_restarts: Annotated[
        str, typer.Option(metavar="TIME", help="How often all brokers are restarted, one after the other; never.")
    ] = "7d",
    isr_flaps: Annotated[
        float, typer.Option(metavar="RATE", help="How often a day a follower of a partition falls behind for a while.")
    ] = 1.0,
    session_expiries: Annotated[
        str, typer.Option(metavar="TIME", help="Mean time between expiries of one broker's session while it runs; never.")
    ] = "60d",
    controller_changes: Annotated[
        str,
        typer.Option(metavar="TIME", help="Mean time between expiries of the controller's session, beside those; never."),
    ] = "14d",
    reassignments: Annotated[
        str, typer.Option(metavar="TIME", help="Mean time between moves of a partition to other brokers; never.")
    ] = "1d",
    topic_deletions: Annotated[
        str, typer.Option(metavar="TIME", help="Mean time between deletions of a small topic; never.")
    ] = "7d",
    catch_up: Annotated[
        str, typer.Option(metavar="TIME", help="Mean time that a replica takes to be back in the ISR.")
    ] = "20s",
    unclean: Annotated[
        float, typer.Option(metavar="SHARE", help="Of the topics, how many allow unclean elections: 0 to 1.")
    ] = 0.1,
    rebalance: Annotated[
        bool, typer.Option("--rebalance/--no-rebalance", help="auto.leader.rebalance.enable, every 5 minutes beyond 10 %.")
    ] = True,
    seed: Annotated[int, typer.Option(help="Another seed, another history.")] = 1,
    batch: Annotated[str, typer.Option(metavar="NAME", help="What the history is kept under in the dataset.")] = "generated",
    master: Master = DEFAULT_MASTER,
    conf: Conf = None,
    output: Annotated[OutputFormat, typer.Option(help="How to print what was made.")] = OutputFormat.TABLE,
) -> None:
    """Generate the history of a cluster of any size, as events: for replay, analyses, and measurements of how they scale.

    Brokers crash and return, racks fail, brokers are restarted one by one, sessions expire, controllers change; replicas lag
    and catch up, partitions are reassigned, topics deleted. The controller's own decisions elect the leaders. The same
    options give the same events, however many executors make them; DIR/settings.json keeps them. Times are 30s, 10m, 12h,
    30d, 2w.

    \b
    kcsim spark generate -o history --brokers 30 --racks 3 --topics 400 --partitions 10000 --days 90
    kcsim spark generate -o large --partitions 50000 --brokers 100 --events 100000000

    Exit status: 0 written, 2 the work failed, 64 DIR exists or the options are invalid: then nothing is written.
    """
    refuse_existing(out)
    wanted = _settings(
        seed=seed,
        batch=batch,
        brokers=brokers,
        racks=racks,
        topics=topics,
        partitions=partitions,
        replication_factor=replication_factor,
        mtbf_ms=_time("--mtbf", mtbf),
        mttr_ms=_time("--mttr", mttr, may_be_never=False),
        rack_mtbf_ms=_time("--rack-mtbf", rack_mtbf),
        rolling_restart_ms=_time("--rolling-restarts", rolling_restarts),
        isr_flaps_per_day=isr_flaps,
        session_expiry_ms=_time("--session-expiries", session_expiries),
        controller_change_ms=_time("--controller-changes", controller_changes),
        reassignment_ms=_time("--reassignments", reassignments),
        topic_deletion_ms=_time("--topic-deletions", topic_deletions),
        catch_up_ms=_time("--catch-up", catch_up, may_be_never=False),
        unclean=unclean,
        rebalance=rebalance,
    )
    settings = _with_length(wanted, days, events)
    with session(master, conf, out) as spark:  # Spark sorts what was generated, for the tables that are kept
        from kcsim.scenarios.analysis.generate import generate_dataset
        from kcsim.scenarios.cli.spark.progress import progress

        begun = time.monotonic()
        with progress(spark, "generate"):
            made = generate_dataset(spark, settings, out)
    _print(settings, made, time.monotonic() - begun, out, output)


# --- options ---------------------------------------------------------------------------------------------------------------


def _time(option: str, text: str, may_be_never: bool = True) -> int | None:
    from kcsim.scenarios.analysis.generating.durations import parse_long_duration

    if text == NEVER and may_be_never:
        return None
    try:
        return parse_long_duration(text)
    except ValueError as error:
        fail(f"{option}: {error}{', or never' if may_be_never else ''}", ExitStatus.USAGE)


def _settings(**given: object) -> "Settings":
    from kcsim.scenarios.analysis.generating.settings import Settings, SettingsError

    settings = Settings(**given)  # type: ignore[arg-type]  # named as the options are
    try:
        settings.check()
    except SettingsError as error:
        fail(str(error), ExitStatus.USAGE)
    return settings


def _with_length(settings: "Settings", days: float | None, events: int | None) -> "Settings":
    """Return the settings with the requested length: a number of days, or about this many events."""
    from kcsim.scenarios.analysis.generating.durations import DAY_MS, LONGEST_DAYS
    from kcsim.scenarios.analysis.generating.settings import SettingsError

    if days is not None and events is not None:
        fail("--days or --events: each gives a length of time; not both", ExitStatus.USAGE)
    if days is not None and not 0 < days <= LONGEST_DAYS:
        fail(f"--days: {days:g} is no time that a cluster lives: more than 0, at most {LONGEST_DAYS}", ExitStatus.USAGE)
    try:
        if events is None:
            longer = replace(settings, length_ms=round((days or DEFAULT_DAYS) * DAY_MS))
        else:
            from kcsim.scenarios.analysis.generating.portions import length_for

            longer = replace(settings, length_ms=length_for(settings, events))
            print(f"about {events} events: {longer.length_ms / DAY_MS:.4g} days", file=sys.stderr)
        longer.check()
    except SettingsError as error:
        fail(f"{'--days' if events is None else '--events'}: {error}", ExitStatus.USAGE)
    return longer


# --- output ----------------------------------------------------------------------------------------------------------------


def _print(settings: "Settings", made: "GeneratedDataset", seconds: float, out: Place, output: OutputFormat) -> None:
    from kcsim.scenarios.analysis.generating.durations import DAY_MS

    if output is OutputFormat.JSON:
        result = {"dataset": str(out), "run": settings.run, "settings": asdict(settings), "events": made.total}
        result |= {"by_kind": made.events, "files": made.files, "bytes": made.bytes, "seconds": round(seconds, 3)}
        print(json.dumps(result, indent=2))
        return
    print(
        f"{out}: {made.total} events of {settings.length_ms / DAY_MS:.4g} days: {settings.brokers} brokers, "
        f"{settings.topics} topics, {settings.partitions} partitions"
    )
    for kind, count in list(made.events.items())[:KINDS_SHOWN]:
        print(f"  {count:>11}  {kind}")
    others = sum(list(made.events.values())[KINDS_SHOWN:])
    if others:
        print(f"  {others:>11}  others")
    rate = f"{made.total / seconds:,.0f} events a second"
    print(f"{made.files} files, {made.bytes / MIB:.1f} MiB, in {seconds:.1f} s: {rate}", file=sys.stderr)
