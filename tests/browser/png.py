"""Reads the PNG pictures that Chromium writes: 8 bits, RGB or RGBA."""

import struct
import zlib


def _chunks(data):
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError("no PNG")
    at = 8
    while at < len(data):
        size, = struct.unpack(">I", data[at:at + 4])
        yield data[at + 4:at + 8], data[at + 8:at + 8 + size]
        at += 12 + size


def _paeth(left, up, corner):
    guess = left + up - corner
    apart = [(abs(guess - value), rank, value)
             for rank, value in enumerate((left, up, corner))]
    return min(apart)[2]


def _unfiltered(kind, line, before, step):
    for i in range(len(line)):
        left = line[i - step] if i >= step else 0
        corner = before[i - step] if i >= step else 0
        if kind == 1:
            line[i] = (line[i] + left) & 255
        elif kind == 2:
            line[i] = (line[i] + before[i]) & 255
        elif kind == 3:
            line[i] = (line[i] + (left + before[i]) // 2) & 255
        elif kind == 4:
            line[i] = (line[i] + _paeth(left, before[i], corner)) & 255


def decoded(data):
    """Rows of pixels, each (red, green, blue)."""
    packed = b""
    for name, body in _chunks(data):
        if name == b"IHDR":
            width, height, bits, colour, _, _, interlaced = struct.unpack(
                ">IIBBBBB", body)
            if bits != 8 or colour not in (2, 6) or interlaced:
                raise ValueError("a PNG of another kind")
        elif name == b"IDAT":
            packed += body
    step = 3 if colour == 2 else 4
    flat = zlib.decompress(packed)
    rows, before = [], bytes(width * step)
    for y in range(height):
        start = y * (width * step + 1)
        line = bytearray(flat[start + 1:start + 1 + width * step])
        _unfiltered(flat[start], line, before, step)
        rows.append([tuple(line[x:x + 3])
                     for x in range(0, width * step, step)])
        before = line
    return rows


def blocks(rows, size):
    """Averages over squares of `size` pixels; those at the edge are smaller."""
    out = []
    for top in range(0, len(rows), size):
        part = rows[top:top + size]
        line = []
        for left in range(0, len(rows[0]), size):
            pixels = [pixel for row in part for pixel in row[left:left + size]]
            line.append(tuple(sum(channel) / len(pixels)
                              for channel in zip(*pixels)))
        out.append(line)
    return out
