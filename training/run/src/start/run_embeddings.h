#pragma once

#include "start/run_tokenizers.h"

#include <stop_token>

#include <dragoman/core/json.h>
#include <dragoman/core/log.h>
#include <dragoman/nn/seq2seq_model.h>

namespace dragoman::training {

/// Marks the tables that data.embeddings freezes. Error{kBadInput} if the model does not declare its tables, or if both
/// files are for one table.
void prepare_embeddings(const DataConfig& config, nn::Seq2SeqModel& model);

/// Fills the tables of an initialised model from the files of data.embeddings, and logs the number of pieces. Rows of
/// pieces that a file does not contain are unchanged. Error{kBadInput} names the invalid file, and the line or tensor.
void load_embeddings(const DataConfig& config, const RunTokenizers& tokenizers, nn::Seq2SeqModel& model,
                     const core::LogSink& log, const std::stop_token& stop);

/// Makes the decoder's first input a vector of zeros, which training keeps. Error{kBadInput} if the model does not
/// declare its tables, if the token is the end as well, or if the table has values and is not trained.
void start_from_zeros(nn::Seq2SeqModel& model);

/// Returns the SHA-256 sums of the files by `source_embeddings` and `target_embeddings`, for run.json. A continued run
/// does not read the files, so a missing file has the sum in `before`, the record of that run.
core::Json embedding_sums(const DataConfig& config, const core::Json& before);

}  // namespace dragoman::training
