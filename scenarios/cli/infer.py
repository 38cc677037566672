"""kcsim infer: the start index and shift with which Kafka placed a topic."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli.cluster_argument import cluster_from_options, cluster_from_zookeeper
from kcsim.scenarios.cli.command_exit import ExitStatus, OutputFormat, fail

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kcsim.controller.decisions.broker_ring import BrokerMetadata
    from kcsim.controller.decisions.placement import Assignment, Replicas

STDIN = "-"


def infer(
    file: Annotated[str, typer.Argument(help="What kafka-topics --describe printed; - is stdin.")] = STDIN,
    zookeeper: Annotated[
        str | None, typer.Option(metavar="host:port,…/chroot", help="Look at the topics of this ZooKeeper instead.")
    ] = None,
    topic: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this one; may be repeated.")] = None,
    brokers: Annotated[
        str | None,
        typer.Option(
            metavar="ID[:RACK],…",
            help="Those alive when the topic was made: 0:rack1,5:rack1,3:rack2, or 0,1,2. Else: those that occur, and"
            " those that the ZooKeeper knows.",
        ),
    ] = None,
    disable_rack_aware: Annotated[
        bool, typer.Option("--disable-rack-aware", help="The topic was made without looking at racks.")
    ] = False,
    start_partition: Annotated[int, typer.Option(min=0, help="Explain only partitions added from this one on.")] = 0,
    output: Annotated[OutputFormat, typer.Option(help="How to print it.")] = OutputFormat.TABLE,
) -> None:
    """Find the start index and the shift with which Kafka placed a topic's replicas, or the replicas moved since.

    \b
    kafka-topics --describe … | kcsim infer
    kcsim infer described.txt --brokers 0:rack1,1:rack2,2:rack1 --topic orders
    kcsim infer --zookeeper localhost:2181/kafka
    """
    from kcsim.scenarios.cli.calculators.inference_text import InferredTopic

    if zookeeper is not None and file != STDIN:
        fail("give either a file or --zookeeper", ExitStatus.USAGE)
    described: Mapping[str, Assignment]
    known: Sequence[BrokerMetadata] = ()
    if zookeeper is None:
        described = _described(file)
    else:
        described, known = _kept_at(zookeeper)
    taking_part = _taking_part(brokers, known, described, disable_rack_aware)
    inferred = [
        InferredTopic(name, partitions, taking_part, start_partition)
        for name, partitions in _chosen(topic or [], described).items()
    ]
    if output is OutputFormat.JSON:
        print(json.dumps([one.as_json() for one in inferred], indent=2))
        return
    for one in inferred:
        for line in one.lines():
            print(line)


def _described(file: str) -> "Mapping[str, Assignment]":
    from kcsim.scenarios.cli.calculators.topic_description import BadDescriptionError, read_description

    if file == STDIN and sys.stdin.isatty():
        fail("pipe what kafka-topics --describe prints into it, or name a file, or give --zookeeper", ExitStatus.USAGE)
    source = "stdin" if file == STDIN else file
    try:
        text = sys.stdin.read() if file == STDIN else Path(file).read_text(encoding="utf-8")
        partitions = read_description(text, source)
    except BadDescriptionError as error:
        fail(str(error), ExitStatus.USAGE)
    except (OSError, UnicodeDecodeError) as error:
        fail(f"{source}: {getattr(error, 'strerror', None) or error}", ExitStatus.USAGE)
    topics: dict[str, dict[int, Replicas]] = {}
    for partition, replicas in partitions.items():
        topics.setdefault(partition.topic, {})[partition.partition] = replicas
    return topics


def _kept_at(zookeeper: str) -> "tuple[Mapping[str, Assignment], Sequence[BrokerMetadata]]":
    """Return the topics with their target replicas, and the live brokers."""
    cluster = cluster_from_zookeeper(zookeeper)
    topics = {
        name: {partition: assignment.target_replicas for partition, assignment in state.assignments.items()}
        for name, state in cluster.topics.items()
    }
    return topics, cluster.brokers


def _taking_part(
    brokers: str | None,
    known: "Sequence[BrokerMetadata]",
    described: "Mapping[str, Assignment]",
    disable_rack_aware: bool,
) -> "Sequence[BrokerMetadata]":
    """Return the brokers that were input to the placement, as far as that can be known."""
    from kcsim.controller.decisions.broker_ring import BrokerMetadata, RackAwareMode, effective_brokers
    from kcsim.controller.decisions.kafka_refusals import RefusedError
    from kcsim.text import comma_separated

    if brokers is not None:
        mode = RackAwareMode.DISABLED if disable_rack_aware else RackAwareMode.ENFORCED
        try:
            return effective_brokers(cluster_from_options(brokers, None).brokers, mode)
        except RefusedError as refusal:
            fail(f"--brokers: {refusal}", ExitStatus.USAGE)
    occurring = {b for partitions in described.values() for replicas in partitions.values() for b in replicas}
    unknown = sorted(occurring - {broker.id for broker in known})
    mode = RackAwareMode.DISABLED if disable_rack_aware else RackAwareMode.SAFE
    if unknown and any(broker.rack for broker in known) and not disable_rack_aware:
        print(
            f"racks of {comma_separated(unknown)} unknown, not registered: racks are ignored; give them with --brokers",
            file=sys.stderr,
        )
    return effective_brokers([*known, *map(BrokerMetadata, unknown)], mode)


def _chosen(wanted: "Sequence[str]", described: "Mapping[str, Assignment]") -> "Mapping[str, Assignment]":
    from kcsim.text import did_you_mean

    for name in wanted:
        if name not in described:
            fail(f"there is no topic {name!r}{did_you_mean(name, described)}", ExitStatus.USAGE)
    return {name: described[name] for name in wanted} if wanted else described
