#pragma once

#include "test_data.h"

#include <fstream>
#include <string>
#include <vector>

#include <dragoman/formats/model_folder.h>
#include <dragoman/host/host.h>
#include <dragoman/tokenizer/tokenizer.h>
#include <dragoman/transformer/transformer.h>

namespace dragoman::testing {

/// A model folder with a small tokenizer and a Transformer with random weights: its translations are nonsense, but the
/// same nonsense every time.
class TinyModel {
 public:
  TinyModel() {
    const std::filesystem::path corpus = folder_ / "corpus.txt";
    std::ofstream(corpus) << "the cat sat on the mat\nthe dog sat on the log\nein Hund und eine Katze\n";
    tokenizer::LearnOptions learn;
    learn.vocab_size = 320;
    const std::vector<std::filesystem::path> inputs = {corpus};
    const auto learnt = tokenizer::learn_bpe(inputs, learn);
    const nn::SequenceSpec spec{.source_vocabulary = learnt.size(),
                                .target_vocabulary = learnt.size(),
                                .maximum_source_length = 24,
                                .maximum_target_length = 24};
    const core::Json config = {
        {"d_model", 16}, {"heads", 2}, {"feed_forward", 24}, {"encoder_layers", 1}, {"decoder_layers", 2}};
    const auto model = transformer::make_transformer(spec, config);
    model->parameters().allocate(tensor::host_allocator(), tensor::DType::kF32, tensor::Device::kCpu);
    model->parameters().initialise(3);
    formats::write_model_folder(
        path(),
        {.model_type = "transformer", .model = model.get(), .tokenizer_json = learnt.to_json(), .card = "test"});
  }
  std::filesystem::path path() const { return folder_ / "model"; }
  std::filesystem::path file(const std::string& name) const { return folder_ / name; }

 private:
  TemporaryFolder folder_;
};

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace dragoman::testing
