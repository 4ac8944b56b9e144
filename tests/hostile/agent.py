"""A job's messages to penstockd."""

import array
import errno
import os
import socket
import time

import protocol

REFUSED = {errno.EPERM, errno.EINVAL, errno.ENOENT, errno.ENOSPC, errno.ESRCH,
           errno.EACCES, errno.EPROTO, errno.ENODEV, errno.ENOTSUP,
           errno.EAGAIN}
# A user's messages may wait for their share of penstockd's time, on an emulated
# machine several times as long.
ANSWER_S = 10 * int(os.environ.get("PENSTOCK_EMULATED", "1"))


def connect(path, timeout_s=ANSWER_S):
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    channel.settimeout(timeout_s)
    channel.connect(path)
    return channel


def settle(paths):
    """Waits until each penstockd has closed enough of the user's connections
    for a new one to be answered."""
    for path in paths:
        deadline = time.monotonic() + ANSWER_S
        while time.monotonic() < deadline:
            try:
                with connect(path) as channel:
                    close_all(ask(channel, status())[1])
                break
            except OSError:
                time.sleep(0.02)


def try_connect(path):
    """A connection that does not block; None if penstockd has no room."""
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    channel.setblocking(False)
    try:
        channel.connect(path)
        return channel
    except BlockingIOError:
        channel.close()
        return None


def ask(channel, packet):
    """The errno value of the reply, and its descriptors."""
    channel.send(packet)
    return receive(channel)


def receive(channel):
    data, ancillary, _, _ = channel.recvmsg(1024, socket.CMSG_SPACE(8))
    fds = array.array("i", b"".join(part for _, _, part in ancillary))
    if not data:
        raise ConnectionError("penstockd has closed the connection")
    return protocol.unpack(data).status, list(fds)


def send(channel, packet):
    """Sends without waiting; whether it was sent."""
    try:
        channel.send(packet, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        return True
    except (BlockingIOError, ConnectionError):
        return False


def close_all(fds):
    for fd in fds:
        os.close(fd)


def hello():
    return protocol.pack(protocol.HELLO, 1, 0)


def thread(tid, is_loader=1):
    return protocol.pack(protocol.THREAD, tid, is_loader)


def status(job=0):
    return protocol.pack(protocol.STATUS, job, 0)


def limit(millicores, ends, bytes_per_s):
    return protocol.pack(protocol.LIMIT, millicores, ends, bytes_per_s)


def root_only():
    """One message of each type that only root may send, all well-formed."""
    return [
        protocol.task_start(job_id=4711, pid=4711, job_name=b"forged",
                            mode=protocol.MODE_AUTO),
        protocol.pack(protocol.TASK_EXIT, 4711, 0, 0, 4711, 1),
        protocol.pack(protocol.STEP_END, 4711, 0, 1, 1),
        protocol.pack(protocol.JOB_END, 4711, 0),
        protocol.pack(protocol.JOB_START, 4711, 0, b"forged", b"forged"),
        protocol.pack(protocol.SWITCH, 1, 0),
        protocol.pack(protocol.NOTICE, 4711, 4711, 1),
    ]


def anyones():
    """One well-formed message of each type that a job may send."""
    return [hello(), thread(os.getpid()), status(), limit(100, 1, 0)]
