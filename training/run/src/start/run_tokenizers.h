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

/// The tokenizer of a run: read once, and kept as the content that is copied into the run's folder and exported.
struct RunTokenizer {
  std::shared_ptr<const tokenizer::Tokenizer> tokenizer;
  /// The specification of `tokenizer`, with the content of its file: a tokenizer.json, or a file of another kind.
  tokenizer::TokenizerSpec spec;
  /// The fingerprint, at the beginning of the run, of the file that the configuration names: 16 hexadecimal digits, as
  /// in Corpus::fingerprint().
  std::string fingerprint;
};

struct RunTokenizers {
  RunTokenizer source;
  RunTokenizer target;  ///< the same object as `source` if the vocabulary is joint

  bool joint() const noexcept { return source.tokenizer == target.tokenizer; }
  TokenizerPair pair() const { return {source.tokenizer, target.tokenizer}; }
  /// Return the names of the copies in the run's folder, and of the files in an exported model.
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
  /// Provides the registered kinds.
  const TrainerEnvironment* environment = nullptr;
  /// Whether a run may be continued with other tokenizers.
  bool fork = false;
  /// Whether an intact copy in the run's folder is used without reading the file that the configuration names. The run
  /// cannot be forked then.
  bool copies = false;
  /// Ends the wait for a pipe.
  std::stop_token stop = {};
};

/// Returns the tokenizers that the configuration names or, for a continued run, their copies in its folder. A file
/// without a named kind becomes a tokenizer.json; Error{kUnsupported} if that cannot express it.
///
/// For a continued run, the named file must be unchanged or missing; otherwise Error{kBadInput}, or with `fork` the new
/// file is used. A damaged or missing copy is made again from the named file if that is unchanged, with a warning.
RunTokenizers load_tokenizers(const DataConfig& config, const TokenizerOptions& options);

/// Writes the copies.
void write_tokenizers(const RunTokenizers& tokenizers, const RunFolder& folder);

}  // namespace dragoman::training
