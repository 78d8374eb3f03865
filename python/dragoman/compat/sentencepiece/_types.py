"""The types of pieces, and characters with a meaning."""

from __future__ import annotations

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
#: What a space is in pieces.
MARK = "\u2581"
#: What bytes that are not a character become.
REPLACEMENT = "\ufffd"
