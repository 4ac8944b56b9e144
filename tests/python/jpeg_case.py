"""JPEG files of many encoders' habits, harmlessly odd or damaged.

Every picture is 64 x 64. A case is (what was done, file)."""

import io

import numpy
from PIL import Image

try:
    import cv2
except ImportError:
    cv2 = None

SIDE = 64
DQT, SOS, EOI = 0xDB, 0xDA, 0xD9
RESTARTS = range(0xD0, 0xD8)


def segments(file):
    """(begin, marker, end) of each; a scan's includes its data."""
    end, found = 2, []
    while True:
        begin = at = end
        while file[at] == 0xFF:  # fill bytes, too
            at += 1
        marker, at = file[at], at + 1
        if marker == EOI:
            return [*found, (begin, EOI, at)]
        end = at + int.from_bytes(file[at : at + 2], "big")
        while marker == SOS and not (
            file[end] == 0xFF and file[end + 1] not in (0, *RESTARTS)
        ):
            end += 1
        found.append((begin, marker, end))


def scans(file):
    """(begin, end) of each scan's data."""
    found = []
    for begin, marker, end in segments(file):
        if marker == SOS:
            at = file.index(SOS, begin) + 1
            size = int.from_bytes(file[at : at + 2], "big")
            found.append((at + size, end))
    return found


def restarts(file):
    return [
        at
        for begin, end in scans(file)
        for at in range(begin, end - 1)
        if file[at] == 0xFF and file[at + 1] in RESTARTS
    ]


def has_several_scans(file):
    return len(scans(file)) > 1


def inserted(file, at, data):
    return file[:at] + data + file[at:]


def segment(marker, data):
    size = (len(data) + 2).to_bytes(2, "big")
    return bytes([0xFF, marker]) + size + data


# Pictures and encoders.


