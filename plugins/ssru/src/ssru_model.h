#pragma once

#include <memory>

#include <dragoman/nn/seq2seq_model.h>

namespace dragoman::ssru {

/// A Transformer whose decoder has a recurrent unit in place of self-attention. `config` has the keys of the
/// Transformer.
std::unique_ptr<nn::Seq2SeqModel> make_model(const nn::SequenceSpec& spec, const core::Json& config);

}  // namespace dragoman::ssru
