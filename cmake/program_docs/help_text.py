"""Parses what a program of the project prints for --help.

The parser relies on the layout alone: a heading is a line without indentation that ends in a colon,
an item is indented by a few columns, its description by many. Headings may be added, renamed and
regrouped. An item that starts with a dash is an option, with a capital a positional argument, with
a small letter a subcommand.
"""

import dataclasses
import re
import subprocess

PROGRAMS = ("mlc-tune", "mlc-compile", "mlc-run", "mlc-log", "mlc-server", "mlc-worker")
MOST_ITEM_INDENT = 6


@dataclasses.dataclass
class Item:
    """An option, a positional argument or a subcommand."""

    names: list  # of an option: all its spellings, such as -o and --output
    value: str = ""  # the placeholder of its value; empty for a switch
    choices: list = dataclasses.field(default_factory=list)
    bounds: str = ""  # such as "1 - 100"
    default: str = ""
    environment: str = ""
    excludes: list = dataclasses.field(default_factory=list)
    needs: list = dataclasses.field(default_factory=list)
    required: bool = False
    repeatable: bool = False
    text: str = ""

    @property
    def is_option(self):
        return self.names[0].startswith("-")


@dataclasses.dataclass
class Help:
    """One page of help. `subcommands` holds the pages of the subcommands, in their order."""

    name: str
    summary: list  # paragraphs
    usage: str
    groups: list  # (heading, items)
    epilogue: list  # paragraphs
    subcommands: list = dataclasses.field(default_factory=list)

    def items(self):
        return [item for _, items in self.groups for item in items]

    def options(self):
        return [item for item in self.items() if item.is_option]


def description_column(lines):
    """The column at which most descriptions begin."""
    columns = [len(line) - len(line.lstrip()) for line in lines if line.startswith(" ")]
    columns = [column for column in columns if column > MOST_ITEM_INDENT]
    items = (re.match(r" {1,6}\S(?:\S| (?! ))* {2,}\S", line) for line in lines)
    columns += [item.end() - 1 for item in items if item]
    return max(set(columns), key=columns.count) if columns else 30


def balanced(text):
    return all(text.count(a) == text.count(b) for a, b in ("()", "[]", "{}"))


def split_item(line, column, has_more):
    """The left part of an item, and what its line has of the description."""
    if found := re.match(r"(.*?\S) {2,}(\S.*)$", line.strip()):
        return found[1], found[2]
    fits = line[column - 1 : column] == " " and line[column : column + 1].strip()
    if fits and not has_more and balanced(line[:column]):
        return line[:column].strip(), line[column:].strip()
    return line.strip(), ""


def flags_after(word, text):
    """Takes `word: --a --b` out of text; the flags and what is left."""
    found = re.search(rf"\s*\b{word}:((?: -[\w-]+)+)", text)
    if not found:
        return [], text
    return found[1].split(), text[: found.start()] + text[found.end() :]


def parse_item(left, text):
    names, _, rest = left.partition(" ")
    item = Item(names=names.split(","), text=text)
    if left.startswith("-") and "=" in names:
        item.names = names.partition("=")[0].split(",")
        rest = names.partition("=")[2] + " " + rest
    item.excludes, rest = flags_after("Excludes", rest)
    item.needs, rest = flags_after("Needs", rest)
    if found := re.search(r"\s*\(Env:(\w+)\)", rest):
        item.environment = found[1]
        rest = rest.replace(found[0], "")
    for word, field in ((r"REQUIRED", "required"), (r"\.\.\.", "repeatable")):
        rest, count = re.subn(rf"(?<!\S){word}(?!\S)", "", rest)
        setattr(item, field, count > 0)
    if found := re.search(r":\{([^}]*)\}", rest):
        item.choices = found[1].split(",")
        rest = rest.replace(found[0], "")
    if found := re.search(r":\w+ in \[([^\]]*)\]", rest):
        item.bounds = found[1]
        rest = rest.replace(found[0], "")
    rest, _, item.default = rest.strip().partition("=")
    item.value = rest.partition(":")[0].strip()
    if rest.endswith(":NONNEGATIVE"):
        item.bounds = "0 - "
    return item


def parse(name, text):
    """`text` as a Help. Raises ValueError for a line that it cannot place."""
    text = re.sub(rf"\S*/(?={re.escape(name)}\b)", "", text)
    lines = text.rstrip().splitlines()
    column = description_column(lines)
    page = Help(name, [], "", [], [])
    place = page.summary
    for number, line in enumerate(lines):
        more = lines[number + 1 : number + 2]
        indent = len(line) - len(line.lstrip())
        if line.startswith("Usage:"):
            page.usage = line.partition(":")[2].strip()
            place = page.epilogue
        elif page.usage and (found := re.fullmatch(r"\[?(\S.*?)\]?:?", line)) and line[-1] in ":]":
            page.groups.append((found[1].replace("Option Group: ", ""), []))
            place = None
        elif place is None and 0 < indent <= MOST_ITEM_INDENT:
            has_more = bool(more) and len(more[0]) - len(more[0].lstrip()) > MOST_ITEM_INDENT
            page.groups[-1][1].append(parse_item(*split_item(line, column, has_more)))
        elif place is None and indent > MOST_ITEM_INDENT:
            if not page.groups[-1][1]:
                raise ValueError(f"{name} --help: a description without an item: {line}")
            item = page.groups[-1][1][-1]
            item.text = f"{item.text} {line.strip()}".strip()
        elif line.strip():
            place = page.epilogue if page.usage else page.summary
            place.append(line.rstrip())
    page.groups = [(heading, items) for heading, items in page.groups if items]
    if not page.usage or not page.options():
        raise ValueError(f"{name} --help: has no usage or no options")
    return page


def ask(program, *arguments):
    """The help of a program, as it prints it."""
    done = subprocess.run(
        [str(program), *arguments, "--help"], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def read(folder, name):
    """The help of a program in `folder`, with the pages of its subcommands."""
    page = parse(name, ask(folder / name))
    for item in page.items():
        if item.is_option or not item.names[0].islower():
            continue
        command = item.names[0]
        page.subcommands.append(parse(f"{name} {command}", ask(folder / name, command)))
        page.subcommands[-1].summary = [item.text]
    return page
