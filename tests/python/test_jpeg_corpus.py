"""penstock.loader against Pillow on JPEG files that are oddly written, cut short
or damaged."""

import collections
import io
import logging
import os
import random
import sys
import unittest
import warnings
from pathlib import Path

import numpy
from loader_case import LoaderCase, penstock_loader

try:
    from PIL import Image

    import jpeg_case
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

SEED = int(os.environ.get("SEED", random.randrange(10**6)))
# At this size the loader cuts whole pixels of the file's and does not resize.
CROP = 56
MEAN = numpy.array([0.485, 0.456, 0.406]).reshape(3, 1, 1)
DEVIATION = numpy.array([0.229, 0.224, 0.225]).reshape(3, 1, 1)


def by_pillow(file):
    """The crop's pixels, channel by channel; None: Pillow refuses the file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            picture = Image.open(io.BytesIO(file)).convert("RGB")
        except (OSError, SyntaxError, ValueError):
            return None
    if picture.size != (jpeg_case.SIDE, jpeg_case.SIDE):
        return None
    begin = (jpeg_case.SIDE - CROP) // 2
    pixels = numpy.asarray(picture)[begin : begin + CROP, begin : begin + CROP]
    return pixels.transpose(2, 0, 1)


def are_equal(first, second):
    return first is not None and numpy.array_equal(first, second)


class JpegCorpusTest(LoaderCase):
    def setUp(self):
        super().setUp()
        print(f"SEED={SEED}", file=sys.stderr)
        logging.disable(logging.WARNING)  # one for each skipped picture
        self.addCleanup(logging.disable, logging.NOTSET)
        self.random = random.Random(SEED)
        pixels = jpeg_case.photograph(numpy.random.default_rng(SEED))
        self.encoded = jpeg_case.encoded(pixels)

    def cases(self, change):
        """(encoder, what was done, original, changed file)"""
        return [
            (encoder, what, file, changed)
            for encoder, file in self.encoded.items()
            for what, changed in change(file, self.random)
        ]

    def loaded(self, files):
        """Each file's pixels; None: the loader left it out."""
        folder = Path(self.folder) / "corpus"
        folder.mkdir()
        good = next(iter(self.encoded.values()))  # some file must be
        for i, file in enumerate([*files, good]):
            (folder / f"{i:05}.jpg").write_bytes(file)
        pixels = [None] * (len(files) + 1)
        dataset = penstock_loader.open_dataset(folder)
        for batch in self.load(
            dataset, len(pixels), crop=CROP, augment="centre", shuffle=False
        ):
            images = (batch.images * DEVIATION + MEAN) * 255
            for index, image in zip(batch.indices, images, strict=True):
                pixels[index] = image.round().astype(numpy.uint8)
        return pixels[:-1]

    def test_what_pillow_decodes_right_is_loaded_with_its_pixels(self):
        cases = self.cases(jpeg_case.odd)
        self.assertGreaterEqual(len(self.encoded), 12)
        self.assertGreaterEqual(len(cases), 200)
        results = collections.Counter()
        wrong = []
        for case, pixels in zip(
            cases, self.loaded([case[-1] for case in cases]), strict=True
        ):
            encoder, what, original, changed = case
            expected = by_pillow(original)
            is_right_in_pillow = are_equal(by_pillow(changed), expected)
            results[is_right_in_pillow] += 1
            if pixels is None and not is_right_in_pillow:
                continue
            if not are_equal(pixels, expected):
                wrong.append(f"{encoder}: {what}, {pixels is None=}")
        self.assertEqual(wrong, [])
        self.assertGreater(results[True], 10 * results[False])

    def test_truncated_files_are_refused(self):
        cases = self.cases(jpeg_case.truncated)
        loaded = self.loaded([case[-1] for case in cases])
        self.assertEqual(
            [
                case[:2]
                for case, pixels in zip(cases, loaded, strict=True)
                if pixels is not None
            ],
            [],
        )

    def test_damage_that_is_not_detected_gives_pillows_pixels(self):
        cases = self.cases(jpeg_case.damaged)
        loaded = self.loaded([case[-1] for case in cases])
        for case, pixels in zip(cases, loaded, strict=True):
            with self.subTest(case[:2]):
                if pixels is not None:
                    self.assertTrue(are_equal(pixels, by_pillow(case[-1])))


if __name__ == "__main__":
    unittest.main()
