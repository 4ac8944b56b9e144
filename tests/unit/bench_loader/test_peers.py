"""Available peers, and messages for missing ones."""

import pathlib
import stat
import tempfile
import unittest

from bench.loader.peers import BARE_DECODE, PEERS, PENSTOCK, Peer, Programs

BY_NAME = {peer.name: peer for peer in PEERS}


class Missing(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="penstock-peers-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "bin").mkdir()

    def script(self, name, body):
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def test_programs_missing_in_the_build_are_named(self):
        programs = Programs(self.folder, None)
        for name in (PENSTOCK, BARE_DECODE):
            self.assertIn("is not built", programs.missing(BY_NAME[name]))
        self.script("penstock-bench-loader", "")
        self.assertIsNone(programs.missing(BY_NAME[PENSTOCK]))
        self.assertIn("penstock-bench-decode is not built",
                      programs.missing(BY_NAME[BARE_DECODE]))

    def test_a_missing_module_is_named(self):
        programs = Programs(self.folder, None)
        self.assertIsNone(programs.missing(Peer("x", "x", modules=("json",))))
        self.assertEqual(
            programs.missing(Peer("x", "x", modules=("json", "no_such"))),
            "ModuleNotFoundError: No module named 'no_such'")

    def test_an_unusable_virtual_environment_is_reported_with_its_cause(self):
        ffcv = BY_NAME["ffcv"]
        self.assertIn("tests/peers --dir DIR",
                      Programs(self.folder, None).missing(ffcv))
        programs = Programs(self.folder, self.folder)
        self.assertIn("No such file or directory", programs.missing(ffcv))
        self.script("python", "echo broken >&2; exit 1")
        self.assertEqual(programs.missing(ffcv), "broken")
        self.script("python", "exit 1")
        self.assertEqual(programs.missing(ffcv), "does not start")
        self.script("python", "exit 0")
        self.assertIsNone(programs.missing(ffcv))
        self.assertEqual(programs.command(ffcv, "data", 2, 1, 3)[0],
                         self.folder / "bin" / "python")

    def test_names_of_peers_are_unique_and_valid_in_figures(self):
        self.assertEqual(len(BY_NAME), len(PEERS))
        for name in BY_NAME:
            self.assertRegex(name, r"^[a-z_]+$")


if __name__ == "__main__":
    unittest.main()
