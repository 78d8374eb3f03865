#pragma once

#include "huggingface/folder.h"
#include "weights/tied_tables.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/options.h>
#include <dragoman/formats/model_importer.h>
#include <dragoman/nn/parameters.h>
#include <dragoman/t5/config.h>

namespace dragoman::imports {

/// What config.json of a folder of the T5 family says.
struct T5Architecture {
  t5::Config model;
  nn::SequenceSpec sequences;  ///< without `unknown`, which the tokenizer knows
  std::int32_t padding = 0;
  TableTensors tables;
};

/// The values of model_type that read_t5() knows: T5 with T5 1.1, Flan-T5, ByT5's relatives with SentencePiece models
/// and MADLAD-400; mT5; umT5.
const std::vector<const char*>& t5_model_types();
bool is_t5(const HuggingFaceFolder& folder);

/// Error{kBadInput} for a config.json that makes no sense; Error{kUnsupported} that names the key for one of a model
/// that t5::make_t5() cannot make.
T5Architecture read_t5(const HuggingFaceFolder& folder, const ForeignTensors& weights);

/// The names in transformers of the tensors whose rows a parameter of a T5 has, in this order.
std::vector<std::string> t5_tensors(std::string_view parameter, const t5::Config& config);

/// Whether a parameter is a matrix of the vocabulary.
bool is_t5_table(std::string_view parameter);

/// A folder of the T5 family. `card` is the text for README.md. Own options: source_prefix, what stands in front of
/// every source ("translate English to German: "), or task, the key of task_specific_params that says it and how to
/// search.
std::unique_ptr<formats::OpenedModel> open_t5(HuggingFaceFolder folder, ForeignTensors weights, std::string card,
                                              core::OptionReader& own);

}  // namespace dragoman::imports
