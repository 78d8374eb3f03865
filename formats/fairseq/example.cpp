#include "fairseq/example.h"

#include "torch/torch_writer.h"
#include "weights/bart_names.h"

#include <dragoman/core/file.h>
#include <dragoman/transformer/transformer.h>

namespace dragoman::imports {

std::filesystem::path write_fairseq_example(const std::filesystem::path& folder) {
  for (const char* language : {"de", "en"})
    core::write_file(folder / fmt::format("dict.{}.txt", language), "a 9\nb 7\nc 5\nd 5\ne 4\nf 2\n");
  TransformerShape shape;
  shape.config = transformer::read_config({{"d_model", 8},
                                           {"heads", 2},
                                           {"feed_forward", 12},
                                           {"encoder_layers", 1},
                                           {"decoder_layers", 1},
                                           {"norm", "post"},
                                           {"tying", "target-output"},
                                           {"positions", "sinusoidal-tensor2tensor"},
                                           {"position_offset", 2}},
                                          "example");
  shape.sequences = {.source_vocabulary = 10,
                     .target_vocabulary = 10,
                     .begin = 0,
                     .end = 2,
                     .unknown = 3,
                     .decoder_start = 2,
                     .maximum_source_length = 32,
                     .maximum_target_length = 32};
  const auto model = transformer::make_transformer(shape.sequences, transformer::to_json(shape.config));
  nn::ParameterStore& store = model->parameters();
  store.allocate(tensor::host_memory(), tensor::DType::kF32, tensor::Device::kCpu);
  store.initialise(1);
  TorchWriter writer(folder / "checkpoint_best.pt", {{"arch", "transformer"},
                                                     {"task", "translation"},
                                                     {"source_lang", "de"},
                                                     {"target_lang", "en"},
                                                     {"encoder_embed_dim", 8},
                                                     {"decoder_embed_dim", 8},
                                                     {"encoder_ffn_embed_dim", 12},
                                                     {"decoder_ffn_embed_dim", 12},
                                                     {"encoder_layers", 1},
                                                     {"decoder_layers", 1},
                                                     {"encoder_attention_heads", 2},
                                                     {"decoder_attention_heads", 2},
                                                     {"max_source_positions", 32},
                                                     {"max_target_positions", 32},
                                                     {"share_decoder_input_output_embed", true}});
  std::vector<float> values;
  for (const PlannedWeight& planned : plan_transformer(shape, BartNames({.prefix = ""}))) {
    for (std::size_t part = 0; part < planned.parts.size(); ++part) {
      extract_part(planned, part, store.find(planned.parameter)->value, values);
      const std::vector<std::int64_t> dims =
          planned.is_vector ? std::vector{planned.share()} : std::vector{planned.share(), planned.cols};
      writer.add(planned.parts[part].name, dims, values);
    }
  }
  writer.finish();
  return folder;
}

}  // namespace dragoman::imports
