#include "safetensors_header.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dragoman/core/error.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/tracked_iterator.h>

namespace dragoman::formats {
namespace {

using core::ErrorCode;
using core::quote;
using core::TrackedIterator;
using tensor::DType;
using Sizes = std::vector<std::uint64_t>;

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian and are used in place");

constexpr std::uint64_t kLengthBytes = 8;

struct ElementType {
  std::string_view name;
  unsigned bits;
  std::optional<DType> dtype;
};

/// All types of the reference implementation, version 0.8.
constexpr std::array<ElementType, 22> kTypes{{{"F32", 32, DType::kF32},
                                              {"F16", 16, DType::kF16},
                                              {"BF16", 16, DType::kBF16},
                                              {"F64", 64, DType::kF64},
                                              {"I8", 8, DType::kI8},
                                              {"I32", 32, DType::kI32},
                                              {"I64", 64, {}},
                                              {"U64", 64, {}},
                                              {"C64", 64, {}},
                                              {"U32", 32, {}},
                                              {"I16", 16, {}},
                                              {"U16", 16, {}},
                                              {"U8", 8, {}},
                                              {"BOOL", 8, {}},
                                              {"F8_E5M2", 8, {}},
                                              {"F8_E4M3", 8, {}},
                                              {"F8_E8M0", 8, {}},
                                              {"F8_E4M3FNUZ", 8, {}},
                                              {"F8_E5M2FNUZ", 8, {}},
                                              {"F6_E2M3", 6, {}},
                                              {"F6_E3M2", 6, {}},
                                              {"F4", 4, {}}}};

const ElementType* find_type(std::string_view name) {
  const auto* found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const ElementType& type) { return type.name == name; });
  return found == kTypes.end() ? nullptr : found;
}

/// Reads the header from the parser's events instead of a tree, since a hostile header of 100 MB would become a tree of
/// gigabytes. A handler that returns false ends the parse; `reason()` then gives the cause.
class HeaderReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(std::uint64_t data_begin, std::uint64_t data_bytes)
      : data_begin_(data_begin), data_bytes_(data_bytes) {}

  const std::string& reason() const { return reason_; }
  std::optional<std::uint64_t> syntax_error_at() const { return syntax_error_at_; }
  SafetensorsHeader take() { return std::move(header_); }

  bool start_object(std::size_t) override {
    if (depth_ == kEntry || depth_ == kList) return refuse("an object where a value belongs");
    if (depth_ == kTop) begin_entry();
    ++depth_;
    return true;
  }

  bool key(std::string& name) override {
    if (depth_ == kTop) {
      entry_ = std::move(name);
      return names_.insert(entry_).second || refuse(fmt::format("the tensor {} is listed twice", quote(entry_)));
    }
    field_ = std::move(name);
    return true;
  }

  bool string(std::string& value) override {
    if (depth_ == kEntry && in_metadata())
      return header_.metadata.emplace(field_, std::move(value)).second ||
             refuse(fmt::format("the metadata key {} is given twice", quote(field_)));
    if (depth_ != kEntry || field_ != "dtype") return refuse_value("a text");
    if (type_) return refuse_repeated();
    type_ = std::move(value);
    return true;
  }

  bool start_array(std::size_t) override {
    if (depth_ != kEntry || in_metadata() || (field_ != "shape" && field_ != "data_offsets"))
      return refuse_value("a list");
    std::optional<Sizes>& list = field_ == "shape" ? shape_ : offsets_;
    if (list) return refuse_repeated();
    list_ = &list.emplace();
    ++depth_;
    return true;
  }

  bool number_unsigned(std::uint64_t value) override {
    if (depth_ != kList) return refuse_value("a number");
    list_->push_back(value);
    return true;
  }

  bool end_array() override {
    --depth_;
    return true;
  }

  bool end_object() override {
    --depth_;
    return depth_ != kTop || in_metadata() || finish_entry();
  }

  // The reference implementation reads `"__metadata__": null` as no metadata.
  bool null() override { return (depth_ == kTop && in_metadata()) || refuse_value("null"); }
  bool boolean(bool) override { return refuse_value("true or false"); }
  bool number_integer(std::int64_t) override { return refuse_value("a negative number"); }
  bool number_float(double, const std::string&) override {
    return refuse_value("a number that is not a whole number below 2^64");
  }
  bool binary(binary_t&) override { return refuse_value("bytes"); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) override {
    syntax_error_at_ = position == 0 ? 0 : position - 1;
    return refuse(core::syntax_problem(error));
  }

 private:
  static constexpr int kTop = 1;
  static constexpr int kEntry = 2;
  static constexpr int kList = 3;

  bool in_metadata() const { return entry_ == "__metadata__"; }

  bool refuse(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }

  bool refuse_value(std::string_view what) {
    if (depth_ < kTop) return refuse(fmt::format("the header is {}, not an object", what));
    if (depth_ == kTop) return refuse(fmt::format("{} is {}, not an object", quote(entry_), what));
    return refuse(fmt::format("{} has {} in {}", quote(entry_), what, quote(field_)));
  }

  bool refuse_repeated() { return refuse(fmt::format("{} gives {} twice", quote(entry_), quote(field_))); }

  void begin_entry() {
    type_.reset();
    shape_.reset();
    offsets_.reset();
  }

  bool finish_entry() {
    if (!type_ || !shape_ || !offsets_)
      return refuse(fmt::format("the tensor {} has no {}", quote(entry_),
                                !type_    ? "dtype"
                                : !shape_ ? "shape"
                                          : "data_offsets"));
    const ElementType* type = find_type(*type_);
    if (type == nullptr)
      return refuse(fmt::format("the tensor {} has the unknown dtype {}", quote(entry_), quote(*type_)));
    if (offsets_->size() != 2 || (*offsets_)[0] > (*offsets_)[1] || (*offsets_)[1] > data_bytes_)
      return refuse(
          fmt::format("the tensor {} has the data_offsets [{}]; they must be begin and end within the {} bytes of data",
                      quote(entry_), fmt::join(first_few(*offsets_), ", "), data_bytes_));
    return add_tensor(*type, (*offsets_)[0], (*offsets_)[1]);
  }

  bool add_tensor(const ElementType& type, std::uint64_t begin, std::uint64_t end) {
    StoredTensor stored;
    std::uint64_t size = 1;
    bool fits = true;
    for (const std::uint64_t dimension : *shape_) {
      fits = fits && dimension <= std::numeric_limits<std::int64_t>::max() &&
             !__builtin_mul_overflow(size, dimension, &size);
      stored.shape.push_back(static_cast<std::int64_t>(dimension));
    }
    std::uint64_t bits = 0;
    fits = fits && !__builtin_mul_overflow(size, std::uint64_t{type.bits}, &bits);
    if (!fits || bits % 8 != 0 || bits / 8 != end - begin)
      return refuse(fmt::format("the tensor {} has {} bytes of data, which is not what [{}] elements of type {} need",
                                quote(entry_), end - begin, fmt::join(first_few(*shape_), ", "), type.name));
    stored.name = entry_;
    stored.type = type.name;
    stored.dtype = type.dtype;
    stored.size = static_cast<std::int64_t>(size);
    stored.offset = data_begin_ + begin;
    stored.bytes = end - begin;
    header_.tensors.push_back(std::move(stored));
    return true;
  }

  static std::span<const std::uint64_t> first_few(const Sizes& sizes) {
    return std::span(sizes).first(std::min<std::size_t>(sizes.size(), 8));
  }

  std::uint64_t data_begin_;
  std::uint64_t data_bytes_;
  SafetensorsHeader header_;
  core::TextSet names_;
  std::string reason_;
  std::optional<std::uint64_t> syntax_error_at_;
  int depth_ = 0;
  std::string entry_;
  std::string field_;
  std::optional<std::string> type_;
  std::optional<Sizes> shape_;
  std::optional<Sizes> offsets_;
  Sizes* list_ = nullptr;
};

