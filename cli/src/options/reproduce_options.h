#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <boost/program_options.hpp>

#include <dragoman/tokenizer/reproduce.h>

namespace dragoman::cli {

/// --reproduce and the options that only another program's learner has.
class ReproduceOptions {
 public:
  void add_to(boost::program_options::options_description& options);
  /// Throws UsageError for an option that does not go with what --reproduce says. `all_bytes`: what
  /// ReproduceTokenizers::all_bytes says.
  tokenizer::Reproduce choice(bool all_bytes) const;

 private:
  tokenizer::ReproduceSubwordNmt subword_nmt() const;
  tokenizer::ReproduceTokenizers tokenizers() const;
  void refuse_subword_nmt_options() const;
  void refuse_tokenizers_options() const;

  std::string program_;
  std::optional<std::int32_t> merges_;
  bool total_symbols_ = false;
  std::string words_;
  bool add_prefix_space_ = false;
  std::optional<std::size_t> limit_alphabet_;
  std::size_t max_token_length_ = 0;
  std::string end_of_word_suffix_;
};

}  // namespace dragoman::cli
