"""Runs attacks as ordered over a socket, one JSON line each; see the package's
docstring."""

import json
import os
import resource
import socket
import sys
import time

from hostile import agent, attack
from hostile.table import ATTACKS

MOST_FILES = 4096  # the machine has other users


def main(path):
    with open(path, encoding="utf-8") as file:
        settings = json.load(file)
    orders = settings.pop("orders")
    site = attack.Site(**settings)
    resource.setrlimit(resource.RLIMIT_NOFILE, (MOST_FILES, MOST_FILES))
    attack.become_reaper()
    with socket.socket(socket.AF_UNIX) as channel:
        channel.connect(orders)
        lines = channel.makefile("rw", encoding="utf-8")
        tell(lines, {"pid": os.getpid(), "attacks": len(ATTACKS)})
        for line in lines:
            order = json.loads(line)
            site.end = time.monotonic() + order["seconds"]
            tell(lines, attack.run(order["attack"], site))
            agent.settle(site.sockets)


def tell(lines, what):
    lines.write(json.dumps(what) + "\n")
    lines.flush()


if __name__ == "__main__":
    main(sys.argv[1])
