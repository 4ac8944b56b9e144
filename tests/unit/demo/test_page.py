import os
import pathlib
import shutil
import tempfile
import types
import unittest

from bench import ROOT
from bench.demo import __main__ as demo
from bench.demo.session import Session

BIN = pathlib.Path(os.environ["PENSTOCK_BUILD_DIR"], "bin")


class Page(unittest.TestCase):
    def test_the_demos_page_is_made_of_a_report_where_penstockd_wrote_it(self):
        with tempfile.TemporaryDirectory() as folder:
            session = Session.__new__(Session)
            session.cluster = types.SimpleNamespace(directory=folder,
                                                    node="pst0")
            path = session.report_path(4711)
            path.parent.mkdir(parents=True)
            shutil.copy(ROOT / "tests/fuzz/corpus/report/finished", path)
            pathlib.Path(folder, "bin").symlink_to(BIN)
            measured = types.SimpleNamespace(
                sets=((None,),), set_results=types.SimpleNamespace(
                    reports={(0, 0): [{"job_id": 4711}]}))
            demo.write_page(session, measured, pathlib.Path(folder))
            page = pathlib.Path(folder, "demo", "report.html")
            self.assertIn("Job 4711", page.read_text("utf-8"))


if __name__ == "__main__":
    unittest.main()
