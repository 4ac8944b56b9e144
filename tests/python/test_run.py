"""penstock run."""

import os
import subprocess
import sys
import unittest

from hook_case import HOOK, ONE_EPOCH, HookCase

PROGRAM = os.environ.get("PENSTOCK_PROGRAM")


@unittest.skipUnless(PROGRAM, "PENSTOCK_PROGRAM is not set")
class RunTest(HookCase):
    def run_command(self, *words, **environment):
        done = subprocess.run(
            [PROGRAM, "run", *map(str, words)], capture_output=True, text=True,
            cwd=self.folder, timeout=100,
            env={**os.environ, "PENSTOCK_SOCKET": self.path, **environment})
        return done.stdout, done.stderr, done.returncode

    def test_the_hook_is_first_on_the_path(self):
        for before, after in (("", ""), ("/a:/b", ":/a:/b")):
            outputs = self.run_command(
                "--", "sh", "-c", "echo $PYTHONPATH", PYTHONPATH=before)
            self.assertEqual(outputs, (f"{HOOK}{after}\n", "", 0))

    def test_a_training_program_is_measured(self):
        try:
            import torch  # noqa: F401
        except ImportError:
            self.skipTest("python3-torch is not installed")
        script = self.file("train.py", ONE_EPOCH)
        outputs = self.run_command("--", sys.executable, script, PYTHONPATH="")
        self.assertEqual(outputs, ("trained\n", "", 0))
        self.check(24, 6)

    def test_words_and_the_exit_code_are_the_commands(self):
        outputs = self.run_command(
            "--", "sh", "-c", 'echo "$@"; exit 7', "sh", "--help", "--", "a b")
        self.assertEqual(outputs, ("--help -- a b\n", "", 7))

    def test_what_cannot_be_run_says_why(self):
        file = self.file("file", "echo")
        for words, message, code in (
            ([], "run: a command is missing: penstock run -- COMMAND", 2),
            (["--"], "run: a command is missing: penstock run -- COMMAND", 2),
            (["--", "/none"], "run: /none: No such file or directory", 127),
            (["--", file], f"run: {file}: Permission denied", 126),
        ):
            with self.subTest(words=words):
                outputs = self.run_command(*words)
                self.assertEqual(outputs, ("", f"penstock: {message}\n", code))

    def test_a_word_before_the_dashes_is_refused(self):
        output, error, code = self.run_command("python3", "train.py")
        self.assertEqual((output, code), ("", 2))
        self.assertRegex(error, "python3")


if __name__ == "__main__":
    unittest.main()
