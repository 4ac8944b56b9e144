"""The files of an embedded cluster: slurm.conf, gres.conf, cgroup.conf,
plugstack.conf and penstock.conf, as text. The only other I/O is a query of
slurmd's release."""

import functools
import glob
import os
import re
import socket
import stat
import subprocess

import hierarchy

# A character device without a driver: Slurm needs a device node, and opening
# this one fails with ENXIO, as on a machine without GPUs.
GPU_MAJOR = 240

# Ports of concurrent tests: each process has its own block.
FIRST_PORT = 20000
BLOCK_SIZE = 200
BLOCKS = 50

SLURM_CONF = """\
ClusterName={node}
SlurmctldHost={hostname}({controller_address})
SlurmctldPort={controller_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={directory}/munge.sock
CredType=cred/munge
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool{of_node}
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd{of_node}.pid
SlurmctldLogFile={directory}/log/slurmctld.log
SlurmdLogFile={directory}/log/slurmd{of_node}.log
SlurmctldDebug=info
SlurmdDebug=debug
PlugStackConfig={directory}/plugstack{plugstack_of}.conf
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup,task/affinity
JobAcctGatherType=jobacct_gather/cgroup
JobAcctGatherFrequency=5
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=1
GresTypes={gres_types}
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
KillWait=5
{extra}
{nodes}
PartitionName=main Nodes={names} Default=YES MaxTime=INFINITE {partition}
"""

LOOPBACK = "127.0.0.1"
NODE_LINE = ("NodeName={name} NodeHostname={hostname} NodeAddr={address} "
             "Port={port} {topology} Gres={gres} State=UNKNOWN")

CGROUP_CONF = """\
CgroupPlugin={plugin}
CgroupMountpoint=/sys/fs/cgroup
ConstrainCores=yes
ConstrainRAMSpace=no
ConstrainDevices=no
"""

PENSTOCK_CONF = """\
SocketPath={directory}/{run}/penstockd.sock
StateDir={directory}/{run}
ReportDir={directory}/reports
ProfileDir={directory}/profiles
CgroupName=penstock_{node}
AgentUser={agent}
MoveProcesses={moves}
LogLevel=debug
Policy={policy}
"""


# penstockd's user; a number needs no account.
AGENT_USER = 64000


def systemd_timeout():
    """slurmd of 24.11 waits one second for systemd to make its scope, and
    then exits; on an emulated machine systemd takes longer."""
    text = subprocess.run(["slurmd", "-V"], stdout=subprocess.PIPE, text=True,
                          check=True, timeout=60).stdout
    release = tuple(map(int, re.search(r"(\d+)\.(\d+)", text).groups()))
    known = hierarchy.UNIFIED and release >= (24, 11)
    return "SystemdTimeout=10000\n" if known else ""


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def take_block():
    """The first port of a block that no other running test uses, and the
    abstract socket that reserves it."""
    for block in range(BLOCKS):
        lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            lock.bind(f"\0penstock-ports-{block}")
            return FIRST_PORT + block * BLOCK_SIZE, lock
        except OSError:
            lock.close()
    raise RuntimeError(f"{BLOCKS} tests use ports already")


@functools.cache
def port_block():
    """This process's block, reserved until the process ends."""
    return take_block()


def free_ports(count):
    """Free ports outside the ephemeral range, never given to another test
    process."""
    start, _ = port_block()
    ports = []
    for port in range(start, start + BLOCK_SIZE):
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


def system_plugin_dir():
    """Plugin directory of the installed Slurm."""
    return os.path.dirname(
        glob.glob("/usr/lib/*/slurm*/select_cons_tres.so")[0])


