import pathlib
import tempfile
import unittest

from bench.program import BenchError
from bench.unmodified import programs


class Parsing(unittest.TestCase):
    def test_the_folder_of_pictures_is_filled_in(self):
        found = programs.Program.parse("net=python3 'my main.py' -j 2 {data}",
                                       "/some where")
        self.assertEqual(found.name, "net")
        self.assertEqual(found.command, ["python3", "my main.py", "-j", "2",
                                         "/some where"])

    def test_an_error_shows_what_is_expected(self):
        for text in ("python3 main.py", "=python3", "a-b=python3", "net="):
            with self.assertRaisesRegex(BenchError, "give NAME=COMMAND"):
                programs.Program.parse(text, "/data")

    def test_an_open_quote_is_an_error(self):
        with self.assertRaisesRegex(BenchError, "give NAME=COMMAND"):
            programs.Program.parse("net=python3 'main.py", "/data")


class Pictures(unittest.TestCase):
    def test_each_class_has_all_to_train_and_a_few_to_validate(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "source")
            source.mkdir()
            for index in range(20):
                (source / f"{index}.jpg").write_text("", "ascii")
            made = programs.make_pictures(pathlib.Path(folder, "made"), source)
            for name in ("class0", "class1"):
                self.assertEqual(len(list((made / "train" / name).iterdir())),
                                 20)
                self.assertEqual(len(list((made / "val" / name).iterdir())), 16)


if __name__ == "__main__":
    unittest.main()
