#!/usr/bin/env python3
"""Draws the chart of the benchmarks.

    python3 bench/chart.py bench/results.txt > doc/benchmarks.svg

Reads what bench/run.sh writes with OUT=bench/results.txt, and shows each ratio
of throughputs to plain SQL or to PgQ: a mark for the median, a line from the
lowest to the highest round.  Needs nothing but Python.
"""

import math
import re
import sys
from html import escape

# What one would write without minikafka, by the names in bench/run.sh.
PLAIN = {"INSERT", "INSERT SELECT", "SELECT", "SELECT, UPDATE", "plpgsql", "DELETE USING", "SKIP LOCKED"}
PGQ = "PgQ"

# Names of the work in full.
NAMES = [
    (r"^send, no wait for WAL, (.*)", r"send() with synchronous_commit = off, \1"),
    (r"^send, (.*)", r"send(), \1"),
    (r"^1,000 by (.*)", r"1,000 records a transaction by \1"),
    (r"^fetch\(\) of 500, 1M present", r"fetch() of 500 records of a million"),
    (r"^poll 100, commit, fsync wait on", r"poll() of 100 records and commit()"),
    (r"^poll 100, commit, fsync wait off", r"the same with synchronous_commit = off"),
    (r"^outbox\(\), INSERT of (.*)", r"outbox() trigger, INSERT of \1 rows"),
    (r"^compaction, (?:1\.0M|1M)", "compaction of a million records"),
    (r"^acquire 1, (.*), fsync wait on", r"acquire(), \1"),
    (r"^acquire 1, (.*), fsync wait off", r"acquire() with synchronous_commit = off, \1"),
    (r"\b1 workers", "1 worker"),
    (r"segments: 1$", "1 segment"),
    (r"segments: (\d+)$", r"\1 segments"),
    (r"\b1 cl\.", "1 client"),
    (r"\bcl\.", "clients"),
    (r"\b1 part\.", "1 partition"),
    (r"\bpart\.", "partitions"),
]

LEFT, WIDTH, RIGHT = 390, 430, 90  # names, scale, figures
TOP, ROW, BOTTOM = 112, 30, 62
LOW, HIGH = 0.5, 3.0
TICKS = [0.5, 0.75, 1.0, 1.5, 2.0, 3.0]
BLUE, ORANGE, INK, GREY, LINE = "#1f5fa8", "#c25a00", "#1c1c1c", "#5a5a5a", "#d9d9d9"


def name(work):
    for pattern, text in NAMES:
        work = re.sub(pattern, text, work)
    return work


def read(path):
    """The comments of the file, and its ratios by the name of the work."""
    comments, works = [], {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            line = line.rstrip("\n")
            if line.startswith("#"):
                comments.append(line.lstrip("# "))
                continue
            fields = line.split("\t")
            if fields[0] == "measure":
                columns = fields
                continue
            row = dict(zip(columns, fields))
            if row["measure"] != "rate" or row["low"] == "-":
                continue
            if row["against"] in PLAIN:
                works.setdefault(row["work"], {})["plain"] = row
            elif row["against"] == PGQ:
                works.setdefault(row["work"], {})["pgq"] = row
    return comments, works


def at(ratio):
    """Where a ratio is, from left to right: twice as fast is as far from 1 as half."""
    ratio = min(max(ratio, LOW), HIGH)
    return LEFT + WIDTH * math.log(ratio / LOW) / math.log(HIGH / LOW)


def text(x, y, words, size=13, color=INK, anchor="start", weight="normal"):
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" fill="{color}" '
        f'text-anchor="{anchor}" font-weight="{weight}">{escape(words)}</text>'
    )


def line(x1, y1, x2, y2, color, width=1.0, dash=""):
    dash = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke="{color}" stroke-width="{width}"{dash}/>'
    )


def mark(kind, x, y):
    """A circle for plain SQL, a square on its corner for PgQ."""
    if kind == "plain":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{BLUE}"/>'
    return (
        f'<path d="M {x - 6:.1f} {y:.1f} l 6 -6 l 6 6 l -6 6 z" fill="{ORANGE}"/>'
    )


def result(kind, row, y):
    color = BLUE if kind == "plain" else ORANGE
    low, median, high = (float(row[c]) for c in ("low", "median", "high"))
    return [
        line(at(low), y, at(high), y, color, 2),
        mark(kind, at(median), y),
    ]


def draw(comments, works):
    bottom = TOP + ROW * len(works)
    height, width = bottom + BOTTOM, LEFT + WIDTH + RIGHT
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" '
        'font-family="Helvetica, Arial, sans-serif">',
        "<title>Throughput of minikafka relative to plain SQL and to PgQ</title>",
        # readable whatever is behind it
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="6" '
        f'fill="#ffffff" stroke="{LINE}"/>',
        text(20, 30, "Throughput of minikafka relative to plain SQL and to PgQ", 18, weight="bold"),
        text(
            20,
            51,
            "Ratio of records per second. To the right of 1, minikafka is faster. "
            "Mark: median of the rounds; line: lowest to highest.",
            12.5,
            GREY,
        ),
        mark("plain", 26, 74),
        text(38, 78, "to the plain SQL for the same work"),
        mark("pgq", 286, 74),
        text(298, 78, "to PgQ"),
    ]
    for tick in TICKS:
        x = at(tick)
        one = tick == 1.0
        out.append(line(x, TOP - 8, x, bottom, INK if one else LINE, 1.2 if one else 1))
        out.append(text(x, TOP - 14, f"{tick:g}", 12, INK if one else GREY, "middle"))
    out.append(text(LEFT + WIDTH + RIGHT - 56, TOP - 14, "SQL", 12, BLUE, "end"))
    out.append(text(LEFT + WIDTH + RIGHT - 14, TOP - 14, "PgQ", 12, ORANGE, "end"))
    for number, (work, kinds) in enumerate(works.items()):
        y = TOP + ROW * (number + 0.5)
        if number % 2 == 0:
            out.insert(
                3,
                f'<rect x="12" y="{y - ROW / 2:.0f}" width="{width - 24}" '
                f'height="{ROW}" fill="#f5f6f8"/>',
            )
        out.append(text(20, y + 4, name(work)))
        for kind, color, end in (("plain", BLUE, 56), ("pgq", ORANGE, 14)):
            if kind in kinds:
                # beside each other where there are two
                shift = 0 if len(kinds) == 1 else -6 if kind == "plain" else 6
                out += result(kind, kinds[kind], y + shift)
                out.append(text(width - end, y + 4, kinds[kind]["median"], 13, color, "end"))
    where = comments[0].split(": ")[0] if comments else ""
    out.append(
        text(20, bottom + 26, f"{where}. fsync on; records of 200 bytes.", 12, GREY)
    )
    out.append(
        text(20, bottom + 44, "Measured by bench/run.sh, drawn by bench/chart.py.", 12, GREY)
    )
    out.append("</svg>")
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.stdout.write(draw(*read(sys.argv[1])))
