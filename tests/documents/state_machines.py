"""docs/reference/state-machines.md: every state machine, as a diagram and as a table of its transitions."""

from kcsim.scenarios.views.diagrams.machines import MACHINES, StateMachine
from kcsim.scenarios.views.diagrams.mermaid import mermaid
from tests.documents.markdown import bullets, code, fenced, link, paragraph, table
from tests.documents.markdown import page as page_of

INTRODUCTION = """The state machines of the simulator, drawn from the tables by which the code decides. A transition that
is not
in a table is refused by the code. `kcsim diagram NAME` prints each diagram as Mermaid text or as SVG."""


def page() -> str:
    machines = MACHINES.values()
    contents = bullets(link(machine.title) for machine in machines)
    sections = (part for machine in machines for part in _section(machine))
    return page_of("state-machines.md", "State machines", INTRODUCTION, contents, *sections)


def _section(machine: StateMachine) -> tuple[str, ...]:
    return (
        f"## {machine.title}",
        paragraph(f"{machine.description} The first state is `{machine.initial}`. In `kcsim diagram`: `{machine.name}`."),
        fenced(mermaid(machine.name), "mermaid"),
        _transitions(machine),
    )


def _transitions(machine: StateMachine) -> str:
    """Return a row per state: the states that may follow, each with its trigger if the table names one."""
    rows = []
    for state in machine.states:
        following = {target: why for (source, target), why in machine.transitions.items() if source == state}
        preceding = [source for source, target in machine.transitions if target == state]
        after = ", ".join(f"{code(target)}{f' ({why})' if why else ''}" for target, why in following.items())
        rows.append((code(state), after or "none: final", ", ".join(map(code, preceding)) or "none"))
    return table(("state", "may be followed by", "may be entered from"), rows)
