#!/usr/bin/python3
"""Holds the lock of its own memory, so that readers of its /proc/PID/cmdline
hang, as on a file system whose server does not answer.

    tests/hostile/lock_memory.py SECONDS [DEVICE]

It mounts a FUSE file system in a mount namespace of its own, maps a file of it,
and reads the mapping through /proc/self/mem while the server withholds the
answer: the kernel keeps the lock, for readers, until the page is there. Another
thread then waits for the lock as a writer, and all later readers with it.
Prints `locked` once they hang. After SECONDS the server answers.
An ordinary user needs permission for user namespaces and for DEVICE
(/dev/fuse).

Programs that import it call map_file(), and then read_mapping() in a thread:
only writers hang then, such as a move between cpusets.
"""

import ctypes
import glob
import mmap
import os
import select
import struct
import sys
import threading
import time

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
MS_REC_PRIVATE = 0x4000 | 0x40000
PLACE = "/mnt"  # in the script's mount namespace only

LOOKUP, FORGET, GETATTR, OPEN, READ, FLUSH, INIT = 1, 2, 3, 14, 15, 25, 26
HEADER = struct.Struct("<IIQQIIIHH")
ROOT, FILE = 1, 2

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int,
                      ctypes.c_int, ctypes.c_int, ctypes.c_long]


def check(result, what):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def enter_namespaces():
    """A mount namespace; an ordinary user gets a user namespace, too."""
    uid, gid = os.getuid(), os.getgid()
    flags = CLONE_NEWNS | (CLONE_NEWUSER if uid != 0 else 0)
    check(libc.unshare(flags), "unshare")
    if uid != 0:
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"),
                           ("gid_map", f"0 {gid} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    check(libc.mount(None, b"/", None, MS_REC_PRIVATE, None), "mount /")


def attributes(node):
    mode = 0o040755 if node == ROOT else 0o100644
    return struct.pack("<6Q10I", node, mmap.PAGESIZE, 1, 0, 0, 0, 0, 0, 0,
                       mode, 1, 0, 0, 0, 512, 0)


def answer_to(code, node):
    """The body of the reply; None: there is none; a number: an error."""
    if code == INIT:
        return struct.pack("<IIIIHHIIHHII", 7, 31, 0, 0, 0, 0, 4096, 1, 0, 0,
                           0, 0).ljust(64, b"\0")
    if code == LOOKUP:
        return struct.pack("<4Q2I", FILE, 0, 60, 60, 0, 0) + attributes(FILE)
    if code == GETATTR:
        return struct.pack("<Q2I", 60, 0, 0) + attributes(node)
    if code == OPEN:
        return struct.pack("<Q2I", 1, 0, 0)
    if code == FLUSH:
        return b""
    return None if code in (FORGET, READ) else 38  # ENOSYS


def waits_for_lock(pid):
    """Whether a thread of the process waits as a writer does."""
    for path in glob.glob(f"/proc/{pid}/task/*/stat"):
        with open(path, encoding="ascii") as file:
            if file.read().rsplit(")", 1)[1].split()[0] == "D":
                return True
    return False


def reply(device, unique, body, error=0):
    os.write(device, struct.pack("<IiQ", 16 + len(body), -error, unique) + body)


def serve(device, seconds, on_read):
    """Answers everything but the first read, and this after that time."""
    end, read = None, 0
    while end is None or time.monotonic() < end:
        if not select.select([device], [], [], 0.05)[0]:
            continue
        request = os.read(device, 1 << 20)
        _, code, unique, node, *_ = HEADER.unpack_from(request)
        if code == READ and end is None:
            end, read = time.monotonic() + seconds, unique
            on_read()
        body = answer_to(code, node)
        if isinstance(body, int):
            reply(device, unique, b"", body)
        elif body is not None:
            reply(device, unique, body)
    reply(device, read, b"", 5)  # EIO
    # Its end would wait for the locks of a move that waits for the answer.
    time.sleep(1)


def mount(seconds, device, on_read):
    """Mounts the file system at PLACE, in namespaces of this process's own. A
    child process serves it, and calls on_read() at the first read. The caller
    must be the only thread of its process."""
    enter_namespaces()
    device = os.open(device, os.O_RDWR)
    check(libc.mount(b"hostile", PLACE.encode(), b"fuse", 0,
                     f"fd={device},rootmode=40000,user_id=0,group_id=0"
                     .encode()), "mount")
    if os.fork() == 0:
        serve(device, seconds, on_read)
        os._exit(0)
    os.close(device)


def map_file(seconds, device, on_read):
    """As mount(); returns the address of a page whose reader keeps the lock for
    that time."""
    mount(seconds, device, on_read)
    file = os.open(f"{PLACE}/file", os.O_RDWR)
    return libc.mmap(None, mmap.PAGESIZE, mmap.PROT_READ, mmap.MAP_PRIVATE,
                     file, 0)


def read_mapping(address):
    """Holds the lock, for readers, until the server answers."""
    memory = os.open("/proc/self/mem", os.O_RDONLY)
    try:
        os.pread(memory, 1, address)
    except OSError:
        pass


def hold(seconds, device, on_locked):
    """Holds the lock for that time, against readers too, and returns then. A
    child process calls on_locked() once they hang."""
    go_read, go_write = os.pipe()
    pid = os.getpid()

    def on_read():
        os.write(go_write, b"x")
        while not waits_for_lock(pid):
            time.sleep(0.001)
        on_locked()

    def ask_as_writer():
        os.read(go_read, 1)
        libc.mmap(None, mmap.PAGESIZE, mmap.PROT_READ,
                  mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)

    address = map_file(seconds, device, on_read)
    writer = threading.Thread(target=ask_as_writer)
    writer.start()
    read_mapping(address)
    writer.join()


def main():
    device = sys.argv[2] if len(sys.argv) > 2 else "/dev/fuse"
    hold(float(sys.argv[1]), device, lambda: print("locked", flush=True))


if __name__ == "__main__":
    main()
