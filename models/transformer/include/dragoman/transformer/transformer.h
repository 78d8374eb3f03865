#pragma once

#include <memory>

#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/transformer/config.h>

namespace dragoman::transformer {

/// Returns the encoder-decoder Transformer (Vaswani et al. 2017) in the variant that `config` selects. `config` is the
/// `model` object of config.json.
std::unique_ptr<nn::Seq2SeqModel> make_transformer(const nn::SequenceSpec& spec, const core::Json& config);

}  // namespace dragoman::transformer
