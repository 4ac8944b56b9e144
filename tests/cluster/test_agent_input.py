"""penstockd gets false input, a wrong configuration, or input too late. Jobs
continue, and no groups of ours remain."""

import errno
import os
import pathlib
import pwd
import signal
import socket
import struct
import subprocess
import time

import agent_case
import hierarchy
import protocol

# Requests this task's pages from penstockd and corrupts them; then computes on.
SPOIL_PAGE = """
import array, mmap, os, socket, struct, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(os.environ["PENSTOCK_SOCKET"])
s.send(struct.pack("=IHHIIII", 0x54534E50, 1, 5, 24, 1, 1, 0))
data, anc, _, _ = s.recvmsg(1024, socket.CMSG_SPACE(8))
fds = array.array("i", b"".join(part for _, _, part in anc))
page, hint = fds[0], fds[1]
for size in (0, 1 << 20):
    try:
        os.ftruncate(page, size)
        sys.exit("the page could be resized")
    except OSError:
        pass
try:
    mmap.mmap(hint, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    sys.exit("the hint page could be mapped for writing")
except PermissionError:
    pass
with mmap.mmap(page, 4096) as view:
    view[:] = os.urandom(4096)
    time.sleep(3)
    view[:] = b"\\xff" * 4096
    time.sleep(2)
print("ran on")
"""

FORK_STORM = """
import os, time
end = time.monotonic() + 4
while time.monotonic() < end:
    if os.fork() == 0:
        os._exit(0)
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
print("done")
"""

GONE = (errno.ENOENT, errno.ESRCH)  # the reply to an announcement with that pid


