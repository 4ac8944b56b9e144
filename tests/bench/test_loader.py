"""penstock bench loader runs with Debian's peers, and names the missing
ones."""

import importlib.util
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

PENSTOCK = pathlib.Path(os.environ["PENSTOCK_BUILD_DIR"]) / "bin" / "penstock"
OF_DEBIAN = {"pytorch": "torchvision", "opencv": "cv2", "lmdb": "lmdb"}
OF_PYPI = ("ffcv", "webdataset", "spdl", "dali")


def bench(*options):
    return subprocess.run([PENSTOCK, "bench", "loader", *options], text=True,
                          capture_output=True, check=False)


class BenchLoader(unittest.TestCase):
    def test_one_round(self):
        with tempfile.NamedTemporaryFile() as file:
            done = bench("--rounds", "1", "--json", file.name)
            self.assertEqual(done.returncode, 0, done.stderr)
            found = json.load(file)
        self.assertEqual(found["bench"], "loader")
        figures = {it["name"]: it for it in found["figures"]}
        for name, module in OF_DEBIAN.items():
            with self.subTest(peer=name):
                if importlib.util.find_spec(module):
                    self.assertGreater(figures[f"vs_{name}"]["value"], 0)
                    self.assertIn(f"vs_{name}", done.stdout)
                else:
                    self.assertIn(f"missing: {name}: ", done.stderr)
        for name in OF_PYPI:
            self.assertNotIn(f"vs_{name}", figures)
            self.assertIn(f"missing: {name}: ", done.stderr)
        if "missing: pixels" not in done.stderr:
            # Of 255 steps. Another measurement checks the loader's targets.
            self.assertLess(figures["pixel_mean_worst"]["value"], 20)

    def test_a_directory_without_peers(self):
        with tempfile.TemporaryDirectory() as folder:
            done = bench("--rounds", "1", "--peers", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in OF_PYPI:
            self.assertRegex(done.stderr,
                             f"missing: {name}: .*No such file or directory")


if __name__ == "__main__":
    unittest.main()
