#pragma once

#include "huggingface/folder.h"
#include "weights/tied_tables.h"

#include <string>
#include <vector>

#include <dragoman/nn/parameters.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/transformer/config.h>

namespace dragoman::imports {

/// The contents of a folder's config.json, and the weights that go with it.
struct HuggingFaceArchitecture {
  enum class Family : std::uint8_t { kMarian, kPegasus, kBart, kMBart, kM2M100 };
  Family family = Family::kMarian;
  transformer::Config model;
  /// Without `unknown`, which the tokenizer knows.
  nn::SequenceSpec sequences;
  std::int32_t padding = 0;
  TableTensors tables;
};

/// The values of model_type that read_architecture() and read_t5() know.
std::vector<const char*> huggingface_model_types();

/// Error{kBadInput} for a config.json that makes no sense; Error{kUnsupported} that names the key for one of a model
/// that the Transformer here cannot be. `weights` show whether there is a bias on the logits; a bias that is all zero
/// is none.
HuggingFaceArchitecture read_architecture(const HuggingFaceFolder& folder, const ForeignTensors& weights);

/// The tensors whose rows a parameter has, in this order.
std::vector<std::string> foreign_rows(const nn::Parameter& parameter, const HuggingFaceArchitecture& architecture);

/// Marks the tensors that are not parameters: copies of tied tables, which find_tables() has compared, and tables of
/// sinusoids, which are compared with computed ones.
void leave_what_is_known(ForeignTensors& weights, const HuggingFaceArchitecture& architecture);

}  // namespace dragoman::imports
