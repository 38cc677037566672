"""State diagrams as Mermaid text, and a Markdown fragment of all of them."""

from collections.abc import Collection

from kcsim.scenarios.views.diagrams.machines import MACHINES, machine

BEGIN = "<!-- diagrams: begin (made by `kcsim diagram --all`) -->"
END = "<!-- diagrams: end -->"


def mermaid(name: str, highlight: Collection[str] = ()) -> str:
    """Return a diagram as Mermaid text, which ends with a line feed. Raises: UnknownMachineError.

    Args:
        highlight: states to draw with a thick border.
    """
    drawn = machine(name)
    drawn.check_states(highlight)
    lines = ["stateDiagram-v2", f"    [*] --> {drawn.initial}"]
    for (source, target), why in drawn.transitions.items():
        lines.append(f"    {source} --> {target}" + (f": {why}" if why else ""))
    if highlight:
        lines.append("    classDef highlighted stroke-width:4px,font-weight:bold")
        lines += [f"    class {state} highlighted" for state in drawn.states if state in highlight]
    return "\n".join(lines) + "\n"


def fragment() -> str:
    """Return all diagrams for a Markdown page, between the markers by which a test finds them there."""
    parts = [
        f"**{drawn.title}.** {drawn.description}\n\n```mermaid\n{mermaid(name)}```\n" for name, drawn in MACHINES.items()
    ]
    return f"{BEGIN}\n" + "\n".join(parts) + f"{END}\n"
