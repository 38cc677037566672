"""Charts as SVG: lines over time, bars, a distribution, and lanes of controllers.

No information is in colour alone: lines differ in their dashes, areas in their hatching, and the values of each can be read
as text by pointing at it. Axes have units and round ticks. Colours are those of the page (report.css), so that they follow
its scheme.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kcsim.scenarios.views.html.drawing import CHARACTER, label, shortened, svg, tag, text
from kcsim.scenarios.views.human import count, duration, ticks, time_ticks

TOP, BOTTOM, RIGHT = 26, 44, 14
LINE_HEIGHT = 18
WIDE, HALF, PHONE = 1110, 540, 350
"""The widths at which charts are drawn, in pixels: of the whole page, of half of it, of a phone."""
NARROW = 480
"""Charts narrower than this are for a phone: they have fewer ticks and shorter names."""


@dataclass(frozen=True)
class Figure:
    """A chart. `draw` draws it at a width; None: there is nothing to draw, and `caption` says why."""

    title: str
    caption: str
    draw: Callable[[int], str] | None
    is_wide: bool = False


@dataclass(frozen=True)
class Series:
    """The name of a line, or of the part of a bar. `style` is its number in report.css, from 0."""

    name: str
    style: int


def _legend(series: Sequence[Series], x: float, width: float, kind: str) -> tuple[str, float]:
    """Return a legend of the lines or areas, in as many rows as necessary, and its height."""
    drawn, left, y = [], x, 0.0
    for one in series:
        needed = 30 + CHARACTER * len(one.name)
        if x > left and x + needed > width:
            x, y = left, y + LINE_HEIGHT
        if kind == "line":
            drawn.append(tag("line", x1=x, y1=y + 10, x2=x + 24, y2=y + 10, class_=f"line s{one.style}"))
        else:
            drawn.append(tag("rect", x=x, y=y + 3, width=24, height=12, class_=f"area a{one.style}"))
        drawn.append(label(one.name, x + 30, y + 14))
        x += needed + 22
    return "".join(drawn), y + TOP


# --- over time -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OverTime:
    """Lines over the time of a run, as steps: each value holds for its bucket.

    Attributes:
        starts_ms: when the buckets begin; a gap between two buckets is left open.
        values: for each series, a value for each bucket; None where nothing is known.
        shown: formats a value as text, with its unit.
        most: the least value at the end of the axis.
    """

    series: Sequence[Series]
    starts_ms: Sequence[int]
    values: Sequence[Sequence[float | None]]
    bucket_ms: int
    end_ms: int
    title: str
    shown: Callable[[float], str] = count
    most: float = 0.0

    def draw(self, width: int) -> str:
        height = 240 if width > NARROW else 210
        greatest = max((v for values in self.values for v in values if v is not None), default=0.0)
        up = ticks(max(greatest, self.most), 5 if width > NARROW else 4)
        left = 12 + CHARACTER * max(len(self.shown(value)) for value in up)
        legend, top = _legend(self.series, left, width, "line")
        plot = _Plot(left, width - RIGHT, top, height - BOTTOM, self.end_ms, up[-1])
        across = time_ticks(self.end_ms, 10 if width > NARROW else 4)
        drawn = [legend, plot.grid(up, across, self.shown)]
        for one, values in zip(self.series, self.values, strict=True):
            drawn.append(tag("path", d=self._line(values, plot), class_=f"line s{one.style}"))
        drawn.append(self._readings(plot))
        return svg("".join(drawn), width, height, self.title)

    def _line(self, values: Sequence[float | None], plot: "_Plot") -> str:
        steps, before_ms = [], None
        for start_ms, value in zip(self.starts_ms, values, strict=True):
            if value is None:
                before_ms = None
                continue
            end_ms = min(start_ms + self.bucket_ms, self.end_ms)
            move = "L" if start_ms == before_ms else "M"
            y = plot.y(value)
            steps.append(f"{move}{plot.x(start_ms):.1f},{y:.1f}H{plot.x(end_ms):.1f}")
            before_ms = start_ms + self.bucket_ms
        return "".join(steps)

    def _readings(self, plot: "_Plot") -> str:
        """Return the texts that appear when a reader points at a bucket."""
        drawn = []
        for place, start_ms in enumerate(self.starts_ms):
            end_ms = min(start_ms + self.bucket_ms, self.end_ms)
            x, end = plot.x(start_ms), plot.x(end_ms)
            lines = [f"from {duration(start_ms)} to {duration(end_ms)}"]
            for one, values in zip(self.series, self.values, strict=True):
                value = values[place]
                lines.append(f"{one.name}: {'not known' if value is None else self.shown(value)}")
            where = {"x": round(x, 1), "width": round(max(0.5, end - x), 1), "y": plot.top, "height": plot.bottom - plot.top}
            drawn.append(tag("rect", tag("title", text("\n".join(lines))), class_="hit", **where))
        return "".join(drawn)


@dataclass(frozen=True)
class _Plot:
    """The positions of times and values in a drawing."""

    left: float
    right: float
    top: float
    bottom: float
    end_ms: int
    most: float

    def x(self, at_ms: float) -> float:
        return self.left + (self.right - self.left) * at_ms / max(1, self.end_ms)

    def y(self, value: float) -> float:
        return self.bottom - (self.bottom - self.top) * value / self.most

    def grid(self, up: Sequence[float], across: Sequence[int], shown: Callable[[float], str]) -> str:
        lines = [tag("line", x1=self.left, x2=self.right, y1=self.y(v), y2=self.y(v), class_="grid") for v in up]
        names = [label(shown(v), self.left - 6, self.y(v) + 4, "end", "tick") for v in up]
        return "".join(lines + names) + self.time_axis(across)

    def time_axis(self, across: Sequence[int]) -> str:
        marks = [tag("line", x1=self.x(t), x2=self.x(t), y1=self.bottom, y2=self.bottom + 4, class_="axis") for t in across]
        names = [label("0" if t == 0 else duration(t), self.x(t), self.bottom + 18, "middle", "tick") for t in across]
        base = tag("line", x1=self.left, x2=self.right, y1=self.bottom, y2=self.bottom, class_="axis")
        name = label("time since the run's beginning", self.right, self.bottom + 36, "end", "unit")
        return "".join([*marks, *names, base, name])


# --- bars ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bars:
    """One bar per row, made of parts, one after the other.

    Attributes:
        rows: name, the size of each part, and the text at its end (the sum, if None).
        shown: formats a size as text.
        unit: what the axis counts.
        up_to: returns about so many round sizes up to a size.
    """

    series: Sequence[Series]
    rows: Sequence[tuple[str, Sequence[float], str | None]]
    title: str
    unit: str
    shown: Callable[[float], str] = count
    up_to: Callable[[float, int], list[float]] = ticks

    def draw(self, width: int) -> str:
        names = min(width * 0.34, 14 + CHARACTER * max((len(name) for name, _, _ in self.rows), default=0))
        legend, top = _legend(self.series, names, width, "area") if len(self.series) > 1 else ("", 6.0)
        height = top + LINE_HEIGHT * len(self.rows) + 42
        ends = [end_text if end_text is not None else self.shown(sum(parts)) for _, parts, end_text in self.rows]
        room = 10 + CHARACTER * max(map(len, ends), default=0)
        up = self.up_to(max((sum(parts) for _, parts, _ in self.rows), default=0), 5 if width > NARROW else 3)
        scale = (width - names - room) / up[-1]
        drawn = [legend]
        base = top + LINE_HEIGHT * len(self.rows) + 4
        for value in up:
            x = names + scale * value
            drawn.append(tag("line", x1=x, x2=x, y1=top, y2=base, class_="grid"))
            drawn.append(label(self.shown(value), x, base + 14, "middle", "tick"))
        drawn.append(label(self.unit, names, base + 32, "start", "unit"))
        for place, ((name, parts, _), end) in enumerate(zip(self.rows, ends, strict=True)):
            drawn.append(self._row(name, parts, end, top + LINE_HEIGHT * place, names, scale))
        return svg("".join(drawn), width, height, self.title)

    def _row(self, name: str, parts: Sequence[float], end: str, y: float, left: float, scale: float) -> str:
        sizes = ", ".join(f"{s.name}: {self.shown(part)}" for s, part in zip(self.series, parts, strict=True))
        drawn, x = [label(shortened(name, left - 10), left - 6, y + 14, "end")], left
        for series, part in zip(self.series, parts, strict=True):
            if part:
                where = {"x": round(x, 1), "width": round(max(1, part * scale), 1), "y": y + 3, "height": LINE_HEIGHT - 5}
                drawn.append(tag("rect", class_=f"area a{series.style}", **where))
                x += part * scale
        drawn.append(label(end, x + 5, y + 14, "start", "tick"))
        return tag("g", tag("title", text(f"{name}\n{sizes}")) + "".join(drawn))


# --- a distribution --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Distribution:
    """The number of items in each class. The caller leaves out empty classes at either end.

    Attributes:
        classes: the name of each class, its count, and the label of its lower edge on the axis.
        unit: what is counted.
    """

    classes: Sequence[tuple[str, int, str]]
    title: str
    unit: str

    def draw(self, width: int) -> str:
        height = 220
        up = ticks(max((n for _, n, _ in self.classes), default=0), 4)
        left = 12 + CHARACTER * max(len(count(v)) for v in up)
        plot = _Plot(left, width - RIGHT, TOP, height - BOTTOM, len(self.classes), up[-1])
        every = -(-len(self.classes) // max(1, int((plot.right - left) / 52)))
        drawn = [tag("line", x1=left, x2=plot.right, y1=plot.y(v), y2=plot.y(v), class_="grid") for v in up]
        drawn += [label(count(v), left - 6, plot.y(v) + 4, "end", "tick") for v in up]
        for place, (name, number, edge) in enumerate(self.classes):
            x, end, y = plot.x(place), plot.x(place + 1), plot.y(number)
            tooltip = tag("title", text(f"{name}: {count(number)}"))
            where = {
                "x": round(x + 1, 1),
                "width": round(end - x - 2, 1),
                "y": round(y, 1),
                "height": round(plot.bottom - y, 1),
            }
            drawn.append(tag("rect", tooltip, class_="area a0", **where))
            if number and CHARACTER * len(count(number)) < end - x + 4:
                drawn.append(label(count(number), (x + end) / 2, y - 4, "middle", "tick"))
            if place % every == 0 and edge:
                drawn.append(label(edge, x, plot.bottom + 16, "middle", "tick"))
        drawn.append(tag("line", x1=left, x2=plot.right, y1=plot.bottom, y2=plot.bottom, class_="axis"))
        drawn.append(label("duration, in classes", plot.right, height - 8, "end", "unit"))
        drawn.append(label(self.unit, 0, 14, "start", "unit"))
        return svg("".join(drawn), width, height, self.title)


# --- lanes -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lanes:
    """A lane for each name with its times, and one for the times that belong to no name."""

    rows: Sequence[tuple[str, Sequence[tuple[int, int, str]]]]
    nobody: Sequence[tuple[int, int, str]]
    end_ms: int
    title: str

    def draw(self, width: int) -> str:
        rows = [*self.rows, ("nobody", self.nobody)]
        left = 14 + CHARACTER * max(len(name) for name, _ in rows)
        bottom = 8 + LINE_HEIGHT * len(rows)
        plot = _Plot(left, width - RIGHT, 8, bottom, self.end_ms, 1)
        drawn = []
        for place, (name, spans) in enumerate(rows):
            y = 8 + LINE_HEIGHT * place
            style = "area a2" if place == len(rows) - 1 else "area a0"
            drawn.append(label(name, left - 6, y + 13, "end"))
            drawn.append(tag("line", x1=left, x2=plot.right, y1=y + LINE_HEIGHT / 2, y2=y + LINE_HEIGHT / 2, class_="grid"))
            for from_ms, to_ms, tooltip in spans:
                x, end = plot.x(from_ms), plot.x(to_ms)
                where = {"x": round(x, 1), "width": round(max(2, end - x), 1), "y": y + 3, "height": LINE_HEIGHT - 6}
                drawn.append(tag("rect", tag("title", text(tooltip)), class_=style, **where))
        drawn.append(plot.time_axis(time_ticks(self.end_ms, 10 if width > NARROW else 4)))
        return svg("".join(drawn), width, bottom + BOTTOM, self.title)
