"""Stands in for penstockd and one task of a job: answers every HELLO with
the same two pages, valid or invalid ones, and records the registered
threads."""

import fcntl
import mmap
import os
import selectors
import socket
import struct
import tempfile
import threading
import time

REPLY_FORMAT = "=IHHIIiI120s"
HINT_FORMAT = "=IIIIQQQQ"
PROGRESS_FORMAT = "=IIQQQQQQQQQQIIQQQQQQQQQQ"
PROGRESS_FIELDS = (
    "magic version updated_ns started_ns samples steps wait_ns bytes fetch_ns "
    "prep_ns prepared replaying loader_threads follows_hint exchange_ns cached "
    "cached_bytes cache_samples data_samples peer peer_bytes share delay_ns "
    "compute_threads"
).split()


class Page:
    """A memfd like penstockd's."""

    def __init__(self, size=4096, sealed=True):
        self.fd = os.memfd_create("page", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, size)
        self.memory = mmap.mmap(self.fd, size)
        if sealed:
            seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
            fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, seals)

    def close(self):
        os.close(self.fd)


class FakeDaemon:
    """fault: the fault of the reply to HELLO; None: no fault."""

    def __init__(self, path, fault=None):
        self.path = path
        self.fault = fault
        self.threads = {}
        self.limits = []  # requested (millicores, ends, bytes per second)
        self.refuses = lambda limit: None  # or (errno, reason)
        self.unasked = []  # of each HELLO
        self.refuses_unasked = False
        self.progress_page = None
        self.hint_page = None
        self._clients = []
        self._pages = []
        self._wake = os.eventfd(0)
        self._selector = selectors.DefaultSelector()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(path)
        self._listener.listen()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def disappear(self):
        """Ends all connections, and takes no more. Forked children have copies
        of the sockets, so that it does not suffice to close them."""
        os.unlink(self.path)
        for client in self._clients:
            client.shutdown(socket.SHUT_RDWR)

    def close(self):
        os.eventfd_write(self._wake, 1)
        self._thread.join()
        self._selector.close()
        os.close(self._wake)
        for item in [*self._clients, self._listener, *self._pages]:
            item.close()
        if os.path.exists(self.path):
            os.unlink(self.path)

    def progress(self):
        """The progress page's fields, by name."""
        size = struct.calcsize(PROGRESS_FORMAT)
        values = struct.unpack(PROGRESS_FORMAT, self.progress_page[:size])
        return dict(zip(PROGRESS_FIELDS, values))

    def set_hint(self, threads=3, sequence=2, rate=600, limited=0, magic=None):
        struct.pack_into(
            HINT_FORMAT,
            self.hint_page,
            0,
            0x50484E50 if magic is None else magic,
            2 if self.fault == "version" else 1,
            sequence,
            threads,
            4,
            1500,
            rate,
            limited,
        )

    def _run(self):
        while True:
            for key, _ in self._selector.select():
                if key.fileobj == self._wake:
                    return
                if key.fileobj == self._listener:
                    client = self._listener.accept()[0]
                    self._clients.append(client)
                    self._selector.register(client, selectors.EVENT_READ)
                else:
                    self._serve(key.fileobj)

    def _serve(self, client):
        try:
            data = client.recv(1024)
        except ConnectionResetError:  # client left with unread replies
            return  # raised once: its earlier messages are still readable
        if not data or self.fault == "hangup":
            self._selector.unregister(client)
            self._clients.remove(client)
            client.close()
            return
        kind = struct.unpack_from("=IHHII", data)[2]
        try:
            self._answer(client, kind, data)
        except (BrokenPipeError, ConnectionResetError):  # client has left
            pass

    def _answer(self, client, kind, data):
        if kind == 5 and self.fault != "silent":
            self.unasked.append(struct.unpack_from("=II", data, 16)[1])
            if self.refuses_unasked and self.unasked[-1]:
                client.send(self._reply(1, "Watch=off in penstock.conf"))
            else:
                self._answer_hello(client)
        elif kind == 6:
            tid, is_loader = struct.unpack_from("=iI", data, 16)
            self.threads[tid] = bool(is_loader)
            client.send(self._reply(0))
        elif kind == 10:
            millicores, ends, rate = struct.unpack_from("=IIQ", data, 16)
            self.limits.append((millicores, ends, rate))
            refused = self.refuses(self.limits[-1]) or (0, "")
            client.send(self._reply(*refused))

    def _reply(self, status, text=""):
        size = struct.calcsize(REPLY_FORMAT)
        return struct.pack(
            REPLY_FORMAT, 0x54534E50, 1, 100, size, 0, status, 0,
            text.encode(),
        )

    def _make_pages(self):
        size = {"small": 100, "large": 8192}.get(self.fault, 4096)
        sealed = self.fault != "unsealed"
        self._pages = [Page(size, sealed) for _ in range(2)]
        self.progress_page, self.hint_page = (p.memory for p in self._pages)
        self.set_hint(magic=7 if self.fault == "magic" else None)

    def _answer_hello(self, client):
        if not self._pages:
            self._make_pages()
        fds = [page.fd for page in self._pages]
        fds = {
            "none": [],
            "one": fds[:1],
            "three": fds + fds[:1],
            "swapped": fds[::-1],
            "no file": [self._wake, self._wake],
        }.get(self.fault, fds)
        reply = self._reply(1 if self.fault == "status" else 0)
        if self.fault == "garbage":
            reply = b"\x5a" * len(reply)
        if self.fault == "short":
            reply = reply[:20]
        if self.fault == "long":
            reply += b"\0" * 600
        socket.send_fds(client, [reply], fds)


def socket_folder():
    """A new folder for a socket, as a context manager."""
    return tempfile.TemporaryDirectory(prefix="penstock-test-")


def eventually(done, seconds=5.0):
    """Waits until done() is true or the time is over; returns done()."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not done():
        time.sleep(0.01)
    return done()
