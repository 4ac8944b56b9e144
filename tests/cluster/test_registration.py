"""Threads that a process may register as loaders, the pages that a job gets,
and the delay until a new loader process is known."""

import errno
import json
import os
import pathlib
import pwd
import shutil
import statistics
import subprocess
import time
import unittest

import agent_case
import python_jobs

# An idle task, which therefore lends its CPU. It has a second thread, which
# another job tries to register as its loader.
VICTIM = python_jobs.PRELUDE + """
import penstock
tids = []
threading.Thread(target=lambda: (tids.append(threading.get_native_id()),
                                 time.sleep(120)), daemon=True).start()
while not tids:
    time.sleep(0.01)
status, fds = hello(connect())
penstock.report(samples=40, steps=1)
tell({home!r} + "/victim.json", dict(
    status=status, inodes=[os.fstat(fd).st_ino for fd in fds],
    tids=[os.getpid(), *tids]))
time.sleep(120)
"""

# Registers all users' threads, its own last, and computes in its own one.
MEDDLER = python_jobs.PRELUDE + """
import penstock
with open({home!r} + "/strangers.json") as file:
    strangers = json.load(file)
channel = connect()
status, fds = hello(channel)
penstock.report(samples=700, steps=1)
refused = {{name: thread(channel, tid) for name, tid in strangers.items()}}
own = []
def compute():
    own.append(threading.get_native_id())
    while True:
        pass
threading.Thread(target=compute, daemon=True).start()
while not own:
    time.sleep(0.01)
child = os.fork()
if child == 0:
    while True:
        pass
tell({home!r} + "/meddler.json", dict(
    status=status, inodes=[os.fstat(fd).st_ino for fd in fds],
    refused=refused, own=own + [child],
    accepted=[thread(channel, tid) for tid in own + [child]]))
time.sleep(120)
"""

# Starts processes that only --loader-match identifies, at all moments between
# two of penstockd's samples.
FORKER = python_jobs.PRELUDE + """
times = []
for i in range({count}):
    before = time.monotonic()
    if os.fork() == 0:
        os.execv({program!r}, ["decoder", "120"])
    times.append(before)
    tell({home!r} + "/forker.json", times)
    time.sleep(0.611)
time.sleep(120)
"""


@unittest.skipIf(os.cpu_count() < 2, "SKIPPED: one CPU")
class Meddling(python_jobs.JobsOfPython):
    cluster_options = {"agent": True, "users": 2}

    def sleeper_of(self, name):
        """A process of the user outside of any job; its pid."""
        user = pwd.getpwnam(name)
        process = subprocess.Popen(["sleep", "120"], user=user.pw_uid,
                                   group=user.pw_gid, extra_groups=[])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process.pid

    def start_both(self):
        """Starts both jobs; returns them, their output, and the forbidden
        thread numbers."""
        victim = self.start_python("victim", VICTIM)
        theirs = self.told("victim")
        strangers = {
            "another job's process": theirs["tids"][0],
            "another job's thread": theirs["tids"][1],
            "root's penstockd": self.cluster.agent_pid,
            "init": 1,
            "another user's process": self.sleeper_of(self.cluster.users[1]),
            "a process of the user in no job": self.sleeper_of(
                self.cluster.user),
            "nobody": 0,
            "less than nobody": -1,
        }
        path = pathlib.Path(self.cluster.home(), "strangers.json")
        path.write_text(json.dumps(strangers), "utf-8")
        meddler = self.start_python("meddler", MEDDLER)
        return victim, theirs, meddler, self.told("meddler"), strangers

    def test_a_job_names_its_own_threads_only(self):
        victim, theirs, meddler, mine, strangers = self.start_both()
        for name in strangers:
            self.assertIn(mine["refused"][name], (errno.EPERM, errno.ENOENT),
                          name)
        self.assertEqual(mine["accepted"], [0, 0])
        self.check_pages(victim, theirs, meddler, mine)

        # Its own loaders are moved: so would the others be if they were
        # registered.
        groups = {tid: self.groups_of(tid) for tid in strangers.values()
                  if tid > 0}
        self.wait_away(meddler)
        end = time.monotonic() + 3
        while time.monotonic() < end:
            self.assertLessEqual(set(self.away_threads(meddler)),
                                 set(mine["own"]))
            for tid, before in groups.items():
                self.assertEqual(self.groups_of(tid), before)
            time.sleep(0.02)
        report = self.cluster.status(meddler)
        self.assertEqual(report["cores"]["loader_threads"], 2)
        self.assertEqual(report["quality"]["loader_source"], "registered")
        self.assertIsNone(
            self.cluster.status(victim)["cores"]["loader_threads"])
        self.cluster.cancel(victim, meddler)
        self.check_nothing_left()

    @staticmethod
    def groups_of(tid):
        return pathlib.Path(f"/proc/{tid}/cgroup").read_text("ascii")

    def check_pages(self, victim, theirs, meddler, mine):
        """Each HELLO got the sender's own pages."""
        self.assertEqual((theirs["status"], mine["status"]), (0, 0))
        inodes = theirs["inodes"] + mine["inodes"]
        self.assertEqual(len(set(inodes)), 4)
        for job, samples in ((victim, 40), (meddler, 700)):
            self.wait(f"job {job}'s samples", lambda: self.cluster.status(
                job)["quality"]["samples"])
            report = self.cluster.status(job)
            self.assertEqual(
                (report["quality"]["samples"], report["ranks"]), (samples, 1))


GREETER = python_jobs.PRELUDE + """
tell({home!r} + "/greeter.json", [hello(connect(), unasked)[0]
                                  for unasked in (1, 0)])
"""


class Unwatched(python_jobs.JobsOfPython):
    """On a site that does not let unmodified scripts be measured."""
    cluster_options = {"agent": True, "agent_lines": ("Watch=off",)}

    def test_only_scripts_that_call_penstock_get_pages(self):
        self.start_python("greeter", GREETER)
        self.assertEqual(self.told("greeter"), [errno.EPERM, 0])


class NewLoaders(python_jobs.JobsOfPython):
    # The status shows the last sample's count, so penstockd samples as often as
    # possible. The measured delay includes up to 100 ms of that.
    cluster_options = {"agent": True, "agent_lines": ("SamplePeriod=100",)}

    def test_a_new_loader_is_known_within_200_ms(self):
        count = 9
        job = self.start_python("forker", FORKER,
                                flags=["--loader-match=decoder*"],
                                count=count, program=shutil.which("sleep"))
        seen = []
        deadline = time.monotonic() + 60
        while len(seen) < count:
            self.assertLess(time.monotonic(), deadline, seen)
            report = self.job_status(job)
            known = int((report or {"cores": {}})["cores"].get(
                "loader_threads") or 0)
            seen += [time.monotonic()] * (known - len(seen))
            time.sleep(0.01)
        # The first ones may precede the first query for the job.
        forked = self.told("forker")
        delays_ms = [1e3 * (found - begun)
                     for begun, found in zip(forked, seen)]
        median_ms = statistics.median(delays_ms)
        print(json.dumps({"new_loader_ms": [round(ms) for ms in delays_ms],
                          "median_ms": round(median_ms)}), flush=True)
        self.assertEqual(
            self.cluster.status(job)["quality"]["loader_source"], "match")
        self.assertGreater(min(delays_ms), 0)
        self.check_time(median_ms, 200)
        self.cluster.cancel(job)
        self.check_nothing_left()


if __name__ == "__main__":
    agent_case.main()
