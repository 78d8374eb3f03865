#include "dragoman/pipeline/line_policy.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/utf8.h>

namespace dragoman::pipeline {
namespace {

void mention(std::vector<std::string>& parts, std::uint64_t count, std::string_view one, std::string_view many) {
  if (count > 0) parts.push_back(fmt::format("{} {}", count, count == 1 ? one : many));
}

}  // namespace

std::string describe(const LineCounts& counts) {
  std::vector<std::string> parts;
  mention(parts, counts.with_invalid_utf8, "line held invalid UTF-8 (replaced by U+FFFD)",
          "lines held invalid UTF-8 (replaced by U+FFFD)");
  mention(parts, counts.byte_order_marks, "byte order mark at the start of a file was left out",
          "byte order marks at the starts of files were left out");
  mention(parts, counts.split_for_length, "line was too long for the model and was split",
          "lines were too long for the model and were split");
  mention(parts, counts.with_unknown_pieces, "line held pieces that the model's vocabulary lacks (read as unknown)",
          "lines held pieces that the model's vocabulary lacks (read as unknown)");
  mention(parts, counts.translations_cut, "translation was cut at the length limit",
          "translations were cut at the length limit");
  mention(parts, counts.translations_lacking_terms, "translation lacks terms that it must hold",
          "translations lack terms that they must hold");
  mention(parts, counts.failed, "line failed and is empty in the output", "lines failed and are empty in the output");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::size_t clean_line(std::string& line) {
  if (line.ends_with('\r')) line.pop_back();
  return core::replace_invalid_utf8(line);
}

}  // namespace dragoman::pipeline
