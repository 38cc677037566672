"""kcsim up: a running cluster for experiments."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kcsim.scenarios.cli import completion
from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus, fail
from kcsim.scenarios.cli.kafka_argument import check_transaction_log
from kcsim.scenarios.cli.ports_option import parse_ports
from kcsim.scenarios.cli.run_options import MAX_SEED, check_trace, load, with_setting_options
from kcsim.scenarios.cli.setting_option import HardeningOption, parse_settings
from kcsim.scenarios.cli.stop_signals import stop_signals_as_ctrl_c
from kcsim.scenarios.cli.up_cluster.up_command import UpCommand, UpOptions, new_topics
from kcsim.scenarios.cli.zookeeper_argument import zookeeper_choice

if TYPE_CHECKING:
    from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
    from kcsim.scenarios.cli.page_server import PagePlace
    from kcsim.scenarios.language.schema import ClusterModel, Scenario

ADDRESS_SETTINGS = frozenset({"host.name", "port", "advertised.port"})
OWN_DEFAULTS = {"controlled.shutdown.retry.backoff.ms": 500}
"""Defaults that differ from Kafka's: the last brokers to stop have no broker to move their leaders to."""


def up(
    scenario: Annotated[
        str | None,
        typer.Argument(
            autocompletion=completion.scenarios,
            help="A scenario whose cluster, topics, producers and consumers to start; its timetable is not run.",
        ),
    ] = None,
    brokers: Annotated[
        int | None, typer.Option(help="How many; their ids are 1, 2, 3, … Without a scenario: 3.", min=1)
    ] = None,
    racks: Annotated[int | None, typer.Option(help="Distribute the brokers over this number of racks.", min=1)] = None,
    processes: Annotated[
        bool,
        typer.Option(
            "--processes",
            help="Run each broker in a process of its own: a kill is SIGKILL, a pause SIGSTOP; proxies cut links.",
        ),
    ] = False,
    zookeeper: Annotated[
        str,
        typer.Option(
            help="embedded: a real ZooKeeper in a JVM of our own. ensemble: three of them. docker: in a container. "
            "model: a model of it, without Java. Or the connect string of one that runs: host:port,…/chroot.",
            metavar="WHICH",
        ),
    ] = "embedded",
    topic: Annotated[
        list[str] | None, typer.Option(metavar="NAME:PARTITIONS:RF", help="Create this topic; may be repeated.")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            autocompletion=completion.settings,
            help="A broker's setting under Kafka's name; may be repeated.",
        ),
    ] = None,
    hardening: HardeningOption = False,
    ports: Annotated[
        str | None,
        typer.Option(
            metavar="PORTS",
            help="The ports of 127.0.0.1 on which Kafka's clients reach the brokers, one for each: 9092-9094, or 9092,9095. "
            "Without it: free ones.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the placement of topics.", min=-MAX_SEED - 1, max=MAX_SEED)] = 1,
    trace: Annotated[
        Path | None, typer.Option(help="Keep the event log here: Parquet if the name ends in .parquet, else JSON lines.")
    ] = None,
    cluster: Annotated[
        str, typer.Option(metavar="NAME", help="What other commands call it, where several are up.")
    ] = "default",
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show every detail: all state changes, UpdateMetadata requests, …")
    ] = False,
    page: Annotated[
        bool, typer.Option("--page", help="Serve a page of the cluster on 127.0.0.1, to act on it, and open it.")
    ] = False,
    page_port: Annotated[int, typer.Option(metavar="P", help="With --page: its port; 0: a free one.", min=0, max=65535)] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="With --page: whether to open it in the browser.")
    ] = True,
    execute: Annotated[
        bool,
        typer.Option(
            "--execute",
            help="Really write to a ZooKeeper that kcsim has not started; without it, only report what would be done.",
        ),
    ] = False,
) -> None:
    """Start a cluster to experiment with, and keep it up until Ctrl-C.

    Prints events on stderr as they happen. Control it from another terminal; it prints the commands to try, and the
    bootstrap servers for Kafka's clients.

    \b
    kcsim up --brokers 6 --racks 3 --topic orders:12:3
    kcsim up --ports 9092-9094
    kcsim up --brokers 5 --processes
    kcsim up --setting zookeeper.session.timeout.ms=2000 --trace up.jsonl
    kcsim up leader-crash-acks-all
    kcsim up --hardening
    kcsim up --page
    kcsim fault kill controller
    kcsim step 'slow-follower: broker-2, rate: 5'

    Ctrl-C (or SIGTERM, SIGHUP) stops the brokers in order and deletes ZooKeeper's data; a second Ctrl-C does not wait for
    the brokers. controlled.shutdown.retry.backoff.ms is 500 here, unless you set it.

    Exit status: 0 stopped, 2 it could not be started, 5 a dry run, 64 the arguments are invalid, 130 stopped by a second
    Ctrl-C.
    """
    if scenario is None:
        choice = _choice(zookeeper)
        described = _described(brokers or 3, racks, setting or [], topic or [])
    else:
        if brokers is not None or racks is not None or topic:
            fail("--brokers, --racks and --topic: the scenario says which there are", ExitStatus.USAGE)
        described = _of_file(scenario, setting or [])
        choice = _choice(zookeeper, described.zookeeper.members)
    if hardening:
        described = described.with_hardening()
    model = described.cluster
    topics = new_topics(model)
    client_ports = None if ports is None else parse_ports(ports, [broker.id for broker in model.members()])
    if given := sorted(ADDRESS_SETTINGS & model.settings.keys()):
        fail(f"{' and '.join(given)}: brokers listen on 127.0.0.1; --ports says on which ports", ExitStatus.USAGE)
    check_trace(trace)
    if processes:
        check_transaction_log(choice, "--processes")
    if choice.connect is not None and not execute:
        _print_dry_run(model, choice.connect)
        raise CommandExit(ExitStatus.DRY_RUN)
    with stop_signals_as_ctrl_c(), _page_place(page, page_port, browser) as place:
        options = UpOptions(cluster, choice, seed, verbose, trace, client_ports, processes, place)
        status = UpCommand(options, described, topics).run()
    raise CommandExit(status)


