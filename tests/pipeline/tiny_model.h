#pragma once

#include "test_data.h"

#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <dragoman/formats/model_folder.h>
#include <dragoman/plugins/host.h>
#include <dragoman/tokenizer/learn_bpe.h>
#include <dragoman/transformer/transformer.h>

namespace dragoman::testing {

/// A model folder with a small tokenizer and a Transformer with random weights: its translations are nonsense, but the
/// same nonsense every time.
class TinyModel {
 public:
  /// `change` may give the weights other values, and `set` the tokenizer other options.
  explicit TinyModel(const std::function<void(nn::ParameterStore&)>& change = {},
                     const std::function<void(tokenizer::LearnOptions&)>& set = {}) {
    const std::filesystem::path corpus = folder_ / "corpus.txt";
    std::ofstream(corpus) << "the cat sat on the mat\nthe dog sat on the log\nein Hund und eine Katze\n";
    tokenizer::LearnOptions learn;
    learn.vocab_size = 320;
    if (set) set(learn);
    const std::vector<std::filesystem::path> inputs = {corpus};
    const auto learnt = tokenizer::learn_bpe(inputs, learn);
    const nn::SequenceSpec spec{.source_vocabulary = learnt.size(),
                                .target_vocabulary = learnt.size(),
                                .maximum_source_length = 24,
                                .maximum_target_length = 24};
    const core::Json config = {
        {"d_model", 16}, {"heads", 2}, {"feed_forward", 24}, {"encoder_layers", 1}, {"decoder_layers", 2}};
    const auto model = transformer::make_transformer(spec, config);
    model->parameters().allocate(tensor::host_memory(), tensor::DType::kF32, tensor::Device::kCpu);
    model->parameters().initialise(3);
    if (change) change(model->parameters());
    formats::write_model_folder(path(), {.model_type = "transformer",
                                         .model = model.get(),
                                         .tokenizer = {.content = learnt.to_json()},
                                         .card = "test"});
  }
  /// Writes `value` into the first element of the first tensor whose name begins with `prefix`.
  void damage(const std::string& prefix, float value) const {
    std::fstream file(path() / "model.safetensors", std::ios::in | std::ios::out | std::ios::binary);
    std::uint64_t header_size = 0;
    file.read(reinterpret_cast<char*>(&header_size), sizeof header_size);
    std::string header(header_size, ' ');
    file.read(header.data(), static_cast<std::streamsize>(header_size));
    const core::Json tensors = core::Json::parse(header);
    for (const auto& [name, tensor] : tensors.items()) {
      if (!name.starts_with(prefix)) continue;
      file.seekp(static_cast<std::streamoff>(sizeof header_size + header_size +
                                             tensor["data_offsets"][0].get<std::uint64_t>()));
      file.write(reinterpret_cast<const char*>(&value), sizeof value);
      return;
    }
    throw std::runtime_error("no tensor begins with " + prefix);
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
