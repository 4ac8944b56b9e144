#!/usr/bin/python3
"""Runs the tests' Slurm (embedded.py) until Ctrl-C, for manual experiments."""

import argparse
import signal
import sys

import embedded


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cpus", type=int, help="default: the machine's")
    parser.add_argument("--no-agent", action="store_true",
                        help="without penstockd")
    parser.add_argument("--stock", action="store_true",
                        help="without penstockd and plugin")
    parser.add_argument("--policy", default="throughput")
    arguments = parser.parse_args()
    try:
        with embedded.EmbeddedCluster(
                cpus=arguments.cpus, policy=arguments.policy,
                agent=not (arguments.no_agent or arguments.stock),
                plugin=not arguments.stock) as cluster:
            print(f"export SLURM_CONF={cluster.env['SLURM_CONF']}\n"
                  f"export PENSTOCK_SOCKET={cluster.socket_path}\n"
                  f"# ordinary user: {cluster.user}; logs: "
                  f"{cluster.directory}/log; Ctrl-C ends it", flush=True)
            signal.pause()
    except KeyboardInterrupt:
        return 0
    except embedded.ClusterError as error:
        print(f"keep_cluster.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
