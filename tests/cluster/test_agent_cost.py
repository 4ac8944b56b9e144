"""penstockd samples 64 tasks of 15 processes at under 1% of one core."""

import json
import pathlib
import time

import agent_case
import embedded

TASKS, WORKERS = 64, 14
INTERVAL_S = 20


class Cost(agent_case.AgentCase):
    cluster_options = {"agent": True,
                       "slurm_lines": ["MaxTasksPerNode=128"]}

    def cores_used(self):
        before = self.cluster.status()
        time.sleep(INTERVAL_S)  # without queries, which would cost CPU time
        after = self.cluster.status()
        return ((after["agent_cpu_s"] - before["agent_cpu_s"])
                / (after["uptime_s"] - before["uptime_s"]))

    def test_of_sampling(self):
        busy = self.cluster.expose(
            embedded.build_directory() / "bin" / "busy")
        # They sleep most of each second: the CPU cost is penstockd's.
        job = self.cluster.sbatch(
            "#!/bin/sh\nexec srun --overcommit --ntasks=%d sh -c 'exec %s "
            "--workers %d --processes --on 0.05 --off 1000 --seconds 600 "
            "--log busy.$SLURM_PROCID'\n" % (TASKS, busy, WORKERS),
            flags=["--loader=auto", "--overcommit", f"--ntasks={TASKS}"],
            gpus=0)
        self.cluster.wait_job(job, "RUNNING")
        home = pathlib.Path(self.cluster.home())
        self.wait("all tasks to run",
                  lambda: len(list(home.glob("busy.*"))) == TASKS, 60)
        # In the first interval each process is looked at for the first time.
        starting, sampling = self.cores_used(), self.cores_used()
        after = self.cluster.status()
        threads = after["jobs"][0]["cores"]["loader_threads"]
        print(json.dumps({"agent_cores_starting": starting,
                          "agent_cores": sampling, "loader_units": threads}))
        self.assertEqual(threads, TASKS * WORKERS)
        self.assertLess(sampling, 0.01)
        self.cluster.cancel(job)
        self.check_nothing_left()


if __name__ == "__main__":
    agent_case.main()
