"""The scripts of packaging/slurm in a cluster's slurmctld."""

import pathlib
import shutil

import embedded

SCRIPTS = pathlib.Path(__file__).parents[2] / "packaging" / "slurm"


def write(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    path.chmod(0o755)


def install(cluster, setting, script, environment=""):
    """Makes the script the value of a setting of slurm.conf; returns the folder
    of all scripts, which is the first on its PATH. Call it in write_files(), of
    a NodesCluster.

    environment  further "NAME=value" words for the script, where {folder} is
                 that folder"""
    folder = pathlib.Path(cluster.directory, script)
    shutil.copytree(SCRIPTS, folder)
    penstock = cluster.expose(embedded.build_directory() / "bin" / "penstock")
    write(folder / "penstock",
          f"exec {penstock} \"$@\" --config {cluster.write_login_conf()}")
    write(folder / "run",
          f"export SLURM_CONF={cluster.directory}/slurm.conf "
          f"PATH={folder}:$PATH {environment.format(folder=folder)}\n"
          f"exec {folder}/{script} \"$@\"")
    conf = pathlib.Path(cluster.directory, "slurm.conf")
    conf.write_text(conf.read_text("utf-8") + f"{setting}={folder}/run\n",
                    "utf-8")
    return folder
