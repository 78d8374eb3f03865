#include "marian/npz_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dragoman::imports {
namespace {

std::string npy_header(std::string_view type, std::span<const std::int64_t> shape) {
  constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);
  constexpr std::size_t kAlignment = 64;
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", type,
                                   fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const std::size_t before = kMagic.size() + 2;
  header.append((kAlignment - (before + header.size() + 1) % kAlignment) % kAlignment, ' ');
  header += '\n';
  const auto size = static_cast<std::uint16_t>(header.size());
  return std::string(kMagic).append(reinterpret_cast<const char*>(&size), sizeof size) + header;
}

}  // namespace

void NpzWriter::put(const std::string& name, std::string_view type, std::span<const std::int64_t> shape,
                    std::string_view values) {
  archive_.add(name + ".npy", {npy_header(type, shape), values});
}

void NpzWriter::add(const std::string& name, std::span<const std::int64_t> shape, std::span<const float> values) {
  put(name, "<f4", shape, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

void NpzWriter::add_text(const std::string& name, const std::string& text) {
  const std::int64_t size = static_cast<std::int64_t>(text.size()) + 1;
  put(name, "|i1", std::span(&size, 1), {text.c_str(), text.size() + 1});
}

}  // namespace dragoman::imports
