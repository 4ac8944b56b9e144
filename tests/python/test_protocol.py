"""The tests' copy of common/protocol.h agrees with it, and the hostile kit
sends each of its messages."""

import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
HEADER = TESTS.parent / "common" / "protocol.h"
sys.path[:0] = [str(TESTS / "cluster"), str(TESTS)]

import protocol  # noqa: E402
from hostile import agent  # noqa: E402


def message_types():
    """Of each type its number and the comment on who sends it, by name."""
    body = HEADER.read_text().split("enum penstock_message_type {")[1]
    return {name: (int(number), sender) for name, number, sender in re.findall(
        r"^  PENSTOCK_(\w+) = (\d+),?(?: +/\* (.*) \*/)?$",
        body.split("};")[0], re.MULTILINE)}


def types_of(packets):
    return {struct.unpack_from("=IHH", packet)[2] for packet in packets}


def sizes_in_c(names):
    """sizeof each message's struct, as a C compiler lays it out."""
    prints = "".join(f'printf("%zu\\n", sizeof(struct penstock_{name}));'
                     for name in names)
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "sizes"
        subprocess.run(["cc", "-xc", "-", "-o", program], check=True, text=True,
                       input=f'#include "{HEADER}"\n#include <stdio.h>\n'
                             f'int main(void) {{ {prints} return 0; }}')
        return [int(size) for size in subprocess.check_output(program).split()]


class Protocol(unittest.TestCase):
    def test_each_message_has_its_number_and_size(self):
        types = message_types()
        self.assertIn("JOB_START", types)
        for name, (number, _) in types.items():
            self.assertEqual(getattr(protocol, name, None), number, name)
        self.assertEqual(
            {name: protocol.size_of(number)
             for name, (number, _) in types.items()},
            dict(zip(types, sizes_in_c(name.lower() for name in types))))

    def test_the_hostile_kit_sends_each_type(self):
        senders = message_types().values()
        only_root = {number for number, sender in senders
                     if sender.startswith("root only")}
        self.assertEqual(types_of(agent.root_only()), only_root)
        self.assertEqual(types_of(agent.anyones()),
                         {number for number, sender in senders if sender}
                         - only_root)


if __name__ == "__main__":
    unittest.main()
