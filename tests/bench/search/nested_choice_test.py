#!/usr/bin/env python3
"""The nested choice takes no setting for a space that the space itself has chosen."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import nested_choice  # noqa: E402

OVER = 257
DEEP = "tree_depth:6"


def line(problem, device, constants, reached):
    return json.dumps({"problem": problem, "device": device, "method": "cold", "constants": constants, "seed": 1,
                       "reached": reached})


class NestedChoiceTest(unittest.TestCase):
    def reached(self, lines):
        runs = [json.loads(text) for text in nested_choice.judged(lines, OVER)]
        return {(run["method"], run["device"]): run["reached"] for run in runs}

    def test_a_space_that_alone_likes_a_setting_is_not_judged_by_it(self):
        lines = [line("p", device, setting, 5 if (setting == DEEP) == (device == "odd") else 100)
                 for device in ("odd", "a", "b") for setting in ("", DEEP)]
        reached = self.reached(lines)
        self.assertEqual(reached["cold, other devices choose", "odd"], 100)
        self.assertEqual(reached["cold", "a"], 5)

    def test_a_setting_that_all_spaces_like_is_chosen(self):
        lines = [line("p", device, setting, 5 if setting == DEEP else 100)
                 for device in ("a", "b") for setting in ("", DEEP)]
        reached = self.reached(lines)
        self.assertEqual(reached["cold, other devices choose", "a"], 5)
        self.assertEqual(reached["cold", "a"], 100)

    def test_other_problems_choose_without_any_device_of_the_judged_one(self):
        lines = [line("p", device, setting, 5 if setting == DEEP else 100)
                 for device in ("a", "b") for setting in ("", DEEP)]
        lines += [line("q", "a", setting, 100 if setting == DEEP else 5) for setting in ("", DEEP)]
        reached = self.reached(lines)
        self.assertEqual(reached["cold, other problems choose", "b"], 100)

    def test_a_run_that_does_not_get_there_is_worse_than_one_at_the_last_trial(self):
        lines = [line("p", device, setting, 0 if setting == DEEP else OVER - 1)
                 for device in ("a", "b") for setting in ("", DEEP)]
        self.assertEqual(self.reached(lines)["cold, other devices choose", "a"], OVER - 1)


if __name__ == "__main__":
    unittest.main()
