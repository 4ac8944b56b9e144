#!/usr/bin/python3
"""Inside the guest: runs the commands that the host sends through a port of
virtio-serial. One JSON object a line: {"id", "command", "timeout_s"}, answered
by {"id", "returncode", "output"}."""

import json
import os
import signal
import subprocess

# A process with a session of its own may hold the output.
GRACE_S = 20
PORT = "/dev/virtio-ports/penstock.shell"


def run(command, timeout_s):
    """(status, output); 124 where it was killed because time was up."""
    process = subprocess.Popen(
        ["/bin/bash", "-c", command], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/root",
        start_new_session=True)
    try:
        output, _ = process.communicate(timeout=timeout_s)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        try:
            output, _ = process.communicate(timeout=GRACE_S)
        except subprocess.TimeoutExpired as held:
            output = held.stdout or b""
        return 124, output


def send(port, data):
    while data:
        data = data[port.write(data):]


def main():
    with open(PORT, "r+b", buffering=0) as port:
        pending = b""
        while True:
            pending += port.read(1 << 16) or b""
            while b"\n" in pending:
                line, pending = pending.split(b"\n", 1)
                question = json.loads(line)
                status, output = run(question["command"],
                                     question["timeout_s"])
                answer = {"id": question["id"], "returncode": status,
                          "output": output.decode("utf-8", "replace")}
                send(port, json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    main()
