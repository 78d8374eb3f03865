#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace dragoman::core {

/// Follows the frames of a Zstandard file (RFC 8878, section 3.1.1) without decompressing them, to detect whether the
/// input ended between two frames. Boost's decompressor accepts a truncated file as complete. Finding corrupt data is
/// left to the decompressor.
class ZstdFrames {
 public:
  void consume(std::string_view bytes) {
    while (!bytes.empty()) {
      if (skip_ > 0) {
        const auto n = std::min<std::uint64_t>(skip_, bytes.size());
        skip_ -= n;
        bytes.remove_prefix(static_cast<std::size_t>(n));
        continue;
      }
      field_ |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes.front())) << (8 * gathered_);
      bytes.remove_prefix(1);
      if (++gathered_ == field_size()) advance();
    }
  }

  bool complete() const noexcept { return state_ == State::kMagic && gathered_ == 0 && skip_ == 0; }

 private:
  enum class State { kMagic, kSkippableSize, kDescriptor, kBlockHeader };

  int field_size() const noexcept {
    switch (state_) {
      case State::kDescriptor:
        return 1;
      case State::kBlockHeader:
        return 3;
      default:
        return 4;
    }
  }

  void advance() {
    const std::uint32_t field = field_;
    field_ = 0;
    gathered_ = 0;
    switch (state_) {
      case State::kMagic:
        state_ = (field & 0xFFFFFFF0U) == 0x184D2A50U ? State::kSkippableSize : State::kDescriptor;
        return;
      case State::kSkippableSize:
        skip_ = field;
        state_ = State::kMagic;
        return;
      case State::kDescriptor:
        begin_frame(field);
        return;
      case State::kBlockHeader:
        begin_block(field);
        return;
    }
  }

  void begin_frame(std::uint32_t descriptor) {
    constexpr std::uint64_t kDictionaryBytes[] = {0, 1, 2, 4};
    constexpr std::uint64_t kContentSizeBytes[] = {0, 2, 4, 8};
    const bool single_segment = (descriptor & 0x20U) != 0;
    const std::uint32_t size_flag = descriptor >> 6;
    skip_ = kDictionaryBytes[descriptor & 3U] + kContentSizeBytes[size_flag];
    skip_ += single_segment ? (size_flag == 0 ? 1 : 0) : 1;  // a content size of one byte, or the window descriptor
    has_checksum_ = (descriptor & 4U) != 0;
    state_ = State::kBlockHeader;
  }

  void begin_block(std::uint32_t header) {
    const bool last = (header & 1U) != 0;
    const bool repeated_byte = ((header >> 1) & 3U) == 1;
    skip_ = repeated_byte ? 1 : header >> 3;
    if (!last) return;
    skip_ += has_checksum_ ? 4 : 0;
    state_ = State::kMagic;
  }

  State state_ = State::kMagic;
  std::uint32_t field_ = 0;
  int gathered_ = 0;
  std::uint64_t skip_ = 0;
  bool has_checksum_ = false;
};

}  // namespace dragoman::core
