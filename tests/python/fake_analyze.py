"""Stands in for penstock analyze: sends orders to ranks."""

import json
import os
import select
import socket
import subprocess
import sys
import time

SECRET = "0123456789abcdef" * 2
PATIENCE_S = 60


class Rank:
    """The connection of one rank."""

    def __init__(self, connection):
        self.socket = connection
        self._received = b""
        begin_s = time.monotonic()
        self.hello = self.receive()
        self.silent_s = time.monotonic() - begin_s

    def send(self, **message):
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def receive(self, wait_s=PATIENCE_S):
        """The next message; None when the connection has ended."""
        deadline = time.monotonic() + wait_s
        while b"\n" not in self._received:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.socket], [], [], left)[0]:
                raise TimeoutError(f"nothing in {wait_s} s")
            try:
                data = self.socket.recv(1 << 16)
            except ConnectionResetError:
                data = b""
            if not data:
                return None
            self._received += data
        line, _, self._received = self._received.partition(b"\n")
        assert len(line) <= 65536
        return json.loads(line)

    def start(self, number, data, **parts):
        cell = {"cell": number, "data": data, "train": False, "cores": None,
                "bytes_per_s": None, "subset_samples": 64}
        self.send(**{**cell, **parts})

    def await_ready(self, number):
        while True:
            message = self.receive()
            if message.get("ready") and message["cell"] == number:
                return message

    def hold(self):
        """Holds the rank; returns its number of steps."""
        self.send(hold=True)
        return self.await_held()

    def await_held(self):
        while "held" not in (message := self.receive()):
            pass
        return message["held"]

    def measure(self, number, samples):
        """Messages of the cell, until those after the first have that number
        of samples. The first one's sums are the start of the differences."""
        messages, seen = [], 0
        while seen < samples:
            message = self.receive()
            assert message["cell"] == number and "ready" not in message
            if messages:
                seen += sum(message["samples"])
            messages.append(message)
        return messages

    def run(self, number, data, samples=64, **parts):
        """Starts a cell and measures it."""
        self.start(number, data, **parts)
        ready = self.await_ready(number)
        return ready, self.measure(number, samples)


class FakeAnalyze:
    """Runs a script, a text or a file, on several ranks."""

    def __init__(self, script, ranks=1, arguments=(), **environment):
        command = ["-c", script] if "\n" in script else [script]
        listener = socket.create_server(("127.0.0.1", 0))
        listener.settimeout(PATIENCE_S)
        port = listener.getsockname()[1]
        self.processes = []
        self.ranks = {}
        variables = {"PENSTOCK_ANALYZE": f"127.0.0.1:{port}:{SECRET}",
                     "PENSTOCK_SOCKET": "/nowhere", **environment}
        try:
            for rank in range(ranks):
                self.processes.append(subprocess.Popen(
                    [sys.executable, *command, *arguments],
                    env={**os.environ, "RANK": str(rank),
                         "WORLD_SIZE": str(ranks), **variables},
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
            while len(self.ranks) < ranks:
                rank = Rank(listener.accept()[0])
                if rank.hello is None:  # a client that only tested the port
                    rank.socket.close()
                else:
                    self.ranks[rank.hello["rank"]] = rank
        except BaseException:
            self.close()
            raise
        finally:
            listener.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def end(self):
        """Ends all ranks; returns their exit codes and outputs."""
        for rank in self.ranks.values():
            rank.send(end=True)
        return self.outcomes()

    def outcomes(self):
        return [(process.communicate(timeout=PATIENCE_S), process.returncode)
                for process in self.processes]

    def close(self):
        for rank in self.ranks.values():
            rank.socket.close()
        for process in self.processes:
            try:  # it ends its workers, which have its output open
                process.communicate(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
