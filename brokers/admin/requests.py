"""The requests with which clients look at a cluster, and the broker's responses.

Left out: throttle times. Source: Kafka 2.8, org.apache.kafka.common.requests.
"""

from collections.abc import Mapping
from enum import IntEnum

import msgspec

from kcsim.brokers.admin.config_definitions import ConfigType
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import ReplicaAssignment, TopicPartition

# --- settings ----------------------------------------------------------------------------------------------------------


class ConfigResourceType(IntEnum):
    """What has settings, as the protocol numbers it."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8


class ConfigSource(IntEnum):
    """Where the value of a setting comes from, as the protocol numbers it; a lower one takes precedence."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5


class ConfigResource(msgspec.Struct, frozen=True):
    """A resource whose settings are requested.

    Attributes:
        resource_type: one of ConfigResourceType; clients may send any other number.
        name: of a topic, or a broker's id; an empty one means the settings that hold for all brokers.
        settings: which ones; None: all.
    """

    resource_type: int
    name: str
    settings: frozenset[str] | None = None


class DescribeConfigsRequest(msgspec.Struct, frozen=True):
    resources: tuple[ConfigResource, ...]


class ConfigSynonym(msgspec.Struct, frozen=True):
    """A value that a setting has from one source, under the name that the setting has there. None: it is not shown."""

    name: str
    value: str | None
    source: ConfigSource


class ConfigEntry(msgspec.Struct, frozen=True):
    """A setting.

    Attributes:
        value: None: it has none, or it is not shown.
        synonyms: all values that it has, the one that applies first.
    """

    name: str
    value: str | None
    type: ConfigType
    is_read_only: bool
    synonyms: tuple[ConfigSynonym, ...] = ()

    @property
    def source(self) -> ConfigSource:
        return self.synonyms[0].source if self.synonyms else ConfigSource.DEFAULT

    @property
    def is_sensitive(self) -> bool:
        """Whether its value is not shown: what is not known might be a password."""
        return self.type is ConfigType.UNKNOWN


class DescribedConfigs(msgspec.Struct, frozen=True):
    """The settings of a resource, or why they are not returned."""

    resource: ConfigResource
    entries: tuple[ConfigEntry, ...] = ()
    error: ErrorCode = ErrorCode.NONE
    error_message: str = ""


class DescribeConfigsResponse(msgspec.Struct, frozen=True):
    results: tuple[DescribedConfigs, ...]


# --- log directories ---------------------------------------------------------------------------------------------------


class DescribeLogDirsRequest(msgspec.Struct, frozen=True):
    """A request for the log directories, and the replicas in them of these partitions; None: of all."""

    partitions: frozenset[TopicPartition] | None = None


class DescribedLogDir(msgspec.Struct, frozen=True):
    """A log directory.

    Attributes:
        sizes: in bytes, by topic and partition; a topic in the directory is named even if none of its partitions is wanted.
    """

    name: str
    error: ErrorCode = ErrorCode.NONE
    sizes: Mapping[str, Mapping[int, int]] = msgspec.field(default_factory=dict)


class DescribeLogDirsResponse(msgspec.Struct, frozen=True):
    log_dirs: tuple[DescribedLogDir, ...]


# --- reassignments -----------------------------------------------------------------------------------------------------


class ListPartitionReassignmentsRequest(msgspec.Struct, frozen=True):
    """A request to the controller for the current reassignments of these partitions; None: of all."""

    partitions: tuple[TopicPartition, ...] | None = None


class ListPartitionReassignmentsResponse(msgspec.Struct, frozen=True):
    error: ErrorCode = ErrorCode.NONE
    reassignments: Mapping[TopicPartition, ReplicaAssignment] = msgspec.field(default_factory=dict)
