"""Measures how long penstockd takes to answer, in a process of its own.

    with AnswerProbe(path) as probe:
        ...
    probe.slowest_ms()
"""

import math
import os
import struct
import time

import protocol

PERIOD_S = 0.02
PATIENCE_S = 30
SAMPLE = struct.Struct("=dd")  # begun, seconds


class AnswerProbe:
    """Asks for the node's status every 20 ms; uid: as that user, else root."""

    def __init__(self, path, uid=0):
        self._path = path
        self._uid = uid
        self._samples = []

    def __enter__(self):
        self._reader, writer = os.pipe()
        os.set_blocking(self._reader, False)
        self._stop_reader, self._stop = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                os.close(self._stop)
                # The probe's own wait for a CPU is not penstockd's.
                os.setpriority(os.PRIO_PROCESS, 0, -20)
                if self._uid:
                    os.setgroups([])
                    os.setgid(self._uid)
                    os.setuid(self._uid)
                self._ask_until_stopped(writer)
            finally:
                os._exit(0)
        os.close(writer)
        os.close(self._stop_reader)
        return self

    def _ask_until_stopped(self, writer):
        os.set_blocking(self._stop_reader, False)
        packet = protocol.pack(protocol.STATUS, 0, 0)
        while True:
            try:
                if not os.read(self._stop_reader, 1):
                    return
            except BlockingIOError:
                pass
            begun = time.monotonic()
            try:
                _, fds = protocol.ask(self._path, packet, PATIENCE_S)
                took = time.monotonic() - begun
            except OSError:
                fds, took = [], math.inf
            for fd in fds:
                os.close(fd)
            os.write(writer, SAMPLE.pack(begun, took))
            time.sleep(PERIOD_S)

    def collect(self):
        """Reads what the probe has written; call it at least once a minute."""
        try:
            while data := os.read(self._reader, SAMPLE.size * 256):
                self._samples += SAMPLE.iter_unpack(data)
        except BlockingIOError:
            pass

    def __exit__(self, *unused):
        os.close(self._stop)
        os.waitpid(self._pid, 0)
        self.collect()
        os.close(self._reader)

    def times_ms(self, begun=-math.inf, ended=math.inf):
        """Of all requests that were open between two moments of
        time.monotonic(). Infinite: no answer."""
        return [1e3 * took for at, took in self._samples
                if at < ended and at + took > begun]

    def slowest_ms(self, *moments):
        return max(self.times_ms(*moments), default=math.inf)
