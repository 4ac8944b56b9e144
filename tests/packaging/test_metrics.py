"""penstockd's metrics for Prometheus, from the golden file, and the
dashboard that shows them."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import prometheus_text

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = (ROOT / "tests" / "fixtures" / "report" / "node.prom").read_text()
DASHBOARD = ROOT / "packaging" / "grafana" / "penstock.json"

HEAD = "# HELP penstock_x A figure.\n# TYPE penstock_x gauge\n"
COUNTER = "# HELP penstock_x_total A.\n# TYPE penstock_x_total counter\n"
SUMMARY = "# HELP penstock_x A figure.\n# TYPE penstock_x summary\n"
ENDS = 'penstock_x_sum{hostname="a"} 1\npenstock_x_count{hostname="a"} 1\n'


def sample(name="penstock_x", labels='hostname="a"', value="1"):
    return f"{name}{{{labels}}} {value}\n"


# A text, and a message that must be among its faults.
BROKEN = [
    ("", "no metrics"),
    (HEAD + sample().rstrip(), "does not end with a newline"),
    (HEAD + sample(labels='hostname="\u00e9"'), "no printable ASCII"),
    (HEAD + sample().replace("\n", "\r\n"), "no printable ASCII"),
    (HEAD + "\n" + sample(), "neither HELP, TYPE nor a sample"),
    (HEAD + "# a comment\n" + sample(), "neither HELP, TYPE nor a sample"),
    (sample(), "has no HELP"),
    ("# TYPE penstock_x gauge\n" + sample(), "does not follow its HELP"),
    ("# HELP penstock_x A.\n" + sample(), "no TYPE before its samples"),
    ("# HELP penstock_x \n# TYPE penstock_x gauge\n" + sample(),
     "no HELP text"),
    (HEAD + sample() + HEAD + sample(labels='hostname="b"'),
     "HELP of penstock_x again"),
    (HEAD + "# TYPE penstock_x gauge\n" + sample(), "does not follow its HELP"),
    (HEAD.replace("gauge", "untyped") + sample(), "TYPE untyped"),
    (HEAD, "no samples"),
    (HEAD + sample() + sample(), "twice"),
    (HEAD + sample(value="1 1700000000000"), "not NAME{LABELS} VALUE"),
    (HEAD + sample(value="1,5"), "1,5 is no number"),
    (HEAD + sample(value="0x10"), "0x10 is no number"),
    (HEAD + sample(value="NaN"), "not known is left out"),
    (HEAD + sample(value="+Inf"), "not known is left out"),
    (HEAD + sample(labels='hostname="a\\t"'), "NAME=\"VALUE\""),
    (HEAD + sample(labels='hostname="a"b"'), "separated by a comma"),
    (HEAD + sample(labels='hostname="a",'), "NAME=\"VALUE\""),
    (HEAD + sample(labels='hostname="a", pool="b"'), "NAME=\"VALUE\""),
    (HEAD + sample(labels='hostname="a",hostname="b"'), "hostname twice"),
    (HEAD + sample(labels='pool="a"'), "no hostname"),
    (HEAD + "penstock_x 1\n", "no hostname"),
    (HEAD + sample(labels='hostname="a",user="u"'), "label user"),
    (HEAD + sample(labels='hostname="a",job_name="j"'), "label job_name"),
    (HEAD + sample(labels='hostname="a",quantile="0.5"'), "have quantiles"),
    (HEAD + sample("penstock_x_count"), "stands outside its family"),
    ((HEAD + sample()).replace("penstock_", "slurm_"), "prefix"),
    ((HEAD + sample()).replace("_x", "_xYz"), "snake_case"),
    ((HEAD + sample()).replace("_x", ":x"), "snake_case"),
    ((HEAD + sample()).replace("_x", "_x_total"), "end in _total"),
    ((COUNTER + sample("penstock_x_total")).replace("_total", ""),
     "end in _total"),
    (COUNTER + sample("penstock_x_total", value="-1"), "under 0"),
    ((HEAD + sample()).replace("_x", "_x_count"), "suffix is a summary's"),
    ((HEAD + sample()).replace("_x", "_x_milliseconds"), "no base unit"),
    ((HEAD + sample()).replace("_x", "_x_percent"), "no base unit"),
    ((HEAD + sample()).replace("_x", "_gauge_x"), "type gauge"),
    ((HEAD + sample(value="2")).replace("_x", "_x_info"), "an _info is 1"),
    ((HEAD + sample(value="1.2")).replace("_x", "_x_ratio"), "outside 0 to 1"),
    ((HEAD + sample()).replace("_x", "_job_x"), "no job's number"),
    ((HEAD + sample(labels='hostname="a",jobid="x"')).replace("_x", "_job_x"),
     "no job's number"),
    (SUMMARY + sample(labels='hostname="a",quantile="0.5"'),
     "without _sum or _count"),
    (SUMMARY + sample() + ENDS, "have quantiles"),
    (SUMMARY + sample(labels='hostname="a",quantile="99"') + ENDS,
     "quantile outside 0 to 1"),
]


def promtool(*arguments, text=None):
    return subprocess.run(["promtool", *arguments], input=text, text=True,
                          capture_output=True, timeout=60)


needs_promtool = unittest.skipUnless(shutil.which("promtool"),
                                     "needs promtool (prometheus)")


class Lint(unittest.TestCase):
    def test_what_is_right_passes(self):
        for text in (HEAD + sample(), HEAD + sample(value="-1.5e-09"),
                     HEAD + sample(labels='hostname="\\\\ \\" \\n , } {"'),
                     COUNTER + sample("penstock_x_total"),
                     SUMMARY + sample(labels='hostname="a",quantile="1"')
                     + ENDS, SUMMARY + ENDS):
            self.assertEqual(prometheus_text.lint(text), [], text)

    def test_what_is_broken_is_found(self):
        for text, problem in BROKEN:
            with self.subTest(text=text):
                found = prometheus_text.lint(text)
                self.assertTrue(any(problem in line for line in found),
                                f"{problem!r} is not in {found}")

    def test_label_values_are_read_back(self):
        text = HEAD + sample(labels='hostname="a\\\\n\\"\\n}"')
        family = prometheus_text.families(text)["penstock_x"]
        self.assertEqual(family.samples[0].labels["hostname"], 'a\\n"\n}')


class Golden(unittest.TestCase):
    def test_lint_finds_nothing(self):
        self.assertEqual(prometheus_text.lint(GOLDEN), [])

    def test_a_line_that_is_lost_or_doubled_is_found(self):
        lines = GOLDEN.splitlines(keepends=True)
        for i, line in enumerate(lines):
            doubled = lines[:i + 1] + lines[i:]
            self.assertNotEqual(prometheus_text.lint("".join(doubled)), [],
                                line)
            if line.startswith("#"):
                lost = lines[:i] + lines[i + 1:]
                self.assertNotEqual(prometheus_text.lint("".join(lost)), [],
                                    line)

    @needs_promtool
    def test_promtool_finds_nothing(self):
        done = promtool("check", "metrics", text=GOLDEN)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "", ""))

    def test_the_document_lists_the_families(self):
        text = (ROOT / "docs" / "metrics.md").read_text()
        listed = dict(re.findall(r"(?m)^\| `(penstock_\w+)` \| (\w+) \|", text))
        families = prometheus_text.families(GOLDEN)
        self.assertEqual(
            listed, {name: it.type for name, it in families.items()})


class Dashboard(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.board = json.loads(DASHBOARD.read_text("utf-8"))
        cls.panels = [panel for panel in cls.board["panels"]
                      if panel["type"] != "row"]
        cls.exprs = [(panel["title"], target["expr"])
                     for panel in cls.panels for target in panel["targets"]]
        cls.variables = cls.board["templating"]["list"]

    def test_it_can_be_imported(self):
        inputs = [(it["name"], it["type"], it["pluginId"])
                  for it in self.board["__inputs"]]
        self.assertEqual(inputs, [("DS_PROMETHEUS", "datasource",
                                   "prometheus")])
        required = {(it["type"], it["id"]) for it in self.board["__requires"]}
        self.assertEqual(
            required, {("grafana", "grafana"), ("datasource", "prometheus")}
            | {("panel", panel["type"]) for panel in self.panels})
        self.assertIsNone(self.board["id"])
        self.assertGreaterEqual(self.board["schemaVersion"], 36)  # Grafana 9
        self.assertNotIn("libraryPanel", DASHBOARD.read_text("utf-8"))

    def test_each_panel_says_what_it_shows_and_from_where(self):
        self.assertGreaterEqual(len(self.panels), 6)
        ours = {"type": "prometheus", "uid": "${DS_PROMETHEUS}"}
        for panel in self.panels:
            with self.subTest(panel=panel["title"]):
                self.assertTrue(panel["title"] and panel["description"])
                self.assertTrue(panel["fieldConfig"]["defaults"]["unit"])
                self.assertEqual(panel["datasource"], ours)
                self.assertTrue(panel["targets"])
                letters = [target["refId"] for target in panel["targets"]]
                self.assertEqual(len(letters), len(set(letters)))
                for target in panel["targets"]:
                    self.assertEqual(target["datasource"], ours)

    def test_panels_do_not_overlap(self):
        ids = [panel["id"] for panel in self.board["panels"]]
        self.assertEqual(len(ids), len(set(ids)))
        taken = {}
        for panel in self.board["panels"]:
            place = panel["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], 24, panel["title"])
            for x in range(place["x"], place["x"] + place["w"]):
                for y in range(place["y"], place["y"] + place["h"]):
                    other = taken.setdefault((x, y), panel["title"])
                    self.assertEqual(other, panel["title"])

    def test_every_metric_and_label_is_one_that_penstockd_writes(self):
        families = prometheus_text.families(GOLDEN).values()
        labels = {}
        for family in families:
            if family.type == "summary":  # whose quantiles may not be known yet
                labels[family.name] = {"hostname", "quantile"}
            for it in family.samples:
                labels.setdefault(it.name, set()).update(it.labels)
        queries = [(it["name"], it["query"]["query"])
                   for it in self.variables if it["type"] == "query"]
        used = set()
        for title, expr in self.exprs + queries:
            with self.subTest(of=title, expr=expr):
                selectors = re.findall(r"(penstock_\w+)(?:\{([^{}]*)\})?", expr)
                self.assertTrue(selectors)
                for name, matchers in selectors:
                    used.add(name)
                    self.assertIn(name, labels)
                    for label in re.findall(r"(\w+)=~?\"", matchers):
                        self.assertIn(label, labels[name])
                for label in re.findall(r"by \((.*?)\)", expr):
                    for one in label.split(", "):
                        self.assertIn(one, set().union(*(
                            labels[name] for name, _ in selectors)))
        shown = {family.name for family in families
                 if used & {family.name, *(it.name for it in family.samples)}}
        # The dashboard uses every metric.
        self.assertEqual(shown, {family.name for family in families})

    def test_values_of_labels_are_ones_that_penstockd_writes(self):
        values = {}
        for family in prometheus_text.families(GOLDEN).values():
            for it in family.samples:
                for label, value in it.labels.items():
                    values.setdefault(label, set()).add(value)
        for _, expr in self.exprs:
            for label, wanted in re.findall(r"(\w+)=~?\"([^$\"]+)\"", expr):
                for one in wanted.split("|"):
                    self.assertIn(one, values[label], expr)

    def test_variables_are_defined_and_used(self):
        defined = {it["name"] for it in self.variables}
        text = json.dumps([self.board["panels"], self.variables])
        used = set(re.findall(r"\$\{?(\w+)", text)) - {"DS_PROMETHEUS", "__all"}
        self.assertEqual(used, defined)
        self.assertEqual(defined, {"hostname", "jobid", "interval"})

    @needs_promtool
    def test_promtool_reads_every_expression(self):
        rules = [{"record": f"penstock:n{i}:check",
                  "expr": expr.replace("$interval", "5m")
                  .replace("$hostname", ".+").replace("$jobid", ".+")}
                 for i, (_, expr) in enumerate(self.exprs)]
        with tempfile.TemporaryDirectory(prefix="penstock-rules-") as directory:
            path = pathlib.Path(directory, "rules.yml")  # JSON is valid YAML
            path.write_text(json.dumps(
                {"groups": [{"name": "penstock", "rules": rules}]}))
            done = promtool("check", "rules", str(path))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"{len(rules)} rules found", done.stdout)


if __name__ == "__main__":
    unittest.main()
