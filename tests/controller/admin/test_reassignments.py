"""The start of a reassignment, as `kafka-reassign-partitions --zookeeper` requests it."""

import pytest

from kcsim import znodes
from kcsim.controller.admin.reassignment_files import MovePlan
from kcsim.controller.admin.reassignments import TerseReassignmentFailureError, start_reassignment
from kcsim.vocabulary import BrokerId, ReplicaAssignment, TopicPartition, TopicState
from kcsim.zk.operations import Create, Request
from kcsim.znodes import paths
from tests.controller.controller_harness import listening
from tests.zk.kafka.scripted import Bench

B1, B2 = BrokerId(1), BrokerId(2)
T0 = TopicPartition("t", 0)
ANOTHER_REQUEST = b'{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[3]}]}'


def test_of_two_requests_at_the_same_time_the_later_is_refused_and_the_earlier_stays() -> None:
    """The tool has looked for an earlier request before there was one."""
    bench = Bench()

    async def main() -> None:
        await bench.connect()
        await bench.by_hand.cluster.create_top_level_paths()
        await bench.by_hand.topics.create("t", TopicState({0: ReplicaAssignment((B1,))}))
        await bench.tree(Create(paths.broker_id(B2), znodes.encode_broker(listening(B2))))

        def another_is_faster(request: Request) -> bool:
            if isinstance(request, Create) and request.path == paths.REASSIGN_PARTITIONS:
                bench.zookeeper.write_by_hand(Create(paths.REASSIGN_PARTITIONS, ANOTHER_REQUEST))
            return False

        bench.zookeeper.lose_reply(another_is_faster, is_applied=False)
        with pytest.raises(TerseReassignmentFailureError):
            await start_reassignment(bench.kafka_zk, MovePlan(((T0, (B2,)),)))
        found = await bench.by_hand.znodes.get_data(paths.REASSIGN_PARTITIONS)
        assert found is not None
        assert found.data == ANOTHER_REQUEST

    bench.runtime.run(main())