# --- reading the arguments -------------------------------------------------------------------------------------------------


def _page_place(is_wanted: bool, port: int, opens_browser: bool) -> "AbstractContextManager[PagePlace | None]":
    if not is_wanted:
        if port:
            fail("--page-port: the port of a page; give --page, too", ExitStatus.USAGE)
        return nullcontext()
    from kcsim.scenarios.cli.page_server import page_place

    return page_place(port, opens_browser=opens_browser, option="--page-port")


def _choice(zookeeper: str, members: int = 1) -> "ZooKeeperChoice":
    from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperKind

    choice = zookeeper_choice(zookeeper, members)
    if choice.kind is ZooKeeperKind.SIMULATED:
        fail("--zookeeper: a cluster to play with lives in real time; simulated is for kcsim run", ExitStatus.USAGE)
    return choice


def _of_file(name: str, settings: list[str]) -> "Scenario":
    """Return the scenario of a file or of the library, with settings that override its own."""
    loaded = load(name)
    own = loaded.scenario.cluster.settings
    return with_setting_options(loaded, {**OWN_DEFAULTS, **own, **parse_settings(settings)}).scenario


def _described(brokers: int, racks: int | None, settings: list[str], topics: list[str]) -> "Scenario":
    """Return a scenario with the cluster that the options describe, checked as the cluster of a scenario file is."""
    from pydantic import ValidationError

    from kcsim.scenarios.language.schema import Scenario

    cluster: dict[str, Any] = {
        "brokers": brokers,
        "settings": {**OWN_DEFAULTS, **parse_settings(settings)},
        "topics": dict(map(_topic, topics)),
    }
    tree = {
        "name": "up",
        "description": "A cluster that kcsim up keeps running.",
        "cluster": cluster if racks is None else {**cluster, "racks": racks},
        "timetable": [{"start": "all"}],
    }
    try:
        return Scenario.model_validate(tree)
    except ValidationError as error:
        lines = [": ".join([*map(str, e["loc"][1:]), e["msg"]]) for e in error.errors(include_url=False)]
        fail("\n".join(lines), ExitStatus.USAGE)


def _topic(text: str) -> tuple[str, dict[str, int]]:
    from kcsim.controller.decisions.kafka_refusals import InvalidTopicError
    from kcsim.controller.decisions.topic_creation import check_topic_name

    name, *numbers = text.split(":")
    if len(numbers) != 2 or not all(number.isascii() and number.isdecimal() for number in numbers):
        fail(f"--topic: {text!r} is no NAME:PARTITIONS:RF; write orders:12:3", ExitStatus.USAGE)
    try:
        check_topic_name(name)
    except InvalidTopicError as error:
        fail(f"--topic: {error}", ExitStatus.USAGE)
    return name, {"partitions": int(numbers[0]), "replication-factor": int(numbers[1])}


def _print_dry_run(model: "ClusterModel", connect: str) -> None:
    names = ", ".join(f"broker-{broker.id}" for broker in model.members())
    print(f"Dry run: nothing has been written to {connect}.")
    print(f"kcsim up would create Kafka's znodes there, register {names}, and elect controllers.")
    for name, topic in model.topics.items():
        print(f"It would create topic {name}: {topic.partitions} partitions, replication factor {topic.replication_factor}.")
    print("Znodes that Kafka keeps would stay. Run it again with --execute to do it.")
