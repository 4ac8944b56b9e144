"""tools/bash_completion offers exactly the words that the program accepts."""

import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PENSTOCK = pathlib.Path(os.environ["PENSTOCK_BUILD_DIR"]) / "bin" / "penstock"
# Simulates bash at <TAB>: the last word is incomplete.
TAB = """
source "$0"
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_penstock
printf '%s\\n' "${COMPREPLY[@]}"
"""


def offered(*words):
    done = subprocess.run(
        ["bash", "--norc", "-c", TAB, ROOT / "tools" / "bash_completion",
         "penstock", *words], text=True, capture_output=True, timeout=60,
        env={**os.environ, "PATH": f"{PENSTOCK.parent}:{os.environ['PATH']}"})
    if done.returncode != 0 or done.stderr:
        raise AssertionError(done.stderr)
    return sorted(done.stdout.split())


def help_of(*words):
    done = subprocess.run([PENSTOCK, *words, "--help"], text=True,
                          capture_output=True, timeout=60)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


def commands(*words):
    _, listed = re.split(r"(?im)^subcommands:\n", help_of(*words))
    return re.findall(r"(?m)^  (\w\S*)", listed)


def options(*words):
    return sorted(re.findall(r"(?m)^  (?:-\w,\s*)?(--[\w-]+)",
                             help_of(*words)))


class Completion(unittest.TestCase):
    def test_commands(self):
        self.assertGreater(len(commands()), 10)
        self.assertEqual(offered(""), sorted(commands() + options()))

    def test_options_of_each_command(self):
        for command in commands():
            with self.subTest(command=command):
                self.assertEqual(offered(command, "-"), options(command))

    def test_commands_of_a_command(self):
        names = commands("lmdb")
        self.assertEqual(offered("lmdb", ""), sorted(names))
        for name in names:
            with self.subTest(command=name):
                self.assertEqual(offered("lmdb", name, "-"),
                                 options("lmdb", name))

    def test_a_word_that_is_begun(self):
        self.assertEqual(offered("che"), ["check-config"])
        self.assertEqual(offered("history", "--d"), ["--days"])

    def test_benchmarks(self):
        taken = re.search(r"\{([\w,]+)\}", help_of("bench")).group(1)
        self.assertEqual(offered("bench", ""), sorted(taken.split(",")))

    def test_profiles(self):
        self.assertIn("res50", offered("predict", "res"))

    def test_files(self):
        directory = str(ROOT / "too")
        self.assertIn(f"{ROOT}/tools", offered("check-config", directory))
        self.assertIn(f"{ROOT}/tools", offered("report", "--dir", directory))
        self.assertIn(f"{ROOT}/tools", offered("lmdb", "verify", directory))


if __name__ == "__main__":
    unittest.main()
