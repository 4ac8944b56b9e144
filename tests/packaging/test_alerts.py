"""Prometheus' alert rules, by promtool: syntax, and when each one fires."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = ROOT / "packaging" / "prometheus" / "penstock.rules.yml"
CASES = ROOT / "tests" / "packaging" / "alerts.yml"


def promtool(*words):
    return subprocess.run(["promtool", *map(str, words)], capture_output=True,
                          text=True, check=False, timeout=60)


class Alerts(unittest.TestCase):
    def test_the_rules_are_valid(self):
        done = promtool("check", "rules", RULES)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_each_alert_fires_when_it_should_and_not_before(self):
        with tempfile.TemporaryDirectory() as folder:
            cases = pathlib.Path(folder, "cases.yml")
            cases.write_text(CASES.read_text("utf-8").replace(
                "[RULES]", f"[{RULES}]"), "utf-8")
            done = promtool("test", "rules", cases)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_alert_has_a_case(self):
        named = {line.split()[-1] for line in
                 RULES.read_text("utf-8").splitlines() if "- alert:" in line}
        tested = {line.split()[-1] for line in
                  CASES.read_text("utf-8").splitlines() if "alertname:" in line}
        self.assertEqual(named, tested)


if __name__ == "__main__":
    if shutil.which("promtool") is None:
        print("SKIPPED: promtool is not there: install prometheus")
        sys.exit(77)
    unittest.main()
