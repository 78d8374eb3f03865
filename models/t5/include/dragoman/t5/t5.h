#pragma once

#include <memory>

#include <dragoman/core/json_fwd.h>
#include <dragoman/nn/seq2seq_model.h>

namespace dragoman::t5 {

/// The encoder-decoder of Config. `config` is the `model` object of config.json. Sources and targets have one
/// vocabulary: Error{kBadInput} if the sizes differ.
std::unique_ptr<nn::Seq2SeqModel> make_t5(const nn::SequenceSpec& spec, const core::Json& config);

}  // namespace dragoman::t5
