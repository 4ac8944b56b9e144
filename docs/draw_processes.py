#!/usr/bin/python3
"""Draws docs/processes.svg: the processes of docs/architecture.md.

    docs/draw_processes.py > docs/processes.svg
"""

import html

WIDTH, HEIGHT = 860, 470
# name: (x, y, width, height, title, lines below it, ours)
BOXES = {
    "user": (20, 20, 190, 60, "srun, sbatch", ["--loader-* flags"], False),
    "slurmctld": (20, 140, 190, 90, "slurmctld", [
        "job_submit_penstock.so", "reads the demand table"], True),
    "slurmd": (20, 330, 190, 110, "slurmd, slurmstepd", [
        "spank_penstock.so", "flags, starts and ends", "of tasks"], True),
    "ctld": (330, 140, 220, 90, "penstockctld", [
        "one per cluster:", "prediction, plan, history"], True),
    "agent": (330, 330, 220, 110, "penstockd", [
        "one per node: sampling, plan,", "reports; as root only through",
        "its two penstock-brokers"],
              True),
    "command": (640, 140, 200, 90, "penstock", [
        "report, top, jobs, nodes,", "predict, what-if, ..."], True),
    "job": (640, 330, 200, 110, "the job", [
        "libpenstock, penstock (Python),", "libpenstock_loader,",
        "penstock.exchange"], True),
}
# (from x, y, to x, y, text, text x, text y)
ARROWS = [
    (115, 80, 115, 140, "options", 122, 114),
    (115, 230, 115, 330, "launch", 122, 284),
    (210, 172, 330, 172, "submissions", 222, 165),
    (330, 206, 210, 206, "demand table", 222, 222),
    (210, 385, 330, 385, "tasks", 246, 378),
    (420, 330, 420, 230, "parts of jobs", 334, 284),
    (460, 230, 460, 330, "grants", 468, 284),
    (640, 185, 550, 185, "queries", 572, 178),
    (720, 230, 545, 330, "status, switch", 660, 284),
    (640, 365, 550, 365, "progress", 568, 358),
    (550, 410, 640, 410, "hint", 582, 426),
]


def text(x, y, content, style=""):
    """One line of text."""
    return (f'<text x="{x}" y="{y}"{style}>{html.escape(content)}</text>')


def box(x, y, width, height, title, lines, ours):
    """A process: its name, and what of Penstock is in it or what it does."""
    parts = [f'<rect x="{x}" y="{y}" width="{width}" height="{height}" '
             f'rx="6" fill="{"#e8f1fb" if ours else "#f4f4f4"}" '
             'stroke="#345"/>',
             text(x + 12, y + 24, title, ' font-weight="bold"')]
    parts += [text(x + 12, y + 46 + 18 * number, line)
              for number, line in enumerate(lines)]
    return parts


def arrow(from_x, from_y, to_x, to_y, content, text_x, text_y):
    """A message's way."""
    return [f'<line x1="{from_x}" y1="{from_y}" x2="{to_x}" y2="{to_y}" '
            'stroke="#345" marker-end="url(#end)"/>',
            text(text_x, text_y, content, ' fill="#345" font-size="12"')]


def picture():
    """The SVG's text."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
        f'height="{HEIGHT}" font-family="sans-serif" font-size="13">',
        '<title>Processes of Penstock and what they send each other</title>',
        '<defs><marker id="end" markerWidth="10" markerHeight="8" refX="9" '
        'refY="4" orient="auto"><path d="M0,0 L10,4 L0,8 z" fill="#345"/>'
        '</marker></defs>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for line in ARROWS:
        parts += arrow(*line)
    for one in BOXES.values():
        parts += box(*one)
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    print(picture(), end="")
