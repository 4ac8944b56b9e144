"""A FUSE device for ordinary users."""

import os
import stat

NAME = "/dev/fuse"
NUMBER = os.makedev(10, 229)


def fuse_device(folder):
    """udev lets all users open NAME; without udev, makes one in the folder,
    which may be on a file system without devices elsewhere."""
    if os.path.exists(NAME) and os.stat(NAME).st_mode & 0o006 == 0o006:
        return NAME
    device = os.path.join(folder, "fuse")
    if not os.path.exists(device):
        os.mknod(device, stat.S_IFCHR, NUMBER)
        os.chmod(device, 0o666)
    return device
