"""Jobs that request a limit from penstockd: rejected requests, and the limit
after the requesting process ends."""

import errno
import os
import unittest

import agent_case
import hierarchy
import protocol
import python_jobs

ASK = python_jobs.PRELUDE + """
def limit(millicores, ends=0, rate=0):
    status, _ = ask(connect(), struct.pack("=IHHIIIIQ", 0x54534E50, 1, 10, 32,
                                           3, millicores, ends, rate))
    return status
"""
ANSWERS = ASK + """
tell({home!r} + "/{answer}.json", {calls})
time.sleep(600)
"""
# The script continues after the requesting process is dead.
KILLED = ASK + """
child = os.fork()
if child == 0:
    tell({home!r} + "/killed.json", limit(500))
    time.sleep(600)
while not os.path.exists({home!r} + "/go"):
    time.sleep(0.02)
os.kill(child, 9)
os.waitpid(child, 0)
tell({home!r} + "/gone.json", 0)
time.sleep(600)
"""
LAPSES_S = 30


class Limits(python_jobs.JobsOfPython):
    def answers(self, name, calls, flags=()):
        job = self.start_python(name, ANSWERS, flags, answer=name, calls=calls)
        return job, self.told(name)

    @unittest.skipIf(hierarchy.COMOUNTED, "SKIPPED: no quota where cpu and "
                     "cpuacct are one hierarchy")
    def test_a_job_is_held_until_it_says_so(self):
        job, told = self.answers("ends", "[limit(500), limit(250), "
                                 "limit(0, 1), limit(0, 1)]")
        self.assertEqual(told, [0, 0, 0, 0])
        self.assertIsNone(hierarchy.cpu_limit(self.cluster.node, job))

    def test_what_cannot_be_is_refused(self):
        _, told = self.answers("odd", "[limit(50), limit(0, 2), "
                               "limit(0, 0, 10**15 + 1), limit(0, 0, 10**6)]")
        self.assertEqual(told, [errno.EINVAL] * 3 + [errno.ENODEV])
        _, told = self.answers("unmanaged", "[limit(500)]", ["--loader=off"])
        self.assertEqual(told, [errno.ENOENT])

    def test_nobody_else_may_ask(self):
        job = self.start_python("other", ASK + "time.sleep(600)\n")
        reply = self.cluster.ask(protocol.pack(protocol.LIMIT, 500, 0, 0))
        self.assertEqual(reply.status, errno.ENOENT)  # a process of no job
        self.assertIsNone(hierarchy.cpu_limit(self.cluster.node, job))

    @unittest.skipIf(hierarchy.COMOUNTED, "SKIPPED: no quota where cpu and "
                     "cpuacct are one hierarchy")
    def test_a_limit_lapses_when_nobody_renews_it(self):
        job = self.start_python("lapses", KILLED)
        self.assertEqual(self.told("killed"), 0)
        self.assertEqual(hierarchy.cpu_limit(self.cluster.node, job),
                         "5000 10000")
        open(f"{self.cluster.home()}/go", "w", encoding="ascii").close()
        self.told("gone")
        self.wait("the limit to lapse", lambda: hierarchy.cpu_limit(
            self.cluster.node, job) is None, LAPSES_S + 10)
        self.assertTrue(os.path.isdir(hierarchy.job_dir(self.cluster.node,
                                                        job)))


if __name__ == "__main__":
    agent_case.main()
