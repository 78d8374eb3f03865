#pragma once

#include "start/run_tokenizers.h"

#include <stop_token>

#include <dragoman/core/json.h>
#include <dragoman/core/log.h>
#include <dragoman/nn/seq2seq_model.h>

namespace dragoman::training {

/// Marks the tables that data.embeddings wants frozen. Error{kBadInput} if the model does not say which its tables are,
/// or if both files are for one table.
void prepare_embeddings(const DataConfig& config, nn::Seq2SeqModel& model);

/// Gives the tables of an initialised model what the files of data.embeddings hold, and says how much that was. Rows of
/// pieces that a file does not have stay as they are. Error{kBadInput} names the file, and the line or tensor, that is
/// wrong.
void load_embeddings(const DataConfig& config, const RunTokenizers& tokenizers, nn::Seq2SeqModel& model,
                     const core::LogSink& log, const std::stop_token& stop);

/// For run.json: the SHA-256 sums of the files by `source_embeddings` and `target_embeddings`. A run that goes on does
/// not read them, so one that is gone has the sum that `before`, the record of that run, says.
core::Json embedding_sums(const DataConfig& config, const core::Json& before);

}  // namespace dragoman::training
