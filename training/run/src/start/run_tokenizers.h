#pragma once

#include "start/run_folder.h"

#include <memory>
#include <stop_token>
#include <string>

#include <dragoman/formats/model_folder.h>
#include <dragoman/training/config.h>
#include <dragoman/training/corpus.h>
#include <dragoman/training/trainer.h>

namespace dragoman::training {

/// A tokenizer as a run uses it: read once, and kept as the content that is copied into the run's folder and exported.
struct RunTokenizer {
  std::shared_ptr<const tokenizer::Tokenizer> tokenizer;
  /// The specification of `tokenizer`, with the content of its file: a tokenizer.json, or a file of another kind.
  tokenizer::TokenizerSpec spec;
  /// The fingerprint of the file that the configuration names, at the beginning of the run: 16 hexadecimal digits, as
  /// Corpus::fingerprint().
  std::string fingerprint;
};

struct RunTokenizers {
  RunTokenizer source;
  RunTokenizer target;  ///< the same as `source`, the object included, if the vocabulary is joint

  bool joint() const noexcept { return source.tokenizer == target.tokenizer; }
  TokenizerPair pair() const { return {source.tokenizer, target.tokenizer}; }
  /// The names of their copies in the run's folder, and of the files of an exported model.
  const char* source_name() const noexcept {
    return formats::tokenizer_file_name(joint() ? formats::TokenizerSide::kJoint : formats::TokenizerSide::kSource,
                                        source.spec);
  }
  const char* target_name() const noexcept {
    return formats::tokenizer_file_name(joint() ? formats::TokenizerSide::kJoint : formats::TokenizerSide::kTarget,
                                        target.spec);
  }
};

struct TokenizerOptions {
  const RunFolder* folder = nullptr;
  /// Knows the registered kinds.
  const TrainerEnvironment* environment = nullptr;
  /// Whether a run that goes on may do so with other tokenizers.
  bool fork = false;
  /// Whether a whole copy in the run's folder is read without a look at the file that the configuration names. The run
  /// cannot be forked then.
  bool copies = false;
  /// Ends the wait for a pipe.
  std::stop_token stop = {};
};

/// The tokenizers that the configuration names, or, of a run that goes on, their copies in its folder. A file whose
/// kind is not named becomes a tokenizer.json; Error{kUnsupported} if that cannot express it.
///
/// To go on, the named file must be what the run began with, or be gone; Error{kBadInput} otherwise, unless `fork`,
/// which then takes the new one. A copy that is damaged or lost is made again from the named file if that is still the
/// same, with a warning.
RunTokenizers load_tokenizers(const DataConfig& config, const TokenizerOptions& options);

/// Writes the copies.
void write_tokenizers(const RunTokenizers& tokenizers, const RunFolder& folder);

}  // namespace dragoman::training
