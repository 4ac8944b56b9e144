"""Runs of ctest with a second try, and counts of random failures."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
# Fails unless it has run before.
SECOND_RUN_PASSES = "test -e ran || ! touch ran"


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)

    def write_tests(self, *tests):
        """Writes tests in CMake's format: (name, label, shell command)."""
        lines = []
        for name, label, command in tests:
            lines.append(f'add_test({name} "/bin/sh" "-c" "{command}")')
            lines.append(f'set_tests_properties({name} PROPERTIES '
                         f'LABELS "{label}" SKIP_RETURN_CODE 77 '
                         f'WORKING_DIRECTORY "{self.build}")')
        (self.build / "CTestTestfile.cmake").write_text(
            "\n".join(lines) + "\n", "utf-8")

    def run_script(self, name, *arguments):
        return subprocess.run([sys.executable, TESTS / name, *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False, timeout=60)


class SecondTry(Case):
    def suite(self, *options):
        return self.run_script("suite.py", str(self.build), *options)

    def test_passes_where_all_pass(self):
        self.write_tests(("good", "unit", "true"))
        done = self.suite()
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn("flaky", done.stdout)

    def test_prints_the_slowest_first(self):
        self.write_tests(("quick", "unit", "true"),
                         ("slow", "unit", "sleep 0.3"))
        shown = self.suite().stdout
        shown = shown[shown.index("the slowest of 2 tests"):].splitlines()
        self.assertEqual([line.split()[-1] for line in shown[1:3]],
                         ["slow", "quick"])

    def test_names_what_a_passing_test_did_not_measure(self):
        self.write_tests(("partly", "cluster", "seq 2000; echo rate ... "
                          "skipped NOT MEASURED: others use the CPUs"),
                         ("whole", "cluster", "echo rate ... ok"))
        done = self.suite()
        self.assertEqual(done.returncode, 0, done.stdout)
        found = [line for line in done.stdout.splitlines()
                 if line.startswith("not measured: ")]
        self.assertEqual(found, ["not measured: partly: rate ... skipped NOT "
                                 "MEASURED: others use the CPUs"])

    def test_names_a_cluster_test_that_passes_alone(self):
        self.write_tests(("good", "unit", "true"),
                         ("skips", "unit", "exit 77"),
                         ("chance", "cluster;function", SECOND_RUN_PASSES))
        done = self.suite()
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("\nflaky: chance\n", done.stdout)

    def test_names_a_timing_test_that_passes_alone(self):
        self.write_tests(("chance", "timing", SECOND_RUN_PASSES))
        done = self.suite()
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("\nflaky: chance\n", done.stdout)

    def test_fails_with_a_cluster_test_that_fails_twice(self):
        self.write_tests(("broken", "cluster", "echo ran >>runs; false"))
        done = self.suite()
        self.assertEqual(done.returncode, 8, done.stdout)
        self.assertNotIn("flaky", done.stdout)
        self.assertEqual((self.build / "runs").read_text("utf-8"),
                         "ran\nran\n")

    def test_gives_a_unit_test_no_second_try(self):
        self.write_tests(("chance", "unit", SECOND_RUN_PASSES))
        self.assertEqual(self.suite().returncode, 8)

    def test_fails_where_a_unit_test_failed_beside_a_cluster_test(self):
        self.write_tests(("unit", "unit", "false"),
                         ("chance", "cluster", SECOND_RUN_PASSES))
        self.assertEqual(self.suite().returncode, 8)

    def test_fails_without_the_list_of_an_earlier_run(self):
        self.write_tests(("chance", "cluster", SECOND_RUN_PASSES))
        self.assertEqual(self.suite("-R", "chance").returncode, 0)
        done = self.suite("-R", "nothing", "--no-tests=error")
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn("once more", done.stdout)

    def test_fails_where_a_program_is_missing_beside_a_cluster_test(self):
        self.write_tests(("chance", "cluster", SECOND_RUN_PASSES),
                         ("skips", "unit", "exit 77"))
        with (self.build / "CTestTestfile.cmake").open("a") as file:
            file.write('add_test(gone "/no/such/program")\n')
        self.assertEqual(self.suite().returncode, 8)

    def test_shows_its_usage_without_arguments(self):
        done = self.run_script("suite.py")
        self.assertEqual(done.returncode, 1)
        self.assertIn("tests/suite.py BUILD_DIRECTORY", done.stdout)


class Flakes(Case):
    def flakes(self, *options):
        self.counts = self.build / "counts.json"
        return self.run_script("flakes", "--build", str(self.build), "--busy",
                               "1", "--json", str(self.counts), *options)

    def counted(self, name):
        return json.loads(self.counts.read_text("utf-8"))[name]

    def test_counts_runs_failures_and_skips(self):
        self.write_tests(("unit", "unit", "false"),
                         ("good", "cluster", "true"),
                         ("skips", "timing", "exit 77"),
                         ("chance", "timing", SECOND_RUN_PASSES),
                         ("slow", "cluster;long", "false"))
        done = self.flakes("--runs", "3")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(set(json.loads(self.counts.read_text("utf-8"))),
                         {"good", "skips", "chance"})
        self.assertEqual(self.counted("good")["failed"], 0)
        self.assertEqual(self.counted("skips")["skipped"], 3)
        self.assertEqual(self.counted("chance")["runs"], 3)
        self.assertEqual(self.counted("chance")["failed"], 1)

    def test_fails_where_a_test_fails_twice(self):
        self.write_tests(("broken", "unit", "false"))
        done = self.flakes("--runs", "2", "broken")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(self.counted("broken")["failed"], 2)

    def test_refuses_a_pattern_without_tests(self):
        self.write_tests(("good", "unit", "true"))
        done = self.flakes("nothing")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no test in", done.stdout)

    def test_ends_its_busy_loops(self):
        mark = f"penstock-flakes-{os.getpid()}"
        self.write_tests(("good", "unit", "true"))
        # The loops inherit the variable.
        os.environ["PENSTOCK_TEST_MARK"] = mark
        self.addCleanup(os.environ.pop, "PENSTOCK_TEST_MARK")
        self.flakes("--runs", "1", "good")
        own = str(os.getpid())
        for environ in pathlib.Path("/proc").glob("[0-9]*/environ"):
            if environ.parent.name == own:
                continue
            try:
                self.assertNotIn(mark.encode(), environ.read_bytes())
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                pass


if __name__ == "__main__":
    unittest.main()
