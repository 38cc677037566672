"""State diagrams as SVG, without colours of their own, so that they fit light and dark pages.

Lines and text have the colour of the surrounding text; highlighted states have a double border and bold letters. The SVG
contains no style sheet, so a page may forbid them; the classes `state`, `move` and `highlighted` are for the page's own.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from html import escape

from kcsim.scenarios.views.diagrams.layout import BOX_HEIGHT, BOX_WIDTH, MARGIN, DiagramLayout, layout
from kcsim.scenarios.views.diagrams.machines import StateMachine, machine

FONT = "system-ui, sans-serif"
APART = 14
"""Distance of two transitions that run in opposite directions between the same states."""
BEND = 26
STANDALONE_STYLE = "color-scheme: light dark; color: CanvasText; background: Canvas"
"""For a file of its own, which has no surrounding text."""
Point = tuple[float, float]


def svg(name: str, highlight: Collection[str] = (), id_prefix: str = "", standalone: bool = False) -> str:
    """Return a diagram as one svg element, which ends with a line feed. Raises: UnknownMachineError.

    Args:
        highlight: states that are marked, such as NewPartition.
        id_prefix: a prefix of each id in it, for a page that has the same diagram twice.
        standalone: whether it is a file of its own and not part of a page.
    """
    drawn = machine(name)
    drawn.check_states(highlight)
    placed = layout(drawn)
    ids = f"{id_prefix}kcsim-{name}"
    style = f' style="{STANDALONE_STYLE}"' if standalone else ""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="kcsim-diagram" role="img" aria-labelledby="{ids}-title {ids}-desc" '
        f'viewBox="0 0 {placed.width} {placed.height}" width="{placed.width}" height="{placed.height}"{style}>',
        f'<title id="{ids}-title">{escape(drawn.title)}</title>',
        f'<desc id="{ids}-desc">{escape(_in_words(drawn))}</desc>',
        f'<defs><marker id="{ids}-arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
        'orient="auto-start-reverse"><path d="M0 0 10 5 0 10z" fill="currentColor"/></marker></defs>',
        *_transitions(drawn, placed, f"{ids}-arrow"),
        *_states(drawn, placed, highlight),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _in_words(drawn: StateMachine) -> str:
    """Return the picture's content as text, for screen readers."""
    moves = "; ".join(
        f"{source} to {', '.join(target for start, target in drawn.transitions if start == source)}"
        for source in drawn.states
        if any(start == source for start, _ in drawn.transitions)
    )
    return f"{drawn.description} It begins as {drawn.initial}. Moves: {moves}."


# --- states ----------------------------------------------------------------------------------------------------------------


def _states(drawn: StateMachine, placed: DiagramLayout, highlight: Collection[str]) -> Iterator[str]:
    for state in drawn.states:
        x, y = placed.centres[state]
        marked = state in highlight
        box = _box(x, y, 0, 2.5 if state == drawn.initial or marked else 1.5)
        inner = _box(x, y, 4, 1.5) if marked else ""
        weight = ' font-weight="bold"' if marked else ""
        text = (
            f'<text x="{x:g}" y="{y + 5:g}" text-anchor="middle" font-family="{FONT}" font-size="14" '
            f'fill="currentColor"{weight}>{escape(state)}</text>'
        )
        yield f'<g class="state{" highlighted" if marked else ""}">{box}{inner}{text}</g>'


def _box(x: float, y: float, inset: float, stroke: float) -> str:
    left, top = x - BOX_WIDTH / 2 + inset, y - BOX_HEIGHT / 2 + inset
    size = f'width="{BOX_WIDTH - 2 * inset:g}" height="{BOX_HEIGHT - 2 * inset:g}" rx="{9 - inset:g}"'
    return f'<rect x="{left:g}" y="{top:g}" {size} fill="none" stroke="currentColor" stroke-width="{stroke:g}"/>'


# --- transitions -----------------------------------------------------------------------------------------------------------


def _transitions(drawn: StateMachine, placed: DiagramLayout, arrow: str) -> Iterator[str]:
    for (source, target), why in drawn.transitions.items():
        line = _line(drawn, placed, source, target)
        title = f"{source} to {target}" + (f": {why}" if why else "")
        yield (
            f'<g class="move"><title>{escape(title)}</title><path d="{line.path}" fill="none" stroke="currentColor" '
            f'stroke-opacity="0.75" stroke-width="1.4" marker-end="url(#{arrow})"/>{_label(why, line) if why else ""}</g>'
        )


