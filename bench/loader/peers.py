"""The compared loaders, and their availability."""

import dataclasses
import pathlib
import subprocess

SYSTEM_PYTHON = "/usr/bin/python3"
PENSTOCK = "penstock"
BARE_DECODE = "bare_decode"


@dataclasses.dataclass(frozen=True)
class Peer:
    name: str
    text: str             # display name
    form: str = "jpeg"    # of the data: formats.py
    modules: tuple = ()   # modules that its Python needs
    from_pypi: bool = False


PEERS = (
    Peer(PENSTOCK, "Penstock's loader"),
    Peer(BARE_DECODE, "TurboJPEG, whole pictures, nothing else"),
    Peer("pytorch", "PyTorch DataLoader, torchvision",
         modules=("torch", "torchvision", "PIL")),
    Peer("opencv", "OpenCV in threads", modules=("cv2", "numpy")),
    Peer("lmdb", "python3-lmdb, PyTorch DataLoader, torchvision", "lmdb",
         ("lmdb", "torch", "torchvision", "PIL")),
    Peer("ffcv", "FFCV from JPEG", "beton", ("ffcv",), True),
    Peer("webdataset", "WebDataset, torchvision", "shards", ("webdataset",),
         True),
    Peer("spdl", "SPDL, FFmpeg in threads", modules=("spdl.io",),
         from_pypi=True),
    Peer("dali", "DALI on the CPU", modules=("nvidia.dali",), from_pypi=True),
)


class Programs:
    """Builds the loops' command lines. peers_dir: of tests/peers, or None."""

    def __init__(self, build, peers_dir):
        self._bin = build / "bin"
        self._venv = peers_dir and pathlib.Path(peers_dir) / "bin" / "python"

    def python(self, peer):
        return self._venv if peer.from_pypi else SYSTEM_PYTHON

    def command(self, peer, data, threads, warm_s, measured_s):
        times = [str(threads), str(warm_s), str(measured_s)]
        if peer.name == PENSTOCK:
            return [self._bin / "penstock-bench-loader", "load", data, *times]
        if peer.name == BARE_DECODE:
            return [self._bin / "penstock-bench-decode", data, *times]
        return [self.python(peer), "-B", "-m", "bench.loader.loop", peer.name,
                data, *times]

    def missing(self, peer):
        """Returns the reason for which it cannot be measured, or None."""
        if peer.name in (PENSTOCK, BARE_DECODE):
            program = self.command(peer, "", 1, 0, 0)[0]
            return None if program.exists() else f"{program} is not built"
        if peer.from_pypi and self._venv is None:
            return "made by tests/peers --dir DIR, found by --peers DIR"
        imports = "import " + ", ".join(peer.modules)
        try:
            done = subprocess.run([self.python(peer), "-c", imports],
                                  capture_output=True, text=True, timeout=120,
                                  check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        if done.returncode == 0:
            return None
        return (done.stderr.strip().splitlines() or ["does not start"])[-1]
