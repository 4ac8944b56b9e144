"""The site's or the user's own start code. It must run, and run once."""

import builtins
import os

builtins.site_runs = getattr(builtins, "site_runs", 0) + 1
os.environ["DATA_ROOT"] = "/datasets"
