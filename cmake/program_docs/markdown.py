"""Writes the reference page of a program from its help."""

import re
import textwrap

COLUMNS = 100
SEE_ALSO = {
    "mlc-tune": [
        ("Tutorial: a first model", "../tutorial/first-model.md"),
        ("Use a GPU", "../how-to/use-a-gpu.md"),
        ("How the search works", "../explanation/search.md"),
    ],
    "mlc-compile": [
        ("C interface of a library", "c-interface.md"),
        ("Build on a machine that never tunes", "../how-to/use-a-build-machine.md"),
        ("Text forms", "text-forms.md"),
    ],
    "mlc-run": [("Tutorial: a first model", "../tutorial/first-model.md")],
    "mlc-log": [("Schema of the log", "log-schema.md")],
    "mlc-server": [
        ("Run a lab", "../how-to/run-a-lab.md"),
        ("Secure a server", "../how-to/secure-a-server.md"),
        ("Metrics", "metrics.md"),
        ("Quotas", "quotas.md"),
        ("Fleet file", "fleet-file.md"),
    ],
    "mlc-worker": [
        ("Run a lab", "../how-to/run-a-lab.md"),
        ("How a worker times kernels", "../explanation/timing.md"),
        ("Environment variables", "environment.md"),
    ],
}


def code(text):
    return f"`{text}`"


def prose(text):
    """Help text as Markdown: flags, and words with characters that mean something, become code."""

    def word(found):
        core, tail = re.fullmatch(r"(.*?)([.,;:]?)", found[0]).groups()
        return code(core) + tail

    return re.sub(r"(?<![\w/-])--[a-z][\w=-]*[:;,.]?|\S*[_*<>]\S*", word, text)


def wrap(text, first="", rest=""):
    return textwrap.fill(
        text,
        COLUMNS,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def paragraphs(lines):
    """Lines of help as Markdown; indented ones, and commands, stay as they are."""
    out = []
    for line in lines:
        if line.startswith(" "):
            if not out or not out[-1].startswith("    "):
                out.append("")
            out.append("    " + line.strip())
        else:
            start, _, command = line.partition("Example: ")
            out += ["", f"Example: {code(command)}" if command and not start else wrap(prose(line))]
    return out[1:] if out and not out[0] else out


def sentence(text):
    return text if text.endswith((".", "!", "?")) or not text else text + "."


def facts(item):
    """What the help says of an item beside its description, as sentences."""
    if item.required:
        yield "Required."
    if item.repeatable:
        yield "Repeatable."
    if item.choices:
        yield f"One of {', '.join(code(choice) for choice in item.choices)}."
    if item.bounds:
        low, _, high = item.bounds.partition(" - ")
        yield f"From {low} to {high}." if high.strip() else f"At least {low}."
    if item.default:
        yield f"Default: {code(item.default)}."
    if item.environment:
        yield f"Environment variable: {code(item.environment)}."
    if item.needs:
        yield f"Only with {', '.join(map(code, item.needs))}."
    if item.excludes:
        yield f"Not with {', '.join(map(code, item.excludes))}."


def entry(item):
    last = f"{item.names[-1]} {item.value}".strip() if item.is_option else item.names[-1]
    names = [*item.names[:-1], last]
    body = " ".join([sentence(prose(item.text)), *facts(item)]).strip()
    return wrap(f"{', '.join(map(code, names))}: {body}", "- ", "  ")


def groups(page, level):
    out = []
    for heading, items in page.groups:
        out += ["", f"{'#' * level} {heading}", "", *map(entry, items)]
    return out


def usage(page):
    return ["", f"    {page.usage}"]


def write(page, command):
    """The page; `command` is what writes it again."""
    first = f"{page.name}: "
    summary = [line.removeprefix(first) for line in page.summary]
    summary[0] = sentence(summary[0][0].upper() + summary[0][1:])
    out = [f"# {page.name}", "", *paragraphs(summary), *usage(page)]
    source = f"This page is generated from `{page.name} --help`; `{command}` writes it again."
    out += ["", wrap(source)]
    out += groups(page, 2)
    for sub in page.subcommands:
        out += ["", f"## {sub.name}", "", wrap(sentence(prose(sub.summary[0]).capitalize()))]
        out += [*usage(sub), *groups(sub, 3)]
        if sub.epilogue:
            out += ["", *paragraphs(sub.epilogue)]
    if page.epilogue:
        out += ["", "## Notes", "", *paragraphs(page.epilogue)]
    links = [*SEE_ALSO.get(page.name, []), ("Exit codes", "exit-codes.md")]
    if any("--config" in item.names for item in page.options()):
        links.insert(-1, ("Configuration file", "configuration.md"))
    out += ["", "## See also", "", *(f"- [{text}]({link})" for text, link in links)]
    return "\n".join(out) + "\n"
