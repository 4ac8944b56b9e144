"""A virtual machine in QEMU: a site's node with systemd as PID 1, cgroup v2,
two sockets, two NUMA nodes and a second disk. Without KVM: slow, not wrong.

    with Guest(image, kernel, initrd, directory) as guest:
        guest.start()
        done = guest.run("sinfo")        # done.returncode, done.output
"""

import json
import math
import os
import pathlib
import shutil
import socket
import subprocess
import time

BOOT_TIMEOUT_S = 420
# With cx16, or a newer CPU, kernels from 6.12 on panic in early user space: a
# fault of QEMU 7.2's emulation.
CPU = "Nehalem,-cx16"
MEMORY_MIB = 3072


class GuestError(Exception):
    """The failed operation of the guest, with the end of its console's log."""


class EmulatorFault(GuestError):
    """QEMU 7.2 may translate code while the guest's kernel patches it, and
    keep the temporary breakpoint: rare, and a panic."""


class Done:
    """The result of a command in the guest."""

    def __init__(self, returncode, output):
        self.returncode = returncode
        self.output = output


class Guest:
    """A running guest; every wait is bounded.

    image      a file with an ext4 root file system; is not changed
    directory  for sockets, logs and the guest's changes; must exist
    threads    hardware threads per core
    cmdline    further words of the kernel's command line"""

    def __init__(self, image, kernel, initrd, directory, threads=1,
                 cmdline=""):
        self._files = (image, kernel, initrd)
        self._directory = pathlib.Path(directory)
        self._threads = threads
        self._cmdline = cmdline
        self._process = None
        self._channel = None

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.stop()

    @property
    def console(self):
        """The file with the guest's console output."""
        return self._directory / "console.log"

    def start(self):
        """Boots; returns when the guest accepts commands. Occasionally an
        emulated kernel hangs when it starts its CPUs, or panics when it
        patches its own code: then it tries again, once."""
        try:
            self._boot()
        except GuestError as error:
            print(f"starting once more: {error}", flush=True)
            self.stop()
            self._boot()

    def _boot(self):
        path = self._directory / "shell.sock"
        path.unlink(missing_ok=True)
        data = self._directory / "data.img"
        with open(data, "wb") as file:
            file.truncate(512 << 20)
        with open(self.console, "wb") as log:
            self._process = subprocess.Popen(
                self._arguments(path, data), stdin=subprocess.DEVNULL,
                stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        deadline = time.monotonic() + BOOT_TIMEOUT_S
        self._channel = socket.socket(socket.AF_UNIX)
        while self._channel.connect_ex(str(path)) != 0:
            self._check_alive(deadline)
            time.sleep(0.1)
        self._channel.settimeout(5)
        self._wait_for_shell("", deadline)

    def _wait_for_shell(self, boot_id, deadline):
        """Repeats a question until the guest's service answers it, with
        another boot id than boot_id. Before the service starts, nothing
        answers."""
        question = "cat /proc/sys/kernel/random/boot_id"
        while True:
            self._check_alive(deadline)
            try:
                answer = self._ask({"command": question, "timeout_s": 60}, 5)
                if answer["output"] != boot_id:
                    return
            except socket.timeout:
                continue

    def reset(self):
        """Resets the machine like a power failure; returns when it accepts
        commands again. Synced data on its disk is kept."""
        boot_id = self.check("cat /proc/sys/kernel/random/boot_id")
        self.run("sync; (sleep 1; echo b > /proc/sysrq-trigger) "
                 ">/dev/null 2>&1 &")
        self._wait_for_shell(boot_id, time.monotonic() + BOOT_TIMEOUT_S)

    def _arguments(self, shell, data):
        image, kernel, initrd = self._files
        half = MEMORY_MIB // 2
        cpus = 4 * self._threads
        return [
            "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", CPU,
            "-smp", f"{cpus},sockets=2,cores=2,threads={self._threads}",
            "-m", f"{MEMORY_MIB}M",
            "-object", f"memory-backend-ram,id=m0,size={half}M",
            "-object", f"memory-backend-ram,id=m1,size={half}M",
            "-numa", f"node,cpus=0-{cpus // 2 - 1},nodeid=0,memdev=m0",
            "-numa", f"node,cpus={cpus // 2}-{cpus - 1},nodeid=1,memdev=m1",
            "-kernel", str(kernel), "-initrd", str(initrd), "-append",
            "root=/dev/vda rw console=ttyS0 systemd.show_status=0 "
            "cpuhp.parallel=0 " + self._cmdline,
            "-drive", f"file={image},if=none,id=root,format=raw,snapshot=on",
            "-device", "virtio-blk-pci,drive=root,bus=pci.0",
            "-drive", f"file={data},if=none,id=data,format=raw",
            "-device", "virtio-blk-pci,drive=data,bus=pci.0",
            "-device", "virtio-serial,bus=pci.0",
            "-chardev", f"socket,id=shell,path={shell},server=on,wait=off",
            "-device", "virtserialport,chardev=shell,name=penstock.shell",
            # Stands for a GPU, at 0000:97:00.0, of the second NUMA node.
            "-device", "pxb,id=far,bus=pci.0,bus_nr=150,numa_node=1",
            "-device", "pci-testdev,bus=far",
            "-nic", "none", "-nographic"]

    def _check_alive(self, deadline=math.inf):
        if self._process.poll() is not None:
            raise GuestError("the guest has ended" + self.last_lines())
        console = self.console.read_bytes()
        if b"end Kernel panic" in console:
            kind = EmulatorFault if b" int3: 0000 [#" in console else GuestError
            raise kind("the guest's kernel panicked" + self.last_lines())
        if time.monotonic() > deadline:
            raise GuestError(f"not up after {BOOT_TIMEOUT_S} s"
                             + self.last_lines())

    def last_lines(self, count=30):
        """The end of the console's log."""
        text = self.console.read_text("utf-8", "replace")
        return "\n--- console\n" + "\n".join(text.splitlines()[-count:])

    def _receive(self, deadline):
        while True:
            self._check_alive()
            left_s = deadline - time.monotonic()
            self._channel.settimeout(max(0.001, min(left_s, 10)))
            try:
                return self._channel.recv(1 << 16)
            except socket.timeout:
                if left_s <= 10:
                    raise

    def _ask(self, question, timeout):
        """Sends one question; returns its answer, or raises socket.timeout."""
        deadline = time.monotonic() + timeout
        question["id"] = time.monotonic_ns()
        self._channel.sendall(json.dumps(question).encode() + b"\n")
        answer = b""
        while True:
            part = self._receive(deadline)
            if not part:
                raise GuestError("the guest has ended" + self.last_lines())
            answer += part
            while b"\n" in answer:
                line, answer = answer.split(b"\n", 1)
                try:
                    found = json.loads(line)
                except ValueError:
                    continue
                if found.get("id") == question["id"]:
                    return found

    def run(self, command, timeout_s=120):
        """Runs a shell command as root; returns its Done, with all output at
        the end. After timeout_s the command is killed (status 124)."""
        try:
            answer = self._ask({"command": command, "timeout_s": timeout_s},
                               timeout_s + 60)
        except socket.timeout as error:
            raise GuestError(f"{command}: no answer in {timeout_s + 60} s"
                             + self.last_lines()) from error
        return Done(answer["returncode"], answer["output"])

    def check(self, command, timeout_s=120):
        """Like run(), but a status other than 0 raises GuestError."""
        done = self.run(command, timeout_s)
        if done.returncode != 0:
            raise GuestError(f"{command}: status {done.returncode}\n"
                             + done.output[-4000:])
        return done.output

    def stop(self):
        """Ends the machine at once; may be called repeatedly."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def missing():
    """The reason why no guest can run here, as a sentence, or ""."""
    if os.geteuid() != 0:
        return "root is needed (debootstrap)"
    for program in ("qemu-system-x86_64", "debootstrap", "mke2fs"):
        if shutil.which(program) is None:
            return f"{program} is not installed (tools/install-packages vm)"
    return ""
