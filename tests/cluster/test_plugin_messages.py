"""The plugin's messages to penstockd about tasks, steps and jobs."""

import pathlib
import pwd
import re
import time

import cluster_case
import hierarchy
import protocol
from fake_agent import FakeAgent


class Messages(cluster_case.ClusterCase):
    def setUp(self):
        super().setUp()
        self.agent = None
        self.listen(FakeAgent)

    def listen(self, agent, **options):
        """Replaces the listening agent by another one."""
        if self.agent is not None:
            self.agent.close()
        self.agent = agent(self.cluster.socket_path, **options)
        self.addCleanup(self.agent.close)

    def test_a_task_is_told_of_before_its_exec(self):
        job = self.cluster.sbatch(
            "#!/bin/sh\ncat /proc/$$/stat; sleep 1\n",
            flags=["--job-name=entra\u00eenement"])
        start = self.agent.wait_for(protocol.TASK_START, job_id=job)[0]
        user = pwd.getpwnam(self.cluster.user)
        self.assertEqual(
            (start.step_id, start.task_id, start.uid, start.gid, start.gpus,
             start.job_name),
            (protocol.BATCH_STEP, 0, user.pw_uid, user.pw_gid, "0",
             "entra\u00eenement"))
        self.cluster.wait_job(job)
        self.assertEqual(self.cluster.output(job).split()[0], str(start.pid))

    # Slurm sets one of the two variables and removes it from jobs without GPUs;
    # the other one stays what the user made it.
    def test_gpus_are_those_of_slurm_whatever_the_user_exports(self):
        false = {"SLURM_JOB_GPUS": "1", "SLURM_STEP_GPUS": "1"}
        exported = "".join(f"export {name}={value}\n"
                           for name, value in false.items())
        as_flag = ",".join(f"{name}={value}" for name, value in false.items())
        for gpus in (0, 1):
            true = "0" if gpus else ""
            for how in ({"env": false},
                        {"flags": [f"--export=ALL,{as_flag}"]}):
                job = self.cluster.sbatch(
                    f"#!/bin/sh\n{exported}srun sleep 1\n", gpus=gpus, **how)
                self.cluster.wait_job(job)
                for step in (protocol.BATCH_STEP, 0):
                    with self.subTest(gpus=gpus, how=how, step=step):
                        start = self.agent.wait_for(
                            protocol.TASK_START, job_id=job, step_id=step)[0]
                        self.assertEqual(start.gpus, true)

    def test_its_version_and_slurms_are_in_the_log(self):
        done = self.cluster.srun("true")
        self.assertEqual(done.returncode, 0, done.stderr)
        release = re.search(r"\d+\.\d+", self.cluster.command(
            "srun", "--version").stdout).group()
        self.assertRegex(
            self.cluster.logs("slurmd", lines=1000),
            rf"penstock: \d+\.\d+\.\d+ \(built for Slurm {release}\.\d+\)")

    def test_the_pid_is_in_its_cgroup_already(self):
        seen = []

        class Looker(FakeAgent):
            def heard(self, message):
                if message.type == protocol.TASK_START:
                    seen.append(pathlib.Path(
                        f"/proc/{message.pid}/cgroup").read_text("ascii"))

        self.listen(Looker)
        done = self.cluster.srun("true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.agent.wait_for(protocol.TASK_START)
        self.assertTrue(hierarchy.in_step(self.cluster.node, seen[0]), seen)

    def test_exec_waits_for_the_answer(self):
        delay_s = 0.15  # less than timeout_ms

        class Slow(FakeAgent):
            def _take(self, link):
                time.sleep(delay_s)
                super()._take(link)

        self.listen(Slow)
        done = self.cluster.srun("cat", "/proc/uptime")
        started_s = float(done.stdout.split()[0])
        # Unlike the monotonic clock, uptime includes times of suspension: the
        # offset converts one into the other.
        answered = self.agent.records(protocol.TASK_START)[0][0]
        offset_s = time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()
        self.assertGreater(started_s + 0.02, answered + offset_s)

    def test_every_task_starts_and_exits(self):
        before_ns = time.monotonic_ns()
        done = self.cluster.srun("true", flags=["--ntasks=2"], gpus=0)
        self.assertEqual(done.returncode, 0, done.stderr)
        starts = self.agent.wait_for(protocol.TASK_START, 2)
        exits = self.agent.wait_for(protocol.TASK_EXIT, 2)
        self.assertEqual({start.task_id for start in starts}, {0, 1})
        self.assertEqual({(end.task_id, end.pid) for end in exits},
                         {(start.task_id, start.pid) for start in starts})
        for end in exits:
            self.assertTrue(before_ns < end.exited_ns < time.monotonic_ns())

    def test_the_step_and_the_job_end(self):
        job = self.cluster.sbatch("#!/bin/sh\nsrun true\n")
        end = self.agent.wait_for(protocol.STEP_END, job_id=job, step_id=0)[0]
        self.assertEqual(end.launch_tasks, 1)
        self.agent.wait_for(protocol.STEP_END, job_id=job,
                            step_id=protocol.BATCH_STEP)
        self.agent.wait_for(protocol.JOB_END, job_id=job)

    def test_the_launch_time_is_what_the_callbacks_took(self):
        self.cluster.srun("true")
        start = self.agent.wait_for(protocol.TASK_START)[0]
        end = self.agent.wait_for(protocol.STEP_END)[0]
        self.assertLess(0, start.callback_ns)
        self.assertLess(start.callback_ns, end.launch_ns)
        self.assertLess(end.launch_ns, 1_000_000_000)

    def test_jobs_learn_where_the_socket_is(self):
        done = self.cluster.srun("sh", "-c", "echo $PENSTOCK_SOCKET",
                                 flags=["--export=PATH"])
        self.assertEqual(done.stdout.strip(), self.cluster.socket_path)

    def test_a_refusal_does_not_stop_the_job(self):
        self.listen(FakeAgent, status=22, text=b"not today")
        done = self.cluster.srun("echo", "ran")
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"))
        self.assertEqual(done.stderr, "")
        self.assertIn("not today", self.cluster.logs("slurmd", lines=1000))


if __name__ == "__main__":
    cluster_case.main()
