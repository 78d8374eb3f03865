#include "run/event_file.h"

#include <bit>
#include <chrono>
#include <cstring>

#include <boost/crc.hpp>

#include <dragoman/core/utf8.h>

namespace dragoman::training {
namespace {

static_assert(std::endian::native == std::endian::little, "both formats are little-endian");

std::uint32_t masked_crc(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  const std::uint32_t sum = crc.checksum();
  return ((sum >> 15) | (sum << 17)) + 0xa282ead8U;
}

template <class Number>
std::string raw(Number number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

template <class Number>
Number from_raw(std::string_view bytes) {
  Number number{};
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

// --- the wire format of protocol buffers ---

enum class Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80U; value >>= 7) bytes += static_cast<char>(value | 0x80U);
  return bytes + static_cast<char>(value);
}

std::string key(int field, Wire wire) {
  return varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire));
}
std::string integer_field(int field, std::uint64_t value) {
  return key(field, Wire::kVarint) + varint(value);
}
std::string double_field(int field, double value) {
  return key(field, Wire::kFixed64) + raw(value);
}
std::string float_field(int field, float value) {
  return key(field, Wire::kFixed32) + raw(value);
}
std::string bytes_field(int field, std::string_view value) {
  return key(field, Wire::kBytes) + varint(value.size()) + std::string(value);
}
std::string text_field(int field, std::string value) {
  core::replace_invalid_utf8(value);
  return bytes_field(field, value);
}

/// Returns a Summary.Value with tag and simple_value.
std::string scalar_value(const std::string& tag, double value) {
  return text_field(1, tag) + float_field(2, static_cast<float>(value));
}

/// Returns a Summary.Value whose tensor is one text, for the plugin `text`.
std::string text_value(const std::string& tag, const std::string& text) {
  constexpr std::uint64_t kString = 7;  // DataType
  const std::string shape = bytes_field(2, integer_field(1, 1));
  const std::string tensor = integer_field(1, kString) + bytes_field(2, shape) + text_field(8, text);
  const std::string metadata = bytes_field(1, text_field(1, "text"));
  return text_field(1, tag) + bytes_field(8, tensor) + bytes_field(9, metadata);
}

/// Reads the fields of a message in order. Returns false at the end, and for invalid bytes.
class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : rest_(bytes) {}
  bool next() {
    std::uint64_t tag = 0;
    if (rest_.empty() || !take_varint(tag)) return false;
    field = static_cast<int>(tag >> 3);
    switch (static_cast<Wire>(tag & 7U)) {
      case Wire::kVarint:
        return take_varint(number);
      case Wire::kFixed64:
        return skip(8);
      case Wire::kFixed32:
        return skip(4);
      case Wire::kBytes: {
        std::uint64_t size = 0;
        return take_varint(size) && skip(size);
      }
    }
    return false;
  }
  int field = 0;
  std::uint64_t number = 0;

 private:
  bool take_varint(std::uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80U) return true;
    }
    return false;
  }
  bool skip(std::uint64_t size) {
    if (size > rest_.size()) return false;
    rest_.remove_prefix(size);
    return true;
  }
  std::string_view rest_;
};

StoredEvent stored_event(std::string_view record, std::string_view message) {
  constexpr int kStep = 2;
  constexpr int kFileVersion = 3;
  StoredEvent event{.record = std::string(record)};
  for (MessageReader reader(message); reader.next();) {
    if (reader.field == kStep) event.step = static_cast<std::int64_t>(reader.number);
    if (reader.field == kFileVersion) event.is_version = true;
  }
  return event;
}

}  // namespace

std::string encode_event(const TensorBoardEvent& event) {
  std::string summary;
  for (const auto& [tag, value] : event.scalars) summary += bytes_field(1, scalar_value(tag, value));
  for (const auto& [tag, text] : event.texts) summary += bytes_field(1, text_value(tag, text));
  std::string bytes = double_field(1, event.wall_time) + integer_field(2, static_cast<std::uint64_t>(event.step));
  if (!summary.empty()) bytes += bytes_field(5, summary);
  constexpr std::uint64_t kStart = 1;  // SessionLog.SessionStatus
  if (event.restarts) bytes += bytes_field(7, integer_field(1, kStart));
  return bytes;
}

std::string frame_record(std::string_view bytes) {
  const std::string length = raw(std::uint64_t{bytes.size()});
  return length + raw(masked_crc(length)) + std::string(bytes) + raw(masked_crc(bytes));
}

std::vector<StoredEvent> read_events(std::string_view file) {
  constexpr std::size_t kHeader = 12;
  constexpr std::size_t kFooter = 4;
  std::vector<StoredEvent> events;
  while (file.size() >= kHeader + kFooter) {
    const auto length = from_raw<std::uint64_t>(file);
    if (from_raw<std::uint32_t>(file.substr(8)) != masked_crc(file.substr(0, 8))) break;
    if (length > file.size() - kHeader - kFooter) break;
    const std::string_view message = file.substr(kHeader, length);
    if (from_raw<std::uint32_t>(file.substr(kHeader + length)) != masked_crc(message)) break;
    events.push_back(stored_event(file.substr(0, kHeader + length + kFooter), message));
    file.remove_prefix(kHeader + length + kFooter);
  }
  return events;
}

EventFile::EventFile(const std::filesystem::path& path) : file_(path, core::AppendFile::Start::kNew) {
  const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  file_.append(frame_record(double_field(1, now) + bytes_field(3, "brain.Event:2")));
}

void EventFile::append(const TensorBoardEvent& event) {
  file_.append(frame_record(encode_event(event)));
}

}  // namespace dragoman::training
