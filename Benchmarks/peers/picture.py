"""The picture of the results: a bar for each rate of each system, in groups by what becomes of a job when its worker
dies. It has its own background, so that it can be read on a light page and on a dark one."""
from xml.sax.saxutils import escape

import common
import table

GROUPS = {
    common.GOES_ON: "If a worker dies, its jobs go on where they were",
    common.RUNS_AGAIN: "If a worker dies, its jobs run again from their beginning",
    common.LOST: "If a worker dies, its jobs are lost, or wait until the user retries them (hatched)"}
PANELS = {common.COMMANDS: ("Commands a second (/bin/true)", 330), common.NO_OPS: ("No-op jobs a second", 620)}
WIDTH, LEFT, LENGTH, ROW = 900, 24, 200, 36
BACKGROUND, TEXT, STRONG, FAINT, BAR, BATON = "#1f2533", "#d5dae4", "#ffffff", "#a3adc0", "#8792a8", "#e8c06a"


def ordered(systems):
    """Baton first, then by the rate of commands."""
    return sorted(systems, key=lambda system: (not system.is_baton, -system.rate(common.COMMANDS)))


class Drawing:
    """An SVG file that grows downwards."""

    def __init__(self):
        self.parts, self.y = [], 0

    def text(self, x, words, color=TEXT, size=13, weight="normal", dy=0):
        self.parts.append(
            f'<text x="{x}" y="{self.y + dy}" fill="{color}" font-size="{size}" font-weight="{weight}">'
            f"{escape(words)}</text>")

    def bar(self, x, length, color, fill, dy):
        self.parts.append(
            f'<rect x="{x}" y="{self.y + dy}" width="{length:.1f}" height="16" rx="2" fill="{fill}" '
            f'stroke="{color}"/>')

    def svg(self, title):
        height = self.y + 24
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            'role="img" aria-labelledby="title">',
            f'<title id="title">{escape(title)}</title>',
            '<defs><pattern id="hatched" width="6" height="6" patternUnits="userSpaceOnUse" '
            f'patternTransform="rotate(45)"><rect width="2.5" height="6" fill="{BAR}"/></pattern></defs>',
            f'<rect width="{WIDTH}" height="{height}" rx="8" fill="{BACKGROUND}"/>',
            "<g font-family=\"system-ui, 'Segoe UI', Roboto, Helvetica, Arial, 'DejaVu Sans', sans-serif\">",
            *self.parts, "</g>", "</svg>", ""])


def draw_system(drawing, system, most):
    color = BATON if system.is_baton else TEXT
    drawing.text(LEFT, system.name, color, weight="bold" if system.is_baton else "normal", dy=15)
    drawing.text(LEFT, system.durability, FAINT, size=11, dy=29)
    for name, (_, x) in PANELS.items():
        if not system.rate(name):
            drawing.text(x, system.text(name), FAINT, size=11, dy=20)
            continue
        length = max(LENGTH * system.rate(name) / most[name], 1)
        edge = BATON if system.is_baton else BAR
        drawing.bar(x, length, edge, "url(#hatched)" if system.fate == common.LOST else edge, dy=8)
        drawing.text(x + length + 6, system.text(name), color, size=12, dy=20)
    drawing.y += ROW


def svg(lines):
    """The picture as a text."""
    systems = table.systems(lines)
    most = {name: max([system.rate(name) for system in systems], default=0) for name in PANELS}
    drawing = Drawing()
    drawing.y = 34
    drawing.text(LEFT, "Baton and other job systems on the same machine", STRONG, 16, "bold")
    drawing.y += 20
    drawing.text(LEFT, table.machine(lines), FAINT, 11)
    drawing.y += 26
    for words, x in PANELS.values():
        drawing.text(x, words, STRONG, weight="bold")
    for fate, words in GROUPS.items():
        members = [system for system in ordered(systems) if system.fate == fate]
        if members:
            drawing.y += 32
            drawing.text(LEFT, words, STRONG, 12, "bold")
            drawing.y += 8
        for system in members:
            draw_system(drawing, system, most)
    for name, reason in table.failures(lines):
        drawing.y += 18
        drawing.text(LEFT, f"{name} failed: {reason}"[:130], FAINT, 11)
    return drawing.svg("Commands and no-op jobs a second: " + "; ".join(
        f"{system.name}, {system.durability}: {system.text(common.COMMANDS)} and {system.text(common.NO_OPS)}"
        for system in ordered(systems)))
