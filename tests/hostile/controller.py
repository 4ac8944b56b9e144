"""Attacks on penstockctld's port, which every process of a site may reach."""

import itertools
import json
import os
import socket
import struct
import subprocess
import time

from hostile.attack import attack

GREETING = (b"\xff" + bytes(8) + b"\x7f\3\1" + b"NULL".ljust(20, b"\0")
            ).ljust(64, b"\0")
READY = b"\5READY\x0bSocket-Type" + struct.pack(">I", 6) + b"DEALER"
OPENING = GREETING + bytes([4, len(READY)]) + READY
LONG, MORE = 2, 1
SESSION = "00000000000a77ac"


def frame(body, flags=0):
    return struct.pack(">BQ", LONG | flags, len(body)) + body


def dial(site, number=0):
    host, _, port = site.controllers[number % len(site.controllers)].rpartition(
        ":")
    return socket.create_connection((host, int(port)), timeout=5)


def say(channel, data):
    """Sends as much as fits without waiting; the bytes sent, -1 if the
    controller has closed the connection."""
    try:
        return channel.send(data, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return 0
    except OSError:
        return -1


@attack("connects to the controller as fast as it can", "connections")
def controller_connects(site):
    for count in itertools.count(1):
        dial(site, count).close()
        if not site.goes_on():
            return count


@attack("keeps connections to the controller that stop inside the greeting",
        "connections")
def half_handshakes(site):
    held = []
    for count in itertools.count(1):
        held.append(dial(site, count))
        say(held[-1], OPENING[:count % len(OPENING)])
        held = held[-800:]
        if not site.goes_on():
            return count


def flood(site, first, more):
    """Sends first, then more again and again, on many connections; the bytes
    sent."""
    count, channels = 0, [None] * 50
    while site.goes_on():
        sent = 0
        for number, channel in enumerate(channels):
            if channel is None:
                channels[number] = channel = dial(site, number)
                say(channel, OPENING + first)
            done = say(channel, more)
            if done == -1:
                channel.close()
                channels[number] = None
            sent += max(done, 0)
        count += sent
        if sent == 0:
            time.sleep(0.001)
    return count


@attack("sends the controller messages without end", "bytes")
def endless_messages(site):
    return flood(site, b"", frame(b"x" * 65536, MORE))


@attack("announces messages of 2^63 bytes to the controller", "bytes")
def giant_messages(site):
    return flood(site, struct.pack(">BQ", LONG, 2 ** 63 - 1), b"x" * 4096)


@attack("sends the controller a message byte by byte on many connections",
        "bytes")
def slow_messages(site):
    count, text = 0, OPENING + frame(b"MUNGE:" + b"x" * 65536)
    channels = [dial(site, number) for number in range(200)]
    for byte in itertools.cycle(text):
        for channel in channels:
            count += max(0, say(channel, bytes([byte])))
        if not site.goes_on():
            return count
        time.sleep(0.001)


@attack("sends the controller random bytes instead of credentials", "messages")
def false_credentials(site):
    count = 0
    while site.goes_on():
        with dial(site, count) as channel:
            say(channel, OPENING)
            while site.goes_on() and say(channel, frame(
                    b"MUNGE:" + os.urandom(300).hex().encode() + b":")) > 0:
                count += 1
    return count


def envelope(kind, node, sequence, body, session=SESSION):
    return json.dumps(dict(
        version=1, newest_version=1, type=kind, node=node, session=session,
        sequence=sequence, sent_unix_s=time.time(), body=body)).encode()


def credential(site, payload):
    """The user's own: munged states who asked for it."""
    done = subprocess.run(["munge", f"--socket={site.munge}",
                           "--restrict-uid=0"], input=payload,
                          capture_output=True, timeout=10, check=True)
    return done.stdout.strip() + b"\0"


@attack("poses as a node's agent, with its own credential", "messages")
def false_agent(site):
    count = 0
    bodies = itertools.cycle((
        ("hello", dict(cpus=4096, loader_cores=4096, term=2 ** 53, silence_s=0,
                       parts=[])),
        ("job_ended", dict(loader_cores=0, id=1)),
        ("heartbeat", dict(loader_cores=0, term=2 ** 53, version=2 ** 53,
                           silence_s=0)),
        ("refused", dict(term=1, version=1, highest_term=2 ** 53)),
        ("grant", dict(term=2 ** 53, version=1, jobs=[], pools=[]))))
    with dial(site) as channel:
        say(channel, OPENING)
        for count in itertools.count(1):
            kind, body = next(bodies)
            say(channel, frame(credential(site, envelope(
                kind, "pst0n1", count, body))))
            if not site.goes_on():
                return count


def answer(channel):
    """Reads until a message comes; whether one came."""
    data = b""
    try:
        while len(data) < len(GREETING) + 500:
            part = channel.recv(65536)
            if not part:
                return False
            data += part
    except TimeoutError:
        return False
    return True


def query(site, sequence, **fields):
    return frame(credential(site, envelope(
        "query", "hostile", sequence, dict(fields),
        session=f"{os.getpid():016x}")))


@attack("asks the controller in a loop", "answers")
def query_loop(site):
    return ask_in_turn(site, [dict(what="nodes"), dict(what="jobs"),
                              dict(what="history", limit=1000)])


@attack("asks the controller for others' jobs and for all totals", "answers")
def foreign_queries(site):
    return ask_in_turn(site, [dict(what="jobs", uid=0), dict(what="totals"),
                              dict(what="history", uid=0),
                              dict(what="jobs", job_id=2 ** 40),
                              dict(what="history", after="'; DROP TABLE")])


def ask_in_turn(site, questions):
    count = 0
    for sequence, fields in enumerate(itertools.cycle(questions), 1):
        with dial(site, sequence) as channel:
            channel.sendall(OPENING + query(site, sequence, **fields))
            count += answer(channel)
        if not site.goes_on():
            return count


@attack("sends one credential to the controller again and again", "messages")
def credential_replay(site):
    text, count = query(site, 1, what="nodes"), 0
    while True:
        with dial(site, count) as channel:
            say(channel, OPENING)
            for _ in range(50):
                count += say(channel, text) > 0
        if not site.goes_on():
            return count
