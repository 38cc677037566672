"""Synthetic events, and the evaluation context that conditions get from them."""

from collections.abc import Sequence

from kcsim.scenarios.engine.expectations.evaluation_context import EvaluationContext
from tests.eventlog.synthetic_log import SyntheticLog


class EvaluatedLog(SyntheticLog):
    """A log that grows event by event, on which conditions can be evaluated."""

    def seen(self, brokers: Sequence[str] = ("broker-1", "broker-2"), **aliases: str) -> EvaluationContext:
        return EvaluationContext(self.events, self.state, tuple(brokers), aliases)