def write_slurm_files(directory, node, cpus, extra_lines, partition,
                      names=None, counted_gres=(), addresses=None,
                      cgroup_lines=()):
    """Writes all files that Slurm's daemons read; returns the CPU count.

    names: names of several nodes, each with its own slurm.NAME.conf, which
    names plugstack.NAME.conf; None: one node, `node`.

    counted_gres: (name, count) of GRES without devices.

    addresses: the controller's, and one for each name; None: loopback.

    cgroup_lines: of cgroup.conf, where later lines win."""
    layout, count = topology(cpus)
    gres = [("gpu", count), *counted_gres]
    lines = list(extra_lines)
    if cpus is not None:
        lines.append("SlurmdParameters=config_overrides")
    if names:
        lines.append("DebugFlags=NO_CONF_HASH")  # each node has its own files
        # Folder of Slurm's PMIx servers on their node.
        lines.append(f"TmpFS={directory}/tmp.%n")
    controller_port, *ports = free_ports(1 + len(names or [node]))
    controller_address, *node_addresses = (
        addresses or [LOOPBACK] * (1 + len(ports)))
    if not addresses:  # bind only the address of the machine's name: loopback
        lines.append("CommunicationParameters=NoCtldInAddrAny,NoInAddrAny")
    fields = dict(
        directory=directory, node=node, hostname=socket.gethostname(),
        controller_port=controller_port,
        controller_address=controller_address, extra="\n".join(lines),
        partition=partition, of_node=".%n" if names else "",
        names=",".join(names or [node]),
        gres_types=",".join(name for name, _ in gres),
        nodes="\n".join(NODE_LINE.format(
            name=name, hostname=socket.gethostname(), address=address,
            port=port, topology=layout,
            gres=",".join(f"{kind}:{amount}" for kind, amount in gres))
            for name, address, port in zip(names or [node], node_addresses,
                                           ports)))
    write(f"{directory}/slurm.conf",
          SLURM_CONF.format(plugstack_of="", **fields))
    for name in names or []:
        write(f"{directory}/slurm.{name}.conf",
              SLURM_CONF.format(plugstack_of=f".{name}", **fields))
    write(f"{directory}/cgroup.conf",
          CGROUP_CONF.format(plugin=hierarchy.plugin()) + systemd_timeout()
          + "".join(f"{line}\n" for line in cgroup_lines))
    write_gpus(directory, count)
    return count


def write_gpus(directory, count):
    """Makes device nodes that stand for GPUs, and the gres.conf that names
    them."""
    for index in range(count):
        os.mknod(f"{directory}/dev/gpu{index}", 0o666 | stat.S_IFCHR,
                 os.makedev(GPU_MAJOR, index))
    write(f"{directory}/gres.conf",
          f"Name=gpu File={directory}/dev/gpu[0-{count - 1}]\n"
          if count > 1 else f"Name=gpu File={directory}/dev/gpu0\n")


def write_plugstack(directory, plugins, arguments, name=""):
    """Without plugins, Slurm runs without Penstock. All plugins get the same
    arguments.

    name: one of several nodes, with its own penstockd."""
    dot_name = f".{name}" if name else ""
    defaults = [f"socket={directory}/run{dot_name}/penstockd.sock",
                f"profile_dir={directory}/profiles",
                f"hook_dir={directory}/bin/python/hook"]
    text = "".join(
        " ".join(["optional", str(plugin), *defaults, *arguments]) + "\n"
        for plugin in plugins)
    write(f"{directory}/plugstack{dot_name}.conf", text)


def write_penstock_conf(directory, node, policy, pools, lines, name=""):
    """pools: (name, path, bandwidth) each, bandwidth as text: "200M".

    name: as for write_plugstack(). Returns the path of the file."""
    dot_name = f".{name}" if name else ""
    text = PENSTOCK_CONF.format(directory=directory, node=name or node,
                                policy=policy, run=f"run{dot_name}",
                                agent=AGENT_USER,
                                moves=hierarchy.MOVES)
    for pool, path, bandwidth in pools:
        text += f"Pool={pool} Path={path} Bandwidth={bandwidth}\n"
    text += "".join(f"{line}\n" for line in lines)
    path = f"{directory}/penstock{dot_name}.conf"
    write(path, text)
    return path


def submit_lines(plugin):
    """The lines of slurm.conf that load job_submit_penstock.so."""
    return ["JobSubmitPlugins=penstock",
            f"PluginDir={os.path.dirname(plugin)}:{system_plugin_dir()}"]


def private_tmp_lines(directory):
    """Writes job_container.conf; returns the lines of slurm.conf that give
    each job its own /tmp and /dev/shm."""
    write(f"{directory}/job_container.conf",
          f"AutoBasePath=true\nBasePath={directory}/containers\n")
    return ["JobContainerType=job_container/tmpfs", "PrologFlags=Contain"]
