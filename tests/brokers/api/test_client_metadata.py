"""Metadata that a broker sends to clients. Source: docs/kafka/requests.md 4.2-4, 14."""

from kcsim.brokers.requests import MetadataRequest, MetadataResponse, PartitionMetadata
from kcsim.controller.requests import (
    EPOCH_DURING_DELETE,
    LEADER_DURING_DELETE,
    ErrorCode,
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from kcsim.vocabulary import BrokerEpoch, ControllerEpoch, LeaderEpoch, TopicPartition
from tests.brokers.broker_bench import (
    B1,
    B2,
    B3,
    CAUSE,
    CONTROLLER,
    ORDERS_0,
    ORDERS_1,
    OWN_EPOCH,
    BrokerBench,
    decided,
    registered,
)

CLICKS_0 = TopicPartition("clicks", 0)


async def asked(bench: BrokerBench, *topics: str) -> MetadataResponse:
    response = await bench.handlers.handle(MetadataRequest(topics or None), CAUSE)
    assert isinstance(response, MetadataResponse)
    return response


def test_a_client_hears_of_brokers_leaders_and_isrs() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.update_metadata({ORDERS_0: decided(B2, 3, (B2, B1))}, alive=(B1, B2, CONTROLLER))
        response = await asked(bench)
        (endpoint,) = registered(B2).endpoints
        assert response.brokers[B2] == endpoint
        assert list(response.brokers) == [B1, B2, CONTROLLER]
        assert response.controller_id == CONTROLLER
        expected = PartitionMetadata(B2, LeaderEpoch(3), ErrorCode.NONE, (B1, B2, B3), (B2, B1))
        assert response.partitions == {ORDERS_0: expected}

    bench.play(script)


def test_a_client_hears_of_racks_offline_replicas_and_the_cluster_id() -> None:
    bench = BrokerBench()

    async def script() -> None:
        state = UpdateMetadataPartitionState(decided(B2), (B1, B2, B3), (B3,))
        brokers = (UpdateMetadataBroker(B1, registered(B1).endpoints, "a"), registered(B2))
        request = UpdateMetadataRequest(CONTROLLER, ControllerEpoch(1), BrokerEpoch(OWN_EPOCH), {ORDERS_0: state}, brokers)
        await bench.handlers.handle(request, CAUSE)
        bench.metadata.cluster_id = "the-cluster"
        response = await asked(bench)
        assert (response.racks, response.cluster_id) == ({B1: "a"}, "the-cluster")
        assert response.partitions[ORDERS_0].offline == (B3,)

    bench.play(script)


def test_a_leader_that_is_not_known_to_live_is_none() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.update_metadata({ORDERS_0: decided(B2), ORDERS_1: decided(None)}, alive=(B1,))
        response = await asked(bench)
        for tp in (ORDERS_0, ORDERS_1):
            found = response.partitions[tp]
            assert (found.leader, found.error) == (None, ErrorCode.LEADER_NOT_AVAILABLE)
        assert response.controller_id is None

    bench.play(script)


def test_only_the_topics_asked_for_are_returned_and_those_that_are_unknown_are_named() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.update_metadata({ORDERS_0: decided(B1), CLICKS_0: decided(B1)})
        response = await asked(bench, "clicks", "payments")
        assert list(response.partitions) == [CLICKS_0]
        assert response.topic_errors == {"payments": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}

    bench.play(script)


def test_a_topic_that_is_being_deleted_is_unknown() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.update_metadata({ORDERS_0: decided(B1)})
        await bench.update_metadata({ORDERS_0: decided(LEADER_DURING_DELETE, EPOCH_DURING_DELETE)})
        assert (await asked(bench, "orders")).topic_errors == {"orders": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}

    bench.play(script)
