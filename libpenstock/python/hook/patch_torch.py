"""Has penstock patch torch: the program's own penstock, or the one beside this
file's folder. sitecustomize.py runs this text when torch is imported, with that
folder as HOME."""

import os
import sys
from importlib.util import find_spec as spec_of


def find_spec(finder, name, path, target):
    """Finds the module for a finder on sys.meta_path. finder.names: the modules
    to patch that are not imported yet. finder.asking: the modules of which
    other finders are being asked; one of these may ask in turn."""
    if name in finder.asking:
        return None
    finder.asking.add(name)
    try:
        spec = spec_of_others(finder, name, path, target)
    finally:
        finder.asking.discard(name)
    if spec is not None:
        patch_after_import(spec, finder.names)
    return spec


def spec_of_others(finder, name, path, target):
    for other in list(sys.meta_path):
        find = None if other is finder else getattr(other, "find_spec", None)
        spec = find(name, path, target) if find else None
        if spec is not None:
            return spec
    return None


def patch_after_import(spec, names):
    loader = spec.loader
    execute = loader.exec_module

    def exec_module(module):
        execute(module)
        # Some loaders are of several modules.
        if module.__name__ == spec.name and spec.name in names:
            names.discard(spec.name)
            patch(module, names)

    loader.exec_module = exec_module


def patch(module, names):
    """Says a failure once, if PENSTOCK_DEBUG is set."""
    try:
        penstock().patch(module)
    except Exception as error:
        names.clear()
        if os.environ.get("PENSTOCK_DEBUG"):
            text = f"penstock: DataLoaders are not measured: {error!r}"
            print(text, file=sys.stderr)


def penstock():
    """Returns the module of penstock that patches torch. Importing another
    penstock could run the program a second time."""
    spec = spec_of("penstock")
    if spec is not None and not is_ours(spec):
        raise ImportError(f"{spec.origin} is not Penstock's module")
    sys.path.append(HOME)  # noqa: F821
    try:
        from penstock import _instrument
    finally:
        sys.path.remove(HOME)  # noqa: F821
    return _instrument


def is_ours(spec):
    folders = spec.submodule_search_locations or []
    return any(os.path.exists(f"{folder}/_instrument.py") for folder in folders)
