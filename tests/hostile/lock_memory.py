#!/usr/bin/python3
"""Holds the lock of its own memory, so that readers of its /proc/PID/cmdline
hang, as on a file system whose server does not answer.

    tests/hostile/lock_memory.py SECONDS [DEVICE]

It mounts a FUSE file system in a mount namespace of its own, maps a file of it,
and unmaps it while the server withholds the answer to a write. Prints `locked`
once the lock is held. After SECONDS the server ends, and with it the lock.
An ordinary user needs permission for user namespaces and for DEVICE
(/dev/fuse).
"""

import ctypes
import mmap
import os
import select
import struct
import sys
import time

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
MS_REC_PRIVATE = 0x4000 | 0x40000
MAP_FIXED = 0x10
PLACE = "/mnt"  # in the script's mount namespace only

LOOKUP, FORGET, GETATTR, OPEN, READ, WRITE, FLUSH, INIT = (
    1, 2, 3, 14, 15, 16, 25, 26)
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


def answer_to(code, node, withheld):
    """The body of the reply; None: there is none; a number: an error."""
    if code in (FORGET, withheld):
        return None
    if code == INIT:
        return struct.pack("<IIIIHHIIHHII", 7, 31, 0, 0, 0, 0, 4096, 1, 0, 0,
                           0, 0).ljust(64, b"\0")
    if code == LOOKUP:
        return struct.pack("<4Q2I", FILE, 0, 60, 60, 0, 0) + attributes(FILE)
    if code == GETATTR:
        return struct.pack("<Q2I", 60, 0, 0) + attributes(node)
    if code == OPEN:
        return struct.pack("<Q2I", 1, 0, 0)
    if code == READ:
        return bytes(mmap.PAGESIZE)
    if code == FLUSH:
        return b""
    return 38  # ENOSYS


def serve(device, seconds, withheld=WRITE):
    """Answers everything but requests of one kind, for that time after the
    first of them."""
    end = None
    while end is None or time.monotonic() < end:
        if not select.select([device], [], [], 0.05)[0]:
            continue
        request = os.read(device, 1 << 20)
        _, code, unique, node, *_ = HEADER.unpack_from(request)
        if code == withheld and end is None:
            end = time.monotonic() + seconds
            print("locked", flush=True)
        body = answer_to(code, node, withheld)
        if body is None:
            continue
        error, body = (-body, b"") if isinstance(body, int) else (0, body)
        os.write(device, struct.pack("<IiQ", 16 + len(body), error, unique)
                 + body)


def mount(path, seconds, withheld=WRITE):
    """Mounts the file system at PLACE; a child serves it."""
    enter_namespaces()
    device = os.open(path, os.O_RDWR)
    check(libc.mount(b"hostile", PLACE.encode(), b"fuse", 0,
                     f"fd={device},rootmode=40000,user_id=0,group_id=0"
                     .encode()), "mount")
    if os.fork() == 0:
        serve(device, seconds, withheld)
        os._exit(0)
    os.close(device)


def lock():
    """Takes the lock of this process's memory until the server ends."""
    file = os.open(f"{PLACE}/file", os.O_RDWR)
    size = mmap.PAGESIZE
    address = libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE,
                        mmap.MAP_SHARED, file, 0)
    ctypes.memset(address, 1, size)
    # Replaces the mapping: closing the old one waits for the write.
    libc.mmap(address, size, mmap.PROT_READ, mmap.MAP_PRIVATE
              | mmap.MAP_ANONYMOUS | MAP_FIXED, -1, 0)


def main():
    mount(sys.argv[2] if len(sys.argv) > 2 else "/dev/fuse",
          float(sys.argv[1]))
    lock()


if __name__ == "__main__":
    main()
