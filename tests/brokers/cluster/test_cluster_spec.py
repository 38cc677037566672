"""What a cluster's description says about each of its brokers."""

import pytest

from kcsim.brokers.cluster.cluster_spec import BrokerSpec, ClusterSpec
from kcsim.brokers.config import PROTOCOL_VERSION, Value
from kcsim.controller.capabilities import Release


@pytest.mark.parametrize(
    ("release", "of_cluster", "of_broker", "expected"),
    [
        (None, {}, {}, {}),
        ("3.9", {}, {}, {PROTOCOL_VERSION: "3.9"}),
        ("3.9", {PROTOCOL_VERSION: "2.6"}, {}, {PROTOCOL_VERSION: "2.6"}),
        ("3.9", {PROTOCOL_VERSION: "2.6"}, {PROTOCOL_VERSION: "2.8"}, {PROTOCOL_VERSION: "2.8"}),
        (
            None,
            {"min.insync.replicas": 2},
            {"default.replication.factor": 3},
            {"min.insync.replicas": 2, "default.replication.factor": 3},
        ),
    ],
)
def test_a_broker_has_the_protocol_version_of_the_release_unless_settings_have_another(
    release: str | None, of_cluster: dict[str, Value], of_broker: dict[str, Value], expected: dict[str, Value]
) -> None:
    broker = BrokerSpec(1, settings=of_broker)
    spec = ClusterSpec((broker,), of_cluster, release=None if release is None else Release(release))
    assert spec.settings_of(broker) == expected
