"""Answers DescribeLogDirs requests: the log directories of a broker, and the sizes of the replicas in them.

Source: Kafka 2.8, ReplicaManager.describeLogDirs; answers of a Kafka 2.8.2.
"""

from kcsim.brokers.admin.requests import DescribedLogDir, DescribeLogDirsRequest, DescribeLogDirsResponse
from kcsim.brokers.log.disk import Disk
from kcsim.controller.requests import ErrorCode


def describe_log_dirs(request: DescribeLogDirsRequest, disk: Disk) -> DescribeLogDirsResponse:
    """Return all log directories; those that have failed with KAFKA_STORAGE_ERROR, and without replicas."""
    sizes: dict[str, dict[str, dict[int, int]]] = {name: {} for name in disk.log_dirs}
    for log in disk:
        of_topic = sizes[log.log_dir].setdefault(log.tp.topic, {})
        if request.partitions is None or log.tp in request.partitions:
            of_topic[log.tp.partition] = log.size
    return DescribeLogDirsResponse(
        tuple(
            DescribedLogDir(name, ErrorCode.KAFKA_STORAGE_ERROR if name in disk.failed else ErrorCode.NONE, sizes[name])
            for name in disk.log_dirs
        )
    )
