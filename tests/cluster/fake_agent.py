"""A penstockd that only listens: it records the plugin's messages."""

import os
import socket
import threading
import time

import embedded
import protocol


class FakeAgent:
    """Records (arrival time, message) from its construction until close().

    answers  False: reads nothing until drain(), like a stopped penstockd
    owner    the socket's owner, as seen by the plugin: a uid
    """

    def __init__(self, path, answers=True, owner=0, status=0, text=b""):
        self._path = path
        self._reply = (status, 0, text)
        self._changed = threading.Condition()
        self._records = []
        self._errors = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.bind(path)
        os.chmod(path, 0o666)
        # The kernel stores the credentials of the caller of listen().
        os.seteuid(owner)
        try:
            self._socket.listen(64)
        finally:
            os.seteuid(0)
        self._thread = None
        if answers:
            self.drain()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def drain(self):
        """Starts to read, with the waiting messages first."""
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self):
        """Closes the agent; repeated calls do nothing."""
        if self._socket.fileno() < 0:
            return
        # shutdown wakes accept(); unlink first, to refuse new connections.
        os.unlink(self._path)
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        if self._thread is not None:
            self._thread.join(timeout=10)

    def _serve(self):
        while True:
            try:
                link, _ = self._socket.accept()
            except OSError:
                return
            with link:
                link.settimeout(5)
                self._take(link)

    def _take(self, link):
        packet = link.recv(2048)
        if not packet:
            return  # a client that only tested the socket
        try:
            message = protocol.unpack(packet)
        except ValueError as error:
            self._errors.append(str(error))
            return
        with self._changed:
            self._records.append((time.monotonic(), message))
            self._changed.notify_all()
        self.heard(message)
        if message.type == protocol.TASK_START:
            try:
                link.send(protocol.pack(protocol.REPLY, *self._reply,
                                        request_id=message.request_id))
            except BrokenPipeError:
                pass  # the client gave up at its time limit

    def heard(self, message):
        """For subclasses: called before the reply, while a starting task
        still waits to exec."""

    def records(self, kind, **fields):
        """The (time, message) pairs of that type with these field values."""
        return [(when, message) for when, message in self._records
                if message.type == kind and all(
                    getattr(message, name) == value
                    for name, value in fields.items())]

    def wait_for(self, kind, count=1, timeout=20, **fields):
        """Waits for that number of messages and returns them."""
        with self._changed:
            arrived = self._changed.wait_for(
                lambda: len(self.records(kind, **fields)) >= count,
                timeout * embedded.PATIENCE)
        if not arrived or self._errors:
            raise AssertionError(
                f"no {count} messages of type {kind} with {fields} in "
                f"{timeout} s: {self._records}; errors: {self._errors}")
        return [message for _, message in self.records(kind, **fields)]
