"""Runs two Slurms side by side for `penstock bench submit`: one whose slurmctld
has loaded job_submit_penstock.so, and one without.

    two_slurms.py BUILD TABLE SOCKET

Prints one line of JSON, {"with": SLURM_CONF, "without": SLURM_CONF}, and
removes both when its standard input ends."""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cluster"))
# pylint: disable=wrong-import-position
import embedded  # noqa: E402

GRES = (("loader_cpu", 24), ("loader_bw", 2048))


def main():
    build, table, socket_path = sys.argv[1:]
    submit = (f"SubmitTable={table}", f"SubmitSocket={socket_path}",
              "SubmitNodeCores=24", "SubmitNodeBandwidth=2G",
              "SubmitComment=comment")
    options = {"build": build, "counted_gres": GRES}
    try:
        with embedded.EmbeddedCluster(submit=submit, **options) as plugged, \
                embedded.EmbeddedCluster(**options) as stock:
            print(json.dumps({"with": plugged.env["SLURM_CONF"],
                              "without": stock.env["SLURM_CONF"]}), flush=True)
            sys.stdin.read()
    except embedded.ClusterError as error:
        print(f"two_slurms.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
