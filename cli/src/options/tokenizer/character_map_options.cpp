#include "options/tokenizer/character_map_options.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <dragoman/core/file.h>
#include <dragoman/tokenizer/character_maps.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

constexpr std::uint64_t kLargestRulesFile = std::uint64_t{1} << 28;

}  // namespace

void CharacterMapOptions::add_rules_to(po::options_description& options) {
  options.add_options()("normalization-rule-tsv", po::value(&rules_)->value_name("FILE"),
                        "file with custom rules instead of --normalization; each line has hexadecimal code points, a "
                        "tab, and their replacement");
}

bool CharacterMapOptions::is_name(const std::string& word) {
  const std::vector<std::string_view> names = tokenizer::character_map_names();
  return std::ranges::find(names, word) != names.end();
}

void CharacterMapOptions::apply_to(tokenizer::SentencePieceNormalization& normalization) const {
  if (!rules_.empty()) {
    normalization.name = "user_defined";
    normalization.character_map =
        tokenizer::make_character_map_of_rules(core::read_file(rules_, kLargestRulesFile), rules_);
    return;
  }
  normalization.name = name_;
}

}  // namespace dragoman::cli
