#include "dragoman/formats/npy.h"

#include <bit>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>

namespace dragoman::formats {

static_assert(std::endian::native == std::endian::little);

void write_npy(const std::filesystem::path& path, std::span<const std::int64_t> shape, std::span<const float> values) {
  std::int64_t count = 1;
  for (const std::int64_t dimension : shape) count *= dimension;
  core::require(count == static_cast<std::int64_t>(values.size()), core::ErrorCode::kInvalidArgument,
                "{}: {} values for an array of {}", path.string(), values.size(), count);
  // As NumPy writes it: a tuple of one element has a comma, and the data begin at a multiple of 64.
  std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}{}), }}",
                                   fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);
  constexpr std::size_t kAlignment = 64;
  const std::size_t before = kMagic.size() + 2;
  header.append((kAlignment - (before + header.size() + 1) % kAlignment) % kAlignment, ' ');
  header += '\n';
  core::OutputFile file(path, {.partial = core::PartialPolicy::kTemporary});
  file.write(kMagic);
  const auto length = static_cast<std::uint16_t>(header.size());
  file.write({reinterpret_cast<const char*>(&length), sizeof(length)});
  file.write(header);
  file.write({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  file.commit();
}

}  // namespace dragoman::formats
