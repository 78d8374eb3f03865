#include "vocab_size_option.h"

#include "command.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

constexpr std::string_view kPlace = "{size}";

std::optional<std::int32_t> whole_number(const std::string& text) {
  std::int32_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end && number > 0 ? std::optional(number) : std::nullopt;
}

}  // namespace

void VocabSizeOption::add_to(po::options_description& options) {
  options.add_options()("vocab-size",
                        po::value(&values_)->multitoken()->default_value({"32000"}, "32000")->value_name("N..."),
                        "number of pieces in all; several give as many files, each as if learned alone");
}

std::vector<std::int32_t> VocabSizeOption::sizes(std::vector<std::string>& inputs, const std::string& output) const {
  std::vector<std::int32_t> sizes;
  for (const std::string& value : values_) {
    const auto size = whole_number(value);
    if (!size && sizes.empty()) throw UsageError("--vocab-size " + value + ": must be a whole number above 0");
    if (size)
      sizes.push_back(*size);
    else
      inputs.push_back(value);
  }
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  if (sizes.size() > 1 && output.find(kPlace) == std::string::npos)
    throw UsageError(
        fmt::format("--output {}: {} vocabulary sizes need a file each; put {{size}} into the name, as in "
                    "vocab-{{size}}.json",
                    output, sizes.size()));
  return sizes;
}

std::string path_for_size(const std::string& pattern, std::int32_t size) {
  const std::size_t place = pattern.find(kPlace);
  return place == std::string::npos ? pattern
                                    : std::string(pattern).replace(place, kPlace.size(), std::to_string(size));
}

}  // namespace dragoman::cli
