"""Writes that only the active controller may do: each is sent together with a check of /controller_epoch's version.

Kafka sends one multi per write. This module puts as many writes as fit into one multi with one check. When one write of a
multi is refused, the other writes are sent again. This is much faster, and each write gets the same answer as in Kafka. One
difference remains: a controller that dies in the middle leaves whole batches behind, not single writes.

Source: Kafka 2.8, KafkaZkClient.wrapRequestWithControllerEpochCheck (KAFKA-6082).
"""

from collections.abc import Sequence
from itertools import islice

from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import ControllerEpochZkVersion, ZkVersion
from kcsim.zk.errors import BadVersionError, ControllerMovedError, ZooKeeperError
from kcsim.zk.kafka.write_events import first_failing
from kcsim.zk.kafka.zookeeper_client import ZooKeeperClient
from kcsim.zk.operations import Check, Create, Created, DataSet, Delete, Deleted, Multi, MultiDone, SetData
from kcsim.znodes.paths import CONTROLLER_EPOCH

UNFENCED = ControllerEpochZkVersion(-1)
"""The expected version that means: no check."""

MAX_OPS = 1000
MAX_BYTES = 256 * 1024
"""Size limit of one multi, far below the server's limit of 1 MB (jute.maxbuffer)."""
_OP_OVERHEAD = 64

WriteOp = Create | Delete | SetData
WriteResult = Created | Deleted | DataSet | ZooKeeperError


async def write_fenced(
    client: ZooKeeperClient, ops: Sequence[WriteOp], expected: ControllerEpochZkVersion, cause: Cause = None
) -> list[WriteResult]:
    """Do writes in order, each only while /controller_epoch has the expected version, and return an answer for each.

    A refused write has its error in the list, and the other writes are done nevertheless.

    Args:
        expected: data version of /controller_epoch; UNFENCED (-1) checks nothing.

    Raises:
        ControllerMovedError: /controller_epoch has another version. Earlier writes of the list may have been applied.
        ZooKeeperError: the check failed for another reason, or the session has ended.
        ZooKeeperClientExpiredError: the session ended while a write waited to be sent again.
        ValueError: another negative expected version.
    """
    if expected < UNFENCED:
        raise ValueError(f"Expected controller epoch zkVersion {expected} should be non-negative or equal to -1")
    if expected == UNFENCED:
        return [_plain(reply) for reply in await client.request(ops, cause)]
    results: list[WriteResult] = []
    at_once = MAX_OPS
    while len(results) < len(ops):
        batch = _batch(ops, len(results), at_once)
        done = await _write_batch(client, batch, expected, cause)
        if done.error is None:
            results.extend(_plain(result) for result in done.results[1:])
            at_once = min(MAX_OPS, at_once * 2)
            continue
        failing = first_failing(done) - 1
        # The writes before the failing one were rolled back. They are sent again without it, so that all writes happen in
        # the order given. Where one write is refused, others often are too (such as creations of existing znodes): smaller
        # batches cost fewer repetitions.
        if failing > 0:
            before = await write_fenced(client, batch[:failing], expected, cause)
            results.extend(before)
        results.append(done.error)
        at_once = max(1, at_once // 8)
    return results


def _batch(ops: Sequence[WriteOp], start: int, at_once: int) -> list[WriteOp]:
    batch: list[WriteOp] = []
    size = 0
    for op in islice(ops, start, start + at_once):
        size += len(op.path) + _OP_OVERHEAD + (0 if isinstance(op, Delete) else len(op.data or b""))
        if batch and size > MAX_BYTES:
            break
        batch.append(op)
    return batch


async def _write_batch(
    client: ZooKeeperClient, batch: Sequence[WriteOp], expected: ControllerEpochZkVersion, cause: Cause
) -> MultiDone:
    check = Check(CONTROLLER_EPOCH, ZkVersion(expected))
    reply = (await client.request([Multi((check, *batch))], cause))[0]
    if isinstance(reply, ZooKeeperError):
        raise reply
    assert isinstance(reply, MultiDone)
    if reply.error is not None and first_failing(reply) == 0:
        if isinstance(reply.error, BadVersionError):
            raise ControllerMovedError(f"Controller epoch zkVersion check fails. Expected zkVersion = {expected}", expected)
        raise reply.error
    return reply


def _plain(reply: object) -> WriteResult:
    assert isinstance(reply, Created | Deleted | DataSet | ZooKeeperError)
    return reply
