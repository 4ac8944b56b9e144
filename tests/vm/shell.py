#!/usr/bin/python3
"""Runs inside the guest: executes the host's commands from a virtio-serial
port. One JSON object per line: {"id", "command", "timeout_s"}; the reply is
{"id", "returncode", "output"}."""

import json
import os
import signal
import subprocess

# A process in another session may keep the output open.
GRACE_S = 20
PORT = "/dev/virtio-ports/penstock.shell"


def run(command, timeout_s):
    """(status, output); 124: killed because the time was up."""
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
