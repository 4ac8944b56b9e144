"""An attacker's kit: what an ordinary user's job can try against Penstock.

    python3 -m hostile SITE.json      (with this folder's parent, and that of
                                       tests/cluster/protocol.py, in PYTHONPATH)

runs inside a job of Slurm. tests/cluster/test_hostile.py starts it, gives
orders, and measures penstockd and other jobs meanwhile.

A file holds a family of attacks: each function with @attack is one, and stands
in the table with a sentence on what it tries. It attacks until the site's end
and returns a count, so that an attack that does nothing is found. It raises
`Broke` if it got what no ordinary user may get, and `NotHere` if this machine
does not let users try. Each runs in a process of its own. All its descendants
are killed afterwards, so that no attack affects the next one.

To add one, write a function into the family's file. A new file goes into
table.py.
"""
