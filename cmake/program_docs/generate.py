#!/usr/bin/env python3
"""Writes what follows from the --help of the programs.

    generate.py pages BIN FOLDER            the reference pages, FOLDER/PROGRAM.md and the page
                                            of the configuration file
    generate.py share BIN FOLDER VERSION    manual pages and shell completion, below FOLDER

BIN holds the built programs. Help texts are the only source: to change a page, change the program.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import completion
import config_page
import help_text
import man_page
import markdown

COMMAND = "ninja -C build/release program_pages"


def pages(folder):
    """{file name: text} of the reference pages of the programs in `folder`."""
    helps = [help_text.read(folder, name) for name in help_text.PROGRAMS]
    files = {f"{page.name}.md": markdown.write(page, COMMAND) for page in helps}
    return {**files, "configuration.md": config_page.write(helps, COMMAND)}


def share(folder, version):
    """{path below share/: text} of the manual pages and the shell completion."""
    files = {}
    for name in help_text.PROGRAMS:
        page = help_text.read(folder, name)
        others = [other for other in help_text.PROGRAMS if other != name]
        files[f"man/man1/{name}.1"] = man_page.write(page, version, others)
        for path, write in completion.SHELLS.items():
            files[path.format(name)] = write(page)
    return files


def main(arguments):
    if arguments[:1] == ["pages"] and len(arguments) == 3:
        files = pages(pathlib.Path(arguments[1]))
    elif arguments[:1] == ["share"] and len(arguments) == 4:
        files = share(pathlib.Path(arguments[1]), arguments[3])
    else:
        print(__doc__, file=sys.stderr)
        return 2
    for path, text in files.items():
        target = pathlib.Path(arguments[2]) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
