"""Training processes, each with an arena that emulates a device."""

import json
import os

from bench import ROOT
from bench.program import run

# Another Python with PyTorch, such as that of a virtual environment.
PYTHON = os.environ.get("PENSTOCK_TORCH_PYTHON", "/usr/bin/python3")
LIMIT_S = 1800


class Processes:
    def __init__(self, build):
        self._environment = {
            **os.environ,
            "PYTHONPATH": f"{build}/python:{ROOT}",
            "LD_PRELOAD": str(build / "lib" / "libpenstock-device-arena.so"),
        }

    def run(self, module, *words):
        """Returns its output."""
        return json.loads(run(
            PYTHON, "-B", "-m", f"bench.memory.{module}", *words,
            env=self._environment, timeout=LIMIT_S))
