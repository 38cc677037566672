"""kcsim assign: the brokers that would host the replicas of a topic."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.controller.decisions.broker_ring import RackAwareMode
from kcsim.scenarios.cli.cluster_argument import cluster_from_options
from kcsim.scenarios.cli.command_exit import ExitStatus, OutputFormat, fail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcsim.controller.decisions.placement import Replicas
    from kcsim.scenarios.cli.calculators.cluster_metadata import ClusterMetadata
    from kcsim.scenarios.cli.calculators.placement_plan import PlacementPlan, PlacementRequest

UNSET = -1


def assign(
    topic: Annotated[str, typer.Option(metavar="NAME", help="The topic.")],
    brokers: Annotated[
        str | None, typer.Option(metavar="ID[:RACK],…", help="Those alive: 0:rack1,5:rack1,3:rack2, or 0,1,2.")
    ] = None,
    zookeeper: Annotated[
        str | None, typer.Option(metavar="host:port,…/chroot", help="Ask this ZooKeeper for brokers and topics instead.")
    ] = None,
    partitions: Annotated[int, typer.Option(help="How many; with --alter, in the end. -1: Kafka's default, 1.")] = UNSET,
    replication_factor: Annotated[int, typer.Option(help="Replicas of each. -1: Kafka's default, 1.")] = UNSET,
    start_index: Annotated[
        int | None, typer.Option(min=0, help="Where in the list of brokers to begin. Alone, it is the shift as well.")
    ] = None,
    shift: Annotated[int | None, typer.Option(min=0, help="How far the first round's followers are displaced.")] = None,
    seed: Annotated[int, typer.Option(help="Of the generator that draws the two numbers, if they are not given.")] = 1,
    replica_assignment: Annotated[
        str | None, typer.Option(metavar="0:1,1:2", help="Decide yourself: brokers of partition 0, of partition 1, …")
    ] = None,
    alter: Annotated[
        bool, typer.Option("--alter", help="Add partitions to the topic; needs --zookeeper or --current.")
    ] = False,
    current: Annotated[
        str | None, typer.Option(metavar="0:1,1:2", help="With --alter and --brokers: the partitions there are.")
    ] = None,
    rack_aware_mode: Annotated[
        RackAwareMode, typer.Option(help="When only some brokers have a rack. enforced: refuse; safe: go without.")
    ] = RackAwareMode.ENFORCED,
    disable_rack_aware: Annotated[
        bool, typer.Option("--disable-rack-aware", help="Go without racks: --rack-aware-mode disabled.")
    ] = False,
    naive: Annotated[
        bool, typer.Option("--naive", help="Not Kafka's way: replica j of partition i on broker (i + j) mod n.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="How each replica was chosen, and which brokers were skipped.")
    ] = False,
    output: Annotated[OutputFormat, typer.Option(help="json: what kafka-reassign-partitions reads.")] = OutputFormat.TABLE,
) -> None:
    """Place the replicas of a topic as Kafka does, and show how evenly they are distributed.

    Nothing is created or changed.

    \b
    kcsim assign --topic t --brokers 0:a,1:b,2:c,3:a --partitions 8 --replication-factor 3
    kcsim assign --topic t --brokers 0,1,2 --replica-assignment 0:1,1:2
    kcsim assign --topic t --zookeeper localhost:2181 --alter --partitions 12 --explain

    Exit status: 0 done, 2 ZooKeeper failed, 64 no placement is possible (the message is Kafka's).
    """
    from kcsim.controller.decisions.kafka_refusals import RefusedError, topic_command_line
    from kcsim.scenarios.cli.calculators.placement_plan import (
        PlacementRequest,
        plan_creation,
        plan_growth,
        plan_naively,
        with_topic,
    )

    contradictions = {
        "--explain does not go with --naive": explain and naive,
        "--explain does not go with --replica-assignment": explain and replica_assignment is not None,
        "--explain does not go with --output json": explain and output is OutputFormat.JSON,
        "--naive does not go with --replica-assignment": naive and replica_assignment is not None,
        "--naive does not go with --alter": naive and alter,
        "--current is the assignment that --alter changes": current is not None and not alter,
        "give either --current or --zookeeper": current is not None and zookeeper is not None,
        "--replication-factor does not go with --alter: partition 0 decides": alter and replication_factor != UNSET,
        "--start-index does not go with --alter: partition 0 decides": alter and start_index is not None,
        "--shift does not go with --alter: partition 0 decides": alter and shift is not None,
        "--alter needs --partitions: how many there are to be in the end": alter and partitions == UNSET,
    }
    for message, holds in contradictions.items():
        if holds:
            fail(message, ExitStatus.USAGE)
    cluster = cluster_from_options(brokers, zookeeper)
    try:
        explicit = _listed("--replica-assignment", replica_assignment)
        mode = RackAwareMode.DISABLED if disable_rack_aware else rack_aware_mode
        request = PlacementRequest(topic, partitions, replication_factor, start_index, shift, seed, explicit, mode)
        if alter:
            existing = _listed("--current", current)
            plan = plan_growth(request, cluster if existing is None else with_topic(cluster, topic, existing))
        else:
            plan = plan_naively(request, cluster) if naive else plan_creation(request, cluster)
    except RefusedError as refusal:
        fail(topic_command_line(refusal), ExitStatus.USAGE)
    _show(request, cluster, plan, explain, output)


def _listed(option: str, text: str | None) -> "list[Replicas] | None":
    from kcsim.controller.decisions.topic_creation import parse_replica_assignment

    try:
        return None if text is None else parse_replica_assignment(text)
    except ValueError as error:
        fail(f"{option}: {error}", ExitStatus.USAGE)


def _show(
    request: "PlacementRequest", cluster: "ClusterMetadata", plan: "PlacementPlan", explain: bool, output: OutputFormat
) -> None:
    from kcsim.scenarios.cli.calculators.placement_plan import unknown_brokers
    from kcsim.scenarios.cli.kafka_tools.reassignment_text import reassignment_json
    from kcsim.text import comma_separated
    from kcsim.vocabulary import TopicPartition

    unknown = unknown_brokers(plan.placed, cluster.brokers)
    if unknown:
        print(f"not among the brokers: {comma_separated(unknown)}; Kafka creates the topic all the same", file=sys.stderr)
    if output is OutputFormat.JSON:
        print(reassignment_json({TopicPartition(request.topic, p): replicas for p, replicas in plan.placed.items()}))
        return
    for line in _lines(request, cluster, plan, explain):
        print(line)


def _lines(request: "PlacementRequest", cluster: "ClusterMetadata", plan: "PlacementPlan", explain: bool) -> "Iterator[str]":
    from kcsim.controller.decisions.spread import spread
    from kcsim.scenarios.cli.calculators.assignment_text import assignment_lines, explanation_lines, ring_line, spread_lines

    racks = {broker.id: broker.rack for broker in cluster.brokers}
    first, last = min(plan.placed), max(plan.placed)
    yield f"Topic {request.topic}: partitions {first} to {last}, replication factor {len(plan.placed[first])}"
    if plan.drawn is not None:
        yield f"Start index {plan.drawn.start_index}, shift {plan.drawn.next_replica_shift}"
    if plan.ring is not None:
        yield ring_line(plan.ring, racks)
    yield ""
    yield from assignment_lines(plan.placed, racks)
    if explain and plan.ring is not None and plan.drawn is not None:
        yield ""
        yield from explanation_lines(plan.ring, racks, plan.drawn, plan.placed, first)
    yield ""
    if len(plan.whole) > len(plan.placed):
        yield f"The whole topic, {len(plan.whole)} partitions:"
    yield from spread_lines(spread(plan.whole, cluster.brokers), racks)