def photograph(noise):
    """Pixels: waves with noise of some pixels' width."""
    y, x = numpy.mgrid[0:SIDE, 0:SIDE]
    phases = noise.uniform(4, 12, (3, 2))
    waves = [90 * numpy.sin(x / a) * numpy.cos(y / b) for a, b in phases]
    coarse = noise.normal(0, 40, (SIDE // 4, SIDE // 4, 3))
    grains = coarse.repeat(4, 0).repeat(4, 1) + noise.normal(
        0, 8, (SIDE, SIDE, 3)
    )
    pixels = 128 + numpy.stack(waves, -1) + grains
    return pixels.clip(0, 255).astype(numpy.uint8)


def by_pillow(pixels, mode="RGB", **options):
    file = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(file, "JPEG", **options)
    return file.getvalue()


def by_opencv(pixels, **options):
    flags = [
        number
        for name, value in options.items()
        for number in (getattr(cv2, "IMWRITE_JPEG_" + name), value)
    ]
    return cv2.imencode(".jpg", pixels[..., ::-1], flags)[1].tobytes()


def encoded(pixels):
    """(encoder, file) of each encoder."""
    thumbnail = by_pillow(pixels[::4, ::4])
    files = {
        "quality 75": by_pillow(pixels),
        "quality 95, full colours": by_pillow(
            pixels, quality=95, subsampling=0
        ),
        "half colours": by_pillow(pixels, quality=85, subsampling=1),
        "optimised": by_pillow(pixels, quality=60, optimize=True),
        "progressive": by_pillow(pixels, progressive=True),
        "progressive, quality 95": by_pillow(
            pixels, progressive=True, quality=95, subsampling=0
        ),
        "grey": by_pillow(pixels, "L"),
        "grey, progressive": by_pillow(pixels, "L", progressive=True),
        "CMYK": by_pillow(pixels, "CMYK"),
        "comment, profile": by_pillow(
            pixels, comment=b"a comment", icc_profile=bytes(range(256))
        ),
        "EXIF with a thumbnail": by_pillow(
            pixels, exif=b"Exif\0\0" + thumbnail
        ),
    }
    if cv2:
        files |= {
            "restarts": by_opencv(pixels, RST_INTERVAL=2),
            "restarts, progressive": by_opencv(
                pixels, RST_INTERVAL=3, PROGRESSIVE=1
            ),
            "OpenCV, optimised": by_opencv(pixels, OPTIMIZE=1, QUALITY=40),
        }
    return files | rewritten(files)


def rewritten(files):
    """The same pictures as other encoders write them."""
    plain, optimised = files["quality 75"], files["optimised"]
    progressive = files["progressive"]
    begin, _, end = segments(plain)[0]
    behind_scan = scans(plain)[0][1]
    lines = segment(0xDC, SIDE.to_bytes(2, "big"))
    adobe = segment(0xEE, b"Adobe\0\x64\0\0\0\0\1")
    return {
        "no JFIF": plain[:begin] + plain[end:],
        "Adobe in place of JFIF": plain[:begin] + adobe + plain[end:],
        "tables of 16 bits": with_wide_tables(plain),
        "number of lines": inserted(plain, behind_scan, lines),
        "fill bytes": filled(optimised, b"\xff" * 3),
        "fill bytes, progressive": filled(progressive, b"\xff"),
        "a second picture behind": plain + optimised,
    }


def with_wide_tables(file):
    """Quantisation tables of 16 bits."""
    out = file[:2]
    for begin, marker, end in segments(file):
        if marker == DQT:
            table = file[begin + 4 : end]
            wide = bytes([0x10 | table[0]])
            wide += b"".join(bytes([0, value]) for value in table[1:])
            out += segment(DQT, wide)
        else:
            out += file[begin:end]
    return out


def filled(file, fill):
    """Fill bytes before each marker."""
    for begin, _, _ in reversed(segments(file)):
        file = inserted(file, begin, fill)
    return file


# Oddities that leave the pixels right.


def odd(file, random):
    yield "unchanged", file
    jfif = file.find(b"JFIF\0")
    if jfif > 0:
        major = bytes([random.choice([0, 2, 3, 255])])
        yield "JFIF major", file[: jfif + 5] + major + file[jfif + 6 :]
    adobe = file.find(b"Adobe\0")
    if adobe > 0 and file[adobe + 11] == 1:
        code = bytes([random.randrange(3, 256)])
        yield "Adobe code", file[: adobe + 11] + code + file[adobe + 12 :]
    if not has_several_scans(file):
        at = scans(file)[0][0] - 3
        for parameters in (bytes(3), b"\0\x3f\x11"):
            odd_file = file[:at] + parameters + file[at + 3 :]
            yield f"scan parameters {parameters.hex()}", odd_file
        zeros = bytes(random.choice([16, 600]))
        data = file[: scans(file)[0][1]]
        yield "zeros in place of the end marker", data + zeros
    yield "data behind the end marker", file + random.choice(
        [b"\n", bytes(99), b"a trailer of a telephone's"]
    )
    yield from with_junk(file, random)


def with_junk(file, random):
    """Extra bytes before markers. Behind a scan's data: only padding."""
    ends = {end for _, end in scans(file)}
    places = [begin for begin, _, _ in segments(file)]
    for begin in places:
        count = random.choice([1, 2, 3, 7, 9, 40, 300])
        yield f"{count} zeros at {begin}", inserted(file, begin, bytes(count))
        if begin not in ends:
            junk = bytes(random.randrange(255) for _ in range(count))
            yield f"{count} bytes at {begin}", inserted(file, begin, junk)
    for count in (1, 2, 4, 8, 60) if restarts(file) else ():
        zeros = bytes(count)
        padded = file
        for at in reversed(restarts(file)):
            padded = inserted(padded, at, zeros)
        yield f"{count} zeros before restart markers", padded


# Damage.


def truncated(file, random):
    whole = segments(file)[-1][2]
    sizes = [whole - lost for lost in (1, 2, 3, 10)]
    sizes += [random.randrange(2, whole - 10) for _ in range(4)]
    for size in sizes:
        yield f"cut to {size} bytes", file[:size]
    for lost in (10, 40, 200):
        if lost < scans(file)[-1][1] - scans(file)[-1][0]:
            yield f"{lost} bytes zeroed", file[: whole - 2 - lost] + bytes(600)


def damaged(file, random):
    """Damage of a scan's data. Not every one can be detected."""
    for _ in range(4):
        begin, end = random.choice(scans(file))
        at, count = random.randrange(begin, end), random.randrange(1, 40)
        flipped = bytes([file[at] ^ 1 << random.randrange(8)])
        yield f"bit flip at {at}", file[:at] + flipped + file[at + 1 :]
        yield f"{count} lost at {at}", file[:at] + file[min(at + count, end) :]
        zeros = bytes(min(count, end - at))
        yield f"{count} zeroed at {at}", file[:at] + zeros + file[
            at + len(zeros) :
        ]
