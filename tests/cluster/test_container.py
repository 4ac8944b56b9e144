"""Jobs in containers: in their own user, pid and mount namespaces. They have
only penstockd's socket, bound to another path."""

import errno
import os
import pathlib

import agent_case
import python_jobs

# Does the work of a container runtime with an ordinary user's rights.
# PENSTOCK_SOCKET's outside path must not exist inside. A second container has a
# process with a pid that exists in no other one.
CONTAINER = """#!/bin/sh
touch {home}/container.sock
rm -f {home}/neighbour
unshare --user --map-root-user --pid --fork --kill-child /bin/sh -c '
for i in $(seq 60); do /bin/true; done
sleep 120 &
echo $! > {home}/neighbour
wait' &
while ! [ -s {home}/neighbour ]; do sleep 0.05; done
exec unshare --user --map-root-user --pid --fork --mount-proc \\
    --kill-child /bin/sh -ec '
mount --bind {socket} {home}/container.sock
mount -t tmpfs none {run}
export PENSTOCK_SOCKET={home}/container.sock OUTSIDE=$1
shift
exec "$@"' sh $$ {command}
"""

# A loader like PyTorch's: worker processes, registered by penstock.watch().
# Only this registration identifies them.
WATCHER = python_jobs.PRELUDE + """
import subprocess
import penstock

class Workers:
    def __init__(self):
        self._workers = [subprocess.Popen(["sleep", "120"]) for i in range(2)]
    def __iter__(self):
        return self
    def __next__(self):
        time.sleep(0.05)
        return [0] * 10

class Loader:
    def __iter__(self):
        return Workers()

channel = connect()
hello(channel)
with open({home!r} + "/neighbour") as file:
    neighbour = int(file.read())
refused = {{name: thread(channel, tid) for name, tid in (
    ("a process outside of it", int(os.environ["OUTSIDE"])),
    ("another container's process", neighbour),
    ("penstockd", {agent}))}}
for i, batch in enumerate(penstock.watch(Loader())):
    if i == 40:
        hint = penstock.hint()
        tell({home!r} + "/watcher.json", dict(
            pid=os.getpid(), uid=os.getuid(), refused=refused,
            connected=penstock.connected(),
            workers=hint.loader_threads if hint else None))
"""


class Containers(python_jobs.JobsOfPython):
    def setUp(self):
        super().setUp()
        done = self.cluster.command(
            "unshare", "--user", "--map-root-user", "--pid", "--fork",
            "--mount-proc", "true", user=self.cluster.user)
        if done.returncode != 0:
            self.skipTest("SKIPPED: no namespaces for ordinary users: "
                          + done.stderr.strip())

    def start_container(self, command, flags=()):
        """Submits a managed job whose task is the command in a container."""
        script = CONTAINER.format(
            home=self.cluster.home(), socket=self.cluster.socket_path,
            run=os.path.dirname(self.cluster.socket_path),
            command=" ".join(map(str, command)))
        job = self.cluster.sbatch(script, gpus=0,
                                  flags=["--loader=auto", *flags])
        self.addCleanup(self.cluster.cancel, str(job))
        self.cluster.wait_job(job, "RUNNING")
        return job

    def report_with(self, job, what, condition):
        """The first report of the job that fulfils the condition."""
        found = []

        def holds():
            report = self.job_status(job)
            if report is None or not condition(report):
                return False
            found.append(report)
            return True

        self.wait(f"job {job}'s {what}", holds)
        return found[0]

    def test_the_python_module(self):
        script = pathlib.Path(self.cluster.home(), "watcher.py")
        script.write_text(WATCHER.format(
            module=str(self.module), home=self.cluster.home(),
            agent=self.cluster.agent_pid), "utf-8")
        job = self.start_container(["/usr/bin/python3", script])
        told = self.told("watcher")
        # Proof of the container: inside, the task is root and the first
        # process.
        self.assertEqual((told["pid"], told["uid"]), (1, 0))
        self.assertTrue(told["connected"])
        self.assertGreaterEqual(told["workers"], 1)
        self.assertEqual(set(told["refused"].values()), {errno.EPERM},
                         told["refused"])
        report = self.report_with(job, "samples", lambda now: (
            now["quality"]["samples"] >= 400))
        self.assertEqual(report["ranks"], 1)
        self.assertEqual(report["quality"]["loader_source"], "registered")
        self.assertEqual(report["cores"]["loader_threads"], 2)
        self.cluster.cancel(job)
        self.check_nothing_left()

    def test_libpenstock(self):
        flags = [f"--loader-model={self.profile('contained', 4)}"]
        job = self.start_container(self.trainer("contained", 4), flags)
        report = self.report_with(job, "samples", lambda now: (
            now["quality"]["samples"] > 0 and now["cores"]["loader_threads"]))
        self.assertEqual(report["ranks"], 1)
        self.assertEqual(report["quality"]["loader_source"], "registered")
        if os.cpu_count() > 1:
            self.check_loaders_are_moved(job)
        self.cluster.cancel(job)
        self.check_nothing_left()

    def check_loaders_are_moved(self, job):
        self.wait_away(job)
        for tid in self.away_threads(job):
            comm = pathlib.Path(f"/proc/{tid}/comm").read_text().strip()
            self.assertTrue(comm.startswith("pst_loader"), comm)
        status = pathlib.Path(f"/proc/{tid}/status").read_text("utf-8")
        self.assertRegex(status, r"NSpid:\t\d+\t\d+\n")


if __name__ == "__main__":
    agent_case.main()
