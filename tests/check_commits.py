#!/usr/bin/python3
"""Commit subjects read `area: imperative summary`, in at most 72 characters.

    tests/check_commits.py [SUBJECT...]

Without arguments, it checks the subjects of all commits since this rule exists.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
LAST_UNCHECKED = "8fbb7f65c475cbf0841ae2f013bb8f5faf1605b4"
MOST_CHARACTERS = 72
SKIPPED = 77
# First words that are not verbs. The endings -s, -ed and -ing mark nouns,
# participles and third persons; few verbs have them.
NO_VERBS = set("""
    a all an and another any both each every few five for four from his how if
    in it its many most no nobody none of on one others our so some such that
    the their these they this those three to two we what when where whether
    which who whoever why with""".split())
VERBS = set("""
    access address ban bring bypass compress cross discuss embed express feed
    focus guess miss need pass ping press process ring seed shed speed string
    suppress toss""".split())


def fault(subject):
    """The fault of a subject, or None."""
    if len(subject) > MOST_CHARACTERS:
        return f"{len(subject)} characters (allowed: {MOST_CHARACTERS})"
    found = re.fullmatch(r"[\w./-]+(?:, [\w./-]+)*: (\S+) \S.*", subject)
    if not found:
        return "not of the form `area: imperative summary`"
    first = found.group(1)
    if not re.fullmatch(r"[a-z]+(-[a-z]+)*", first) or first in NO_VERBS:
        return f"begins with `{first}`, which is no imperative"
    if re.search(r"(s|ed|ing)$", first) and first not in VERBS:
        return f"begins with `{first}`: use the imperative"
    return None


def new_subjects():
    """Subjects of the commits to check; None without git history."""
    shown = subprocess.run(
        ["git", "-C", ROOT, "log", "--no-merges", "--format=%s",
         f"{LAST_UNCHECKED}..HEAD"], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, check=False)
    return shown.stdout.splitlines() if shown.returncode == 0 else None


def main(arguments):
    subjects = arguments or new_subjects()
    if subjects is None:
        print("SKIPPED: no git history")
        return SKIPPED
    wrong = [(subject, fault(subject)) for subject in subjects]
    wrong = [f"{subject}: {why}" for subject, why in wrong if why]
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
