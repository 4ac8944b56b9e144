"""The hook in any Python program: what it must not change."""

import ast
import os
import shutil
import sys
import unittest

from hook_case import HOOK, ONE_EPOCH, HookCase

try:
    from lib2to3 import pygram, pytree
    from lib2to3.pgen2 import driver
except ImportError:
    driver = None

MODULES = "import sys; print(sorted(sys.modules))"


class StartTest(HookCase):
    """Interpreters that do not import torch."""

    def without(self, *arguments, path=()):
        return self.outputs(
            *arguments, PYTHONPATH=os.pathsep.join(map(str, path)))

    def test_nothing_more_is_imported(self):
        plain, error, _ = self.without("-c", MODULES)
        hooked, hooked_error, _ = self.outputs("-c", MODULES)
        more = set(ast.literal_eval(hooked)) - set(ast.literal_eval(plain))
        self.assertLessEqual(more, {"sitecustomize"})
        self.assertEqual((error, hooked_error), ("", ""))

    def test_the_path_is_as_without_it(self):
        path = "import sys; print(sys.path)"
        more = [self.folder]
        self.assertEqual(self.outputs("-c", path, path=more),
                         self.without("-c", path, path=more))

    def test_a_hidden_sitecustomize_runs(self):
        show = "import sys, sitecustomize; print(sitecustomize.own, sys.path)"
        for name in ("one/sitecustomize.py", "two/sitecustomize/__init__.py"):
            with self.subTest(name):
                path = [self.folder / name[:3]]
                self.file(name, "own = 'mine'\nprint('begun')\n")
                hooked = self.outputs("-c", show, path=path)
                self.assertEqual(hooked, self.without("-c", show, path=path))
                self.assertRegex(hooked[0], "^begun\nmine ")

    def test_a_hidden_sitecustomize_that_fails_says_so(self):
        for number, text in enumerate((
                "1 / 0", "import nothing", "raise SystemExit(3)", "(")):
            with self.subTest(text):
                path = [self.folder / str(number)]
                self.file(f"{number}/sitecustomize.py", text)
                hooked = self.outputs("-c", "print(1)", path=path)
                plain = self.without("-c", "print(1)", path=path)
                self.assertEqual(hooked[0], plain[0])
                self.assertEqual(hooked[2], plain[2])
                last = [one.splitlines()[-1:] for one in (hooked[1], plain[1])]
                self.assertEqual(*last)

    def test_it_is_valid_in_python_2_and_early_python_3(self):
        text = (HOOK / "sitecustomize.py").read_text()
        ast.parse(text, feature_version=(3, 4))
        if driver:
            grammar = pygram.python_grammar  # of Python 2
            driver.Driver(grammar, pytree.convert).parse_string(text)


