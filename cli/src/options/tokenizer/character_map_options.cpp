#include "options/tokenizer/character_map_options.h"

#include "program/command.h"

#include <algorithm>
#include <array>

#include <dragoman/core/file.h>
#include <dragoman/tokenizer/character_maps.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

constexpr std::array<std::string_view, 5> kMapNames = {"nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"};
constexpr std::uint64_t kLargestRulesFile = std::uint64_t{1} << 28;

}  // namespace

void CharacterMapOptions::add_to(po::options_description& options, const std::string& usual_name) {
  options.add_options()(
      "normalization", po::value(&name_)->default_value(usual_name)->value_name("NAME"),
      "normalisation of SentencePiece: nmt_nfkc, nfkc, nmt_nfkc_cf, nfkc_cf (_cf: lower case) or identity");
  add_rules_to(options);
}

void CharacterMapOptions::add_rules_to(po::options_description& options) {
  options.add_options()("normalization-rule-tsv", po::value(&rules_)->value_name("FILE"),
                        "file with custom rules instead of --normalization; each line has hexadecimal code points, a "
                        "tab, and their replacement");
}

bool CharacterMapOptions::is_name(const std::string& word) {
  return std::ranges::find(kMapNames, word) != kMapNames.end();
}

void CharacterMapOptions::apply_to(tokenizer::SentencePieceNormalization& normalization) const {
  if (!rules_.empty()) {
    normalization.name = "user_defined";
    normalization.character_map =
        tokenizer::make_character_map_of_rules(core::read_file(rules_, kLargestRulesFile), rules_);
    return;
  }
  if (!is_name(name_))
    throw UsageError("--normalization " + name_ + ": must be nmt_nfkc, nfkc, nmt_nfkc_cf, nfkc_cf or identity");
  normalization.name = name_;
  normalization.character_map = tokenizer::make_character_map(name_);
}

}  // namespace dragoman::cli
