#include "sentencepiece/protobuf_wire.h"

#include <bit>

#include <dragoman/core/error.h>

namespace dragoman::tokenizer {
namespace {

enum WireType : std::uint32_t { kVarintType = 0, kFixed64Type = 1, kBytesType = 2, kFixed32Type = 5 };

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  return value;
}

}  // namespace

void WireReader::check(bool condition, std::string_view reason) const {
  core::require(condition, core::ErrorCode::kBadInput, "{}: byte {}: {}", where_, offset_ + at_, reason);
}

std::uint64_t WireReader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    check(at_ < message_.size(), "the message ends inside a number");
    const auto byte = static_cast<unsigned char>(message_[at_++]);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  check(false, "a number of more than ten bytes");
  return value;
}

std::string_view WireReader::take(std::uint64_t count) {
  check(count <= message_.size() - at_, "the message ends inside a field");
  const std::string_view bytes = message_.substr(at_, count);
  at_ += count;
  return bytes;
}

bool WireReader::next(WireField& field) {
  if (at_ == message_.size()) return false;
  const std::uint64_t key = varint();
  check(key >> 3 != 0 && key >> 3 < (1U << 29), "not the number of a field");
  field = {.number = static_cast<std::uint32_t>(key >> 3), .bytes = {}};
  switch (key & 7) {
    case kVarintType:
      field.type = WireField::Type::kVarint;
      field.value = varint();
      return true;
    case kFixed64Type:
      field.type = WireField::Type::kFixed64;
      field.value = little_endian(take(8));
      return true;
    case kBytesType:
      field.type = WireField::Type::kBytes;
      field.bytes = take(varint());
      return true;
    case kFixed32Type:
      field.type = WireField::Type::kFixed32;
      field.value = little_endian(take(4));
      return true;
    default:
      check(false, "an unknown type of field; the file is damaged or not a protocol buffer");
      return false;
  }
}

float wire_float(const WireField& field) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
}

void WireWriter::append(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) message_ += static_cast<char>(0x80 | (value & 0x7F));
  message_ += static_cast<char>(value);
}

void WireWriter::varint(std::uint32_t number, std::uint64_t value) {
  append(static_cast<std::uint64_t>(number) << 3 | kVarintType);
  append(value);
}

void WireWriter::bytes(std::uint32_t number, std::string_view value) {
  append(static_cast<std::uint64_t>(number) << 3 | kBytesType);
  append(value.size());
  message_ += value;
}

void WireWriter::append_little_endian(std::uint64_t value, unsigned bits) {
  for (unsigned shift = 0; shift < bits; shift += 8) message_ += static_cast<char>(value >> shift & 0xFF);
}

void WireWriter::real(std::uint32_t number, float value) {
  append(static_cast<std::uint64_t>(number) << 3 | kFixed32Type);
  append_little_endian(std::bit_cast<std::uint32_t>(value), 32);
}

void WireWriter::copy(const WireField& field) {
  switch (field.type) {
    case WireField::Type::kVarint:
      return varint(field.number, field.value);
    case WireField::Type::kBytes:
      return bytes(field.number, field.bytes);
    case WireField::Type::kFixed32:
      append(static_cast<std::uint64_t>(field.number) << 3 | kFixed32Type);
      return append_little_endian(field.value, 32);
    case WireField::Type::kFixed64:
      append(static_cast<std::uint64_t>(field.number) << 3 | kFixed64Type);
      return append_little_endian(field.value, 64);
  }
}

}  // namespace dragoman::tokenizer
