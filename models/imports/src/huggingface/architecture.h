#pragma once

#include "huggingface/folder.h"

#include <string>
#include <vector>

#include <dragoman/nn/parameters.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/transformer/config.h>

namespace dragoman::imports {

/// What config.json of a folder says, and the weights that go with it.
struct HuggingFaceArchitecture {
  enum class Family : std::uint8_t { kMarian, kPegasus, kBart, kMBart, kM2M100 };
  Family family = Family::kMarian;
  transformer::Config model;
  /// Without `unknown`, which the tokenizer knows.
  nn::SequenceSpec sequences;
  std::int32_t padding = 0;
  bool separate_embeddings = false;  ///< encoder and decoder have a table each
  bool separate_output = false;      ///< the output matrix is no table
};

/// The values of model_type that read_architecture() and read_t5() know.
std::vector<const char*> huggingface_model_types();

/// Error{kBadInput} for a config.json that makes no sense; Error{kUnsupported} that names the key for one of a model
/// that the Transformer here cannot be. `weights` say whether there is a bias on the logits: one that is all zero is
/// none.
HuggingFaceArchitecture read_architecture(const HuggingFaceFolder& folder, const ForeignTensors& weights);

/// Where a parameter's values come from.
struct ForeignRows {
  std::vector<std::string> names;
  /// They are copies of one tensor, of which a file may have any; else the parameter has the rows of all, one behind
  /// the other.
  bool any = false;
};
ForeignRows foreign_rows(const nn::Parameter& parameter, const HuggingFaceArchitecture& architecture);

/// Marks what files hold beside the parameters: copies of tied tables, and tables of sinusoids, which are compared with
/// those that are computed.
void leave_what_is_known(ForeignTensors& weights, const HuggingFaceArchitecture& architecture);

}  // namespace dragoman::imports
