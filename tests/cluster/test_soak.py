"""500 short jobs, and one that exceeds its time limit, leave the machine
unchanged."""

import os

import agent_case
import hierarchy

JOBS = 500
AT_ONCE = 20


class Soak(agent_case.AgentCase):
    def footprint(self):
        """penstockd's open files, threads, and memory in KiB."""
        proc = f"/proc/{self.cluster.agent_pid}"
        with open(f"{proc}/status", encoding="ascii") as status:
            lines = dict(line.split(":", 1) for line in status)
        return (len(os.listdir(f"{proc}/fd")),
                int(lines["VmRSS"].split()[0]))

    def test_short_jobs(self):
        files_before, _ = self.footprint()
        script = self.trainer("soak", 2, seconds=0.3)
        memory = []
        for _ in range(JOBS // AT_ONCE):
            jobs = [self.cluster.sbatch(script, flags=["--loader=auto"])
                    for _ in range(AT_ONCE)]
            self.cluster.wait_empty(120)
            self.wait("the reports", lambda ids=jobs: all(
                self.reports(job) for job in ids))
            memory.append(self.footprint()[1])
        self.check_nothing_left()
        files_after, _ = self.footprint()
        self.assertLessEqual(files_after, files_before + 1)
        # The second half of the soak does not increase them.
        self.assertLess(memory[-1], memory[len(memory) // 2] * 1.2 + 512)
        self.assertEqual(hierarchy.job_dirs(self.cluster.node), [])

    def test_a_job_out_of_time(self):
        job = self.submit("late", 4, flags=["--time=1"])
        self.cluster.wait_job(job, "TIMEOUT", 180)
        self.check_nothing_left()
        self.wait("the report", lambda: self.reports(job))


if __name__ == "__main__":
    agent_case.main()
