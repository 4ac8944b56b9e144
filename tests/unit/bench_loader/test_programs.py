"""The programs that penstock bench loader measures, on a few pictures."""

import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

from bench.loader import measure

BIN = pathlib.Path(os.environ["PENSTOCK_BUILD_DIR"]) / "bin"
LOADER = BIN / "penstock-bench-loader"
DECODE = BIN / "penstock-bench-decode"
SIDE = 224


def setUpModule():
    global FOLDER  # pylint: disable=global-variable-undefined
    folder = tempfile.TemporaryDirectory(prefix="penstock-bench-")
    unittest.addModuleCleanup(folder.cleanup)
    FOLDER = pathlib.Path(folder.name)
    subprocess.run([BIN / "penstock-demo-data", "--out", FOLDER / "set",
                    "--count", "8"], check=True, stdout=subprocess.DEVNULL)


class Loops(unittest.TestCase):
    def test_the_programs_load_pictures(self):
        for command in ([LOADER, "load"], [DECODE]):
            with self.subTest(program=command[0].name):
                if not command[0].exists():
                    self.skipTest("built without TurboJPEG")
                found = measure.measure([*command, FOLDER / "set", 2, 0.2, 4],
                                        dict(os.environ))
                self.assertGreater(found.images, 20)
                self.assertGreater(found.cpu_s, 0)

    def test_folders_without_readable_pictures_are_an_error(self):
        (FOLDER / "none").mkdir()
        broken = FOLDER / "broken"
        broken.mkdir()
        (broken / "a.jpg").write_bytes(b"\xff\xd8nothing")
        for command in ([LOADER, "load"], [DECODE]):
            if not command[0].exists():
                continue
            for folder in (FOLDER / "none", broken):
                with self.subTest(program=command[0].name, folder=folder.name):
                    with self.assertRaises(measure.BenchError) as caught:
                        measure.measure([*command, folder, 1, 0, 1],
                                        dict(os.environ))
                    self.assertRegex(str(caught.exception), "jpg|picture")

    def test_invalid_arguments_are_an_error(self):
        for command in ([LOADER], [LOADER, "load", FOLDER], [DECODE],
                        [LOADER, "load", FOLDER, "0", "1", "1"],
                        [LOADER, "load", FOLDER, "1", "x", "1"],
                        [DECODE, FOLDER, "1", "1", "nan"]):
            if not command[0].exists():
                continue
            done = subprocess.run(command, stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=20, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(command[0].name.encode(), done.stderr)


class Crops(unittest.TestCase):
    def crops(self, text):
        return subprocess.run([LOADER, "crops"], input=text.encode(),
                              capture_output=True, timeout=20, check=False)

    def floats(self, text):
        done = self.crops(text)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return struct.unpack(f"{len(done.stdout) // 4}f", done.stdout)

    def test_a_flipped_crop_mirrors_the_unflipped_one(self):
        name = FOLDER / "set" / "sample_000001.jpg"
        spaced = FOLDER / "a name.jpg"
        spaced.write_bytes(name.read_bytes())
        found = self.floats(f"10 20 300 200 0 {name}\n"
                            f"10 20 300 200 1 {spaced}\n")
        picture = 3 * SIDE * SIDE
        self.assertEqual(len(found), 2 * picture)
        row = found[:SIDE]
        mirrored = found[picture:picture + SIDE][::-1]
        for a, b in zip(row, mirrored):
            self.assertAlmostEqual(a, b, places=2)
        self.assertGreater(max(row) - min(row), 0.1)

    def test_invalid_lines_of_crops_are_refused(self):
        name = FOLDER / "set" / "sample_000001.jpg"
        for line, message in (
                (f"1 2 3 {name}\n", 'is not "x y width height flip path"'),
                (f"0 0 10 10 2 {name}\n", "is not"),
                (f"0 0 501 10 0 {name}\n", "the crop is not inside"),
                (f"-1 0 10 10 0 {name}\n", "the crop is not inside"),
                (f"0 0 nan 10 0 {name}\n", "is not"),
                ("0 0 9 9 0 /none.jpg\n", "/none.jpg: No such file"),
                (f"0 0 9 9 0 {FOLDER}\n", f"{FOLDER}: ")):
            with self.subTest(line=line):
                done = self.crops(line)
                self.assertEqual(done.returncode, 1)
                self.assertIn(message.encode(), done.stderr)


if __name__ == "__main__":
    unittest.main()
