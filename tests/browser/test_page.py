"""The HTML report as a document: no browser needed."""

import re
import unittest
import xml.etree.ElementTree as ElementTree

import pages
import sample_reports

MAX_BYTES = 300_000
# Elements for which a browser loads or runs something: no page has them.
NEVER = {"script", "img", "link", "iframe", "object", "embed", "base", "form",
         "a", "use", "image", "foreignObject", "audio", "video", "input"}


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pages = pages.Pages()
        cls.addClassCleanup(cls.pages.close)
        cls.trees = {name: ElementTree.parse(path).getroot()
                     for name, path in cls.pages.paths.items()}

    def test_a_page_is_small(self):
        for name, path in self.pages.paths.items():
            with self.subTest(name):
                self.assertLess(path.stat().st_size, MAX_BYTES)

    def test_the_same_report_gives_the_same_page(self):
        again = pages.write(sample_reports.long_report(), self.pages.folder,
                            "again")
        self.assertEqual(again.read_bytes(),
                         self.pages.paths["long"].read_bytes())

    def test_only_its_user_reads_a_page(self):
        for path in self.pages.paths.values():
            self.assertEqual(path.stat().st_mode & 0o777, 0o600)

    def test_nothing_runs_and_nothing_is_fetched(self):
        for name, tree in self.trees.items():
            with self.subTest(name):
                for element in tree.iter():
                    self.assertNotIn(element.tag, NEVER)
                    for name, value in element.attrib.items():
                        self.assertFalse(name.startswith("on"), name)
                        self.assertNotIn(name, ("href", "src", "style", "srcset"))
                        if name != "content":
                            self.assertNotIn("url(", value)
                policy = tree.find(".//meta[@http-equiv]").get("content")
                self.assertTrue(policy.startswith("default-src 'none'"), policy)
                self.assertNotIn("script-src", policy)

    def test_a_user_s_text_stays_text(self):
        tree = self.trees["hostile"]
        heading = "".join(tree.find(".//h1").itertext())
        self.assertIn("</title><script>document.title='taken'</script>",
                      heading)
        self.assertNotIn("\x1b", heading)
        self.assertNotIn("\u202e", heading)
        self.assertEqual(tree.find(".//head/title").text, "Penstock: job 4711")

    def test_a_screen_reader_finds_its_way(self):
        for name, tree in self.trees.items():
            with self.subTest(name):
                self.assertEqual(tree.get("lang"), "en")
                levels = [int(element.tag[1]) for element in tree.iter()
                          if re.fullmatch("h[1-6]", element.tag)]
                self.assertEqual(levels[0], 1)
                self.assertEqual(levels.count(1), 1)
                for before, after in zip(levels, levels[1:]):
                    self.assertLessEqual(after, before + 1)
                ids = [element.get("id") for element in tree.iter()
                       if element.get("id")]
                self.assertEqual(len(ids), len(set(ids)))
                for table in tree.iter("table"):
                    self.assertTrue(table.find("caption").text)

    def test_each_drawing_has_a_name_and_its_figures(self):
        drawings = 0
        for name, tree in self.trees.items():
            with self.subTest(name):
                named = {element.get("id"): element.text for element in tree.iter()
                         if element.get("id")}
                for figure in tree.iter("figure"):
                    drawing, = (svg for svg in figure.iter("svg")
                                if svg.get("role") == "img")
                    for name in drawing.get("aria-labelledby").split():
                        self.assertTrue(named[name])
                    self.assertGreater(len(figure.findall(".//tbody/tr")), 1)
                    drawings += 1
                # The others are swatches, patterns, and parts of a drawing.
                inner = {part for svg in tree.iter("svg")
                         for part in svg.iter("svg") if part is not svg}
                for svg in tree.iter("svg"):
                    self.assertTrue(svg in inner or svg.get("role") == "img"
                                    or svg.get("aria-hidden") == "true")
        self.assertGreater(drawings, 15)

    def test_the_numbers_of_the_marks_are_those_of_the_table(self):
        for name in ("usual", "long", "hostile"):
            tree = self.trees[name]
            table, = (table for table in tree.iter("table")
                      if table.find("caption").text == "Grant changes")
            rows = [row.text for row in table.findall("tbody/tr/th")]
            for figure in ("home", "away", "bandwidth", "rate"):
                svg, = (svg for svg in tree.iter("svg")
                        if (svg.get("aria-labelledby") or "").startswith(
                            figure + "-title"))
                marks = [text.text for text in svg.iter("text")
                         if text.get("class") == "mark-number"]
                self.assertEqual(marks, sorted(set(rows), key=int))

    def test_long_courses_are_drawn_and_told_coarser(self):
        tree = self.trees["long"]
        for path in tree.iter("path"):
            self.assertLess(path.get("d").count("V"), 2 * 400)
        for details in tree.iter("details"):
            self.assertLessEqual(len(details.findall(".//tbody/tr")), 60)


if __name__ == "__main__":
    unittest.main()
