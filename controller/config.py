"""The broker settings that the controller module uses."""

from dataclasses import dataclass

from kcsim.controller.capabilities import DEFAULT_PROTOCOL_VERSION, Capabilities, Release, capabilities_of, default_release
from kcsim.controller.hardening import NOT_HARDENED, Hardening
from kcsim.controller.protections import ALL_ON, Protections


@dataclass(frozen=True, slots=True)
class ControllerConfig:
    """The controller's settings: each field is Kafka's dotted name with underscores, in Kafka's unit, with Kafka's default.

    Attributes:
        protections: not a setting of Kafka's. Kafka always has these protections; this simulator can switch them off.
        release: no setting either: the release of Kafka whose behaviour the broker has; None: that of the protocol version,
            but at least 2.8.
        hardening: no setting of Kafka's either: what the controller does beyond Kafka to survive faults.

    Source: Kafka 2.8, KafkaConfig.
    """

    auto_leader_rebalance_enable: bool = True
    leader_imbalance_per_broker_percentage: int = 10
    leader_imbalance_check_interval_seconds: int = 300
    delete_topic_enable: bool = True
    unclean_leader_election_enable: bool = False
    controller_socket_timeout_ms: int = 30_000
    request_timeout_ms: int = 30_000
    inter_broker_listener_name: str = "PLAINTEXT"
    inter_broker_protocol_version: str = DEFAULT_PROTOCOL_VERSION
    protections: Protections = ALL_ON
    release: Release | None = None
    hardening: Hardening = NOT_HARDENED

    @property
    def effective_release(self) -> Release:
        """The release of the broker: what is set, or what the protocol version stands for."""
        return self.release or default_release(self.inter_broker_protocol_version)

    @property
    def capabilities(self) -> Capabilities:
        """What protocol version and release decide, less what is switched off."""
        return capabilities_of(self.inter_broker_protocol_version, self.protections, self.release)
