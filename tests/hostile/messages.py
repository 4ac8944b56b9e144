"""Attacks by messages to penstockd: malformed, forged, or too many."""

import errno
import itertools
import os
import random
import socket
import struct
import time

import protocol
from hostile import agent
from hostile.attack import Broke, attack, reap, start


def send_all(site, packets, pause_s=0.0):
    """Sends packets from an endless iterator; the number that was taken. A
    closed connection is opened again."""
    channels, count = {}, 0
    for path, packet in zip(itertools.cycle(site.sockets), packets):
        if path not in channels:
            channels[path] = agent.connect(path)
        try:
            channels[path].send(packet, socket.MSG_DONTWAIT)
            count += 1
            channels[path].recv(1024, socket.MSG_DONTWAIT)
        except BlockingIOError:
            time.sleep(pause_s)
        except OSError as error:
            if error.errno not in (errno.EPIPE, errno.ECONNRESET,
                                   errno.EMSGSIZE):
                raise
            channels.pop(path).close()
        if not site.goes_on():
            return count


@attack("sends random bytes of random length", "packets")
def garbage(site):
    return send_all(site, (os.urandom(random.randrange(1, 1025))
                           for _ in itertools.count()))


@attack("sends packets of one byte more than allowed, up to 200 kB", "packets")
def oversized(site):
    sizes = itertools.cycle((1025, 4096, 65536, 200_000))
    header = agent.status()[:8]
    return send_all(site, (
        (header + struct.pack("=II", size, 0)).ljust(size, b"\0")
        for size in sizes))


@attack("sends every beginning of every message", "packets")
def truncated(site):
    return send_all(site, (packet[:length]
                           for _ in itertools.count()
                           for packet in agent.root_only() + agent.anyones()
                           for length in range(1, len(packet))))


@attack("sends headers with every version, type and size", "packets")
def false_headers(site):
    def packets():
        while True:
            yield struct.pack("=IHHII", protocol.MAGIC, random.choice(
                (0, 1, 1, 2, 65535)), random.randrange(65536), random.choice(
                    (0, 16, 24, 2 ** 31, 2 ** 32 - 1)), 7) + bytes(8)
    return send_all(site, packets())


@attack("flips single bits of valid messages", "packets")
def flipped_bits(site):
    def packets():
        while True:
            packet = bytearray(random.choice(agent.anyones()))
            bit = random.randrange(len(packet) * 8)
            packet[bit // 8] ^= 1 << bit % 8
            yield bytes(packet)
    return send_all(site, packets())


@attack("asks for the node's status as fast as it can", "requests")
def status_storm(site):
    return send_all(site, itertools.repeat(agent.status()))


@attack("repeats one greeting on one connection", "requests")
def repeated_greetings(site):
    return send_all(site, itertools.repeat(agent.hello()))


@attack("greets from more processes than a task may have", "processes")
def many_greeters(site):
    def greet():
        with agent.connect(site.sockets[0]) as channel:
            agent.ask(channel, agent.hello())
        time.sleep(site.rest_s())
    count = 0
    while site.goes_on():
        if count < 150:
            start(greet)
            count += 1
        time.sleep(0.002)
    return count


@attack("sends what only root may send", "refusals")
def root_only_messages(site):
    return expect_refusals(site, {errno.EPERM}, agent.root_only)


@attack("registers others' threads as its loaders", "refusals")
def foreign_threads(site):
    numbers = [0, -1, 1, -2 ** 31, 2 ** 31 - 1, *site.strangers]
    return expect_refusals(site, agent.REFUSED, lambda: [
        agent.thread(number) for number in numbers])


@attack("asks for the reports of other users' jobs", "refusals")
def foreign_reports(site):
    return expect_refusals(site, {errno.ENOENT}, lambda: [
        agent.status(job) for job in (*site.victims, 2 ** 32 - 1)])


def expect_refusals(site, statuses, packets):
    count = 0
    while True:
        for path in site.sockets:
            with agent.connect(path) as channel:
                for packet in packets():
                    status, fds = agent.ask(channel, packet)
                    agent.close_all(fds)
                    if status not in statuses:
                        raise Broke(f"answered {status}: {packet[:24].hex()}")
                    count += 1
        if not site.goes_on():
            return count


@attack("registers ten thousand numbers as loader threads", "requests")
def thread_numbers(site):
    first = os.getpid()
    return send_all(site, (agent.thread(first + number % 10_000)
                           for number in itertools.count()))


@attack("registers and unregisters one thread in turn", "requests")
def thread_toggle(site):
    return send_all(site, (agent.thread(os.getpid(), number % 2)
                           for number in itertools.count()))


@attack("begins and ends measurements with extreme limits", "requests")
def limit_storm(site):
    values = (0, 1, 99, 100, 4096000, 4096001, 2 ** 32 - 1)
    speeds = (0, 1, 10 ** 15, 10 ** 15 + 1, 2 ** 64 - 1)
    count = send_all(site, (agent.limit(cores, ends, speed)
                            for _ in itertools.count() for cores in values
                            for speed in speeds for ends in (0, 1, 2)))
    with agent.connect(site.sockets[0]) as channel:
        agent.ask(channel, agent.limit(0, 1, 0))
    return count


@attack("asks from children that end during the request", "processes")
def vanishing_askers(site):
    def vanish():
        with agent.connect(site.sockets[0]) as channel:
            agent.send(channel, agent.hello())
            agent.send(channel, agent.thread(os.getpid()))
    count = 0
    while site.goes_on():
        start(vanish)
        count += 1
        reap()
    return count
