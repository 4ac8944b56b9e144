"""tools/install-packages with fake dpkg, apt and user."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
LIST = "[build]\ncmake\nlibslurm-dev  # its headers\n[test]\nfio\n"


class InstallPackages(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="penstock-packages-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        for name in ("bin", "states", "tools"):
            (self.dir / name).mkdir()
        shutil.copy(TOOLS / "install-packages", self.dir / "tools")
        (self.dir / "tools" / "packages").write_text(LIST)
        # dpkg-query prints ${db:Status-Status} once per architecture.
        self.program("dpkg-query", 'for name; do :; done\n'
                     f'cat "{self.dir}/states/$name" 2>/dev/null')
        self.program("id", "echo 1000")
        self.program("apt-get", "exit 100")

    def program(self, name, body):
        path = self.dir / "bin" / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def states(self, **states):
        for name, state in states.items():
            (self.dir / "states" / name.replace("_", "-")).write_text(state)

    def run_it(self, *sections):
        # Only the programs that the script calls in addition to the fakes; no
        # sudo.
        path = self.dir / "path"
        path.mkdir(exist_ok=True)
        for name in ("awk", "dirname", "sed", "cat"):
            if not (path / name).exists():
                (path / name).symlink_to(shutil.which(name))
        return subprocess.run(
            ["/bin/sh", str(self.dir / "tools" / "install-packages"),
             *sections], capture_output=True, text=True, timeout=30,
            env={"PATH": f"{self.dir}/bin:{path}"})

    def test_where_all_are_installed_nothing_is_done(self):
        self.states(cmake="installed ", libslurm_dev="installed installed ",
                    fio="installed ")
        done = self.run_it("build", "test")
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "", ""))

    def test_removed_and_unknown_packages_are_missing(self):
        for state in ("not-installed ", "config-files ", "half-installed ",
                      None):
            with self.subTest(state=state):
                self.states(cmake="installed ", libslurm_dev=state or "")
                done = self.run_it("build")
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn("root is needed to install: libslurm-dev",
                              done.stderr)

    def test_only_the_sections_asked_for_count(self):
        self.states(cmake="installed ", libslurm_dev="installed ")
        self.assertEqual(self.run_it("build").returncode, 0)
        done = self.run_it("test")
        self.assertEqual(done.returncode, 1)
        self.assertIn("fio", done.stderr)

    def test_an_unknown_section_is_an_error(self):
        done = self.run_it("docs")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no section docs in tools/packages", done.stderr)


if __name__ == "__main__":
    unittest.main()
