"""Attacks on penstockd's socket that need no valid message."""

import itertools
import os
import socket
import time

from hostile import agent
from hostile.attack import attack, start


@attack("connects as fast as it can and closes at once", "connections")
def connect_storm(site):
    count = 0
    for path in itertools.cycle(site.sockets):
        for _ in range(100):
            channel = agent.try_connect(path)
            if channel is not None:
                channel.close()
                count += 1
        if not site.goes_on():
            return count


def hold(site, each):
    """Opens connections until penstockd closes them, and keeps them."""
    held, count = [], 0
    while site.goes_on():
        for path in site.sockets:
            channel = agent.try_connect(path)
            if channel is not None:
                each(channel)
                held.append(channel)
                count += 1
        if len(held) > 1500:
            held = held[1000:]
    return count


@attack("keeps more connections than a user may have, and never speaks",
        "connections")
def silent_connections(site):
    return hold(site, lambda channel: None)


@attack("keeps connections that each end inside a header", "connections")
def half_headers(site):
    return hold(site, lambda channel: agent.send(channel, agent.status()[:7]))


@attack("sends its messages byte by byte on many connections", "bytes")
def single_bytes(site):
    channels = [agent.connect(path) for path in site.sockets * 20]
    packet, count = agent.status(), 0
    for byte in itertools.cycle(packet):
        count += sum(agent.send(channel, bytes([byte]))
                     for channel in channels)
        if not site.goes_on():
            return count
        time.sleep(0.001)


@attack("asks and never reads the replies, on many connections", "requests")
def unread_replies(site):
    channels = [agent.connect(path) for path in site.sockets * 50]
    packet, count = agent.status(), 0
    while site.goes_on():
        sent = sum(agent.send(channel, packet) for channel in channels)
        count += sent
        if sent == 0:
            time.sleep(0.001)
    return count


@attack("asks, and closes before the reply", "requests")
def closed_before_reply(site):
    count = 0
    for path in itertools.cycle(site.sockets):
        channel = agent.try_connect(path)
        if channel is not None:
            count += agent.send(channel, agent.status())
            channel.close()
        if not site.goes_on():
            return count


@attack("shuts connections down in each direction after a message", "shutdowns")
def half_closed(site):
    ways = itertools.cycle((socket.SHUT_RD, socket.SHUT_WR, socket.SHUT_RDWR))
    count = 0
    for path in itertools.cycle(site.sockets):
        channel = agent.try_connect(path)
        if channel is not None:
            with channel:
                agent.send(channel, agent.status())
                channel.shutdown(next(ways))
                agent.send(channel, agent.status())
                count += 1
        if not site.goes_on():
            return count


@attack("sends over connections whose process has ended", "requests")
def dead_sender(site):
    """The kernel names the process that connected, and its pid may be
    another's by now."""
    count = 0
    while site.goes_on():
        for path in site.sockets:
            near, far = socket.socketpair()
            pid = start(pass_connection, path, far)
            _, fds, _, _ = socket.recv_fds(near, 1, 1)
            os.waitpid(pid, 0)
            near.close(), far.close()
            for fd in fds:
                with socket.socket(fileno=fd) as channel:
                    count += agent.send(channel, agent.hello())
                    count += agent.send(channel, agent.thread(pid))
    return count


def pass_connection(path, to):
    with agent.connect(path) as channel:
        socket.send_fds(to, [b"x"], [channel.fileno()])
