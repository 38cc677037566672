"""The registry: the entry of every step."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from kcsim.scenarios.engine.steps.brokers import BROKER_SPECS
from kcsim.scenarios.engine.steps.clients import CLIENT_SPECS
from kcsim.scenarios.engine.steps.network import NETWORK_SPECS
from kcsim.scenarios.engine.steps.step_spec import StepSpec
from kcsim.scenarios.engine.steps.topics import TOPIC_SPECS
from kcsim.scenarios.engine.steps.znodes import ZNODE_SPECS
from kcsim.scenarios.language.step import ScenarioStep

ALL_SPECS: tuple[StepSpec[Any], ...] = (*BROKER_SPECS, *NETWORK_SPECS, *TOPIC_SPECS, *CLIENT_SPECS, *ZNODE_SPECS)
STEP_SPECS: Mapping[type[ScenarioStep], StepSpec[Any]] = MappingProxyType({spec.step: spec for spec in ALL_SPECS})
"""The class of a step -> its entry."""


def spec_of(step: ScenarioStep) -> StepSpec[Any]:
    """Return the entry of a step."""
    return STEP_SPECS[type(step)]
