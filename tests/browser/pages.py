"""The pages that the tests examine, as written by the program."""

import json
import os
import pathlib
import subprocess
import tempfile

import sample_reports

BUILD = pathlib.Path(os.environ["PENSTOCK_BUILD_DIR"])


def write(report, folder, name="page"):
    """`penstock report --html` of a report; the page's path."""
    file = folder / f"{report['job_id']}.json"
    file.write_text(json.dumps(report))
    page = folder / f"{name}.html"
    done = subprocess.run(
        [BUILD / "bin" / "penstock", "report", str(report["job_id"]),
         "--dir", folder, "--socket", folder / "none", "--html", page],
        text=True, capture_output=True, timeout=60)
    if done.returncode != 0 or done.stdout or done.stderr:
        raise AssertionError(f"{done.returncode} {done.stdout}{done.stderr}")
    return page


class Pages:
    """All sample reports as pages, by name."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="penstock-pages-")
        self.folder = pathlib.Path(self._folder.name)
        self.paths = {name: write(make(), self.folder, name)
                      for name, make in sample_reports.ALL.items()}

    def close(self):
        self._folder.cleanup()
