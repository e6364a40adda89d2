"""The two pictures, as SVG by hand: they need nothing but this file, and a change of a figure is a change of few lines.

Both have a background of their own and a second set of colours for dark pages.
"""

import math
from html import escape

from .parts.live import QUANTILES
from .parts.strategies import PERCENTS
from .schemas import SCHEMAS

# Each series: a colour on light, a colour on dark, a dash, a mark. The colours differ for eyes that see few of them,
# and the marks for those that see none.
SERIES = {
    "auto": ("#000000", "#ffffff", "", "ring"),
    "whole": ("#7f7f7f", "#a8a8a8", "6 3", "dash"),
    "range": ("#0072b2", "#56b4e9", "", "dot"),
    "sorted": ("#e69f00", "#ffb733", "", "square"),
    "windows": ("#009e73", "#2fd3a5", "", "diamond"),
    "keys": ("#8c6d31", "#c9a66b", "", "dash"),
    "rebuild": ("#d55e00", "#ff8a3d", "", "up"),
    "rebuild_in_place": ("#aa4499", "#e08ad3", "5 2", "down"),
}
LIVE = {
    "nobody": ("nobody deletes", "#7f7f7f", "#a8a8a8", "3 3"),
    "job": ("retention run", "#0072b2", "#56b4e9", ""),
    "no_pause": ("range batches, no pause", "#e69f00", "#ffb733", "7 3"),
    "shell": ("DELETE in the shell", "#d55e00", "#ff8a3d", "2 2"),
}


class Picture:
    """SVG elements and the style that they share."""

    def __init__(self, width, height, title):
        self.width, self.height, self.title = width, height, title
        self.elements, self.light, self.dark = [], [], []

    def add(self, element):
        self.elements.append(element)

    def line(self, x1, y1, x2, y2, kind):
        self.add(f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def text(self, x, y, words, kind="label", anchor="start", turned=False):
        turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
        self.add(f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{turn}>{escape(words)}</text>')

    def series(self, number, light, dark, dash):
        """Names the colours of a series."""
        dashes = f" stroke-dasharray: {dash};" if dash else ""
        self.light.append(f".s{number} {{ stroke: {light};{dashes} }} .m{number} {{ stroke: {light}; fill: {light} }}")
        self.dark.append(f".s{number} {{ stroke: {dark} }} .m{number} {{ stroke: {dark}; fill: {dark} }}")

    def curve(self, number, points):
        path = " ".join(f"{'M' if i == 0 else 'L'}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(points))
        self.add(f'<path class="curve s{number}" d="{path}"/>')

    def mark(self, number, x, y, shape):
        """A mark of some seven units across."""
        outlines = {
            "square": "M{0} {1}h6v6h-6z", "diamond": "M{2} {1}l4 4l-4 4l-4 -4z", "up": "M{2} {1}l4 7h-8z",
            "down": "M{0} {1}h8l-4 7z", "cross": "M{0} {1}l6 6m0 -6l-6 6", "dash": "M{0} {3}h7",
        }
        if shape in ("dot", "ring"):
            filled = ' fill="none"' if shape == "ring" else ""
            style = ' style="fill:none;stroke-width:1.6"' if shape == "ring" else ""
            radius = 5.5 if shape == "ring" else 3
            self.add(f'<circle class="m{number}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"{filled}{style}/>')
        else:
            path = outlines[shape].format(f"{x - 3:.1f}", f"{y - 3.5:.1f}", f"{x:.1f}", f"{y:.1f}")
            self.add(f'<path class="m{number}" stroke-width="1.4" d="{path}"/>')

    def svg(self):
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" role="img">',
            f"<title>{escape(self.title)}</title>",
            "<style>",
            "text { font-family: system-ui, 'DejaVu Sans', sans-serif; fill: #1f2328 }",
            ".label { font-size: 12px } .small { font-size: 11px } .head { font-size: 13px; font-weight: 600 }",
            ".ground { fill: #ffffff } .grid { stroke: #d8dee4 } .axis { stroke: #57606a }",
            ".curve { fill: none; stroke-width: 2; stroke-linejoin: round }",
            *self.light,
            "@media (prefers-color-scheme: dark) {",
            "text { fill: #e6edf3 } .ground { fill: #0d1117 } .grid { stroke: #30363d } .axis { stroke: #9198a1 }",
            *self.dark,
            "}",
            "</style>",
            f'<rect class="ground" width="{self.width}" height="{self.height}" rx="6"/>',
            *self.elements,
            "</svg>", ""])


class Scale:
    """From a value to a place on the paper."""

    def __init__(self, low, high, begin, end, turn=float):
        self.turn, self.begin = turn, begin
        self.low = turn(low)
        self.factor = (end - begin) / (turn(high) - self.low)

    def __call__(self, value):
        return self.begin + (self.turn(value) - self.low) * self.factor


def powers(low, high):
    """The powers of ten and their 2 and 5 between two values."""
    found = []
    for exponent in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1):
        found += [step * 10 ** exponent for step in (1, 2, 5) if low <= step * 10 ** exponent <= high]
    return found


