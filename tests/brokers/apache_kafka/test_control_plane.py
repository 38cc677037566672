"""A broker of Apache Kafka does what the requests say that our controllers and brokers send over TCP."""

from pathlib import Path
from typing import Any

import pytest

from kcsim.brokers.apache_kafka.properties import HOST
from kcsim.brokers.wire.control_plane import TcpControlPlane
from kcsim.brokers.wire.request_causes import RequestCauses
from kcsim.controller.requests import (
    EPOCH_DURING_DELETE,
    UNKNOWN_BROKER_EPOCH,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    ErrorCode,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LiveLeader,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.vocabulary import (
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    Endpoint,
    LeaderAndIsr,
    LeaderEpoch,
    PartitionState,
    ReplicaAssignment,
    TopicPartition,
    ZkVersion,
)
from tests.brokers.apache_kafka.real_brokers import UP_WITHIN_S, Znodes, broker_on

pytestmark = [pytest.mark.kafka, pytest.mark.live, pytest.mark.slow]
KAFKAS, OURS, NOBODY = BrokerId(1), BrokerId(9), BrokerId(7)
EPOCH, KAFKAS_EPOCH = ControllerEpoch(5), ControllerEpoch(1)
WITHIN_MS, CAUSE = 120_000, 0
STATE = PartitionState(LeaderAndIsr(KAFKAS, LeaderEpoch(3), (KAFKAS,), ZkVersion(4)), EPOCH)
TPS = tuple(TopicPartition(topic, number) for topic in ("orders", "payments") for number in range(150))
"""More than fit into one byte of a length."""


def test_a_broker_of_kafka_obeys(znodes: Znodes, tmp_path: Path) -> None:
    runtime = WallClockRuntime()
    led = LeaderAndIsrPartitionState(STATE, ReplicaAssignment((KAFKAS,)), is_new=True)
    known = UpdateMetadataPartitionState(STATE, (KAFKAS,), ())
    stopped = StopReplicaPartitionState(EPOCH_DURING_DELETE, delete_partition=True)

    async def story() -> None:
        async with broker_on(znodes, tmp_path) as broker:
            await broker.start()
            await broker.wait_until_up(UP_WITHIN_S)
            await znodes.until("/controller", lambda held: held is not None, "a controller")
            control_plane = TcpControlPlane(runtime, str(OURS), RequestCauses())
            connection = await control_plane.connect(HOST, broker.port, WITHIN_MS)

            async def answer(request: Any) -> Any:
                return await connection.send(request, WITHIN_MS, CAUSE)

            at = UpdateMetadataBroker(KAFKAS, (Endpoint("PLAINTEXT", "PLAINTEXT", HOST, broker.port),), "east")
            metadata = dict.fromkeys(TPS, known)
            update = UpdateMetadataRequest(OURS, EPOCH, UNKNOWN_BROKER_EPOCH, metadata, (at,))
            assert await answer(update) == UpdateMetadataResponse()
            leader = LiveLeader(KAFKAS, HOST, broker.port)
            request = LeaderAndIsrRequest(OURS, EPOCH, UNKNOWN_BROKER_EPOCH, dict.fromkeys(TPS, led), (leader,))
            assert await answer(request) == LeaderAndIsrResponse(ErrorCode.NONE, dict.fromkeys(TPS, ErrorCode.NONE))
            assert all((broker.log_dirs[0] / str(tp)).is_dir() for tp in TPS)
            again = await answer(request)
            assert set(again.partition_errors.values()) == {ErrorCode.STALE_CONTROLLER_EPOCH}, "the leader epoch is the same"

            former = UpdateMetadataRequest(KAFKAS, KAFKAS_EPOCH, UNKNOWN_BROKER_EPOCH, {}, (at,))
            assert await answer(former) == UpdateMetadataResponse(ErrorCode.STALE_CONTROLLER_EPOCH)
            earlier = UpdateMetadataRequest(OURS, EPOCH, BrokerEpoch(0), {}, (at,))
            assert await answer(earlier) == UpdateMetadataResponse(ErrorCode.STALE_BROKER_EPOCH)

            stop = StopReplicaRequest(OURS, EPOCH, UNKNOWN_BROKER_EPOCH, dict.fromkeys(TPS, stopped))
            assert await answer(stop) == StopReplicaResponse(ErrorCode.NONE, dict.fromkeys(TPS, ErrorCode.NONE))
            assert not any((broker.log_dirs[0] / str(tp)).is_dir() for tp in TPS)
            leaving = ControlledShutdownRequest(NOBODY, UNKNOWN_BROKER_EPOCH)
            assert await answer(leaving) == ControlledShutdownResponse(ErrorCode.BROKER_NOT_AVAILABLE)
            control_plane.close()

    runtime.run(story())
