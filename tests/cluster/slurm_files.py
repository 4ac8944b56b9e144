"""The files of an embedded cluster: slurm.conf, gres.conf, cgroup.conf,
plugstack.conf and penstock.conf, as text. No other I/O than writing them."""

import os
import re
import socket
import stat
import subprocess

# A character device that no driver serves: Slurm only wants a device node,
# and opening one fails with ENXIO as a machine without GPUs should.
GPU_MAJOR = 240

SLURM_CONF = """\
ClusterName={node}
SlurmctldHost={hostname}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={directory}/munge.sock
CredType=cred/munge
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd.pid
SlurmctldLogFile={directory}/log/slurmctld.log
SlurmdLogFile={directory}/log/slurmd.log
SlurmctldDebug=info
SlurmdDebug=debug
PlugStackConfig={directory}/plugstack.conf
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup,task/affinity
JobAcctGatherType=jobacct_gather/cgroup
JobAcctGatherFrequency=5
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=1
GresTypes=gpu
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
KillWait=5
{extra}
NodeName={node} NodeHostname={hostname} NodeAddr=127.0.0.1 Port={node_port} \
{topology} Gres=gpu:{gpus} State=UNKNOWN
PartitionName=main Nodes={node} Default=YES MaxTime=INFINITE {partition}
"""

CGROUP_CONF = """\
CgroupPlugin=cgroup/v1
CgroupMountpoint=/sys/fs/cgroup
ConstrainCores=yes
ConstrainRAMSpace=no
ConstrainDevices=no
"""

PENSTOCK_CONF = """\
SocketPath={directory}/run/penstockd.sock
StateDir={directory}/run
ReportDir={directory}/reports
ProfileDir={directory}/profiles
CgroupName=penstock_{node}
LogLevel=debug
Policy={policy}
"""


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def free_ports(count):
    """Ports outside of the ephemeral range that nothing listens on now."""
    ports = []
    start = 20000 + os.getpid() % 9000
    for port in range(start, start + 2000):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        ports.append(port)
        if len(ports) == count:
            return ports
    raise RuntimeError(f"no {count} free ports from {start} on")


def topology(cpus):
    """The machine's own layout, or `cpus` CPUs without one."""
    if cpus is not None:
        return f"CPUs={cpus}", cpus
    line = subprocess.run(["slurmd", "-C"], capture_output=True, text=True,
                          timeout=30, check=True).stdout
    found = dict(re.findall(r"(\w+)=(\d+)", line.splitlines()[0]))
    keys = ("CPUs", "Boards", "SocketsPerBoard", "CoresPerSocket",
            "ThreadsPerCore")
    layout = " ".join(f"{key}={found[key]}" for key in keys if key in found)
    return layout, int(found["CPUs"])


def write_slurm_files(directory, node, cpus, extra_lines, partition):
    """Writes everything that Slurm's daemons read; returns the CPU count."""
    layout, count = topology(cpus)
    lines = list(extra_lines)
    if cpus is not None:
        lines.append("SlurmdParameters=config_overrides")
    controller_port, node_port = free_ports(2)
    write(f"{directory}/slurm.conf", SLURM_CONF.format(
        directory=directory, node=node, hostname=socket.gethostname(),
        controller_port=controller_port, node_port=node_port,
        topology=layout, gpus=count, extra="\n".join(lines),
        partition=partition))
    write(f"{directory}/cgroup.conf", CGROUP_CONF)
    write_gpus(directory, count)
    return count


def write_gpus(directory, count):
    """Device nodes that stand for GPUs, and the gres.conf that names them."""
    for index in range(count):
        os.mknod(f"{directory}/dev/gpu{index}", 0o666 | stat.S_IFCHR,
                 os.makedev(GPU_MAJOR, index))
    write(f"{directory}/gres.conf",
          f"Name=gpu File={directory}/dev/gpu[0-{count - 1}]\n"
          if count > 1 else f"Name=gpu File={directory}/dev/gpu0\n")


def write_plugstack(directory, plugins, arguments):
    """No plugins: Slurm without Penstock. All get the same arguments."""
    defaults = [f"socket={directory}/run/penstockd.sock",
                f"profile_dir={directory}/profiles"]
    text = "".join(
        " ".join(["optional", str(plugin), *defaults, *arguments]) + "\n"
        for plugin in plugins)
    write(f"{directory}/plugstack.conf", text)


def write_penstock_conf(directory, node, policy, pools, lines):
    """pools: (name, path, bandwidth) each, bandwidth as text: "200M"."""
    text = PENSTOCK_CONF.format(directory=directory, node=node, policy=policy)
    for name, path, bandwidth in pools:
        text += f"Pool={name} Path={path} Bandwidth={bandwidth}\n"
    text += "".join(f"{line}\n" for line in lines)
    write(f"{directory}/penstock.conf", text)