class Input(agent_case.AgentCase):
    def test_a_killed_srun(self):
        user = pwd.getpwnam(self.cluster.user)
        launcher = subprocess.Popen(
            ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}",
             "--clear-groups", "srun", "--gres=gpu:1", "--loader=auto",
             *self.trainer("srunkill", 4)],
            env=dict(self.cluster.env, HOME=user.pw_dir), cwd=user.pw_dir,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait("the step to run", lambda: self.cluster.status()["jobs"])
        launcher.kill()
        launcher.wait()
        self.cluster.cancel(*(str(job["id"]) for job in self.cluster.squeue()))
        self.check_nothing_left()

    def test_a_page_of_garbage(self):
        job = self.cluster.sbatch(["/usr/bin/python3", "-c", SPOIL_PAGE],
                                  flags=["--loader=auto"])
        self.cluster.wait_job(job)
        self.assertEqual(self.cluster.output(job), "ran on\n")
        self.check_nothing_left()
        self.wait("the report", lambda: self.reports(job))
        text = pathlib.Path(self.reports(job)[0]).read_text("utf-8")
        self.assertIn("holds nonsense", text)

    def test_a_task_that_forks_as_fast_as_it_can(self):
        job = self.cluster.sbatch(["/usr/bin/python3", "-c", FORK_STORM],
                                  flags=["--loader=auto"])
        self.cluster.wait_job(job, "RUNNING")
        slowest = 0.0
        while self.cluster.job(job).get("JobState") == "RUNNING":
            start = time.monotonic()
            self.cluster.status()
            slowest = max(slowest, time.monotonic() - start)
        self.assertLess(slowest, 1.0)
        self.cluster.wait_job(job)
        self.check_nothing_left()

    def test_messages_of_strangers(self):
        job = self.submit("victim", 4)
        self.rate("victim", 0.1)  # the task has exec'd
        # Other clusters may have trainers, too.
        pid = hierarchy.job_threads(self.cluster.node, job)[-1]
        for packet in (b"", b"x", os.urandom(64), os.urandom(1024),
                       b"\0" * 5000,
                       struct.pack("=IHHII", protocol.MAGIC, 1, 1, 16, 0)):
            self.send_as_user(packet)
        # Nor can a process outside of any task register or announce anything.
        # test_registration.py covers the threads that jobs may name.
        thread = struct.pack("=IHHIIiI", protocol.MAGIC, 1, protocol.THREAD,
                             24, 0, pid, 1)
        self.assertNotEqual(self.send_as_user(thread), 0)
        end = protocol.pack(protocol.JOB_END, job, 0)
        self.assertNotEqual(self.send_as_user(end), 0)
        self.assertIsNotNone(self.job_status(job))
        self.cluster.cancel(job)
        self.check_nothing_left()

    def send_as_user(self, packet):
        """Sends as `nobody`; returns the reply's status, or -1 without a
        reply."""
        reader, writer = socket.socketpair()
        child = os.fork()
        if child == 0:
            os.setgid(65534)
            os.setuid(65534)
            status = -1
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
                s.settimeout(5)
                s.connect(self.cluster.socket_path)
                try:
                    s.send(packet)
                    status = protocol.unpack(s.recv(1024)).status
                except (OSError, ValueError):
                    pass
            writer.send(struct.pack("=i", status))
            os._exit(0)
        os.waitpid(child, 0)
        with reader, writer:
            return struct.unpack("=i", reader.recv(4))[0]

    # -- a job that ends while it is being announced ---------------------------

    def announce(self, job, pid):
        """Announces a managed task, as the plugin does; returns the reply's
        status."""
        user = pwd.getpwnam(self.cluster.user)
        packet = protocol.task_start(
            job_id=job, uid=user.pw_uid, gid=user.pw_gid, pid=pid,
            job_name=b"short", mode=protocol.MODE_AUTO,
            report_format=protocol.REPORT_NONE)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as channel:
            channel.settimeout(10)
            channel.connect(self.cluster.socket_path)
            channel.send(packet)
            return protocol.unpack(channel.recv(1024)).status

    def end_job(self, job):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as channel:
            channel.connect(self.cluster.socket_path)
            channel.send(protocol.pack(protocol.JOB_END, job, 0))

    def check_unknown(self, *jobs):
        """penstockd runs, and has no record and no group of the jobs."""
        self.assertEqual(self.cluster.status()["jobs"], [])
        for job in jobs:
            self.assertIsNone(self.job_status(job))
        self.assertEqual(self.cluster.penstock_cgroups(), [])

    def check_later_jobs_work(self):
        job = self.submit("later", 1)
        self.wait("the job to be known", lambda: self.job_status(job))
        self.assertGreater(self.rate("later", 0.1), 0)
        self.cluster.cancel(job)
        self.check_nothing_left()

    def test_a_job_that_ends_before_it_is_announced(self):
        gone = os.fork()
        if gone == 0:
            os._exit(0)
        os.waitpid(gone, 0)
        self.assertIn(self.announce(900001, gone), GONE)
        # A zombie still has its pid; penstockd must treat it as dead.
        zombie = os.fork()
        if zombie == 0:
            os._exit(0)
        self.addCleanup(os.waitpid, zombie, 0)
        os.waitid(os.P_PID, zombie, os.WEXITED | os.WNOWAIT)
        self.assertIn(self.announce(900002, zombie), GONE)
        # No process has sent JOB_END: there must be no job to end.
        self.check_unknown(900001, 900002)
        self.check_later_jobs_work()

    def test_a_job_that_ends_while_it_is_announced(self):
        announced = 0
        for i in range(100):
            # It ends at moments from before its announcement until long after
            # it.
            task = os.fork()
            if task == 0:
                time.sleep(i * 20e-6)
                os._exit(0)
            status = self.announce(910000 + i, task)
            self.assertIn(status, (0, *GONE))
            announced += status == 0
            os.waitpid(task, 0)
            self.end_job(910000 + i)
        print(f"{announced} of 100 were announced in time", flush=True)
        self.assertGreater(announced, 0)
        self.wait("the tasks to be gone",
                  lambda: not self.cluster.status()["jobs"])
        self.check_unknown(*range(910000, 910100))
        self.check_later_jobs_work()

    def test_a_step_that_ends_before_penstockd_reads_of_it(self):
        launches = self.cluster.status()["launch"]["count"]
        os.kill(self.cluster.agent_pid, signal.SIGSTOP)
        try:
            done = self.cluster.srun("sh", "-c", "echo $SLURM_JOB_ID $$",
                                     flags=["--loader=auto"])
            self.assertEqual(done.returncode, 0, done.stderr)
            job, pid = map(int, done.stdout.split())
            self.assertFalse(os.path.exists(f"/proc/{pid}"))
        finally:
            os.kill(self.cluster.agent_pid, signal.SIGCONT)
        # The plugin's last message, which penstockd has read by now.
        self.wait("the step's end to be known", lambda: (
            self.cluster.status()["launch"]["count"] > launches), 5)
        self.check_unknown(job)
        self.assertEqual(self.reports(job), [])
        self.check_later_jobs_work()

    def test_reload(self):
        path = pathlib.Path(self.cluster.directory, "penstock.conf")
        good = path.read_text("utf-8")
        self.addCleanup(path.write_text, good, "utf-8")
        path.write_text(good + "NoSuchKey=1\n", "utf-8")
        os.kill(self.cluster.agent_pid, signal.SIGHUP)
        self.wait("the refusal in the log", lambda: "stays in force" in
                  self.cluster.logs("penstockd", lines=50))
        self.assertIn("NoSuchKey", self.cluster.logs("penstockd", lines=50))
        path.write_text(good.replace("Policy=throughput", "Policy=maxmin"),
                        "utf-8")
        os.kill(self.cluster.agent_pid, signal.SIGHUP)
        self.wait("the new policy",
                  lambda: self.cluster.status()["policy"] == "maxmin")
        path.write_text(good, "utf-8")
        os.kill(self.cluster.agent_pid, signal.SIGHUP)
        self.wait("the old policy",
                  lambda: self.cluster.status()["policy"] == "throughput")

    def test_a_full_disk(self):
        reports = f"{self.cluster.directory}/reports"
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k,mode=755",
                        "tmpfs", reports], check=True)
        try:
            pathlib.Path(reports, "filler").write_bytes(b"x" * 4096)
            os.kill(self.cluster.agent_pid, signal.SIGHUP)
            self.wait("the reload", lambda: "reloaded" in
                      self.cluster.logs("penstockd", lines=50))
            job = self.cluster.sbatch(self.trainer("full", 1, seconds=2),
                                      flags=["--loader=auto"])
            self.cluster.wait_job(job)
            self.wait("the error in the log", lambda: f"job {job}: report" in
                      self.cluster.logs("penstockd", lines=50))
            self.assertEqual(os.listdir(reports), ["filler"])
        finally:
            subprocess.run(["umount", "-l", reports], check=True)
            os.kill(self.cluster.agent_pid, signal.SIGHUP)
        self.check_nothing_left()


if __name__ == "__main__":
    agent_case.main()
