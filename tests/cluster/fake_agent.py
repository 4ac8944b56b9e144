"""A penstockd that only listens: it records what the plugin sends."""

import os
import socket
import threading
import time

import embedded
import protocol


class FakeAgent:
    """Records (arrival time, message) from its making until close().

    answers  False: reads nothing, as a stopped penstockd does, until
             drain() is called
    owner    the uid that the plugin sees behind the socket
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
        # The kernel remembers who called listen().
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
        """Starts to read, what has waited first."""
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self):
        """Ends it; the second time does nothing."""
        if self._socket.fileno() < 0:
            return
        # shutdown wakes accept(); unlink first, so that nobody comes anew.
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
            return  # looked whether anybody listens
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
                pass  # its budget was over

    def heard(self, message):
        """For subclasses: called before the message is answered, while a task
        that starts still waits to exec."""

    def records(self, kind, **fields):
        """The (time, message) of that type whose fields have these values."""
        return [(when, message) for when, message in self._records
                if message.type == kind and all(
                    getattr(message, name) == value
                    for name, value in fields.items())]

    def wait_for(self, kind, count=1, timeout=20, **fields):
        """Waits for that many; returns the messages."""
        with self._changed:
            arrived = self._changed.wait_for(
                lambda: len(self.records(kind, **fields)) >= count,
                timeout * embedded.PATIENCE)
        if not arrived or self._errors:
            raise AssertionError(
                f"no {count} messages of type {kind} with {fields} in "
                f"{timeout} s: {self._records}; errors: {self._errors}")
        return [message for _, message in self.records(kind, **fields)]
