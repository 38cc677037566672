"""kcsim compare: one scenario on real brokers and on simulated ones, and the differences between the two runs."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kcsim.scenarios.cli import completion
from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus, OutputFormat, fail
from kcsim.scenarios.cli.kafka_argument import check_for_real_brokers, check_protocol_version, chosen_kafka
from kcsim.scenarios.cli.run_options import MAX_SEED, load, with_setting_options
from kcsim.scenarios.cli.setting_option import parse_settings
from kcsim.scenarios.cli.zookeeper_argument import zookeeper_choice

if TYPE_CHECKING:
    from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
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
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help="Where Kafka is, with its jars in DIR/libs; else KAFKA_HOME, else what `make kafka` has fetched. With "
            "--protocol-version it may be repeated, and without it only ours are run.",
        ),
    ] = None,
    protocol_version: Annotated[
        list[str] | None,
        typer.Option(
            metavar="V", help="Run at this inter.broker.protocol.version; repeated, to see all of them side by side."
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
    kcsim compare leader-cut-off-from-zookeeper --protocol-version 2.6 --protocol-version 3.9

    With --protocol-version, a table has what became of each expectation at each version, on the oldest of the given Kafkas
    that knows it, and on ours.

    Our brokers have the release of that Kafka, from 2.8 on.

    \b
    Exit status: 0 they agree, 2 one of them could not do every step, or there is no Kafka, 3 they differ, 64 the
    scenario or the command makes no sense (nothing was started then).
    """
    from kcsim.scenarios.engine.differential_run import NoQuiescenceError, run_differential
    from kcsim.zk.errors import ZooKeeperUnavailableError
    from kcsim.zk.servers.errors import ServerError

    loaded = with_setting_options(load(scenario), parse_settings(setting))
    homes, versions = kafka_home or [], protocol_version or []
    choice, our_choice = (zookeeper_choice(text, loaded.scenario.zookeeper.members) for text in (zookeeper, ours))
    if homes or not versions:
        check_for_real_brokers(loaded, choice)
    if our_choice.connect is not None:
        fail("--ours: simulated, embedded, ensemble, docker or model, not an external ZooKeeper", ExitStatus.USAGE)
    if versions:
        raise CommandExit(_compare_versions(loaded, versions, homes, (choice, our_choice), seed, output))
    if len(homes) > 1:
        fail("--kafka-home: several only with --protocol-version", ExitStatus.USAGE)
    kafka = chosen_kafka(homes[0] if homes else None)
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


def _compare_versions(
    loaded: "LoadedScenario",
    versions: Sequence[str],
    homes: Sequence[Path],
    choices: "tuple[ZooKeeperChoice, ZooKeeperChoice]",
    seed: int,
    output: OutputFormat,
) -> ExitStatus:
    from kcsim.scenarios.cli.compare_versions import check_versions, kafka_for, print_versions, run_at, status_of
    from kcsim.scenarios.engine.differential_run import NoQuiescenceError
    from kcsim.zk.errors import ZooKeeperUnavailableError
    from kcsim.zk.servers.errors import ServerError

    check_versions(versions)
    kafkas = [chosen_kafka(home) for home in homes]
    try:
        runs = [run_at(loaded, version, kafka_for(version, kafkas), choices, seed) for version in versions]
    except (ServerError, ZooKeeperUnavailableError, NoQuiescenceError) as error:
        fail(str(error), ExitStatus.UNDECIDED)
    print_versions(loaded.scenario.name, runs, output)
    return status_of(runs)


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
