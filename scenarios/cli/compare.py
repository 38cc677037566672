"""kcsim compare: one scenario on real brokers and on simulated ones, and the differences between the two runs."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kcsim.scenarios.cli import completion
from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus, OutputFormat, fail
from kcsim.scenarios.cli.kafka_argument import check_for_real_brokers, check_protocol_version, chosen_kafka
from kcsim.scenarios.cli.run_options import MAX_SEED, load
from kcsim.scenarios.cli.setting_option import parse_settings
from kcsim.scenarios.cli.zookeeper_argument import zookeeper_choice

if TYPE_CHECKING:
    from kcsim.scenarios.engine.differential_run import DifferentialRun
    from kcsim.scenarios.language.scenario_file import LoadedScenario
    from kcsim.zk.capture.write_comparison.differences import WriteDifference

STEP_WIDTH = 60


def compare(
    scenario: Annotated[
        str,
        typer.Argument(autocompletion=completion.scenarios, help="A scenario file, or a name from `kcsim scenario list`."),
    ],
    kafka_home: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where Kafka is, with its jars in DIR/libs; else KAFKA_HOME, else what `make kafka` has fetched.",
        ),
    ] = None,
    zookeeper: Annotated[str, typer.Option(metavar="WHICH", help="Of Kafka's run: embedded, or ensemble.")] = "embedded",
    ours: Annotated[
        str, typer.Option(metavar="WHICH", help="The ZooKeeper of our run: simulated, embedded, ensemble, docker or model.")
    ] = "simulated",
    setting: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            autocompletion=completion.settings,
            help="A setting of the brokers of both runs, instead of the scenario's; may be repeated.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of our run.", min=-MAX_SEED - 1, max=MAX_SEED)] = 1,
    output: Annotated[OutputFormat, typer.Option(help="How to print it.")] = OutputFormat.TABLE,
) -> None:
    """Run a scenario on brokers of a real Apache Kafka, then on ours, and compare what both wrote to ZooKeeper.

    The writes of each action (up to the next action) are compared znode by znode: the writer, the data, and whether the
    write was fenced. Between two steps both runs wait until ZooKeeper is quiet. Times, ports and the order across
    znodes are not compared.

    \b
    kcsim compare broker-crash-and-return
    kcsim compare my-scenario.yaml --kafka-home ~/kafka_2.12-2.5.1
    kcsim compare controller-failover --kafka-home .kafka/3.9.1 --setting inter.broker.protocol.version=3.9

    Our brokers have the release of that Kafka, from 2.8 on.

    \b
    Exit status: 0 they agree, 2 one of them could not do every step, or there is no Kafka, 3 they differ, 64 the
    scenario or the command makes no sense (nothing was started then).
    """
    from kcsim.scenarios.engine.differential_run import NoQuiescenceError, run_differential
    from kcsim.scenarios.engine.run_source import with_settings
    from kcsim.zk.errors import ZooKeeperUnavailableError
    from kcsim.zk.servers.errors import ServerError

    loaded = with_settings(load(scenario), parse_settings(setting))
    choice, our_choice = (zookeeper_choice(text, loaded.scenario.zookeeper.members) for text in (zookeeper, ours))
    check_for_real_brokers(loaded, choice)
    if our_choice.connect is not None:
        fail("--ours: simulated, embedded, ensemble, docker or model, not an external ZooKeeper", ExitStatus.USAGE)
    kafka = chosen_kafka(kafka_home)
    check_protocol_version(loaded, kafka)
    if output is OutputFormat.TABLE:
        where = f"on Apache Kafka {kafka.version} with {zookeeper} ZooKeeper, then on ours ({ours})"
        print(f"{loaded.scenario.name}: {where}", flush=True)
    try:
        both = run_differential(loaded, kafka, choice, our_choice, seed)
    except (ServerError, ZooKeeperUnavailableError, NoQuiescenceError) as error:
        fail(str(error), ExitStatus.UNDECIDED)
    if output is OutputFormat.JSON:
        print(json.dumps({"kafka": kafka.version, **_as_json(loaded, both)}, indent=2, ensure_ascii=False))
    else:
        print("\n".join(_lines(loaded, both)))
    raise CommandExit(_status(both))


def _status(both: "DifferentialRun") -> ExitStatus:
    if not both.agrees:
        return ExitStatus.NEGATIVE
    return ExitStatus.HELD if both.is_whole else ExitStatus.UNDECIDED


def _lines(loaded: "LoadedScenario", both: "DifferentialRun") -> Iterator[str]:
    from kcsim.scenarios.engine.differential_run import action_places
    from kcsim.scenarios.engine.expectations.verdict import summary

    titles, actions = _titles(loaded), action_places(loaded)
    compared = min(len(both.kafka.steps), len(both.ours.steps))
    for number, (place, kafka) in enumerate(zip(actions[:compared], both.kafka.steps, strict=False), 1):
        found = [difference for difference in both.differences if difference.step == number]
        result = _result(found, _counted(len(kafka.writes or ()), "write"))
        yield f"  {loaded.step_lines[place]:>4}  {titles[place]:<{STEP_WIDTH}}  {result}"
        for difference in found:
            yield from _difference_lines(difference)
    if both.is_whole:
        found = [difference for difference in both.differences if difference.step is None]
        result = _result(found, _counted(len(both.kafka.final), "znode"))
        yield f"        {'the end':<{STEP_WIDTH}}  {result}"
        for difference in found:
            yield from _difference_lines(difference)
    differ = len({difference.step for difference in both.differences})
    writes = f"writes: {both.kafka.writes} of Kafka's, {both.ours.writes} of ours"
    yield f"{compared} of {_counted(len(actions), 'action')} compared, {differ} with differences; {writes}"
    yield f"on Kafka: {summary(both.kafka.verdict)}"
    yield f"on ours:  {summary(both.ours.verdict)}"


def _result(found: Sequence["WriteDifference"], compared: str) -> str:
    return "DIFFERS" if found else f"agrees  {compared}"


def _difference_lines(difference: "WriteDifference") -> Iterator[str]:
    yield f"          {difference.what}"
    for whose, lines in (("Kafka", difference.kafka), ("ours", difference.ours)):
        for place, line in enumerate(lines or ("nothing",)):
            yield f"            {whose if place == 0 else '':<5}  {line}"


def _titles(loaded: "LoadedScenario") -> list[str]:
    """Return the line of each step in the scenario file, cut to the width of its column."""
    text = Path(loaded.file).read_text(encoding="utf-8").splitlines()
    titles = (text[line - 1].strip().removeprefix("- ") for line in loaded.step_lines)
    return [title if len(title) <= STEP_WIDTH else f"{title[: STEP_WIDTH - 1]}…" for title in titles]


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _as_json(loaded: "LoadedScenario", both: "DifferentialRun") -> dict[str, Any]:
    from kcsim.scenarios.engine.differential_run import action_places
    from kcsim.scenarios.engine.expectations.verdict import summary

    lines = [loaded.step_lines[place] for place in action_places(loaded)]
    return {
        "scenario": loaded.scenario.name,
        "actions": len(lines),
        "compared": min(len(both.kafka.steps), len(both.ours.steps)),
        "writes": {"kafka": both.kafka.writes, "ours": both.ours.writes},
        "verdict": {"kafka": summary(both.kafka.verdict), "ours": summary(both.ours.verdict)},
        "differences": [
            {
                "line": None if difference.step is None else lines[difference.step - 1],
                "what": difference.what,
                "kafka": difference.kafka,
                "ours": difference.ours,
            }
            for difference in both.differences
        ],
        "exit_status": int(_status(both)),
    }
