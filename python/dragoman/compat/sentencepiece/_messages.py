"""Messages in the wire format of protocol buffers, with the interface of generated classes.

Programs read and edit SentencePiece models as messages (`sentencepiece_model_pb2.ModelProto`). The classes here have
the calls that such programs make, so that the package `protobuf` is not needed.
"""

from __future__ import annotations

import struct
from typing import Any, Callable, ClassVar, Generic, Iterable, Iterator, NamedTuple, Type, TypeVar

M = TypeVar("M", bound="Message")

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class DecodeError(ValueError):
    """Bytes that are not a message."""


class Field(NamedTuple):
    """One field of a message type: kind is int, uint, bool, float, str or bytes, or a message class."""

    number: int
    name: str
    kind: Any
    default: Any = None
    repeated: bool = False


class Enum:
    """The names of numbers, as generated code has them."""

    def __init__(self, **values: int) -> None:
        self._values = values

    def Name(self, number: int) -> str:
        """Return the name of a number."""
        for name, value in self._values.items():
            if value == number:
                return name
        raise ValueError(f"the enumeration has no value {number}")

    def Value(self, name: str) -> int:
        """Return the number of a name."""
        if name not in self._values:
            raise ValueError(f"the enumeration has no value {name!r}")
        return self._values[name]

    def keys(self) -> list[str]:
        """Return the names."""
        return list(self._values)

    def values(self) -> list[int]:
        """Return the numbers."""
        return list(self._values.values())

    def items(self) -> list[tuple[str, int]]:
        """Return names and numbers."""
        return list(self._values.items())


class Repeated(list[M], Generic[M]):
    """The messages of a repeated field."""

    def __init__(self, kind: Type[M], values: Iterable[M] = ()) -> None:
        super().__init__(values)
        self._kind = kind

    def add(self, **values: Any) -> M:
        """Append a new message and return it."""
        made = self._kind(**values)
        super().append(made)
        return made

    def append(self, value: M) -> None:
        """Append a copy of a message."""
        self.add().CopyFrom(value)

    def extend(self, values: Iterable[M]) -> None:
        """Append copies of messages."""
        for value in values:
            self.append(value)

    def MergeFrom(self, other: Iterable[M]) -> None:
        """Append copies of messages."""
        self.extend(other)


def varint(value: int) -> bytes:
    """Return a number in the variable-length form; negative ones have 64 bits."""
    if 0 <= value < 128:
        return bytes((value,))
    value &= 0xFFFFFFFFFFFFFFFF
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at a position, and the position after it."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise DecodeError(f"a number that begins before byte {at} does not end")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def read_fields(data: bytes) -> Iterator[tuple[int, int, Any, int, int]]:
    """Yield number, wire type, value, begin and end of each field of a message."""
    at, size = 0, len(data)
    while at < size:
        begin = at
        tag, at = read_varint(data, at)
        number, wire = tag >> 3, tag & 7
        value: Any
        if wire == _VARINT:
            value, at = read_varint(data, at)
        else:
            length = {_FIXED64: 8, _FIXED32: 4}.get(wire, -1)
            if wire == _BYTES:
                length, at = read_varint(data, at)
            if length < 0 or number == 0 or at + length > size:
                raise DecodeError(f"byte {begin} does not begin a field")
            value, at = data[at : at + length], at + length
        yield number, wire, value, begin, at


def _encoded(kind: Any, value: Any) -> tuple[int, bytes]:
    if kind is float:
        return _FIXED32, struct.pack("<f", value)
    if kind in (int, "uint", bool):
        return _VARINT, varint(int(value))
    data = value.encode() if kind is str else value if kind is bytes else value.SerializeToString()
    return _BYTES, varint(len(data)) + data


def _decoded(kind: Any, value: Any) -> Any:
    if kind is float:
        return struct.unpack("<f", value)[0]
    if kind is bool:
        return bool(value)
    if kind is int:
        return value - (1 << 64) if value >> 63 else value
    if kind is str:
        return value.decode("utf-8", "replace")
    if isinstance(kind, type) and issubclass(kind, Message):
        return kind.FromString(value)
    return value


_WIRE = {float: _FIXED32, int: _VARINT, "uint": _VARINT, bool: _VARINT}


def _checked(field: Field, value: Any) -> Any:
    kind = field.kind
    if kind is float:
        # Numbers have the precision that they are stored with.
        return struct.unpack("<f", struct.pack("<f", value))[0]
    if kind in (int, "uint", bool):
        return (bool if kind is bool else int)(value)
    if kind is str and isinstance(value, bytes):
        return value.decode()
    if kind is bytes and isinstance(value, str):
        return value.encode()
    if not isinstance(value, kind):
        raise TypeError(f"{field.name} must be of type {kind.__name__}, not {type(value).__name__}")
    return value


def _is_message(field: Field) -> bool:
    return isinstance(field.kind, type) and issubclass(field.kind, Message)


