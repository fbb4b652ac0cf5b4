"""Writes shell completion of a program from its help, for bash, zsh and fish.

Options, subcommands and the values of options with a closed list are completed; where a value is
free, file names are.
"""

import re


def switches(page):
    """(name, item) of each spelling of each option."""
    return [(name, item) for item in page.options() for name in item.names]


def words(page):
    return [name for name, _ in switches(page)] + [sub.name.split()[-1] for sub in page.subcommands]


def bash_words(page):
    """The words that a command line may go on with."""
    if not page.subcommands:
        yield f"  words='{' '.join(words(page))}'"
        return
    yield '  case "${COMP_WORDS[1]-}" in'
    for sub in page.subcommands:
        yield f"    {sub.name.split()[-1]}) words='{' '.join(words(sub))}' ;;"
    yield f"    *) words='{' '.join(words(page))}' ;;"
    yield "  esac"
    yield f"  if ((COMP_CWORD == 1)); then words='{' '.join(words(page))}'; fi"


def bash(page):
    function = "_" + page.name.replace("-", "_")
    every = [item for part in [page, *page.subcommands] for item in part.options()]
    free = sorted({name for i in every if i.value and not i.choices for name in i.names})
    return "\n".join(
        [
            f"# bash completion of {page.name}",
            f"{function}() {{",
            '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD - 1]}" words',
            "  COMPREPLY=()",
            # bash makes a word of its own of the = in --flag=value.
            '  if [[ $word == "=" ]]; then word=; fi',
            '  if [[ $before == "=" ]]; then before="${COMP_WORDS[COMP_CWORD - 2]}"; fi',
            *bash_words(page),
            '  case "$before" in',
            *(
                f"    {'|'.join(item.names)}) words='{' '.join(item.choices)}' ;;"
                for item in every
                if item.choices
            ),
            *([f"    {'|'.join(free)}) return 0 ;;"] if free else []),
            "  esac",
            '  COMPREPLY=($(compgen -W "$words" -- "$word"))',
            "}",
            f"complete -o bashdefault -o default -F {function} {page.name}\n",
        ]
    )


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def zsh_text(text):
    return re.sub(r"([\[\]:\\])", r"\\\1", text)


def zsh_specs(page):
    for name, item in switches(page):
        repeat = "*" if item.repeatable else ""
        assign = "=" if item.value and name.startswith("--") else ""
        value = ""
        if item.value:
            action = f"({' '.join(item.choices)})" if item.choices else "_files"
            value = f":{zsh_text(item.value)}:{action}"
        yield quoted(f"{repeat}{name}{assign}[{zsh_text(item.text)}]{value}")


def zsh_subcommands(page):
    """The first word is a subcommand; what follows is completed as the subcommand takes it."""
    yield "  '1:command:->command' '*::argument:->argument'"
    yield "case $state in"
    yield "  command) _values command \\"
    described = [
        quoted(f"{sub.name.split()[-1]}[{zsh_text(sub.summary[0])}]") for sub in page.subcommands
    ]
    yield "    " + " \\\n    ".join(described) + " ;;"
    yield "  argument) case $line[1] in"
    for sub in page.subcommands:
        yield f"    {sub.name.split()[-1]}) _arguments \\"
        for spec in zsh_specs(sub):
            yield f"      {spec} \\"
        yield "      '*:file:_files' ;;"
    yield "  esac ;;"
    yield "esac"


def zsh(page):
    out = [f"#compdef {page.name}", f"# zsh completion of {page.name}"]
    if page.subcommands:
        out.append("local curcontext=$curcontext line state")
    out.append("_arguments -C \\" if page.subcommands else "_arguments \\")
    out += [f"  {spec} \\" for spec in zsh_specs(page)]
    out += zsh_subcommands(page) if page.subcommands else ["  '*:file:_files'"]
    return "\n".join(out) + "\n"


def fish_options(page, condition):
    for item in page.options():
        line = f"complete -c {page.name.split()[0]}{condition}"
        for name in item.names:
            line += f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}"
        if item.choices:
            line += f" -x -a {quoted(' '.join(item.choices))}"
        elif item.value:
            line += " -r"
        yield f"{line} -d {fish_quoted(item.text)}"


def fish_quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish(page):
    out = [f"# fish completion of {page.name}"]
    out += fish_options(page, " -n __fish_use_subcommand" if page.subcommands else "")
    for sub in page.subcommands:
        command = sub.name.split()[-1]
        out.append(
            f"complete -c {page.name} -f -n __fish_use_subcommand -a {command} "
            f"-d {fish_quoted(sub.summary[0])}"
        )
        out += fish_options(sub, f" -n '__fish_seen_subcommand_from {command}'")
    return "\n".join(out) + "\n"


# Where a shell looks for the completion of a program, below share/.
SHELLS = {
    "bash-completion/completions/{}": bash,
    "zsh/site-functions/_{}": zsh,
    "fish/vendor_completions.d/{}.fish": fish,
}
