"""Faults of what brokers answer to clients: errors that are injected into the next answers."""

from collections.abc import Callable
from functools import partial

from kcsim.brokers.injected_errors import INJECTABLE, ErrorInjection, InjectedErrors
from kcsim.brokers.network.link_conditions import Links
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.events import EventFields
from kcsim.eventlog.run_actions import ClusterError, RunActionLog

INJECT_ERROR = "inject-error"


class AnswerFaults:
    """Injects errors. ClusterError is raised if an error cannot be injected.

    Args:
        errors: those of all brokers.
        check: checks the nodes that links name.
    """

    def __init__(self, actions: RunActionLog, errors: InjectedErrors, check: Callable[[Links], None]) -> None:
        self._actions = actions
        self._errors = errors
        self._check = check

    def inject(self, injection: ErrorInjection) -> int:
        """Let the next answers carry an error; return at once, with the seq of the Fault."""
        if injection.request not in INJECTABLE:
            raise ClusterError(f"{injection.request} has no answer that could carry an error to a client")
        if injection.error is ErrorCode.NONE or injection.times < 1:
            raise ClusterError(f"{INJECT_ERROR} would have no effect: {injection.times} times {injection.error.name}")
        self._check(injection.links)
        answers = "the next answer" if injection.times == 1 else f"the next {injection.times} answers"
        about = injection.topic or ""
        if injection.partition is not None:
            about = f"{about}-{injection.partition}"
        detail = f"armed: {answers} to {injection.request}{about and f' about {about}'} {injection.links}"
        carried_out = ", which is carried out" if injection.is_carried_out else ""
        fields: EventFields = {**injection.links.fields, "breakpoint": "answered", "event": injection.request}
        cause = self._actions.fault_on_links(INJECT_ERROR, f"{detail}: {injection.error.name}{carried_out}", fields)
        self._errors.arm(injection, cause, partial(self._actions.confirm, cause, INJECT_ERROR))
        return cause

    def drop(self) -> int | None:
        """Drop the errors that no answer has carried yet. Return the seq of the AdminAct; None if there are none."""
        left = self._errors.disarm()
        return self._actions.act("heal", None, f"{left} injected errors are dropped") if left else None
