"""Slurm's count of a job's CPU time equals the use of its processes,
including threads on lent CPUs."""

import os
import pathlib
import re
import sys
import time
import unittest

import agent_case
import hierarchy

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def used_s(pid):
    """CPU time of a user's process, over all its threads; 0: one of Slurm's
    own, or ended."""
    try:
        if os.stat(f"/proc/{pid}").st_uid == 0:
            return 0
        text = pathlib.Path(f"/proc/{pid}/stat").read_text("ascii")
    except OSError:
        return 0
    return sum(map(int, text.rsplit(")", 1)[1].split()[11:15])) / TICKS_PER_S


def process_of(tid):
    text = pathlib.Path(f"/proc/{tid}/status").read_text()
    return int(re.search(r"^Tgid:\s+(\d+)", text, re.M).group(1))


class CpuTime(agent_case.AgentCase):
    def used_by(self, job):
        threads = hierarchy.job_threads(self.cluster.node, job)
        return sum(used_s(pid) for pid in set(map(process_of, threads)))

    def counted(self, job):
        """Slurm's count of CPU seconds; 0: none yet."""
        text = self.cluster.command(
            "sstat", "--noheader", "--allsteps", "--parsable2",
            "--format=AveCPU", "-j", str(job)).stdout.strip()
        found = re.fullmatch(r"(?:(\d+)-)?(\d+):(\d+):(\d+)(?:\.\d+)?", text)
        if not found:
            return 0
        days, hours, minutes, seconds = (int(part or 0)
                                         for part in found.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds

    def test_slurm_counts_who_is_away(self):
        job = self.submit("counted", 4)
        self.wait_away(job)
        self.wait("it to use some time", lambda: self.used_by(job) > 50, 120)
        cores = self.cluster.status(job)["cores"]
        away = cores["used_away"] / (cores["used_away"] + cores["used_home"])
        # In a suspended job both counts read the same value.
        done = self.cluster.command("scontrol", "suspend", str(job))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.wait("all its processes to be stopped", lambda: self.stopped(job))
        own = self.used_by(job)
        told = self.counted(job)
        self.assertEqual(self.used_by(job), own)
        print(f"sstat {told} s; the processes {own:.1f} s, {away:.0%} of the "
              "loader's away", file=sys.stderr)
        self.assertGreater(away, 0.2)
        # sstat omits the fraction of a second.
        self.assertLess(abs(told + 0.5 - own), 0.02 * own)
        self.cluster.cancel(job)
        self.check_nothing_left()

    def stopped(self, job):
        """Whether the job's processes use no CPU time now."""
        before = self.used_by(job)
        time.sleep(0.2)
        return before > 0 and self.used_by(job) == before


@unittest.skipUnless(hierarchy.COMOUNTED, "as jobacct_gather/cgroup but where "
                     "cpu and cpuacct are one hierarchy")
class CpuTimeByProcesses(CpuTime):
    cluster_options = {"agent": True, "slurm_lines": [
        "JobAcctGatherType=jobacct_gather/linux"]}


if __name__ == "__main__":
    agent_case.main()
