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
import sys

#: The packages that have a replacement.
PACKAGES = ("ctranslate2", "sacrebleu", "sentencepiece", "subword_nmt", "tokenizers", "youtokentome")


def install(*packages: str) -> None:
    """Make `import PACKAGE` give the replacement, from now on and in this process.

    Parameters
    ----------
    packages
        Names of `PACKAGES`; all of them if none is given.
    """
    for name in packages or PACKAGES:
        if name not in PACKAGES:
            raise ValueError(f"there is no replacement for {name!r}; there are {', '.join(PACKAGES)}")
        module = importlib.import_module(f"{__name__}.{name}")
        sys.modules[name] = module
        prefix = f"{__name__}.{name}."
        for full, submodule in list(sys.modules.items()):
            if full.startswith(prefix):
                sys.modules[f"{name}.{full[len(prefix):]}"] = submodule
