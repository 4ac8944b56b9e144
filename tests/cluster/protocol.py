"""The messages of common/protocol.h, for the cluster tests and the demo."""

import array
import os
import socket
import struct
from collections import namedtuple

MAGIC = 0x54534E50
VERSION = 1
TASK_START, TASK_EXIT, STEP_END, JOB_END = 1, 2, 3, 4
HELLO, THREAD, STATUS, JOB_START, SWITCH, LIMIT = 5, 6, 7, 8, 9, 10
NOTICE = 11
REPLY = 100
MODE_AUTO, MODE_OFF = 1, 2
REPORT_TEXT, REPORT_JSON, REPORT_NONE = 1, 2, 3
BATCH_STEP = 0xFFFFFFFB

_HEADER = "=IHHII"  # magic, version, type, size_bytes, request_id
_OPTIONS = "4IQ6I256s64s72s"
_LAYOUTS = {
    TASK_START: (_HEADER + "5IiQ64s256s" + _OPTIONS,
                 "job_id step_id task_id uid gid pid callback_ns gpus "
                 "job_name mode report_format threads threads_auto "
                 "bw_bytes_per_s bw_auto batch weight_milli watch elastic "
                 "option_reserved model match share"),
    TASK_EXIT: (_HEADER + "3IiQ", "job_id step_id task_id pid exited_ns"),
    STEP_END: (_HEADER + "2I2Q", "job_id step_id launch_ns launch_tasks"),
    JOB_END: (_HEADER + "2I", "job_id reserved"),
    JOB_START: (_HEADER + "2I64s64s", "job_id reserved account partition"),
    HELLO: (_HEADER + "2I", "api_version unasked"),
    THREAD: (_HEADER + "iI", "tid is_loader"),
    STATUS: (_HEADER + "2I", "job_id reserved"),
    SWITCH: (_HEADER + "2I", "off reserved"),
    LIMIT: (_HEADER + "2IQ", "millicores ends bytes_per_s"),
    NOTICE: (_HEADER + "IiQ", "job_id pid exited_ns"),
    REPLY: (_HEADER + "iI120s", "status reserved text"),
}
_HEADER_NAMES = "magic version type size_bytes request_id "
_STRUCTS = {kind: (struct.Struct(layout),
                   namedtuple(f"Message{kind}", _HEADER_NAMES + names))
            for kind, (layout, names) in _LAYOUTS.items()}


def pack(kind, *fields, request_id=0):
    """A whole message; texts are bytes."""
    layout = _STRUCTS[kind][0]
    return layout.pack(MAGIC, VERSION, kind, layout.size, request_id, *fields)


def task_start(**fields):
    """A whole TASK_START of these fields; texts are bytes, all others 0."""
    names = _STRUCTS[TASK_START][1]._fields[len(_HEADER_NAMES.split()):]
    texts = {"gpus", "job_name", "model", "match", "share"}
    unknown = set(fields) - set(names)
    if unknown:
        raise ValueError(f"no field {unknown}")
    return pack(TASK_START, *(fields.get(name, b"" if name in texts else 0)
                              for name in names))


def size_of(kind):
    """The bytes of a message of the type."""
    return _STRUCTS[kind][0].size


def unpack(packet):
    """Unpacks a message into a named tuple with texts as str; ValueError for
    an unknown message or a wrong size."""
    if len(packet) < struct.calcsize(_HEADER):
        raise ValueError(f"a message of {len(packet)} bytes")
    magic, version, kind, size, _ = struct.unpack_from(_HEADER, packet)
    if (magic, version) != (MAGIC, VERSION) or kind not in _STRUCTS:
        raise ValueError(f"not a message: {packet[:16].hex()}")
    layout, fields = _STRUCTS[kind]
    if not size == len(packet) == layout.size:
        raise ValueError(f"type {kind}: {len(packet)} bytes, says {size}, "
                         f"not {layout.size}")
    return fields(*(value.split(b"\0")[0].decode()
                    if isinstance(value, bytes) else value
                    for value in layout.unpack(packet)))


def ask(path, packet, timeout_s):
    """Sends a message to the daemon at the socket; returns its reply and the
    descriptors that came with it, at most two, for the caller to close."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as channel:
        channel.settimeout(timeout_s)
        channel.connect(path)
        channel.send(packet)
        packet, ancillary, _, _ = channel.recvmsg(
            1024, socket.CMSG_SPACE(8), socket.MSG_CMSG_CLOEXEC)
    fds = array.array("i", b"".join(data for _, _, data in ancillary))
    return unpack(packet), list(fds)


def document(fd):
    """Reads the JSON text of a reply's descriptor, and closes it."""
    with os.fdopen(fd, "rb") as file:
        # pread: penstockd shares the memfd's file offset.
        return os.pread(file.fileno(), 1 << 26, 0)
