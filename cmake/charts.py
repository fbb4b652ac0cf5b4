#!/usr/bin/env python3
"""Draws the charts of the benchmark pages from the tables of the pages.

    charts.py SOURCE_FOLDER    writes the pictures beside the pages

A page asks for a chart below a table, and shows the picture in the next line:

    <!-- chart gpu.svg: mlc / best; by model, batch, precision; limit 1 -->
    ![mlc / best](gpu.svg)

The columns before "by" give the bars, the others their labels. A cell is a number, a number with a
unit (6.2 ms), or a quotient, of which the result counts (20.3 / 25.6 = 0.79). All cells of a column
need the same unit. A row with another cell gets no bars, except that empty cells are skipped. The
limit, if there is one, is a vertical line.
"""

import html
import pathlib
import re
import sys

MARKER = re.compile(r"^<!-- chart (\S+\.svg): (.+?); by (.+?)(?:; limit ([\d.]+))? -->$", re.M)
NUMBER = re.compile(r"(?:[^=]* = )?([\d,]*\.?\d+)( (?:%|[a-zA-Z]+))?")
COLOURS = ("#2f6db5", "#e08a2c", "#5a9a4b", "#8b5fbf", "#b5472f")
ROW, BAR, WIDTH, RIGHT, LETTER = 20, 14, 460, 60, 7  # pixels


def cells(line):
    return [cell.strip().replace("`", "") for cell in line.strip("|").split("|")]


def table_above(text, end):
    """The rows of the last table before `end`, as mappings from the heads of its columns."""
    lines = text[:end].splitlines()
    last = max(number for number, line in enumerate(lines) if line.startswith("|"))
    first = last
    while lines[first - 1].startswith("|"):
        first -= 1
    heads = cells(lines[first])
    return [dict(zip(heads, cells(line))) for line in lines[first + 2 : last + 1]]


def value_of(cell):
    """(number, text beside the bar) of a cell, or None."""
    found = NUMBER.fullmatch(cell)
    return found and (float(found[1].replace(",", "")), found[1] + (found[2] or ""))


def draw(rows, columns, labels, limit):
    """The picture as SVG: one bar for each column of each row."""
    bars = []
    for row in rows:
        values = [(place, value_of(row[name])) for place, name in enumerate(columns) if row[name]]
        if values and all(value for _, value in values):
            bars.append((" ".join(row[label] for label in labels), values))
    largest = max(number for _, values in bars for _, (number, _) in values)
    largest = max(largest, limit or 0)
    left = 16 + LETTER * max(len(label) for label, _ in bars)
    height = ROW * sum(len(values) for _, values in bars) + 30
    legend = sum(40 + LETTER * len(column) for column in columns)
    size = f'width="{left + max(WIDTH + RIGHT, legend)}" height="{height}"'
    font = 'font-family="sans-serif" font-size="12"'
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>']
    out.append('<rect width="100%" height="100%" fill="white"/>')
    y = 5
    for label, values in bars:
        out.append(text_at(left - 8, y + BAR - 2, label, "end"))
        for place, (number, text) in values:
            width = WIDTH * number / largest
            bar = f'x="{left}" y="{y}" width="{width:.1f}" height="{BAR}"'
            out.append(f'<rect {bar} fill="{COLOURS[place % len(COLOURS)]}"/>')
            out.append(text_at(left + width + 4, y + BAR - 2, text, "start"))
            y += ROW
    if limit:
        x = left + WIDTH * limit / largest
        line = f'x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{y}"'
        out.append(f'<line {line} stroke="black" stroke-dasharray="4 3"/>')
    x = left
    for place, column in enumerate(columns):
        out.append(f'<rect x="{x}" y="{y + 6}" width="10" height="10" fill="{COLOURS[place]}"/>')
        out.append(text_at(x + 14, y + 15, column, "start"))
        x += 40 + LETTER * len(column)
    return "\n".join([*out, "</svg>"]) + "\n"


def text_at(x, y, text, anchor):
    return f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}">{html.escape(text)}</text>'


def charts(source):
    """{path of a picture: its text} of all pages."""
    pictures = {}
    for page in sorted((source / "docs").rglob("*.md")):
        text = page.read_text()
        for found in MARKER.finditer(text):
            name, columns, labels, limit = found.groups()
            rows = table_above(text, found.start())
            split = (columns.split(", "), labels.split(", "))
            pictures[page.parent / name] = draw(rows, *split, float(limit) if limit else None)
    return pictures


if __name__ == "__main__":
    for path, picture in charts(pathlib.Path(sys.argv[1])).items():
        path.write_text(picture)
