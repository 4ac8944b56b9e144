"""The rule for commit subjects."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import check_commits  # noqa: E402


class Subjects(unittest.TestCase):
    def test_accepts_an_area_and_an_imperative(self):
        for subject in ("cgroup: read cpu.max of the parent",
                        "exchange, tests: compare residuals bit for bit",
                        "node_agent: process exit events before samples",
                        "select_ext/ctld: re-read the term file",
                        "docs: embed the picture of the report"):
            self.assertIsNone(check_commits.fault(subject), subject)

    def test_refuses_a_subject_without_an_area(self):
        for subject in ("read cpu.max", "cgroup:read cpu.max", "cgroup: read",
                        ""):
            self.assertIn("area: imperative", check_commits.fault(subject))

    def test_refuses_more_than_72_characters(self):
        subject = "cgroup: read " + "x" * 59
        self.assertIsNone(check_commits.fault(subject))
        self.assertEqual(check_commits.fault(subject + "x"),
                         "73 characters (allowed: 72)")

    def test_refuses_what_is_no_imperative(self):
        for subject, word in (("exchange: what a review found", "what"),
                              ("docs: the picture of the report", "the"),
                              ("tests: 200 runs", "200"),
                              ("cgroup: Read cpu.max", "Read"),
                              ("cgroup: reads cpu.max", "reads"),
                              ("cgroup: reading cpu.max", "reading"),
                              ("cgroup: renamed a file", "renamed")):
            self.assertIn(f"`{word}`", check_commits.fault(subject))


if __name__ == "__main__":
    unittest.main()
