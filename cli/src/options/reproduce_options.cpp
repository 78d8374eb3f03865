#include "options/reproduce_options.h"

#include "options/number_option.h"
#include "program/command.h"

#include <string_view>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;
using Words = tokenizer::ReproduceTokenizers::Words;

void refuse(bool is_given, std::string_view option, std::string_view program) {
  if (is_given) throw UsageError(std::string(option) + " is an option of --reproduce " + std::string(program));
}

Words words_of(const std::string& name) {
  if (name.empty() || name == "metaspace") return Words::kMetaspace;
  if (name == "spaces") return Words::kSpaces;
  if (name == "whitespace") return Words::kWhiteSpace;
  if (name == "byte-level") return Words::kByteLevel;
  throw UsageError("--words " + name + ": must be metaspace, spaces, whitespace or byte-level");
}

}  // namespace

void ReproduceOptions::add_to(po::options_description& options) {
  options.add_options()  //
      ("reproduce", po::value(&program_)->value_name("PROGRAM"),
       "learn what another program learns, merge for merge: subword-nmt or tokenizers. The options below belong to "
       "it")  //
      ("merges", whole_number("--merges", merges_, std::int32_t{0})->value_name("N"),
       "subword-nmt: number of merges, its --symbols (default: 10000)")  //
      ("total-symbols", po::bool_switch(&total_symbols_),
       "subword-nmt: take the number of characters off the merges")  //
      ("words", po::value(&words_)->value_name("KIND"),
       "tokenizers: how it cuts words, metaspace (the default), spaces, whitespace or byte-level")  //
      ("add-prefix-space", po::bool_switch(&add_prefix_space_),
       "tokenizers, byte-level: put a space in front of each line")  //
      ("limit-alphabet", whole_number("--limit-alphabet", limit_alphabet_, std::size_t{0})->value_name("N"),
       "tokenizers: keep so many characters, the most frequent ones")  //
      ("max-token-length",
       whole_number("--max-token-length", max_token_length_, std::size_t{0})->default_value("0")->value_name("N"),
       "tokenizers: its limit for the characters of a piece; 0: none")  //
      ("end-of-word-suffix", po::value(&end_of_word_suffix_)->value_name("SUFFIX"),
       "tokenizers, spaces or whitespace: what the last piece of a word ends in, as </w>");
}

tokenizer::Reproduce ReproduceOptions::choice(bool all_bytes) const {
  if (program_ == "subword-nmt") return subword_nmt();
  if (program_ == "tokenizers") {
    tokenizer::ReproduceTokenizers chosen = tokenizers();
    chosen.all_bytes = all_bytes;
    return chosen;
  }
  if (!program_.empty()) throw UsageError("--reproduce " + program_ + ": must be subword-nmt or tokenizers");
  refuse_subword_nmt_options();
  refuse_tokenizers_options();
  return {};
}

tokenizer::ReproduceSubwordNmt ReproduceOptions::subword_nmt() const {
  refuse_tokenizers_options();
  tokenizer::ReproduceSubwordNmt chosen;
  if (merges_) chosen.merges = *merges_;
  chosen.total_symbols = total_symbols_;
  return chosen;
}

tokenizer::ReproduceTokenizers ReproduceOptions::tokenizers() const {
  refuse_subword_nmt_options();
  tokenizer::ReproduceTokenizers chosen;
  chosen.words = words_of(words_);
  if (add_prefix_space_ && chosen.words != Words::kByteLevel)
    throw UsageError("--add-prefix-space goes with --words byte-level");
  chosen.add_prefix_space = add_prefix_space_;
  if (limit_alphabet_) chosen.limit_alphabet = *limit_alphabet_;
  chosen.max_token_length = max_token_length_;
  chosen.end_of_word_suffix = end_of_word_suffix_;
  return chosen;
}

void ReproduceOptions::refuse_subword_nmt_options() const {
  refuse(merges_.has_value(), "--merges", "subword-nmt");
  refuse(total_symbols_, "--total-symbols", "subword-nmt");
}

void ReproduceOptions::refuse_tokenizers_options() const {
  refuse(!words_.empty(), "--words", "tokenizers");
  refuse(add_prefix_space_, "--add-prefix-space", "tokenizers");
  refuse(limit_alphabet_.has_value(), "--limit-alphabet", "tokenizers");
  refuse(max_token_length_ > 0, "--max-token-length", "tokenizers");
  refuse(!end_of_word_suffix_.empty(), "--end-of-word-suffix", "tokenizers");
}

}  // namespace dragoman::cli
