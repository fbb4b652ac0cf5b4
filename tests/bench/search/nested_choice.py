"""Chooses the constants of the search for each space by the others alone.

Of the runs of all settings, `judged` keeps three searches of each method: with the constants of the program, with those
that the other devices choose, and with those that the other problems choose. No space has a part in the choice that it
is judged by. A setting's score is the mean log of the trials to the optimum's 95 %, each space counting alike; a run
that does not get there counts twice its trials.
"""
import collections
import json
import math
import sys

# Changed from server/search/search_constants.h, one at a time.
SETTINGS = ("", "descend_after:5", "descend_after:20", "restart_after:15", "restart_after:60", "mistrust_after:4",
            "mistrust_after:25", "descent_reach:2", "descent_reach:5", "tree_depth:3", "tree_depth:6", "tree_columns:0.7",
            "tree_columns:1", "tree_lambda:4")


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def best_setting(runs, method, spaces, over):
    """Of the settings that ran on all of these spaces. The program's own wins a tie."""
    def score(setting):
        return mean(mean(math.log(run["reached"] or 2 * over) for run in runs[method, setting, space]) for space in spaces)
    ran = [setting for setting in SETTINGS if all(runs[method, setting, space] for space in spaces)]
    return min(ran, key=score)


def kind(problem):
    """Made problems are one kind: each is alike the others."""
    return "made" if problem.startswith("rugged") else problem


def judged(lines, over):
    """The lines of the chosen settings, their methods renamed."""
    runs = collections.defaultdict(list)
    for line in lines:
        run = json.loads(line)
        runs[run["method"], run.get("constants", ""), (run["problem"], run["device"])].append(run)
    methods = list(dict.fromkeys(method for method, _, _ in runs))
    spaces = sorted({space for _, _, space in runs})
    kept = []
    for method in methods:
        for space in spaces:
            choices = {method: ""}
            others = {"other devices choose": [other for other in spaces if other != space],
                      "other problems choose": [other for other in spaces if kind(other[0]) != kind(space[0])]}
            for name, choosing in others.items():
                if choosing:
                    choices[f"{method}, {name}"] = best_setting(runs, method, choosing, over)
            print(f"{method}, {space}: {choices}", file=sys.stderr)
            for name, setting in choices.items():
                kept += [json.dumps({**run, "method": name}) for run in runs[method, setting, space]]
    return kept
