#pragma once

#include <memory>

#include <dragoman/core/json_fwd.h>
#include <dragoman/nn/seq2seq_model.h>

namespace dragoman::t5 {

/// Returns the encoder-decoder model for `config`, the `model` object of config.json. Source and target share one
/// vocabulary: Error{kBadInput} if the sizes differ.
std::unique_ptr<nn::Seq2SeqModel> make_t5(const nn::SequenceSpec& spec, const core::Json& config);

}  // namespace dragoman::t5
