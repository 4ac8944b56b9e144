"""packaging/slurm/penstock-epilog with programs that say what they are told."""

import os
import pathlib
import subprocess
import tempfile
import unittest

EPILOG = (pathlib.Path(__file__).resolve().parents[2] /
          "packaging/slurm/penstock-epilog")
SUMMARY = '{"penstock":{"running":false}}'


class EpilogTest(unittest.TestCase):
    def run_epilog(self, statuses, summary=SUMMARY, **slurm):
        """The log of the programs that it called, a line each. statuses: of
        penstock-comment, call by call."""
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder, "log")
            log.touch()
            pathlib.Path(folder, "left").write_text(
                "".join(f"{status}\n" for status in statuses))
            for name, body in (
                ("penstock", f"echo '{summary}'"),
                ("penstock-comment",
                 f'echo "comment $1 $(cat)" >> {log}\n'
                 f"status=$(head -n 1 {folder}/left)\n"
                 f"sed -i 1d {folder}/left\n"
                 'echo "said $status"\nexit $status'),
                ("sleep", f'echo "sleep $1" >> {log}'),
                ("logger", f'echo "logger $*" >> {log}'),
            ):
                path = pathlib.Path(folder, name)
                path.write_text(f"#!/bin/sh\n{body}\n")
                path.chmod(0o755)
            subprocess.run(
                [EPILOG, "--late"], check=True, timeout=30,
                env={"PATH": f"{folder}:{os.environ['PATH']}",
                     "SLURM_JOB_ID": "12", **slurm})
            return log.read_text().splitlines()

    def test_a_job_is_named_as_squeue_prints_it(self):
        for slurm, number in (
            ({}, "12"),
            ({"SLURM_ARRAY_JOB_ID": "9", "SLURM_ARRAY_TASK_ID": "3"}, "9_3"),
            ({"SLURM_HET_JOB_ID": "11", "SLURM_HET_JOB_OFFSET": "1"}, "11+1"),
        ):
            with self.subTest(number):
                self.assertEqual(self.run_epilog([0], **slurm),
                                 [f"comment {number} {SUMMARY}"])

    def test_it_tries_again_until_slurmdbd_knows_the_job(self):
        comment = f"comment 12 {SUMMARY}"
        self.assertEqual(self.run_epilog([3, 3, 0]),
                         [comment, "sleep 1", comment, "sleep 2", comment])

    def test_what_fails_is_logged(self):
        lines = self.run_epilog([3] * 9)
        self.assertEqual(lines.count(f"comment 12 {SUMMARY}"), 6)
        self.assertEqual(lines[-1], "logger -t penstock-epilog job 12: said 3")
        self.assertEqual(self.run_epilog([1])[1:],
                         ["logger -t penstock-epilog job 12: said 1"])


if __name__ == "__main__":
    unittest.main()
