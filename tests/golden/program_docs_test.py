#!/usr/bin/env python3
"""Holds the reference pages of the programs against their --help, and the manual pages and shell
completion that are made of it: every flag is in all of them, and the shells understand them.

  program_docs_test.py BIN SOURCE_FOLDER

What a missing shell or formatter would check is skipped.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN = pathlib.Path(sys.argv[1]).resolve()
SOURCE = pathlib.Path(sys.argv[2]).resolve()
sys.dont_write_bytecode = True  # the source folder stays as it is
sys.path.insert(0, str(SOURCE / "cmake/program_docs"))
import completion
import config_page
import generate
import help_text
import man_page

# A help text as a program with regrouped and wrapped options might print it.
REGROUPED = """mlc-new: does something new
Usage: /some/where/mlc-new [OPTIONS] DIR

Positionals:
  DIR TEXT REQUIRED           where to begin

Model:
  -m,--model TEXT REQUIRED    ONNX file, or a
                              folder of them
  --weights TEXT:{embed,file}=embed
                              embed, or a file
  --transfer TEXT:{on,off}=on for a task without a record

[Option Group: Search]
  --trials INT:INT in [1 - 100] Needs: --model
                              kernels to time
  --quiet Excludes: --loud --louder
                              no progress
  --locks TEXT:DIR (Env:MLC_LOCKS)
                              folder
  --dim TEXT ...              NAME=N

Running it again goes on.
Example: mlc-new in
"""


def flags_of(text):
    """The options of a help text, found apart from the parser: they begin their lines."""
    return {
        flag for names in re.findall(r"^  (-[\w,-]+)", text, re.M) for flag in names.split(",")
    }


def offered_by_bash(script, line):
    """What bash offers for the last word of `line`; words are split as bash splits them."""
    words = re.findall(r"=|[^\s=]+", line) + ([""] if line.endswith(" ") else [])
    program = words[0]
    listed = " ".join(f"'{word}'" for word in words)
    code = f"""{script}
COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}
_{program.replace("-", "_")}
printf '%s\\n' "${{COMPREPLY[@]}}" """
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


class ProgramDocsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share = generate.share(BIN, "1.2.3")

    def test_the_reference_pages_are_those_of_the_help_texts(self):
        for name, text in generate.pages(BIN).items():
            page = SOURCE / "docs/reference" / name
            self.assertTrue(page.is_file(), f"{generate.COMMAND} writes {page}")
            self.assertEqual(page.read_text(), text, f"{generate.COMMAND} writes it again")

    def test_every_flag_is_everywhere(self):
        for program in help_text.PROGRAMS:
            texts = [help_text.ask(BIN / program)]
            page = help_text.read(BIN, program)
            for sub in page.subcommands:
                texts.append(help_text.ask(BIN / program, sub.name.split()[-1]))
            flags = set().union(*map(flags_of, texts))
            self.assertGreater(len(flags), 5)
            written = {
                "page": (SOURCE / f"docs/reference/{program}.md").read_text(),
                "man": re.sub(r"\\f[BIR]|\\(?=-)", "", self.share[f"man/man1/{program}.1"]),
            }
            for path in completion.SHELLS:
                written[path] = self.share[path.format(program)]
            for place, text in written.items():
                for flag in flags:
                    wanted = f"-{'l' if flag[1] == '-' else 's'} {flag.lstrip('-')}"
                    shown = wanted if place.startswith("fish/") else flag
                    found = re.search(rf"(?<![\w-]){re.escape(shown)}(?![\w-])", text)
                    self.assertTrue(found, f"{program}: {flag} is not in {place}")

    def test_flags_of_a_subcommand_are_where_it_is(self):
        for program in help_text.PROGRAMS:
            page = (SOURCE / f"docs/reference/{program}.md").read_text()
            man = self.share[f"man/man1/{program}.1"].replace("\\-", "-")
            shells = {path: self.share[path.format(program)] for path in completion.SHELLS}
            bash, zsh, fish = shells.values()
            for sub in help_text.read(BIN, program).subcommands:
                command = sub.name.split()[-1]
                flags = flags_of(help_text.ask(BIN / program, command))
                self.assertGreater(len(flags), 1)
                section = page.partition(f"\n## {sub.name}\n")[2].partition("\n## ")[0]
                manual = man.partition(f"\n.SH {sub.name.upper()}\n")[2].partition("\n.SH ")[0]
                words = zsh.partition(f"    {command}) _arguments")[2].partition(";;")[0]
                lines = [line for line in fish.splitlines() if f"_from {command}'" in line]
                self.assertEqual(set(offered_by_bash(bash, f"{program} {command} -")), flags)
                for flag in flags:
                    self.assertIn(f"`{flag}", section, sub.name)
                    self.assertIn(f"\\fB{flag}\\fR", manual, sub.name)
                    self.assertRegex(words, rf"{flag}[=\[]", sub.name)
                    option = f" -{'l' if flag[1] == '-' else 's'} {flag.lstrip('-')} "
                    self.assertTrue(any(option in line for line in lines), f"{sub.name} {flag}")

    def test_settings_are_keys_variables_and_flags_of_one_name(self):
        page = (SOURCE / "docs/reference/configuration.md").read_text()
        every = 0
        for program in help_text.PROGRAMS:
            found = config_page.settings(help_text.read(BIN, program))
            man = self.share[f"man/man1/{program}.1"].replace("\\-", "-")
            for name, item in found.items():
                variables = config_page.variable(name), config_page.variable(name, program)
                self.assertIn(item.environment, variables, f"{program} --{name}")
                self.assertIn(f"`{name}`, `{item.environment}`", page, f"{program} --{name}")
                self.assertIn(f"Environment variable: {item.environment}.", man)
            printed = self.printed_config(program) if found else set()
            self.assertEqual(printed, set(found), f"{program} --print-config has every setting")
            every += len(found)
        self.assertGreater(every, 60)

    def printed_config(self, program):
        """Keys that a program prints, with or without a value."""
        done = subprocess.run(
            [BIN / program, "--print-config"],
            capture_output=True,
            text=True,
            check=True,
            env={"PATH": "/usr/bin:/bin"},
        )
        self.assertIn(f"\n[{program}]\n", done.stdout)
        body = done.stdout.partition(f"[{program}]\n")[2]
        return set(re.findall(r"^(?:# )?([a-z-]+)(?: =| is not set)", body, re.M))

    def test_subcommands_are_found(self):
        def found(program):
            return [sub.name for sub in help_text.read(BIN, program).subcommands]

        self.assertIn("mlc-log best", found("mlc-log"))
        self.assertGreater(len(found("mlc-log")), 8)
        self.assertIn("mlc-tune jobs", found("mlc-tune"))
        self.assertIn("mlc-tune release", found("mlc-tune"))

    def test_bash_completes_flags_values_and_subcommands(self):
        def offered(line):
            program = line.split()[0]
            return offered_by_bash(self.share[f"bash-completion/completions/{program}"], line)

        self.assertEqual(offered("mlc-tune --tri"), ["--trials"])
        self.assertEqual(offered("mlc-tune --precision f"), ["fp32", "fp16"])
        self.assertEqual(offered("mlc-tune --precision=t"), ["tf32"])
        self.assertIn("bf16", offered("mlc-tune --precision="))
        self.assertEqual(offered("mlc-tune --model "), [])  # bash goes on with file names
        self.assertEqual(offered("mlc-log ver"), ["verify"])
        self.assertEqual(offered("mlc-tune dra"), ["drain"])
        self.assertEqual(offered("mlc-tune watch --rec"), ["--reconnect-timeout"])
        self.assertEqual(offered("mlc-server --print"), ["--print-config"])
        self.assertEqual(offered("mlc-tune jobs --tri"), [])
        self.assertEqual(offered("mlc-log snapshot --in"), ["--into"])
        self.assertEqual(offered("mlc-log verify --in"), [])

    def test_shells_and_formatters_take_what_is_written(self):
        checks = {
            "bash-completion": ["bash", "-n"],
            "zsh": ["zsh", "-n"],
            "fish": ["fish", "--no-execute"],
            "man": ["groff", "-man", "-Tutf8", "-wall", "-z"],
        }
        with tempfile.TemporaryDirectory() as folder:
            for path, text in self.share.items():
                file = pathlib.Path(folder) / pathlib.Path(path).name
                file.write_text(text)
                check = checks[path.split("/")[0]]
                if shutil.which(check[0]) is None:
                    continue
                done = subprocess.run([*check, str(file)], capture_output=True, text=True)
                with self.subTest(path=path):
                    self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_regrouped_and_wrapped_options_are_parsed(self):
        page = help_text.parse("mlc-new", REGROUPED)
        self.assertEqual(page.usage, "mlc-new [OPTIONS] DIR")
        self.assertEqual([group for group, _ in page.groups], ["Positionals", "Model", "Search"])
        items = {item.names[-1]: item for item in page.items()}
        self.assertEqual(items["DIR"].text, "where to begin")
        self.assertEqual(items["--model"].names, ["-m", "--model"])
        self.assertEqual(items["--model"].text, "ONNX file, or a folder of them")
        self.assertTrue(items["--model"].required)
        self.assertEqual(items["--weights"].choices, ["embed", "file"])
        self.assertEqual(items["--weights"].default, "embed")
        self.assertEqual(items["--transfer"].text, "for a task without a record")
        self.assertEqual(items["--trials"].bounds, "1 - 100")
        self.assertEqual(items["--trials"].needs, ["--model"])
        self.assertEqual(items["--quiet"].excludes, ["--loud", "--louder"])
        self.assertEqual(items["--quiet"].value, "")
        self.assertEqual(items["--locks"].environment, "MLC_LOCKS")
        self.assertTrue(items["--dim"].repeatable)
        self.assertEqual(page.epilogue, ["Running it again goes on.", "Example: mlc-new in"])
        with self.assertRaises(ValueError):
            help_text.parse("mlc-new", "mlc-new: has no options\nUsage: mlc-new\n")

    def test_exit_codes_of_manual_pages_are_those_of_the_reference(self):
        table = (SOURCE / "docs/reference/exit-codes.md").read_text()
        listed = re.findall(r"^\| (\d+) \| (.*) \|$", table, re.M)
        self.assertEqual(listed, list(man_page.EXIT_STATUS))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
