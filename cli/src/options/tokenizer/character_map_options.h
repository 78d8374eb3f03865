#pragma once

#include <filesystem>
#include <string>

#include <boost/program_options.hpp>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::cli {

/// --normalization NAME and --normalization-rule-tsv FILE, as in spm_train.
class CharacterMapOptions {
 public:
  void add_to(boost::program_options::options_description& options, const std::string& usual_name);
  /// Adds only --normalization-rule-tsv, if another option provides the normalisation.
  void add_rules_to(boost::program_options::options_description& options);
  /// Sets the name and the map. Throws UsageError for an unknown name, and Error{kIo, kBadInput} for a file.
  void apply_to(tokenizer::SentencePieceNormalization& normalization) const;
  /// Returns whether a word is the name of a character map.
  static bool is_name(const std::string& word);
  void choose(const std::string& name) { name_ = name; }
  const std::string& rules_file() const noexcept { return rules_; }

 private:
  std::string name_;
  std::string rules_;
};

}  // namespace dragoman::cli
