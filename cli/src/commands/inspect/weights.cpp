#include "inspector.h"

#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/append_member.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>
#include <dragoman/formats/safetensors.h>

namespace dragoman::cli {
namespace {

std::string table_of(const formats::SafetensorsFile& file) {
  constexpr std::size_t kLongestName = 200;
  constexpr std::size_t kLongestShape = 60;
  std::string table = fmt::format("\n  {:<8} {:<16} {:>12}  name\n", "type", "shape", "bytes");
  for (const auto& stored : file.tensors())
    table += fmt::format("  {:<8} {:<16} {:>12}  {}\n", stored.type,
                         core::printable(formats::describe_shape(stored.shape), kLongestShape), stored.bytes,
                         core::printable(stored.name, kLongestName));
  return table;
}

core::Json list_of(const formats::SafetensorsFile& file) {
  core::Json list = core::Json::array();
  for (const auto& stored : file.tensors())
    list.push_back({{"name", stored.name}, {"type", stored.type}, {"shape", stored.shape}, {"bytes", stored.bytes}});
  return list;
}

}  // namespace

/// Recognises the name, so that a damaged file is reported as such, or the content: a JSON object after a length below
/// 2^32.
bool is_safetensors(const std::filesystem::path& path) {
  if (path.extension() == ".safetensors") return std::filesystem::is_regular_file(path);
  const std::string head = first_bytes(path, 9);
  return head.size() == 9 && head.substr(4) == std::string("\0\0\0\0{", 5);
}

Report describe_weights(const std::filesystem::path& path, const InspectOptions& options) {
  const auto file = formats::SafetensorsFile::open(path);
  std::set<std::string> types;
  std::int64_t parameters = 0;
  for (const auto& stored : file.tensors()) {
    types.insert(stored.type);
    parameters += stored.size;
  }
  const std::uintmax_t bytes = std::filesystem::file_size(path);
  Report report;
  report.add("parameters", parameters,
             fmt::format("{} in {} tensors, {}", parameters, file.tensors().size(), fmt::join(types, ", ")));
  report.add_value("tensor_count", file.tensors().size());
  report.add_value("types", types);
  report.add_value("bytes", bytes);
  report.add_row("weights", fmt::format("{} bytes ({:.1f} MB)", bytes, static_cast<double>(bytes) / 1e6));
  core::Json metadata = core::Json::object();
  for (const auto& [key, value] : file.metadata()) {
    report.add_row("metadata", fmt::format("{} = {}", key, value));
    core::append_member(metadata, key, value);
  }
  report.add_value("metadata", std::move(metadata));
  if (options.tensors) {
    report.add_value("tensors", list_of(file));
    report.add_table(table_of(file));
  }
  return report;
}

}  // namespace dragoman::cli
