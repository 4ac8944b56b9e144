"""penstockd started as AgentUser, with brokers that a listening root process
starts at its connections, as its systemd unit does it."""

import os
import pathlib
import shutil
import signal
import socket
import stat
import sys
import unittest

import agent_case
import slurm_files

SOCKET = "/run/penstock-broker.sock"  # of broker/start.h
LISTENER = "systemd-socket-activate"
USER = slurm_files.AGENT_USER


def as_user(user, *argv):
    return ("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups",
            "--no-new-privs", *argv)


def is_listening():
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
        return probe.connect_ex(SOCKET) == 0


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except OSError:
        return None  # it has ended


@unittest.skipUnless(shutil.which(LISTENER), f"needs {LISTENER}")
@unittest.skipIf(is_listening(), "Penstock is installed here, and runs")
class SocketBroker(agent_case.AgentCase):
    def setUp(self):
        super().setUp()
        self.conf = f"{self.cluster.directory}/penstock.conf"
        self.program = self.cluster.build / "bin" / "penstockd"
        self.cluster.stop_agent()
        self.addCleanup(self.cluster.start_agent)
        # Of a test that was killed.
        pathlib.Path(SOCKET).unlink(missing_ok=True)

    def listen(self):
        """Listens as penstock-broker.socket does."""
        self.cluster._start_daemon(
            "broker-socket", LISTENER, "--accept", "--inetd", "--seqpacket",
            f"--listen={SOCKET}", self.cluster.build / "bin/penstock-broker",
            "--config", self.conf)
        self.addCleanup(self.stop_listening)
        self.wait("the broker's socket", lambda: os.path.exists(SOCKET))
        os.chown(SOCKET, USER, 0)
        os.chmod(SOCKET, 0o600)

    def stop_listening(self):
        self.cluster._stop_daemon("broker-socket", signal.SIGTERM)
        os.unlink(SOCKET)

    def start(self, user=USER):
        self.cluster._start_daemon(
            "penstockd", *as_user(user, str(self.program), "-f", self.conf,
                                  "-N", self.cluster.node))

    def brokers(self):
        """Without their children, which look at jobs for a moment."""
        found = {pid for pid in map(int, filter(str.isdigit,
                                                os.listdir("/proc")))
                 if self.is_broker(pid)}
        parents = {pid: parent_of(pid) for pid in found}
        return [pid for pid, parent in parents.items()
                if parent is not None and parent not in found]

    def is_broker(self, pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            return False
        return (words[0].endswith(b"penstock-broker")
                and self.conf.encode() in words)

    def test_it_lends_and_restores_after_its_death_and_after_a_brokers(self):
        self.listen()
        self.start()
        lender, borrower = self.lend("U")
        self.assertEqual(len(self.brokers()), 2)
        self.assertTrue(stat.S_ISSOCK(os.stat(self.cluster.socket_path).st_mode))
        self.cluster.stop_agent(signal.SIGKILL)
        self.wait("the groups to be removed",
                  lambda: not self.cluster.penstock_cgroups(), 5)
        self.wait("the brokers to end", lambda: not self.brokers(), 5)
        self.start()
        self.wait_away(borrower)
        os.kill(min(self.brokers()), signal.SIGKILL)
        self.wait("penstockd to end",
                  lambda: self.cluster.has_ended("penstockd"))
        self.assertEqual(self.cluster.stop_agent(), 1)
        self.wait("the groups to be removed",
                  lambda: not self.cluster.penstock_cgroups(), 5)
        self.start()
        self.wait_away(borrower)
        self.cluster.cancel(lender, borrower)
        self.check_nothing_left()
        self.assertEqual(self.cluster.stop_agent(), 0)

    def refused(self, text, user=USER):
        self.start(user)
        self.wait("penstockd to end",
                  lambda: self.cluster.has_ended("penstockd"))
        self.assertEqual(self.cluster.stop_agent(), 1)
        self.wait("the error",
                  lambda: text in self.cluster.logs("penstockd"), 5)

    def test_without_the_socket_the_error_names_it_and_the_remedy(self):
        self.refused(f"{SOCKET}: No such file or directory; start "
                     "penstockd.service, which needs penstock-broker.socket, "
                     "or start penstockd as root")

    def test_another_user_is_refused_by_penstockd(self):
        self.refused("penstockd: must be started as root, or as "
                     f"AgentUser={USER} by its unit", user=USER + 1)

    def test_another_user_is_refused_by_the_broker(self):
        self.listen()
        os.chmod(SOCKET, 0o666)
        code = ("import socket; s = socket.socket(socket.AF_UNIX, "
                f"socket.SOCK_SEQPACKET); s.connect({SOCKET!r}); s.recv(1)")
        self.cluster._run(list(as_user(USER + 1, sys.executable, "-c", code)))
        self.wait("the error", lambda: (
            f"uid {USER + 1} has connected, which is neither root nor "
            "AgentUser") in self.cluster.logs("broker-socket"), 5)


if __name__ == "__main__":
    agent_case.main()
