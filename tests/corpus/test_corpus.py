"""The parser of headers, and what a comparison must notice: small scripts with
small hooks that break a promise each."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from corpus import all_scripts
from header import MARK, HeaderError, parse
from runs import Hook, differences, run, without_varying

GOOD = "kind=plain needs=- samples=- loaders=0 trains=- exit=0"


class Headers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "script.py"

    def header(self, words):
        self.file.write_text(f"# corpus: {words}\n")
        return parse(self.file)

    def refused(self, words, *parts):
        with self.assertRaises(HeaderError) as raised:
            self.header(words)
        for part in (str(self.file), *parts):
            self.assertIn(part, str(raised.exception))

    def test_all_fields_are_read(self):
        header = self.header(
            "kind=loops needs=torch,numpy samples=64,8 loaders=2 trains=a,b "
            'exit=-2 run="-m it --n 3" path=site differs=stderr'
        )
        self.assertEqual(header.needs, ("torch", "numpy"))
        self.assertEqual(header.samples, (8, 64))
        self.assertEqual(header.trains, ("a", "b"))
        self.assertEqual((header.exit, header.loaders), (-2, 2))
        self.assertEqual((header.run, header.path), ("-m it --n 3", "site"))
        self.assertEqual(header.differs, ("stderr",))

    def test_optional_fields_have_defaults(self):
        header = self.header(GOOD)
        self.assertEqual((header.run, header.path), ("{script}", ""))
        self.assertEqual((header.needs, header.trains, header.differs), ((), (), ()))
        self.assertIsNone(header.samples)

    def test_an_error_names_file_and_field(self):
        for field, wrong in (
            ("kind", "other"),
            ("needs", "torch,"),
            ("samples", "many"),
            ("samples", "-1"),
            ("loaders", "-1"),
            ("trains", "loader"),
            ("exit", "ok"),
        ):
            words = dict(word.split("=") for word in GOOD.split()) | {field: wrong}
            with self.subTest(field=field, wrong=wrong):
                text = " ".join(f"{name}={value}" for name, value in words.items())
                self.refused(text, f"field {field}", repr(wrong))
        self.refused(GOOD + " differs=exit", "field differs", "'exit'")

    def test_missing_repeated_and_unknown_fields_are_refused(self):
        self.refused(GOOD.replace(" exit=0", ""), "field exit is missing")
        self.refused(GOOD + " exit=1", "field exit is given twice")
        self.refused(GOOD + " speed=1", "'speed=1'", "exit")
        self.file.write_text("import torch\n")
        with self.assertRaisesRegex(HeaderError, "first line"):
            parse(self.file)

    def test_every_script_has_a_header_that_names_its_loaders(self):
        scripts = all_scripts()
        self.assertGreaterEqual(len(scripts), 44)
        for script, header in scripts.items():
            files = script.glob("*.py") if script.is_dir() else [script]
            lines = "".join(file.read_text() for file in files).splitlines()
            body = "\n".join(line for line in lines if not line.startswith(MARK))
            for loader in header.trains:
                with self.subTest(script=script.name, loader=loader):
                    self.assertIn(loader.removesuffix("()"), body)


class Comparisons(unittest.TestCase):
    """A script without torch, and hooks that do what none may do."""

    SCRIPT = f"""# corpus: {GOOD}
