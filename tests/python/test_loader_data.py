#!/usr/bin/python3
"""What the loader finds in folders and tar shards, and leaves out."""

import io
import logging
import pathlib
import tarfile
import tempfile
import unittest

import PIL.Image
from penstock.loader import Loader, open_dataset


def picture():
    out = io.BytesIO()
    PIL.Image.new("RGB", (32, 32), "red").save(out, "JPEG")
    return out.getvalue()


class DataTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, data):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def shard(self, *members):
        path = self.folder / "0.tar"
        with tarfile.open(path, "w") as tar:
            for name, data in members:
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        return path

    def test_labels_after_all_pictures_are_paired(self):
        data = open_dataset(self.shard(
            ("0.jpg", picture()), ("1.jpg", picture()),
            ("1.cls", b"2"), ("0.cls", b"1")))
        self.assertEqual([data.label(0), data.label(1)], [1, 2])
        (batch,) = Loader(data, 2, crop=8, shuffle=False, augment="centre")
        self.assertEqual(batch.labels.tolist(), [1, 2])

    def test_dotted_names_need_a_choice(self):
        shard = self.shard(*(
            (f"f_1.{number}.{ending}", data) for number in (25, 50)
            for ending, data in (("jpg", picture()),
                                 ("cls", str(number).encode()))))
        with self.assertRaisesRegex(ValueError, 'f_1.25.jpg .* key="last"'):
            open_dataset(shard)
        data = open_dataset(shard, key="last")
        self.assertEqual([data.label(0), data.label(1)], [25, 50])
        with self.assertRaisesRegex(ValueError, "key='middle'"):
            open_dataset(shard, key="middle")

    def test_an_option_chooses_the_picture(self):
        shard = self.shard(("0.depth.jpg", picture()), ("0.jpg", picture()),
                           ("0.id", b"7"))
        with self.assertRaisesRegex(ValueError, "image="):
            open_dataset(shard)
        data = open_dataset(shard, image="jpg", label="id")
        self.assertTrue(data.name(0).endswith(": 0.jpg"))
        self.assertEqual(data.label(0), 7)
        with self.assertRaisesRegex(ValueError, "an empty ending"):
            open_dataset(shard, image="jpg;")

    def test_what_is_left_out_is_described_and_logged(self):
        self.write("a/1.jpg", picture())
        self.write("a/notes.txt", b"")
        with self.assertLogs("penstock.loader", logging.INFO) as logs:
            data = open_dataset(self.folder)
        text = ("1 sample, 1 labelled, 1 class; left out: 1 name with another "
                "ending (a/notes.txt)")
        self.assertEqual(logs.output,
                         [f"INFO:penstock.loader:{self.folder}: {text}"])
        facts = data.describe()
        self.assertEqual(facts["text"], text)
        self.assertEqual((len(data), facts["samples"], facts["labelled"]),
                         (1, 1, 1))
        self.assertEqual(facts["left_out"]["ending"],
                         {"count": 1, "first": ["a/notes.txt"]})

    def test_what_may_surprise_is_a_warning(self):
        self.write("a/1.jpg", picture())
        (self.folder / "a" / "up").symlink_to("..")
        with self.assertLogs("penstock.loader", logging.WARNING) as logs:
            open_dataset(self.folder)
        self.assertIn("a/up", logs.output[0])

    def test_a_class_without_a_picture_needs_a_choice(self):
        self.write("b/1.jpg", picture())
        (self.folder / "a").mkdir()
        with self.assertRaisesRegex(ValueError, "allow_empty=True"):
            open_dataset(self.folder)
        self.assertEqual(open_dataset(self.folder, allow_empty=True).label(0), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
