"""The version of sacreBLEU whose values these are, with Dragoman's version as its local part (PEP 440)."""

from dragoman import _core

#: The version of sacreBLEU that this package was compared with.
COMPATIBLE = "2.6.0"

__version__ = version = f"{COMPATIBLE}+dragoman.{_core.version}"
__version_tuple__ = version_tuple = tuple(int(each) for each in COMPATIBLE.split("."))