class TorchTest(HookCase):
    def setUp(self):
        super().setUp()
        try:
            import torch  # noqa: F401
        except ImportError:
            self.skipTest("python3-torch is not installed")

    def check_epoch(self, *arguments, **more):
        self.assertEqual(self.outputs(*arguments, **more), ("trained\n", "", 0))
        self.check(24, 6)

    def test_a_script(self):
        self.check_epoch(self.file("train.py", ONE_EPOCH))

    def test_a_module_with_options(self):
        self.file("package/train.py", ONE_EPOCH)
        self.check_epoch("-s", "-m", "package.train")

    @unittest.skipIf(sys.version_info < (3, 11), "-P is of Python 3.11")
    def test_a_safe_path(self):
        self.check_epoch("-P", self.file("train.py", ONE_EPOCH))

    def test_options_that_ignore_the_environment_are_obeyed(self):
        script = self.file("train.py", ONE_EPOCH)
        for option in ("-I", "-E", "-S"):
            arguments = (option, "-c", MODULES)
            self.assertNotIn("penstock", self.run_python(*arguments).stdout)
        self.assertEqual(self.outputs("-E", script), ("trained\n", "", 0))
        self.check(0, 0)

    def test_a_program_that_replaces_the_path(self):
        text = "import sys; sys.path[:] = [p for p in sys.path if 'lib' in p]\n"
        self.check_epoch(self.file("train.py", text + ONE_EPOCH))

    def test_a_linked_interpreter(self):
        link = self.folder / "python"
        link.symlink_to(os.path.realpath(sys.executable))
        self.check_epoch(self.file("train.py", ONE_EPOCH), program=str(link))

    def test_a_child_that_replaces_its_process(self):
        script = self.file("train.py", ONE_EPOCH)
        self.check_epoch("-c", f"import os, sys; os.execv(sys.executable, "
                               f"[sys.executable, {str(script)!r}])")

    def test_the_hook_of_another_installation_comes_second(self):
        """As with penstock analyze, and the plugin's hook."""
        other = self.folder / "other"
        shutil.copytree(HOOK, other / "hook")
        shutil.copytree(HOOK.parent / "penstock", other / "penstock",
                        ignore=shutil.ignore_patterns("loader", "exchange"))
        self.check_epoch(self.file("train.py", ONE_EPOCH),
                         path=[other / "hook"])

    def test_a_finder_that_asks_all_others(self):
        text = """
import importlib.util, sys, threading

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "torch.optim.optimizer" and not self.asks:
            self.asks = True
            return importlib.util.find_spec(name)

Finder.asks = False
sys.meta_path.insert(0, Finder())
"""
        self.check_epoch(self.file("train.py", text + ONE_EPOCH))

    def test_the_programs_own_penstock_is_taken(self):
        package = self.folder / "own" / "penstock"
        shutil.copytree(HOOK.parent / "penstock", package, symlinks=False,
                        ignore=shutil.ignore_patterns("loader", "exchange"))
        text = ONE_EPOCH + "print(sys.modules['penstock'].__file__)\n"
        output, error, code = self.outputs(
            self.file("train.py", text), path=[self.folder / "own"])
        self.assertEqual((error, code), ("", 0))
        self.assertEqual(output, f"trained\n{package}/__init__.py\n")
        self.check(24, 6)

    def test_a_program_of_that_name_runs_once(self):
        script = self.file("penstock.py", ONE_EPOCH)
        output, error, code = self.outputs(script)
        self.assertEqual((output, code), ("trained\n", 0))
        self.assertRegex(error, "penstock.py is not Penstock's module")
        self.check(0, 0)

    def test_it_can_be_switched_off(self):
        script = self.file("train.py", ONE_EPOCH)
        outputs = self.outputs(script, PENSTOCK_LOADER_WATCH="off")
        self.assertEqual(outputs, ("trained\n", "", 0))
        self.check(0, 0)

    def test_broken_files_change_nothing(self):
        for name in ("penstock/_instrument.py", "penstock/_training.py",
                     "hook/patch_torch.py"):
            for debug in ("", "1"):
                with self.subTest(name, debug=debug):
                    output, error, code = self.outputs(
                        self.file("train.py", ONE_EPOCH), PENSTOCK_DEBUG=debug,
                        PYTHONPATH=str(self.broken_copy(name) / "hook"))
                    self.assertEqual((output, code), ("trained\n", 0))
                    lines = error.splitlines()
                    self.assertEqual(len(lines), len(debug), error)

    def broken_copy(self, name):
        copy = self.folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        for part in ("hook", "penstock"):
            shutil.copytree(
                HOOK.parent / part, copy / part, symlinks=False,
                ignore=shutil.ignore_patterns("loader", "exchange"))
        (copy / name).write_text("def broken(:\n")
        return copy

    def test_without_penstockd_and_home(self):
        script = self.file("train.py", ONE_EPOCH)
        outputs = self.outputs(script, PENSTOCK_SOCKET="/nowhere", HOME="/proc")
        self.assertEqual(outputs, ("trained\n", "", 0))


if __name__ == "__main__":
    unittest.main()