class Message:
    """A message. Fields are attributes; a field that is not set has its default."""

    FIELDS: ClassVar[tuple[Field, ...]] = ()
    _by_name: ClassVar[dict[str, Field]] = {}
    _by_number: ClassVar[dict[int, Field]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._by_name = {field.name: field for field in cls.FIELDS}
        cls._by_number = {field.number: field for field in cls.FIELDS}

    def __init__(self, **values: Any) -> None:
        self.__dict__["_values"] = {}
        self.__dict__["_unknown"] = b""
        for name, value in values.items():
            if isinstance(value, (list, tuple)):
                getattr(self, name).extend(value)
            else:
                setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:
        field = type(self)._by_name.get(name)
        if field is None:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        values = self.__dict__.setdefault("_values", {})
        if name in values:
            return values[name]
        if field.repeated:
            values[name] = Repeated(field.kind) if _is_message(field) else []
            return values[name]
        if _is_message(field):
            # Set when one of its fields is: until then it writes nothing.
            values[name] = field.kind()
            return values[name]
        if field.default is not None:
            return _checked(field, field.default)
        return {float: 0.0, int: 0, "uint": 0, bool: False, str: "", bytes: b""}[field.kind]

    def __setattr__(self, name: str, value: Any) -> None:
        field = type(self)._by_name.get(name)
        if field is None:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        if field.repeated or _is_message(field):
            raise AttributeError(f"{name} cannot be assigned; change its content, or use CopyFrom")
        self.__dict__["_values"][name] = _checked(field, value)

    def _present(self) -> Iterator[tuple[Field, Any]]:
        for field in sorted(self.FIELDS):
            value = self.__dict__["_values"].get(field.name)
            if value is None or (field.repeated and not value):
                continue
            if isinstance(value, Message) and not value._is_set():
                continue
            yield field, value

    def _is_set(self) -> bool:
        return self.__dict__.get("_received", False) or bool(self._unknown) or any(True for _ in self._present())

    def SerializeToString(self, deterministic: bool | None = None) -> bytes:
        """Return the message as bytes, with its fields in the order of their numbers."""
        parts: list[bytes] = []
        for field, value in self._present():
            for each in value if field.repeated else (value,):
                wire, data = _encoded(field.kind, each)
                parts.append(varint(field.number << 3 | wire))
                parts.append(data)
        parts.append(self._unknown)
        return b"".join(parts)

    SerializePartialToString = SerializeToString
    SerializeAsString = SerializeToString

    def ByteSize(self) -> int:
        """Return the number of bytes of SerializeToString()."""
        return len(self.SerializeToString())

    def MergeFromString(self, serialized: bytes) -> int:
        """Add the fields of serialised bytes, and return their number of bytes."""
        data = bytes(serialized)
        values = self.__dict__["_values"]
        for number, wire, value, begin, end in read_fields(data):
            field = self._by_number.get(number)
            if field is None or _WIRE.get(field.kind, _BYTES) != wire:
                self.__dict__["_unknown"] += data[begin:end]
                continue
            decoded = _decoded(field.kind, value)
            if field.repeated:
                list.append(getattr(self, field.name), decoded)
            elif isinstance(decoded, Message):
                target = getattr(self, field.name)
                target.MergeFromString(value)
                target.__dict__["_received"] = True
            else:
                values[field.name] = decoded
        return len(data)

    def ParseFromString(self, serialized: bytes) -> int:
        """Replace the content by that of serialised bytes, and return their number of bytes."""
        self.Clear()
        return self.MergeFromString(serialized)

    @classmethod
    def FromString(cls: Type[M], serialized: bytes) -> M:
        """Return the message of serialised bytes."""
        made = cls()
        made.MergeFromString(serialized)
        return made

    def Clear(self) -> None:
        """Unset all fields."""
        self.__dict__["_values"] = {}
        self.__dict__["_unknown"] = b""
        self.__dict__.pop("_received", None)

    def ClearField(self, name: str) -> None:
        """Unset one field."""
        if name not in self._by_name:
            raise ValueError(f"{type(self).__name__} has no field {name!r}")
        self.__dict__["_values"].pop(name, None)

    def HasField(self, name: str) -> bool:
        """Return whether a field that is not repeated is set."""
        field = self._by_name.get(name)
        if field is None or field.repeated:
            raise ValueError(f"{type(self).__name__} has no field {name!r} that is not repeated")
        return any(present.name == name for present, _ in self._present())

    def ListFields(self) -> list[tuple[Field, Any]]:
        """Return the fields that are set, with their values."""
        return list(self._present())

    def CopyFrom(self: M, other: M) -> None:
        """Replace the content by that of another message."""
        if other is not self:
            self.ParseFromString(other.SerializeToString())
            self.__dict__["_received"] = other._is_set()

    def MergeFrom(self: M, other: M) -> None:
        """Add the fields of another message."""
        self.MergeFromString(other.SerializeToString())

    def SetInParent(self) -> None:
        """Mark the message as set, although no field of it may be."""
        self.__dict__["_received"] = True

    def IsInitialized(self) -> bool:
        """Return True: no field is required."""
        return True

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.SerializeToString() == other.SerializeToString()

    __hash__ = None  # type: ignore[assignment]

    def __deepcopy__(self: M, memo: Any) -> M:
        return type(self).FromString(self.SerializeToString())

    def __reduce__(self) -> tuple[Callable[[bytes], Message], tuple[bytes]]:
        return type(self).FromString, (self.SerializeToString(),)

    def __str__(self) -> str:
        return "".join(f"{line}\n" for line in self._lines())

    def __repr__(self) -> str:
        return str(self)

    def _lines(self) -> Iterator[str]:
        for field, value in self._present():
            for each in value if field.repeated else (value,):
                if isinstance(each, Message):
                    yield f"{field.name} {{"
                    yield from (f"  {line}" for line in each._lines())
                    yield "}"
                elif isinstance(each, str):
                    escaped = each.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
                    yield f'{field.name}: "{escaped}"'
                elif isinstance(each, bytes):
                    yield f"{field.name}: <{len(each)} bytes>"
                else:
                    yield f"{field.name}: {str(each).lower() if isinstance(each, bool) else each}"
