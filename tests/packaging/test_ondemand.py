"""The card for Open OnDemand's dashboard, rendered by Ruby's ERB."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CARD = ROOT / "packaging" / "ondemand" / "_penstock.html.erb"
JOB = {"job": "9_1", "name": "<script>x</script>", "state": "COMPLETED",
       "stalled_gpu_h": 1.5, "verdict": "input-bound"}


class Card(unittest.TestCase):
    def render(self, said, status=0, why=""):
        """The card where `penstock` says this, and why not."""
        with tempfile.TemporaryDirectory() as folder:
            penstock = pathlib.Path(folder, "penstock")
            pathlib.Path(folder, "said").write_text(said, "utf-8")
            penstock.write_text(f"#!/bin/sh\necho \"$@\" > {folder}/asked\n"
                                f"cat {folder}/said\necho '{why}' >&2\n"
                                f"exit {status}\n", "utf-8")
            penstock.chmod(0o755)
            done = subprocess.run(
                ["ruby", "-rerb", "-e",
                 "puts ERB.new(File.read(ARGV[0]), trim_mode: '<>').result",
                 CARD], capture_output=True, text=True, check=False,
                timeout=60, env=dict(os.environ, PATH=f"{folder}:"
                                     + os.environ["PATH"]))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(pathlib.Path(folder, "asked").read_text("utf-8"),
                             "report --user --since 7d --json\n")
        return done.stdout

    def test_the_worst_ten_jobs_are_shown_and_names_are_escaped(self):
        page = self.render(json.dumps({"jobs": [JOB] * 12}))
        self.assertEqual(page.count("<tr><th scope=\"row\">9_1</th>"), 10)
        self.assertIn("&lt;script&gt;", page)
        self.assertNotIn("<script", page)
        self.assertIn("<td>1.50</td>", page)
        self.assertIn("<td>input-bound</td>", page)

    def test_what_is_not_known_is_a_dash(self):
        page = self.render(json.dumps(
            {"jobs": [JOB | {"stalled_gpu_h": None, "name": ""}]}))
        self.assertEqual(page.count("<td>-</td>"), 2)

    def test_without_jobs_it_says_so(self):
        page = self.render("", 3, "penstock: the controller remembers no "
                                  "managed job of ada")
        self.assertIn("No job of the last 7 days has been measured.", page)
        self.assertNotIn("<table", page)

    def test_a_failure_is_told_as_one(self):
        page = self.render("", 3, "no controller <answers>")
        self.assertIn("Not known now: no controller &lt;answers&gt;", page)
        self.assertIn("Not known now: ", self.render("{"))
        self.assertNotIn("No job", page)

    def test_a_warning_beside_the_answer_does_no_harm(self):
        page = self.render(json.dumps({"jobs": [JOB]}), 0, "a warning")
        self.assertIn("9_1", page)


if __name__ == "__main__":
    if shutil.which("ruby") is None:
        print("SKIPPED: ruby is not there: install ruby")
        sys.exit(77)
    unittest.main()
