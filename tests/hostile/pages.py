"""Attacks on the two pages that penstockd shares with a job's process."""

import ctypes
import fcntl
import mmap
import os
import random
import struct
import time

from hostile import agent
from hostile.attack import Broke, attack, check, libc

BYTES = 4096
MAGIC, VERSION = 0x50504E50, 1
WORDS = 24
F_ADD_SEALS, F_SEAL_WRITE, F_SEAL_SHRINK = 1033, 8, 2
PUNCH_HOLE = 3  # FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE


def pages(site):
    """The connection, the progress page and the hint page."""
    channel = agent.connect(site.sockets[0])
    status, fds = agent.ask(channel, agent.hello())
    if status != 0:
        raise OSError(status, os.strerror(status))
    return channel, *fds


def must_fail(what, call, *arguments, **keywords):
    try:
        call(*arguments, **keywords)
    except (OSError, ValueError):
        return 1
    raise Broke(what)


@attack("truncates, extends, punches and seals its progress page", "refusals")
def page_sizes(site):
    channel, page, hint = pages(site)
    count = 0
    with channel:
        while site.goes_on():
            for fd in (page, hint):
                for size in (0, 1, 4095, 4097, 1 << 40):
                    count += must_fail("resized a page", os.ftruncate, fd, size)
                count += must_fail("sealed a page", fcntl.fcntl, fd,
                                   F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK)
            # Allowed: the page then reads as zeros.
            check(libc.fallocate(page, PUNCH_HOLE, ctypes.c_long(0),
                                 ctypes.c_long(BYTES)), "fallocate")
    return count


@attack("writes to the hint page in every way", "refusals")
def hint_writes(site):
    channel, _, hint = pages(site)
    count = 0
    with channel:
        while site.goes_on():
            count += must_fail("wrote to the hint page", os.pwrite, hint,
                               b"\xff" * 64, 0)
            count += must_fail("mapped the hint page for writing", mmap.mmap,
                               hint, BYTES)
            # Opening succeeds; what follows must not.
            again = os.open(f"/proc/self/fd/{hint}", os.O_RDWR)
            count += must_fail("wrote to the opened hint page", os.pwrite,
                               again, b"\xff" * 64, 0)
            count += must_fail("mapped the opened hint page for writing",
                               mmap.mmap, again, BYTES)
            os.close(again)
            count += must_fail("truncated the hint page", os.truncate,
                               f"/proc/self/fd/{hint}", 0)
    return count


def write_page(site, fill):
    """Calls fill(view, round) again and again; the number of calls."""
    channel, page, _ = pages(site)
    count = 0
    with channel, mmap.mmap(page, BYTES) as view:
        while site.goes_on():
            fill(view, count)
            count += 1
    return count


def numbers(*words):
    return struct.pack(f"=II{len(words)}Q", MAGIC, VERSION, *words)


@attack("fills its progress page with random bytes", "writes")
def page_garbage(site):
    def fill(view, _):
        view[:] = os.urandom(BYTES)
    return write_page(site, fill)


@attack("lets its counters go back and forth", "writes")
def page_backwards(site):
    def fill(view, count):
        now = time.monotonic_ns()
        packet = numbers(now, now - 10 ** 9, *[10 ** 6 * (count % 2)] * 9)
        view[:len(packet)] = packet
    return write_page(site, fill)


@attack("writes 2^64-1, NaN and minus one into every field of its page",
        "writes")
def page_extremes(site):
    extremes = (2 ** 64 - 1, 2 ** 63, 2 ** 63 - 1, 0x7FF8 << 48, 0xFFF0 << 48)
    def fill(view, count):
        now = time.monotonic_ns()
        words = [now, now - 10 ** 9] + [1] * (WORDS - 2)
        words[count % WORDS] = extremes[count // WORDS % len(extremes)]
        packet = numbers(*words)
        view[:len(packet)] = packet
    return write_page(site, fill)


@attack("claims the rate of ten thousand GPUs, with counters that rise",
        "writes")
def page_boasts(site):
    def fill(view, count):
        now = time.monotonic_ns()
        much = now // 10
        words = [now, now - 10 ** 10, much, much // 16, 10 ** 9, much * 10 ** 3,
                 10 ** 9, 10 ** 9, much, 0, 4096 | 1 << 32]
        packet = numbers(*words)
        view[:len(packet)] = packet
    return write_page(site, fill)


@attack("rewrites single bytes of its page at random places", "writes")
def page_torn(site):
    def fill(view, _):
        view[random.randrange(8, 8 + 8 * WORDS)] = random.randrange(256)
    return write_page(site, fill)


@attack("unmaps its page, passes it to children and greets again", "greetings")
def page_owners(site):
    count = 0
    while site.goes_on():
        channel, page, hint = pages(site)
        with channel:
            agent.close_all((page, hint))
        count += 1
    return count
