"""What the modules share."""

from __future__ import annotations

from typing import IO, Any, Iterable, Iterator

#: What subword-nmt removes at both ends of a line.
ENDS = "\r\n "


def refuse_bytes(is_bytes: bool) -> None:
    """Raise NotImplementedError for byte-level codes."""
    if is_bytes:
        raise NotImplementedError(
            "byte-level codes are not covered; dragoman.learn_bpe has bytes for characters without a piece "
            "(byte_fallback=True, the default)"
        )


def words_of(lines: Iterable[str]) -> Iterator[str]:
    """Yield the words between spaces. Other whitespace is a part of words."""
    for line in lines:
        for word in line.strip(ENDS).split(" "):
            if word:
                yield word


def split_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines as files of codecs.open() have them, which end at U+2028, U+0085 and others, too."""
    for line in lines:
        yield from line.splitlines(keepends=True)


def open_text(file: IO[Any], mode: str = "r") -> IO[str]:
    """Open the file of a file object again, as UTF-8 text."""
    return open(file.name, mode, encoding="utf-8")
