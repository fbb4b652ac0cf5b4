"""Tables of breadth.py's records, as Markdown and JSON."""

import collections
import json
import math

SUITES = ("torchvision", "timm", "transformers")
NAMES = {
    "mlc": "mlc",
    "inductor": "inductor",
    "inductor-graphs": "inductor with CUDA graphs",
    "onnxruntime": "ONNX Runtime",
}
BAD = ("failed", "crashed", "out of time")


def right(row):
    return row["verdict"] in ("whole", "parts") and row.get("right", False)


def suite_of(row):
    return row["model"].partition("/")[0]


def counts(rows, way):
    """Lines of the first table: models by suite and verdict."""
    for suite in (*SUITES, "all"):
        own = [r for r in rows if r["way"] == way and suite in (suite_of(r), "all") and r["verdict"] != "no model"]
        if not own:
            continue
        number = collections.Counter(r["verdict"] for r in own)
        apart = [r["difference"] for r in own if right(r)]
        yield [
            suite,
            NAMES[way],
            len(own),
            number["whole"],
            number["parts"],
            number["none"],
            sum(number[verdict] for verdict in BAD),
            sum(map(right, own)),
            f"{max(apart):.1e}" if apart else "",
        ]


def shares(rows):
    """Of the models that inductor compiles right, those that mlc compiles right: two numbers."""
    by_way = {way: {r["model"]: r for r in rows if r["way"] == way} for way in NAMES}
    both = [m for m, r in by_way["inductor"].items() if right(r) and m in by_way["mlc"]]
    return sum(right(by_way["mlc"][m]) for m in both), len(both)


def quotients(rows):
    """Lines of the table of times: geometric means of mlc's time over that of others."""
    ms = {(r["model"], r["way"]): r["ms"] for r in rows if right(r) and "ms" in r}
    eager = {r["model"]: r["eager_ms"] for r in rows if right(r) and r["way"] == "mlc" and "eager_ms" in r}
    for suite in (*SUITES, "all"):
        cells = [suite]
        for other in ("eager", "inductor", "inductor-graphs", "onnxruntime"):
            pairs = []
            for (model, way), own in ms.items():
                peer = eager.get(model) if other == "eager" else ms.get((model, other))
                if way == "mlc" and peer and suite in (model.partition("/")[0], "all"):
                    pairs.append(math.log(own / peer))
            cells.append(f"{math.exp(sum(pairs) / len(pairs)):.2f} ({len(pairs)})" if pairs else "")
        if any(cells[1:]):
            yield cells


def lines(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |"


def reasons(rows):
    """Lines of the last table: why graphs of models run in eager mode, most frequent first."""
    found = collections.defaultdict(list)
    for row in rows:
        if row["way"] != "mlc" or row["verdict"] == "no model":
            continue
        for reason in row.get("reasons", []):
            found[reason].append(row["model"])
        if row["verdict"] in ("whole", "parts") and not right(row):
            found[f"other values: {row.get('difference')}"].append(row["model"])
    for reason, models in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
        yield [reason, len(models), ", ".join(sorted(models))]


def text(rows):
    head = ["suite", "way", "models", "whole", "in parts", "eager", "failed", "right", "largest difference"]
    parts = [*lines(head, (row for way in NAMES for row in counts(rows, way)))]
    held, of = shares(rows)
    if of:
        parts += ["", f"Of {of} models that inductor compiles right, mlc compiles {held} right."]
    timed = list(quotients(rows))
    if timed:
        parts += ["", *lines(["suite", *(f"mlc / {peer}" for peer in ("eager", *list(NAMES.values())[1:]))], timed)]
    why = list(reasons(rows))
    if why:
        parts += ["", *lines(["why a graph runs in eager mode", "models", "which"], why)]
    return "\n".join(parts) + "\n"


def write(rows, table, document):
    rows = sorted(rows, key=lambda row: (SUITES.index(suite_of(row)), row["model"], row["way"]))
    if table:
        table.write_text(text(rows))
    if document:
        body = ",\n".join("  " + json.dumps(row) for row in rows)
        document.write_text('{"models": [\n' + body + "\n]}\n")
