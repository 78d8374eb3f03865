#pragma once

#include <filesystem>
#include <string>

#include <boost/program_options.hpp>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::cli {

/// --normalization-rule-tsv FILE, as in spm_train, in place of a named normalisation of SentencePiece.
class CharacterMapOptions {
 public:
  void add_rules_to(boost::program_options::options_description& options);
  /// Sets the name and, for rules of a file, the map. Throws Error{kIo, kBadInput} for a file.
  void apply_to(tokenizer::SentencePieceNormalization& normalization) const;
  /// Returns whether a word is the name of a character map.
  static bool is_name(const std::string& word);
  /// Names the normalisation without a file of rules; one for which is_name() holds.
  void choose(const std::string& name) { name_ = name; }
  const std::string& rules_file() const noexcept { return rules_; }

 private:
  std::string name_;
  std::string rules_;
};

}  // namespace dragoman::cli