def strategies(result):
    """Two fields: rows in time order, rows in random order."""
    picture = Picture(900, 470, "Wall time of each strategy as a ratio to the shell's DELETE, by expired fraction")
    ratios = {}
    for schema in ("S1", "R"):
        for strategy in SERIES:
            for percent in PERCENTS:
                key = {"part": "strategy", "schema": schema, "percent": percent}
                cell, shell = result.one(**key, side=strategy), result.one(**key, side="shell")
                if cell and shell:
                    ratios.setdefault((schema, strategy), []).append((percent, cell.ratio(shell, "wall_ms")))
    values = [ratio for series in ratios.values() for _, ratio in series] or [1]
    low, high = min(*values, 0.5) / 1.2, max(*values, 2) * 1.2
    up = Scale(low, high, 400, 52, math.log)
    shown = [strategy for strategy in SERIES if any((schema, strategy) in ratios for schema in ("S1", "R"))]
    for number, strategy in enumerate(shown):
        picture.series(number, *SERIES[strategy][:3])
    for left, schema in ((62, "S1"), (502, "R")):
        field(picture, schema, left, up, low, high, ratios, shown)
    picture.text(16, 226, "wall time / the shell's DELETE (logarithmic)", anchor="middle", turned=True)
    x = 62
    for number, strategy in enumerate(shown):
        if strategy != "auto":  # Its marks lie on the lines of what it chose.
            picture.curve(number, [(x, 452), (x + 22, 452)])
        picture.mark(number, x + 11, 452, SERIES[strategy][3])
        picture.text(x + 28, 456, strategy, "small")
        x += 44 + 6.4 * len(strategy)
    return picture.svg()


def field(picture, schema, left, up, low, high, ratios, shown):
    right = left + 374
    along = Scale(0, 100, left, right)
    picture.text(left, 32, f"{schema}: {SCHEMAS[schema].what}", "head")
    for value in powers(low, high):
        picture.line(left, up(value), right, up(value), "axis" if value == 1 else "grid")
        picture.text(left - 6, up(value) + 4, f"{value:g}", "small", "end")
    for percent in (0, 20, 40, 60, 80, 100):
        picture.line(along(percent), 400, along(percent), 405, "axis")
        picture.text(along(percent), 419, str(percent), "small", "middle")
    picture.line(left, 400, right, 400, "axis")
    picture.line(left, 52, left, 400, "axis")
    picture.text((left + right) / 2, 436, "rows that are expired, %", anchor="middle")
    for number, strategy in enumerate(shown):
        series = ratios.get((schema, strategy), [])
        points = [(along(percent), up(ratio)) for percent, ratio in series]
        if points and strategy != "auto":
            picture.curve(number, points)
    for number, strategy in enumerate(shown):
        for percent, ratio in ratios.get((schema, strategy), []):
            picture.mark(number, along(percent), up(ratio), SERIES[strategy][3])


def writer(result):
    """The share of writes that were done within a time; the upper end of the axis is stretched."""
    picture = Picture(900, 430, "Latency of a writer while rows are deleted, as a distribution")
    left, right, top, bottom = 72, 872, 44, 346
    runs = {side: cell for side in LIVE if (cell := result.one(part="live", side=side))}
    values = [max(value, 0.01) for cell in runs.values() for run in cell.values("writer_ms") for value in run] or [1]
    along = Scale(min(values) / 1.1, max(values) * 1.1, left, right, math.log)
    # 0, 90, 99 and 99.9 % at equal distances, so that the few slow writes are seen.
    up = Scale(0, 0.999, bottom, top, lambda share: -math.log10(1 - min(share, 0.9995)))
    picture.text(left, 26, "A writer's latency, from the planned start of each write (a row every 5 ms)", "head")
    for share in (0, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999):
        picture.line(left, up(share), right, up(share), "grid")
        picture.text(left - 6, up(share) + 4, f"{share * 100:g}", "small", "end")
    for value in powers(min(values) / 1.1, max(values) * 1.1):
        is_ten = math.log10(value) == round(math.log10(value))
        picture.line(along(value), bottom, along(value), top if is_ten else bottom + 5, "grid" if is_ten else "axis")
        picture.text(along(value), bottom + 19, f"{value:g}", "small", "middle")
    picture.line(left, bottom, right, bottom, "axis")
    picture.line(left, top, left, bottom, "axis")
    picture.text((left + right) / 2, bottom + 38, "latency, ms (logarithmic)", anchor="middle")
    picture.text(20, (top + bottom) / 2, "writes done within it, %", anchor="middle", turned=True)
    x = left
    for number, (side, cell) in enumerate(runs.items()):
        words, light, dark, dash = LIVE[side]
        picture.series(number, light, dark, dash)
        for latencies in cell.values("writer_ms"):
            picture.curve(number, [
                (along(max(value, 0.01)), up(share)) for share, value in zip(QUANTILES, latencies) if share <= 0.999])
        picture.curve(number, [(x, 412), (x + 30, 412)])
        picture.text(x + 36, 416, words)
        x += 62 + 6.8 * len(words)
    return picture.svg()
