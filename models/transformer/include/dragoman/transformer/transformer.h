#pragma once

#include <memory>

#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/transformer/config.h>

namespace dragoman::transformer {

/// Returns the encoder-decoder Transformer (Vaswani et al. 2017) in the variant that `config` selects. `config` is the
/// `model` object of config.json. The caller owns the model; its parameters have no values yet.
///
///     const nn::SequenceSpec spec{.source_vocabulary = 8000, .target_vocabulary = 8000};
///     const auto model = make_transformer(spec, core::Json{{"d_model", 256}, {"heads", 4}});
///     model->parameters().allocate(tensor::host_memory(), tensor::DType::kF32, tensor::Device::kCpu);
///     model->parameters().initialise(/*seed=*/1);
///
/// Throws Error{kBadInput} that names a key which is unknown or out of range. Thread-safe.
std::unique_ptr<nn::Seq2SeqModel> make_transformer(const nn::SequenceSpec& spec, const core::Json& config);

}  // namespace dragoman::transformer
