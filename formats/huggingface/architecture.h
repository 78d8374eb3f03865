#pragma once

#include "huggingface/folder.h"
#include "weights/tied_tables.h"

#include <string>
#include <vector>

#include <dragoman/nn/parameters.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/transformer/config.h>

namespace dragoman::imports {

/// The contents of a folder's config.json, and the tables of the weights that belong to it.
struct HuggingFaceArchitecture {
  enum class Family : std::uint8_t { kMarian, kPegasus, kBart, kMBart, kM2M100 };
  Family family = Family::kMarian;
  transformer::Config model;
  /// Without `unknown`, which comes from the tokenizer.
  nn::SequenceSpec sequences;
  std::int32_t padding = 0;
  TableTensors tables;
};

/// Returns the values of model_type that read_architecture() and read_t5() support.
std::vector<const char*> huggingface_model_types();

/// Reads config.json. `weights` show whether the logits have a bias; a bias of zeros counts as none. Throws
/// Error{kBadInput} for an inconsistent config.json, and Error{kUnsupported} that names the key for a model that
/// Dragoman's Transformer cannot represent.
HuggingFaceArchitecture read_architecture(const HuggingFaceFolder& folder, const ForeignTensors& weights);

/// Returns the tensors that contain the rows of a parameter, in this order.
std::vector<std::string> foreign_rows(const nn::Parameter& parameter, const HuggingFaceArchitecture& architecture);

/// Marks the tensors that are not parameters: copies of tied tables, which find_tables() has compared, and tables of
/// sinusoids, which are compared with computed ones.
void leave_what_is_known(ForeignTensors& weights, const HuggingFaceArchitecture& architecture);

}  // namespace dragoman::imports
