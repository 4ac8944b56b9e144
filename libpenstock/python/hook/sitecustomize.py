"""Makes Python programs measure their PyTorch DataLoaders: with this folder
first on PYTHONPATH, every interpreter runs this file at its start.

It imports nothing, and waits for torch; then patch_torch.py follows. It must be
valid in every Python. Those before 3.10 are left alone.
"""

import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))


class _Finder(object):
    """Waits for the modules that penstock patches."""

    names = {
        "torch.utils.data.dataloader",
        "torch.optim.optimizer",
        "torchdata.stateful_dataloader.stateful_dataloader",
    }
    asking = set()

    def find_spec(self, name, path=None, target=None):
        if name in self.names:
            try:
                with open(os.path.join(_FOLDER, "patch_torch.py")) as file:
                    functions = {"HOME": os.path.dirname(_FOLDER)}
                    exec(file.read(), functions)
                return functions["find_spec"](self, name, path, target)
            except Exception as error:
                self.names.clear()
                if os.environ.get("PENSTOCK_DEBUG"):
                    text = "penstock: DataLoaders are not measured: %r\n"
                    sys.stderr.write(text % (error,))
        return None


def _run_hidden():
    """Runs the sitecustomize that this one hides."""
    sys.path[:] = [one for one in sys.path if one != _FOLDER]
    own = sys.modules.pop(__name__)
    try:
        import sitecustomize
    except ImportError as error:
        if getattr(error, "name", __name__) != __name__:
            raise
    finally:
        sys.modules.setdefault(__name__, own)


_is_off = os.environ.get("PENSTOCK_LOADER_WATCH") == "off"
if sys.version_info >= (3, 10) and not _is_off:
    sys.meta_path.insert(0, _Finder())
_run_hidden()
