#include "options/tokenizer/vocab_size_option.h"

#include "options/number_option.h"
#include "program/command.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include <dragoman/tokenizer/learn_bpe_options.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

constexpr std::string_view kPlace = "{size}";
constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();

}  // namespace

void VocabSizeOption::add_to(po::options_description& options) {
  const std::string usual = std::to_string(tokenizer::LearnOptions().vocab_size);
  options.add_options()("vocab-size",
                        po::value(&values_)->multitoken()->default_value({usual}, usual)->value_name("N..."),
                        "total number of pieces; several sizes give one file each, equal to a file learned alone");
}

std::vector<std::int32_t> VocabSizeOption::sizes(std::vector<std::string>& inputs, const std::string& output) const {
  std::vector<std::int32_t> sizes;
  for (const std::string& value : values_) {
    const bool is_file = !sizes.empty() && !core::spelled_number<std::int64_t>(value);
    if (is_file)
      inputs.push_back(value);
    else
      sizes.push_back(parse_whole_number<std::int32_t>("--vocab-size", value, 1, kMax));
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