@dataclass(frozen=True, slots=True)
class _TransitionLine:
    """A transition: its path, the position of its label, and the end of the label that is there (SVG's text-anchor)."""

    path: str
    x: float
    y: float
    anchor: str = "middle"


def _label(why: str, line: _TransitionLine) -> str:
    return (
        f'<text x="{line.x:g}" y="{line.y:g}" text-anchor="{line.anchor}" font-family="{FONT}" font-size="12" '
        f'fill="currentColor">{escape(why)}</text>'
    )


def _line(drawn: StateMachine, placed: DiagramLayout, source: str, target: str) -> _TransitionLine:
    start, end = placed.centres[source], placed.centres[target]
    rows = placed.rows[target] - placed.rows[source]
    if source == target:
        return _loop(start, placed)
    if abs(rows) > 1:
        return _past_rows(start, end, placed)
    if rows == 0:
        return _sideways(start, end)
    return _to_next_row(start, end, APART if (target, source) in drawn.transitions else 0)


def _loop(at: Point, placed: DiagramLayout) -> _TransitionLine:
    """Return the line from a state to itself, below its outer corner, where no other line begins or ends."""
    side = -1 if at[0] < placed.width / 2 else 1
    inner, outer = at[0] + side * (BOX_WIDTH / 2 - 46), at[0] + side * (BOX_WIDTH / 2 - 14)
    y = at[1] + BOX_HEIGHT / 2
    far = y + 34
    path = f"M{inner:g} {y:g}C{inner - side * 10:g} {far:g} {outer + side * 10:g} {far:g} {outer:g} {y:g}"
    return _TransitionLine(path, (inner + outer) / 2, far + 4)


def _past_rows(start: Point, end: Point, placed: DiagramLayout) -> _TransitionLine:
    """Return a line around the rows in between, along the margin on the side where both states are."""
    side = -1 if start[0] + end[0] < placed.width else 1
    edge = MARGIN / 4 if side < 0 else placed.width - MARGIN / 4
    x1, x2 = start[0] + side * BOX_WIDTH / 2, end[0] + side * BOX_WIDTH / 2
    path = f"M{x1:g} {start[1]:g}C{edge:g} {start[1]:g} {edge:g} {start[1]:g} {edge:g} {(start[1] + end[1]) / 2:g}"
    path += f"S{edge:g} {end[1]:g} {x2:g} {end[1]:g}"
    return _TransitionLine(path, edge - side * 8, (start[1] + end[1]) / 2, "start" if side < 0 else "end")


def _sideways(start: Point, end: Point) -> _TransitionLine:
    """Return a line between neighbours in a row: above the middle to the right, below it to the left."""
    right = 1 if end[0] > start[0] else -1
    y = start[1] - right * 8
    x1, x2 = start[0] + right * BOX_WIDTH / 2, end[0] - right * BOX_WIDTH / 2
    return _TransitionLine(f"M{x1:g} {y:g}L{x2:g} {y:g}", (x1 + x2) / 2, y - right * 6 + (6 if right < 0 else 0))


def _to_next_row(start: Point, end: Point, apart: float) -> _TransitionLine:
    """Return a line to the next row, down or up, beside the line of the way back. The label stands outside of both."""
    down = 1 if end[1] > start[1] else -1
    shift = apart * down
    x1, y1 = start[0] + shift, start[1] + down * BOX_HEIGHT / 2
    x2, y2 = end[0] + shift, end[1] - down * BOX_HEIGHT / 2
    path = f"M{x1:g} {y1:g}C{x1:g} {y1 + down * BEND:g} {x2:g} {y2 - down * BEND:g} {x2:g} {y2:g}"
    side = -1 if shift < 0 else 1
    # If the line falls towards the label's side there is room above it, otherwise below it.
    falls = (x2 - x1) * down * side
    y = (y1 + y2) / 2 + (4 if falls == 0 else -6 if falls > 0 else 14)
    return _TransitionLine(path, (x1 + x2) / 2 + side * 10, y, "end" if side < 0 else "start")
