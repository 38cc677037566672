"""Scenarios for a busy machine: sessions that survive a process without processor time, and waits with late deadlines."""

from kcsim.scenarios.language.scenario_file import LoadedScenario
from kcsim.scenarios.language.step import ScenarioStep
from kcsim.scenarios.language.steps import WaitStep

SESSION_MS = 10_000
WITHIN_MS = 300_000
SESSION_SETTING = "zookeeper.session.timeout.ms"


def patient(
    loaded: LoadedScenario, session_timeout_ms: int = SESSION_MS, longer_claims: int | None = None
) -> LoadedScenario:
    """Return the scenario with long sessions and long bounds for its waits. Its steps and expectations stay the same.

    Args:
        session_timeout_ms: the session timeout to set, unless the scenario's own is longer; a scenario in which a session
            expires by itself takes this long.
        longer_claims: how many expectations, from the first on, get long bounds; None means all. One that does not hold is
            observed until its bound.
    """
    scenario = loaded.scenario
    own_ms = int(scenario.cluster.settings.get(SESSION_SETTING, 0))
    cluster = scenario.cluster.model_copy(
        update={"settings": {**scenario.cluster.settings, SESSION_SETTING: max(own_ms, session_timeout_ms)}}
    )
    count = len(scenario.expect) if longer_claims is None else longer_claims
    expect = [
        one.model_copy(update={"within": WITHIN_MS}) if place < count and one.within is not None else one
        for place, one in enumerate(scenario.expect)
    ]
    timetable = [_patient_step(step) for step in scenario.timetable]
    return loaded._replace(
        scenario=scenario.model_copy(update={"cluster": cluster, "timetable": timetable, "expect": expect})
    )


def _patient_step(step: ScenarioStep) -> ScenarioStep:
    if not isinstance(step, WaitStep):
        return step
    return step.model_copy(update={"wait": step.wait.model_copy(update={"within": WITHIN_MS})})
