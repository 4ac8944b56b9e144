"""Processes that train, each with the arena that stands for a device."""

import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Another one that has PyTorch, as a virtual environment's.
PYTHON = os.environ.get("PENSTOCK_TORCH_PYTHON", "/usr/bin/python3")
LIMIT_S = 1800


class TrainingError(Exception):
    """What did not train."""


class Processes:
    def __init__(self, build):
        self._environment = {
            **os.environ,
            "PYTHONPATH": f"{build}/python:{ROOT}",
            "LD_PRELOAD": str(build / "lib" / "libpenstock-device-arena.so"),
        }

    def run(self, module, *words):
        """What it prints."""
        command = [PYTHON, "-B", "-m", f"bench.memory.{module}",
                   *map(str, words)]
        done = subprocess.run(command, env=self._environment, text=True,
                              capture_output=True, timeout=LIMIT_S,
                              check=False)
        if done.returncode:
            raise TrainingError(f"{' '.join(command)}: {done.stderr[-500:]}")
        return json.loads(done.stdout)
