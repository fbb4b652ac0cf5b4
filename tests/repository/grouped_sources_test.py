#!/usr/bin/env python3
"""Which sources cmake/unity_groups.py puts together, and that tests/layering/compile_database.py takes them apart.

  grouped_sources_test.py SOURCE_FOLDER
"""

import json
import pathlib
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
sys.path[:0] = [str(SOURCE / "cmake"), str(SOURCE / "tests/layering")]
import compile_database  # noqa: E402: its folder is an argument
import unity_groups  # noqa: E402

USER = "namespace mlc {\nint Twice(int x) { return Half(x) * 4; }\n}\n"


class GroupsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def together(self, *texts):
        paths = []
        for number, text in enumerate(texts):
            path = pathlib.Path(self.folder.name, f"{number}.cc")
            path.write_text(text)
            paths.append(str(path))
        return len(unity_groups.groups_of(paths)) == 1

    def unnamed(self, declaration):
        return f"namespace mlc {{\nnamespace {{\n{declaration}\n}}  // namespace\n}}  // namespace mlc\n"

    def test_sources_without_common_names_are_together(self):
        self.assertTrue(self.together(self.unnamed("int Third(int x) { return x / 3; }"), USER))

    def test_a_name_that_the_other_uses_keeps_it_apart_in_both_orders(self):
        for declaration in ("int Half(int x) { return x / 2; }", "struct Half {};", "enum class Half { kOne };",
                            "constexpr int Half[] = {1, 2};", "using Half = int;",
                            "template <typename T>\nT Half(T x) { return x / 2; }"):
            with self.subTest(declaration):
                self.assertFalse(self.together(self.unnamed(declaration), USER))
                self.assertFalse(self.together(USER, self.unnamed(declaration)))

    def test_what_is_internal_without_an_unnamed_namespace_counts_too(self):
        self.assertFalse(self.together("static int Half(int x) { return x / 2; }", USER))
        self.assertFalse(self.together("namespace mlc {\nconst int Half = 2;\n}", USER))

    def test_names_within_bodies_comments_and_texts_do_not_count(self):
        inside = self.unnamed('int Third(int x) { int Half = x; return Half; }  // Half() {}\nconstexpr char kText[] = "Half {";')
        self.assertTrue(self.together(inside, USER))

    def test_members_and_qualified_names_are_no_uses(self):
        self.assertTrue(self.together(self.unnamed("int Half(int x) { return x / 2; }"),
                                      "int Twice(Number x) { return x.Half() + other::Half(x) + x->Half(); }"))

    def test_the_same_alias_may_stand_twice(self):
        alias = self.unnamed("using Json = nlohmann::json;")
        self.assertTrue(self.together(alias, alias))
        self.assertFalse(self.together(alias, self.unnamed("using Json = nlohmann::ordered_json;")))

    def test_what_lasts_to_the_end_of_a_group_keeps_a_source_apart(self):
        for line in ("#define HALF 2", "# define HALF 2", "#undef NDEBUG", "using namespace other;"):
            with self.subTest(line):
                self.assertFalse(self.together(line + "\nint x();\n", USER))
                self.assertFalse(self.together(USER, line + "\nint x();\n"))
        self.assertTrue(self.together("// #define HALF 2\n#include <vector>\nint x() { using namespace other; }\n", USER))

    def test_a_group_has_an_end(self):
        self.assertFalse(self.together(*["int x();\n"] * (unity_groups.MOST_SOURCES + 1)))


class DatabaseTest(unittest.TestCase):
    def test_each_source_of_a_group_has_an_entry(self):
        with tempfile.TemporaryDirectory() as folder:
            group = pathlib.Path(folder, "CMakeFiles/x.dir/Unity/unity_0_cxx.cxx")
            group.parent.mkdir(parents=True)
            group.write_text('/* generated */\n#include "/tree/a.cc"\n\n#include "/tree/b.cc"\n')
            entries = [{"directory": folder, "file": str(group), "command": f"c++ -O3 -c {group}"},
                       {"directory": folder, "file": "/tree/c.cc", "command": "c++ -c /tree/c.cc"}]
            pathlib.Path(folder, "compile_commands.json").write_text(json.dumps(entries))
            self.assertEqual([(entry["file"], entry["command"]) for entry in compile_database.compilations(folder)],
                             [("/tree/a.cc", "c++ -O3 -c /tree/a.cc"), ("/tree/b.cc", "c++ -O3 -c /tree/b.cc"),
                              ("/tree/c.cc", "c++ -c /tree/c.cc")])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
