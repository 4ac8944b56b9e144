"""A command on a terminal, at which a test types."""

import fcntl
import os
import pty
import pwd
import select
import signal
import struct
import subprocess
import termios
import time

import embedded

TIMEOUT_S = 30


class Typed:
    """Runs a command of the cluster as the user, on a terminal of 80 x 24."""

    def __init__(self, cluster, argv, user):
        entry = pwd.getpwnam(user)
        self._cluster = cluster
        self._argv = ["setpriv", f"--reuid={entry.pw_uid}",
                      f"--regid={entry.pw_gid}", "--clear-groups", *argv]

    def __enter__(self):
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
        self._slave = slave
        self._before = termios.tcgetattr(slave)
        self._process = subprocess.Popen(
            self._cluster._caged(self._argv), stdin=slave, stdout=slave,
            stderr=slave, env=dict(self._cluster.env, TERM="xterm"))
        self._seen = ""
        return self

    def __exit__(self, *unused):
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._master)
        os.close(self._slave)

    def _read(self):
        if select.select([self._master], [], [], 0.1)[0]:
            self._seen += os.read(self._master, 65536).decode(
                "utf-8", "replace")

    def wait_for(self, text):
        """Waits until the text has been shown since the last press()."""
        deadline = time.monotonic() + TIMEOUT_S * embedded.PATIENCE
        while text not in self._seen:
            if time.monotonic() > deadline:
                raise AssertionError(f"{text!r} was not shown: {self._seen!r}")
            self._read()

    def press(self, keys, shown):
        """Types the keys; waits until the text is shown after them."""
        self._seen = ""
        os.write(self._master, keys.encode())
        self.wait_for(shown)

    def interrupt(self):
        self._process.send_signal(signal.SIGINT)

    def wait_end(self):
        """The exit code."""
        deadline = time.monotonic() + TIMEOUT_S * embedded.PATIENCE
        while self._process.poll() is None and time.monotonic() < deadline:
            self._read()  # a full terminal would hold it up
        return self._process.wait(1)

    def is_restored(self):
        return termios.tcgetattr(self._slave) == self._before
