"""A TestCase whose jobs are Python scripts that send messages to penstockd."""

import json
import pathlib
import shutil

import agent_case

# Part of every job: the protocol, without a library that could reject a
# message.
PRELUDE = """
import array, json, os, socket, struct, sys, threading, time
sys.path.insert(0, {module!r})

def ask(channel, packet):
    channel.send(packet)
    data, anc, _, _ = channel.recvmsg(1024, socket.CMSG_SPACE(8))
    fds = array.array("i", b"".join(part for _, _, part in anc))
    return struct.unpack_from("=i", data, 16)[0], fds

def connect():
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    channel.connect(os.environ["PENSTOCK_SOCKET"])
    return channel

def hello(channel, unasked=0):
    return ask(channel, struct.pack("=IHHIIII", 0x54534E50, 1, 5, 24, 1, 1,
                                    unasked))

def thread(channel, tid, is_loader=1):
    return ask(channel, struct.pack("=IHHIIiI", 0x54534E50, 1, 6, 24, 2, tid,
                                    is_loader))[0]

def tell(name, what):
    with open(name + ".part", "w") as file:
        json.dump(what, file)
    os.rename(name + ".part", name)
"""


class JobsOfPython(agent_case.AgentCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.module = pathlib.Path(cls.cluster.directory, "bin", "python")
        source = pathlib.Path(__file__).resolve().parents[2]
        shutil.copytree(source / "libpenstock" / "python", cls.module)

    def start_python(self, name, text, flags=(), **values):
        """Submits a managed job of one task without a GPU; waits until it
        runs."""
        home = self.cluster.home()
        script = pathlib.Path(home, f"{name}.py")
        script.write_text(text.format(module=str(self.module), home=home,
                                      **values), "utf-8")
        job = self.cluster.sbatch(["/usr/bin/python3", script], gpus=0,
                                  flags=["--loader=auto", *flags])
        self.addCleanup(self.cluster.cancel, str(job))
        self.cluster.wait_job(job, "RUNNING")
        return job

    def told(self, name, timeout=20):
        """The output of the job's tell()."""
        path = pathlib.Path(self.cluster.home(), f"{name}.json")
        self.wait(f"{name} to tell", path.exists, timeout)
        return json.loads(path.read_text("utf-8"))
