"""All attacks by name, in the order of their families."""

from hostile import (controller, descriptors, files, messages, names, pages,
                     processes, scheduling, sockets, spaces)
from hostile.attack import ATTACKS

__all__ = ["ATTACKS", "controller", "descriptors", "files", "messages", "names",
           "pages", "processes", "scheduling", "sockets", "spaces"]
