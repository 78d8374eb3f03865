"""Drop-in replacements for packages that people use today.

Change the import, and the program runs on Dragoman:

    from dragoman.compat import sentencepiece as spm

or replace a package for a whole process, imports in other packages included:

    import dragoman.compat

    dragoman.compat.install("sentencepiece", "sacrebleu")

Each module has the calls that its users make. A call that is not covered raises NotImplementedError, with the name of
what covers it.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from types import ModuleType
from typing import Sequence

#: The packages that have a replacement.
PACKAGES = ("ctranslate2", "sacrebleu", "sentencepiece", "subword_nmt", "tokenizers", "youtokentome")


def install(*packages: str) -> None:
    """Make `import PACKAGE` give the replacement, from now on and in this process.

    Parameters
    ----------
    packages
        Names of `PACKAGES`; all of them if none is given.
    """
    wanted = packages or PACKAGES
    for name in wanted:
        if name not in PACKAGES:
            raise ValueError(f"there is no replacement for {name!r}; there are {', '.join(PACKAGES)}")
    # All are imported before any is replaced.
    modules = {name: importlib.import_module(f"{__name__}.{name}") for name in wanted}
    for name, module in modules.items():
        for loaded in [each for each in sys.modules if each.startswith(f"{name}.")]:
            del sys.modules[loaded]
        sys.modules[name] = module
        own = f"{__name__}.{name}."
        for full in [each for each in sys.modules if each.startswith(own)]:
            sys.modules[f"{name}.{full[len(own):]}"] = sys.modules[full]
    if not any(isinstance(finder, _Submodules) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Submodules())


class _Submodules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes `import sacrebleu.metrics` give the submodule of the replacement, the same object under both names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        package = fullname.partition(".")[0]
        replaced = package in PACKAGES and getattr(sys.modules.get(package), "__name__", "") == f"{__name__}.{package}"
        if not replaced or fullname == package:
            return None
        try:
            importlib.import_module(f"{__name__}.{fullname}")
        except ModuleNotFoundError:
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = sys.modules[f"{__name__}.{spec.name}"]
        self._own = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._own  # the import system put the other name's in its place

    _own: importlib.machinery.ModuleSpec | None = None
