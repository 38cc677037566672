"""Every analysis, by name."""

from kcsim.scenarios.analysis.analyses.affected import AFFECTED_BROKERS, AFFECTED_RACKS, AFFECTED_TOPICS
from kcsim.scenarios.analysis.analyses.analysis import Analysis
from kcsim.scenarios.analysis.analyses.controller_gaps import CONTROLLER_GAPS
from kcsim.scenarios.analysis.analyses.controllers import CONTROLLERS
from kcsim.scenarios.analysis.analyses.elections import ELECTIONS, UNCLEAN_ELECTIONS
from kcsim.scenarios.analysis.analyses.health import HEALTH, HEALTH_STEPS
from kcsim.scenarios.analysis.analyses.isr_churn import FLAPPING_REPLICAS, ISR_CHURN, ISR_CHURN_PARTITIONS
from kcsim.scenarios.analysis.analyses.load import BROKER_LOAD, SKEW
from kcsim.scenarios.analysis.analyses.loss_sweep import LOSS_OF_BROKER, LOSS_OF_BROKERS, LOSS_OF_RACK, LOSS_OF_RACKS
from kcsim.scenarios.analysis.analyses.recovery import RECOVERIES, RECOVERY_TIMES
from kcsim.scenarios.analysis.analyses.unavailability import AVAILABILITY, UNAVAILABILITY, UNDER_MIN_ISR

_IN_ORDER = (
    *(AVAILABILITY, UNAVAILABILITY, UNDER_MIN_ISR),
    *(ELECTIONS, UNCLEAN_ELECTIONS),
    *(ISR_CHURN, ISR_CHURN_PARTITIONS, FLAPPING_REPLICAS),
    *(CONTROLLERS, CONTROLLER_GAPS),
    *(BROKER_LOAD, SKEW),
    *(RECOVERIES, RECOVERY_TIMES),
    *(HEALTH, HEALTH_STEPS),
    *(AFFECTED_TOPICS, AFFECTED_BROKERS, AFFECTED_RACKS),
    *(LOSS_OF_BROKER, LOSS_OF_RACK, LOSS_OF_BROKERS, LOSS_OF_RACKS),
)
ANALYSES: dict[str, Analysis] = {analysis.name: analysis for analysis in _IN_ORDER}
