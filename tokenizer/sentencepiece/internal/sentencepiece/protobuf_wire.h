#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dragoman::tokenizer {

/// One field of a message in the wire format of protocol buffers.
struct WireField {
  std::uint32_t number = 0;
  enum class Type { kVarint, kFixed64, kBytes, kFixed32 } type = Type::kVarint;
  std::uint64_t value = 0;  ///< for numbers
  std::string_view bytes;   ///< for kBytes
};

/// Reads the fields of a message one after the other. Never reads beyond its end.
class WireReader {
 public:
  /// `where` names file and message in errors. `offset` is the offset of the message in the file.
  WireReader(std::string_view message, std::string where, std::size_t offset = 0)
      : message_(message), where_(std::move(where)), offset_(offset) {}

  /// Returns false at the end of the message. Throws Error{kBadInput} with the offset.
  bool next(WireField& field);
  /// Returns the offset in the file of the bytes of the field that next() returned last.
  std::size_t offset_of(const WireField& field) const {
    return offset_ + static_cast<std::size_t>(field.bytes.data() - message_.data());
  }

 private:
  std::uint64_t varint();
  std::string_view take(std::uint64_t count);
  void check(bool condition, std::string_view reason) const;

  std::string_view message_;
  std::string where_;
  std::size_t offset_;
  std::size_t at_ = 0;
};

/// Returns the value of a kFixed32 field that is a float.
float wire_float(const WireField& field) noexcept;

/// Writes fields into a message.
class WireWriter {
 public:
  void varint(std::uint32_t number, std::uint64_t value);
  void bytes(std::uint32_t number, std::string_view value);
  void real(std::uint32_t number, float value);
  /// Writes a field as it was read.
  void copy(const WireField& field);
  const std::string& message() const noexcept { return message_; }

 private:
  void append(std::uint64_t value);
  void append_little_endian(std::uint64_t value, unsigned bits);

  std::string message_;
};

}  // namespace dragoman::tokenizer
