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

/// The contents of config.json in a folder of the T5 family.
struct T5Architecture {
  t5::Config model;
  nn::SequenceSpec sequences;  ///< without `unknown`, which comes from the tokenizer
  std::int32_t padding = 0;
  TableTensors tables;
};

/// Returns the values of model_type that read_t5() supports: T5 (with T5 1.1, Flan-T5, ByT5's relatives with
/// SentencePiece models and MADLAD-400), mT5, and umT5.
const std::vector<const char*>& t5_model_types();
bool is_t5(const HuggingFaceFolder& folder);

/// Reads config.json. Throws Error{kBadInput} for an inconsistent config.json, and Error{kUnsupported} that names the
/// key for a model that t5::make_t5() cannot create.
T5Architecture read_t5(const HuggingFaceFolder& folder, const ForeignTensors& weights);

/// Returns the tensors of transformers that contain the rows of a T5 parameter, in this order.
std::vector<std::string> t5_tensors(std::string_view parameter, const t5::Config& config);

/// Returns whether a parameter is a matrix over the vocabulary.
bool is_t5_table(std::string_view parameter);

/// Opens a folder of the T5 family. `card` is the text for README.md. The importer's own options are source_prefix, the
/// text before every source ("translate English to German: "), or task, the key of task_specific_params that specifies
/// the prefix and the search.
std::unique_ptr<formats::OpenedModel> open_t5(HuggingFaceFolder folder, ForeignTensors weights, std::string card,
                                              core::OptionReader& own);

}  // namespace dragoman::imports
