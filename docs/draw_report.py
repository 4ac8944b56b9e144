#!/usr/bin/python3
"""Draws the picture of a report for README.md, by chromium.

    docs/draw_report.py REPORT.html > docs/report.png

REPORT.html is written by `penstock report JOB --html=FILE` or by tools/demo.
The picture shows the page from its top to the end of its chart of stalls.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]
                       / "tests" / "browser"))

import browser  # noqa: E402

WIDTH = 960
HEIGHT = 840


def main(report):
    if browser.path() is None:
        sys.exit("draw_report.py: chromium is not installed "
                 "(tools/install-packages)")
    chromium = browser.Browser()
    try:
        chromium.show(pathlib.Path(report).resolve(), WIDTH)
        picture = chromium.picture({"x": 0, "y": 0, "width": WIDTH,
                                    "height": HEIGHT})
    finally:
        chromium.close()
    sys.stdout.buffer.write(picture)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(sys.argv[1])
