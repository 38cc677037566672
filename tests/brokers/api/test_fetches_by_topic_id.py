"""Fetches that name topics by their ids."""

from kcsim.brokers.api.fetches_by_topic_id import FetchesByTopicId
from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.brokers.requests import FetchedPartition, FetchPartition, FetchRequest, FetchResponse
from kcsim.controller.requests import (
    UNKNOWN_BROKER_EPOCH,
    ErrorCode,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.vocabulary import (
    BrokerId,
    ControllerEpoch,
    LeaderAndIsr,
    LeaderEpoch,
    PartitionState,
    TopicPartition,
    ZkVersion,
)

B1, B2 = BrokerId(1), BrokerId(2)
ORDERS_0, BY_ID = TopicPartition("orders", 0), TopicPartition("NfsWSkXeSTKSqxNPADLZxg", 0)
UNKNOWN = TopicPartition("AAAAAAAAAAAAAAAAAAAAAQ", 3)
FETCH = FetchPartition(LeaderEpoch(0), 5, 0)
FETCHED = FetchedPartition(ErrorCode.NONE, 5, 0)


def metadata() -> MetadataCache:
    """Return the metadata of a broker that knows the topic and its id."""
    state = PartitionState(LeaderAndIsr(B1, LeaderEpoch(0), (B1,), ZkVersion(0)), ControllerEpoch(1))
    known, cache = UpdateMetadataPartitionState(state, (B1, B2), ()), MetadataCache()
    partitions, ids = {ORDERS_0: known}, {"orders": BY_ID.topic}
    cache.update(UpdateMetadataRequest(B1, ControllerEpoch(1), UNKNOWN_BROKER_EPOCH, partitions, (), topic_ids=ids))
    return cache


class Answering:
    """Answers fetches that name topics. Attributes: received: those."""

    def __init__(self) -> None:
        self.received: list[FetchRequest] = []

    async def __call__(self, request: FetchRequest) -> FetchResponse:
        self.received.append(request)
        return FetchResponse(dict.fromkeys(request.partitions, FETCHED))


def answers(fetches: FetchesByTopicId, answer: Answering, *requests: FetchRequest) -> list[FetchResponse]:
    found: list[FetchResponse] = []

    async def ask() -> None:
        for request in requests:
            found.append(await fetches.handle(request, answer))

    WallClockRuntime().run(ask())
    return found


def fetch(*partitions: TopicPartition) -> FetchRequest:
    return FetchRequest(B2, 500, dict.fromkeys(partitions, FETCH), is_by_id=True)


def test_the_answer_has_the_ids_again() -> None:
    answer = Answering()
    assert answers(FetchesByTopicId(metadata()), answer, fetch(BY_ID)) == [FetchResponse({BY_ID: FETCHED})]
    assert answer.received == [FetchRequest(B2, 500, {ORDERS_0: FETCH})]


def test_an_unchanged_fetch_is_the_same_object_with_names() -> None:
    """The leader knows by that that it need not look at the partitions again."""
    answer, request = Answering(), fetch(BY_ID)
    answers(FetchesByTopicId(metadata()), answer, request, request, fetch(BY_ID))
    first, second, other = answer.received
    assert first is second
    assert other is not second


def test_an_id_that_the_broker_does_not_know_is_an_error_of_its_partition() -> None:
    answer = Answering()
    error = FetchedPartition(ErrorCode.UNKNOWN_TOPIC_ID)
    both, none = answers(FetchesByTopicId(metadata()), answer, fetch(BY_ID, UNKNOWN), fetch(UNKNOWN))
    assert both.partitions == {BY_ID: FETCHED, UNKNOWN: error}
    assert none.partitions == {UNKNOWN: error}
    assert len(answer.received) == 1, "a fetch without a known topic does not wait"


def test_an_id_that_becomes_known_is_fetched() -> None:
    """The request is the same as before: the broker's metadata have changed."""
    cache, answer, request = MetadataCache(), Answering(), fetch(BY_ID)
    fetches = FetchesByTopicId(cache)
    assert answers(fetches, answer, request)[0].errors == {BY_ID: ErrorCode.UNKNOWN_TOPIC_ID}
    cache.partitions = metadata().partitions
    assert answers(fetches, answer, request) == [FetchResponse({BY_ID: FETCHED})]