import sys
print("loss", 0.5)
print("done", file=sys.stderr)
"""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.script = self.folder / "script.py"
        self.script.write_text(self.SCRIPT)

    def compared(self, hook_source=None):
        hook = None
        if hook_source is not None:
            hook = Hook(self.folder / "hook", counts=True)
            hook.folder.mkdir()
            (hook.folder / "sitecustomize.py").write_text(hook_source)
        header = parse(self.script)
        first = run(sys.executable, self.script, header, self.folder)
        second = run(sys.executable, self.script, header, self.folder, hook)
        return differences(header, first, second)

    def test_equal_runs_and_a_hook_that_does_nothing_pass(self):
        self.assertEqual(self.compared(), [])
        self.assertEqual(self.compared("import os"), [])

    def test_an_added_line_is_noticed(self):
        (why,) = self.compared("print('hook')")
        self.assertIn("stdout differs in line 1", why)

    def test_a_line_on_stderr_is_noticed(self):
        (why,) = self.compared("import sys; sys.stderr.write('hook\\n')")
        self.assertIn("stderr differs in line 1", why)

    def test_a_missing_end_of_line_is_noticed(self):
        (why,) = self.compared(
            "import builtins, functools\n"
            "builtins.print = functools.partial(print, end='')\n"
        )[:1]
        self.assertIn("stdout differs in line 1", why)

    def test_another_exit_status_is_noticed(self):
        why = self.compared("import atexit, os; atexit.register(os._exit, 3)")
        self.assertIn("second run: exit status 3, must be 0", " ".join(why))

    def test_a_wrong_status_without_hook_is_noticed(self):
        self.script.write_text(self.SCRIPT + "sys.exit(4)\n")
        first, second = self.compared()
        self.assertIn("first run: exit status 4, must be 0", first)
        self.assertIn("second run: exit status 4, must be 0", second)

    def test_other_counts_are_noticed_for_each_process(self):
        self.script.write_text(
            self.SCRIPT.replace("samples=- loaders=0 trains=-",
                                "samples=8,64 loaders=2 trains=a")
        )
        (why,) = self.compared("import os")
        self.assertEqual(why, "samples counted (), must be (8, 64)")

    def test_streams_that_may_differ_are_not_compared(self):
        self.script.write_text(
            self.SCRIPT.replace("exit=0", "exit=0 differs=stdout,stderr")
            + "import os; print(os.getpid()); print(os.getpid(), file=sys.stderr)\n"
        )
        self.assertEqual(self.compared(), [])

    def test_what_varies_on_stderr_is_left_out(self):
        one = without_varying(
            'Traceback (most recent call last):\n  File "/a/x.py", line 3, in f\n'
            "    g(1)\nValueError: at 0x7f01 (pid: 12)\n 50%|#5   | 1/2 [00:00<00:01]\r"
        )
        other = without_varying(
            'Traceback (most recent call last):\n  File "/b/y.py", line 4, in g\n'
            "    h()\n    ^^^\nValueError: at 0x7e99 (pid: 345)\n"
        )
        self.assertEqual(one, other)
        self.assertIn("ValueError", one)
        tracker = ("/usr/lib/python3.11/multiprocessing/resource_tracker.py:224: "
                   "UserWarning: resource_tracker: ")
        for chance in (
            "There appear to be 1 leaked semaphore objects to clean up at "
            "shutdown\n"
            "  warnings.warn('resource_tracker: There appear to be %d '\n",
            "'/mp-wolh3nz_': [Errno 2] No such file or directory\n",
        ):
            self.assertEqual(without_varying(f"a\n{tracker}{chance}b\n"),
                             "a\nb\n")


class Program(unittest.TestCase):
    def corpus(self, *options):
        program = Path(__file__).resolve().parent / "corpus.py"
        return subprocess.run([sys.executable, "-B", program, *options], text=True,
                              capture_output=True, check=False)

    def test_a_script_without_torch_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            results = Path(folder) / "results.json"
            done = self.corpus("--only", "json_", "--json", results)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn("2 equal", done.stdout)
            self.assertIn('"script": "json_work.py"', results.read_text())

    def test_no_script_is_skipped_with_its_own_status(self):
        done = self.corpus("--only", "no such script")
        self.assertEqual(done.returncode, 77)

    def test_wrong_options_are_refused(self):
        self.assertIn("--count needs --hook", self.corpus("--count").stderr)
        self.assertIn("no such folder", self.corpus("--hook", "/missing").stderr)


if __name__ == "__main__":
    unittest.main()
