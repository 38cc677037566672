"""What a timetable can do to topics and partitions: what operators do with Kafka's tools, and a log directory's failure."""

from typing import Literal

from pydantic import ConfigDict, Field, model_validator

from kcsim.scenarios.language.model import Model
from kcsim.scenarios.language.step import NamingStep, Step
from kcsim.scenarios.language.topic_settings import ChangesOfDefaults, ChangesOfTopics
from kcsim.scenarios.language.topic_words import ALL_PARTITIONS, Growth, Partitions, ReplicasOfEach, TopicNames
from kcsim.scenarios.language.words import BrokerNames, wrong

Way = Literal["znode", "api"]
"""How the controller is asked: by a znode below /admin, or by a request to whoever is the controller."""


class CreateTopic(Step):
    """Create topics of `cluster: topics:`, as Kafka's tool does: first the znode of the settings, then that of the topic."""

    create_topic: TopicNames


class DeleteTopic(Step):
    """Ask for the deletion of topics."""

    delete_topic: TopicNames


class AddPartitions(Step):
    """Give topics more partitions."""

    add_partitions: Growth = Field(description="How many a topic is to have; or the new ones with their replicas.")


class Reassign(Step):
    """Ask for partitions to be hosted by other brokers."""

    reassign: ReplicasOfEach
    via: Way = Field("znode", description="znode: /admin/reassign_partitions. api: a request to the controller.")


class CancelReassignment(Step):
    """Ask the controller to give reassignments up, by a request: there is no znode for it."""

    cancel_reassignment: Partitions = Field(description="all: those that are under way.")


class ElectPreferred(Step):
    """Ask for the preferred replicas to lead."""

    elect_preferred: Partitions
    via: Way = Field("znode", description="znode: /admin/preferred_replica_election. api: a request to the controller.")


class ElectUnclean(Step):
    """Ask the controller to elect a replica that is not in the ISR where no member of it lives, by a request."""

    elect_unclean: Partitions


class ConfigChange(Model):
    """Whose settings, and what becomes of them; null takes a setting away."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    topics: ChangesOfTopics | None = Field(None, description="Topic -> its own settings, in /config/topics.")
    broker_defaults: ChangesOfDefaults | None = Field(None, description="For all brokers, in /config/brokers/<default>.")

    @model_validator(mode="after")
    def _changes_something(self) -> "ConfigChange":
        if self.topics is None and self.broker_defaults is None:
            raise wrong("nothing to set; say topics or broker-defaults")
        return self


class SetConfig(Step):
    """Change settings while everybody runs: the entity's znode, then a notification below /config/changes."""

    set_config: ConfigChange


class FailLogDir(NamingStep):
    """Let a broker lose a log directory, with all the replicas in it or with some."""

    fail_log_dir: BrokerNames
    partitions: Partitions = Field(ALL_PARTITIONS, description="Those that lay in it; all of its replicas if not given.")


TopicStep = (
    CreateTopic | DeleteTopic | AddPartitions | Reassign | CancelReassignment | ElectPreferred | ElectUnclean | SetConfig
)
TOPIC_VERBS = (
    *("create-topic", "delete-topic", "add-partitions", "reassign", "cancel-reassignment"),
    *("elect-preferred", "elect-unclean", "set-config"),
)
"""What is done to topics by asking: the key by which each step is told from others."""
