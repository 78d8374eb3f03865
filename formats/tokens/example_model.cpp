#include "tokens/example_model.h"

#include "tokens/piece_tokenizer.h"

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/tensor/context.h>
#include <dragoman/transformer/transformer.h>

namespace dragoman::imports {

ExampleModel::ExampleModel() {
  const TokenizerEntry entry = piece_tokenizer_entry();
  const core::Json none = core::Json::object();
  core::OptionReader own(none, "example");
  tokenizer_ = entry.make(
      {.path = "example",
       .content = write_pieces({"</s>", "<unk>", "a", "b", "c", "d", "e", "f", "g", "<pad>"}, std::vector{1, 0, 9})},
      own);
  config_.model_type = "transformer";
  config_.sequences = {.source_vocabulary = 10,
                       .target_vocabulary = 10,
                       .begin = 9,
                       .end = 0,
                       .unknown = 1,
                       .decoder_start = 9,
                       .maximum_source_length = 32,
                       .maximum_target_length = 32};
  model_ = transformer::make_transformer(config_.sequences, {{"d_model", 8},
                                                             {"heads", 2},
                                                             {"feed_forward", 12},
                                                             {"encoder_layers", 1},
                                                             {"decoder_layers", 1},
                                                             {"norm", "post"},
                                                             {"layer_norm_epsilon", 1e-6},
                                                             {"positions", "sinusoidal-tensor2tensor"},
                                                             {"output_bias", true},
                                                             {"dropout", 0}});
  nn::ParameterStore& store = model_->parameters();
  store.allocate(tensor::host_memory(), tensor::DType::kF32, tensor::Device::kCpu);
  store.initialise(1);
  // It starts from zeros, like Marian's models.
  tensor::Tensor& table = store.find("embedding.weight")->value;
  std::fill_n(table.as<float>() + 9 * table.cols, table.cols, 0.0F);
  store.find("output.bias")->value.as<float>()[9] = -10000;
  store.values_changed();
}

ExampleModel::~ExampleModel() = default;

ExportedModel ExampleModel::exported() const {
  return {.path = "example",
          .config = &config_,
          .model = model_.get(),
          .source_tokenizer = tokenizer_.get(),
          .target_tokenizer = tokenizer_.get()};
}

}  // namespace dragoman::imports