[[noreturn]] void malformed(const std::string& name, std::uint64_t offset, std::string_view reason) {
  core::fail(ErrorCode::kBadInput, "{}: byte {}: {}", name, offset, reason);
}

std::uint64_t header_length(std::span<const std::byte> file, const std::string& name) {
  if (file.size() < kLengthBytes)
    malformed(name, file.size(),
              "the file ends within the header's length; it is truncated, or not a safetensors file");
  constexpr std::string_view kElf = "\177ELF";
  if (std::memcmp(file.data(), kElf.data(), kElf.size()) == 0)
    malformed(name, 0, "this is an ELF shared library or program, not weights");
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), kLengthBytes);
  if (length > kLongestHeader)
    malformed(name, 0,
              fmt::format("the header's length is {}, above the limit of {}; this is not a safetensors file", length,
                          kLongestHeader));
  if (length > file.size() - kLengthBytes)
    malformed(name, file.size(), fmt::format("the file ends within its header of {} bytes; it is truncated", length));
  return length;
}

/// The tensors must fill the data area without overlaps or gaps, so that every byte of the file has exactly one
/// meaning.
void check_coverage(const std::vector<StoredTensor>& tensors, std::uint64_t data_begin, std::uint64_t file_size,
                    const std::string& name) {
  std::uint64_t end = data_begin;
  for (const StoredTensor& stored : tensors) {
    if (stored.offset != end)
      malformed(name, stored.offset,
                fmt::format("the tensor {} {} byte {}", quote(stored.name),
                            stored.offset < end ? "overlaps another, which ends at"
                                                : "leaves a hole behind the data that end at",
                            end));
    end += stored.bytes;
  }
  if (end != file_size) malformed(name, end, fmt::format("{} bytes at the end belong to no tensor", file_size - end));
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::span<const std::byte> file, const std::string& name) {
  const std::uint64_t length = header_length(file, name);
  const std::uint64_t data_begin = kLengthBytes + length;
  const auto* text = reinterpret_cast<const char*>(file.data()) + kLengthBytes;
  // The parser would treat a NUL between tokens as the end of the text and ignore the rest.
  if (const void* nul = std::memchr(text, 0, length))
    malformed(name, kLengthBytes + static_cast<std::uint64_t>(static_cast<const char*>(nul) - text),
              "a NUL byte in the header");

  const char* furthest = text;
  HeaderReader reader(data_begin, file.size() - data_begin);
  const bool complete =
      nlohmann::json::sax_parse(TrackedIterator(text, furthest), TrackedIterator(text + length, furthest), &reader);
  if (!complete) {
    const std::uint64_t last_read = furthest == text ? 0 : static_cast<std::uint64_t>(furthest - text) - 1;
    malformed(name, kLengthBytes + reader.syntax_error_at().value_or(last_read), reader.reason());
  }

  SafetensorsHeader header = reader.take();
  std::stable_sort(header.tensors.begin(), header.tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.bytes < b.bytes;
  });
  check_coverage(header.tensors, data_begin, file.size(), name);
  return header;
}

}  // namespace dragoman::formats
