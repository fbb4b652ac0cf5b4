"""Writes the manual page of a program, section 1, from its help."""

from markdown import facts, sentence

# How every program ends: docs/reference/exit-codes.md has the causes.
EXIT_STATUS = (
    ("0", "success"),
    ("1", "internal error"),
    ("2", "wrong command line"),
    ("3", "no result"),
    ("4", "too many failed trials"),
    ("65", "invalid or unsupported input"),
    ("69", "a server, worker or device is not available"),
    ("73", "an output cannot be written"),
    ("74", "the log is damaged or cannot be read"),
    ("75", "temporary failure"),
    ("77", "not permitted"),
    ("78", "wrong version, wrong machine or wrong configuration"),
    ("130", "interrupted or cancelled"),
)

CONFIG_FILE = (
    "Settings in TOML: the options above that have an environment variable. A flag wins over a "
    "variable, a variable over the file."
)


def roff(text):
    """Text that troff prints as it stands."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def entry(item):
    names = ", ".join(f"\\fB{roff(name)}\\fR" for name in item.names)
    value = f" \\fI{roff(item.value)}\\fR" if item.is_option and item.value else ""
    body = " ".join([sentence(item.text), *facts(item)]).replace("`", "")
    return [".TP", names + value, roff(body)]


def groups(page, heading):
    out = []
    for name, items in page.groups:
        out.append(f"{heading} {roff(name.upper() if heading == '.SH' else name)}")
        for item in items:
            out += entry(item)
    return out


def text_lines(lines):
    """Paragraphs, and indented commands as they stand."""
    out, shown = [], False
    for line in [*lines, ""]:
        if line.startswith(" ") != shown:
            out.append(".fi\n.RE" if shown else ".PP\n.RS 4\n.nf")
            shown = not shown
        if line:
            out += [roff(line.strip())] if shown else [".PP", roff(line)]
    return out


def write(page, version, others):
    """The manual page; `others` are the programs to look at besides."""
    title, summary = page.name.upper(), page.summary[0].removeprefix(f"{page.name}: ")
    out = [f'.TH {roff(title)} 1 "" "mlc\\-tune {roff(version)}" "User Commands"', ".SH NAME"]
    out += [f"{roff(page.name)} \\- {roff(summary.rstrip('.'))}", ".SH SYNOPSIS", roff(page.usage)]
    if page.summary[1:]:
        out += [".SH EXAMPLES", *text_lines(page.summary[1:])]
    out += groups(page, ".SH")
    for sub in page.subcommands:
        out += [f".SH {roff(sub.name.upper())}", roff(sentence(sub.summary[0])), ".PP"]
        out += [roff(sub.usage), *groups(sub, ".SS"), *text_lines(sub.epilogue)]
    if page.epilogue:
        out += [".SH NOTES", *text_lines(page.epilogue)]
    if any("--config" in item.names for item in page.options()):
        out += [".SH FILES", ".TP", "\\fI~/.config/mlc/config.toml\\fR", roff(CONFIG_FILE)]
    out.append(".SH EXIT STATUS")
    for code, meaning in EXIT_STATUS:
        out += [".TP", f"\\fB{code}\\fR", roff(meaning)]
    out += [".SH SEE ALSO", *(f".BR {roff(other)} (1)," for other in others[:-1])]
    out.append(f".BR {roff(others[-1])} (1)")
    return "\n".join(out) + "\n"
