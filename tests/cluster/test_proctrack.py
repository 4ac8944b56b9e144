"""Jobs that Slurm does not track by control groups are not managed."""

import sys

import agent_case
import hierarchy


class Proctrack(agent_case.AgentCase):
    cluster_options = {"agent": True, "slurm_lines": [
        "ProctrackType=proctrack/linuxproc"]}

    def refusals(self):
        return self.cluster.logs("penstockd", lines=10000).count(
            "set ProctrackType=proctrack/cgroup")

    def test_a_job_without_a_tracking_group_runs_without_penstock(self):
        for count in (1, 2):
            job = self.submit(f"untracked{count}", 4)
            self.wait("penstockd to refuse it", self.refusals)
            self.rate(f"untracked{count}", 2)
            self.assertEqual(self.cluster.status()["jobs"], [])
            self.assertEqual(self.away_threads(job), [])
            self.cluster.cancel(job)
            self.check_nothing_left()
            self.assertEqual(self.reports(job), [])
        self.assertEqual(self.refusals(), 1)


if __name__ == "__main__":
    if hierarchy.UNIFIED:
        print("SKIPPED: with cgroup v2, every job that is held to its CPUs "
              "has a group")
        sys.exit(77)
    agent_case.main()
