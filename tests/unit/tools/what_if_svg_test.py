#!/usr/bin/python3
"""what_if_svg_test.py PENSTOCK FIXTURES: the charts of `penstock what-if`.

Each is XML with a title and a description, loads no resource, has colours for
light and dark, and no overlapping or cut text."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

PENSTOCK, FIXTURES = sys.argv[1:3]
SVG = "{http://www.w3.org/2000/svg}"
CASES = {
    "all": [f"{FIXTURES}/both.toml"],
    "one": [f"{FIXTURES}/both.toml", "--cores", "0.25..2:0.25"],
    "set": [f"{FIXTURES}/both.toml", "--cores", "4", "--cache", "60%"],
    "two amounts": [f"{FIXTURES}/both.toml", "--ranks", "1,2"],
    "densities": [f"{FIXTURES}/bert.toml", "--gpus", "16", "--interconnect",
                  "1G", "--density", "0.1..10%"],
    "built-in": ["alexnet"],
    "wide figures": ["lstm", "--cores", "1..4096", "--accelerator", "1..1000x"],
}


def draw(arguments):
    """The root element of the chart for the arguments."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "x.svg"
        subprocess.run([PENSTOCK, "what-if", *arguments, "--svg", file],
                       check=True, stdout=subprocess.DEVNULL)
        return ElementTree.fromstring(file.read_text("ascii"))


def boxes(element, x=0.0, y=0.0):
    """(left, top, right, bottom, words) of each text. Widths are those of a
    wide sans-serif font: 0.62 of the size per character."""
    moved = re.fullmatch(r"translate\(([\d.]+) ([\d.]+)\)",
                         element.get("transform", ""))
    if moved:
        x, y = x + float(moved[1]), y + float(moved[2])
    if element.tag == SVG + "text":
        size = 16 if element.get("class") == "title" else 12
        width = 0.62 * size * len(element.text)
        left = x + float(element.get("x")) - width * {
            "middle": 0.5, "end": 1}.get(element.get("text-anchor"), 0)
        base = y + float(element.get("y"))
        yield (left, base - 0.8 * size, left + width, base + 0.2 * size,
               element.text)
    for child in element:
        yield from boxes(child, x, y)


class Pictures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.roots = {name: draw(words) for name, words in CASES.items()}

    def test_a_chart_has_a_title_and_a_description(self):
        for name, root in self.roots.items():
            with self.subTest(name):
                self.assertEqual(root.get("role"), "img")
                named = {child.get("id"): child.text for child in root}
                self.assertTrue(named["title"].startswith("What if: "))
                self.assertIn("samples/s", named["desc"])
                self.assertEqual(root.get("aria-labelledby"), "title desc")

    def test_a_chart_loads_no_resource_and_has_a_dark_scheme(self):
        for name, root in self.roots.items():
            with self.subTest(name):
                style = root.find(SVG + "style").text
                self.assertIn("prefers-color-scheme:dark", style)
                text = ElementTree.tostring(root, "unicode")
                for word in ("href", "url(", "<script", "@import"):
                    self.assertNotIn(word, text)
                for path in root.iter(SVG + "path"):
                    self.assertRegex(path.get("d"), r"^[MLhvZ0-9. -]+$")

    def test_texts_neither_overlap_nor_leave_the_chart(self):
        for name, root in self.roots.items():
            with self.subTest(name):
                width, height = map(float, root.get("viewBox").split()[2:])
                found = list(boxes(root))
                self.assertGreater(len(found), 10)
                for i, one in enumerate(found):
                    self.assertGreaterEqual(one[0], 0, one)
                    self.assertLessEqual(one[2], width, one)
                    self.assertLessEqual(one[3], height, one)
                    for other in found[:i]:
                        apart = (one[0] >= other[2] or other[0] >= one[2]
                                 or one[1] >= other[3] or other[1] >= one[3])
                        self.assertTrue(apart, (one, other))

    def test_markup_in_a_profile_name_is_escaped(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "p.toml"
            file.write_text('name = "<a href=\'x\'>&\\"b"\n'
                            "accelerator_s_per_sample = 0.01\n"
                            "loader_cpu_s_per_sample = 0.02\n")
            root = draw([str(file)])
        self.assertIn("<a href='x'>&\"b", root.find(SVG + "title").text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
