#include "marian/npy_header.h"

#include <string_view>

#include <fmt/format.h>

#include <dragoman/core/error.h>

namespace dragoman::imports {
namespace {

/// The dictionary of Python literals.
class HeaderText {
 public:
  HeaderText(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  void check(bool holds, std::string_view complaint) const {
    if (!holds)
      core::fail(core::ErrorCode::kBadInput, "{}: {} in the header of an array of NumPy; get the file again", name_,
                 complaint);
  }
  std::string_view after(std::string_view key) const {
    const std::size_t found = text_.find(key);
    check(found != std::string_view::npos, fmt::format("there is no {}", key));
    const std::string_view rest = text_.substr(found + key.size());
    const std::size_t begin = rest.find_first_not_of(": ");
    check(begin != std::string_view::npos, fmt::format("{} has no value", key));
    return rest.substr(begin);
  }
  std::string type() const {
    const std::string_view value = after("'descr'");
    const std::size_t end = value.find('\'', 1);
    check(value.starts_with('\'') && end != std::string_view::npos, "'descr' is no simple type");
    return std::string(value.substr(1, end - 1));
  }
  std::vector<std::int64_t> shape() const {
    constexpr std::int64_t kMax = std::int64_t{1} << 40;
    const std::string_view value = after("'shape'");
    const std::size_t end = value.find(')');
    check(value.starts_with('(') && end != std::string_view::npos, "'shape' is no tuple");
    std::vector<std::int64_t> shape;
    std::int64_t count = 1;
    bool within = false;
    for (const char c : value.substr(1, end)) {
      const bool digit = c >= '0' && c <= '9';
      check(digit || c == ',' || c == ' ' || c == ')', "'shape' holds what is no number");
      if (digit) {
        if (!within) shape.push_back(0);
        shape.back() = 10 * shape.back() + (c - '0');
        check(shape.back() <= kMax, "'shape' is larger than any file");
      } else if (within) {
        check(shape.back() == 0 || count <= kMax / shape.back(), "'shape' is larger than any file");
        count *= shape.back();
      }
      within = digit;
    }
    return shape;
  }

 private:
  std::string_view text_;
  const std::string& name_;
};

}  // namespace

NpyHeader read_npy_header(std::span<const std::byte> beginning, const std::string& name) {
  constexpr std::string_view kMagic("\x93NUMPY", 6);
  const std::string_view bytes(reinterpret_cast<const char*>(beginning.data()), beginning.size());
  const HeaderText whole({}, name);
  whole.check(bytes.starts_with(kMagic) && bytes.size() >= 12, "there is no magic number");
  const auto version = static_cast<unsigned char>(bytes[kMagic.size()]);
  whole.check(version >= 1 && version <= 3, "there is an unknown version");
  const std::size_t width = version == 1 ? 2 : 4;
  const std::size_t begin = kMagic.size() + 2 + width;
  std::size_t length = 0;
  for (std::size_t i = width; i > 0; --i)
    length = length << 8U | static_cast<unsigned char>(bytes[kMagic.size() + 1 + i]);
  whole.check(length <= bytes.size() - begin, "there is no end");
  const HeaderText text(bytes.substr(begin, length), name);
  return {.type = text.type(),
          .column_major = text.after("'fortran_order'").starts_with("True"),
          .shape = text.shape(),
          .size = begin + length};
}

}  // namespace dragoman::imports
