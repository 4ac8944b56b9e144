#!/usr/bin/python3
"""Runs tests with ctest, prints the slowest, and gives some a second try.

    tests/suite.py BUILD_DIRECTORY [CTEST-OPTION...]

Other load on the machine can fail a test labelled `cluster` or `timing`. If it
passes in a second run, alone, it is printed as `flaky: NAME` and does not fail
the run; tests/flakes measures its rate of failures. Other tests get no second
try. The exit status is 0, or ctest's.
"""

import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

REPEATED = {"cluster", "timing"}
SHOWN = 20  # of the slowest


def ctest(build, *options, **keywords):
    """Runs ctest in a build directory; the completed process."""
    return subprocess.run(["ctest", "--test-dir", build, *options],
                          check=False, text=True, **keywords)


def one(name):
    """The options that select the test of this name."""
    return ["-R", f"^{re.escape(name)}$"]


def labels_of(build, *options):
    """Test name -> set of labels, of the tests that the options select."""
    shown = ctest(build, *options, "--show-only=json-v1",
                  stdout=subprocess.PIPE)
    shown.check_returncode()
    labels = {}
    # Warnings come first.
    for test in json.loads(shown.stdout[shown.stdout.index("{"):])["tests"]:
        properties = {pair["name"]: pair["value"]
                      for pair in test.get("properties", [])}
        labels[test["name"]] = set(properties.get("LABELS", []))
    return labels


def print_slowest(report):
    """The slowest tests of a JUnit report, and the sum of all."""
    times = sorted(((float(case.get("time")), case.get("name"))
                    for case in xml.parse(report).iter("testcase")),
                   reverse=True)
    print(f"the slowest of {len(times)} tests "
          f"({sum(seconds for seconds, _ in times):.0f} s in all):")
    for seconds, name in times[:SHOWN]:
        print(f"{seconds:7.1f} s  {name}")
    sys.stdout.flush()


def print_not_measured(report):
    """Prints the cases of passing tests that tests/cluster/quiet.py skipped:
    ctest does not show the output of passing tests."""
    for case in xml.parse(report).iter("testcase"):
        for line in (case.findtext("system-out") or "").splitlines():
            if "NOT MEASURED" in line:
                print(f"not measured: {case.get('name')}: {line}", flush=True)


def failed_tests(report):
    """The names of the tests that failed or could not be run, from a report."""
    failed = []
    for case in xml.parse(report).iter("testcase"):
        skipped = case.find("skipped")
        skips_itself = (skipped is not None and
                        skipped.get("message", "").startswith("SKIP_"))
        if case.get("status") not in ("run", "disabled") and not skips_itself:
            failed.append(case.get("name"))
    return failed


def main(build, *options):
    report = pathlib.Path(build, "Testing", "suite.xml").absolute()
    # A run that selects no test writes none.
    report.unlink(missing_ok=True)
    status = ctest(build, "--output-on-failure", "--output-junit", report,
                   "--test-output-size-passed", "1000000", *options).returncode
    if not report.exists():
        return status
    print_slowest(report)
    print_not_measured(report)
    failed = failed_tests(report)
    labels = labels_of(build)
    if not failed or not all(labels[name] & REPEATED for name in failed):
        return status
    for name in failed:
        print(f"once more, alone: {name}", flush=True)
        if ctest(build, "--output-on-failure", *one(name)).returncode != 0:
            return status
    for name in failed:
        print(f"flaky: {name}", flush=True)
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    try:
        sys.exit(main(*sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
