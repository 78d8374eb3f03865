#include "huggingface/example.h"

#include <cmath>
#include <vector>

#include <fmt/format.h>

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/formats/safetensors.h>

namespace dragoman::imports {
namespace {

constexpr std::int64_t kWidth = 8;
constexpr std::int64_t kInner = 12;
constexpr std::int64_t kPositions = 40;

/// Returns the 256 characters for bytes in GPT-2's vocabularies: printable bytes represent themselves, others are
/// U+0100 and following.
std::vector<std::string> byte_characters() {
  std::vector<std::string> characters;
  int next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
    const int code = printable ? byte : next++;
    characters.push_back(
        code < 0x80 ? std::string(1, static_cast<char>(code))
                    : std::string{static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))});
  }
  return characters;
}

class ExampleTensors {
 public:
  void add(const std::string& name, std::vector<std::int64_t> shape) {
    specs_.push_back({.name = name, .shape = std::move(shape)});
  }
  void add_linear(const std::string& name, std::int64_t outputs, std::int64_t inputs) {
    add(name + ".weight", {outputs, inputs});
    add(name + ".bias", {outputs});
  }
  void add_norm(const std::string& name) {
    add(name + ".weight", {kWidth});
    add(name + ".bias", {kWidth});
  }
  void add_attention(const std::string& name) {
    for (const char* part : {"k_proj", "v_proj", "q_proj", "out_proj"})
      add_linear(fmt::format("{}.{}", name, part), kWidth, kWidth);
  }
  void add_layer(const std::string& name, bool cross) {
    add_attention(name + ".self_attn");
    add_norm(name + ".self_attn_layer_norm");
    if (cross) add_attention(name + ".encoder_attn");
    if (cross) add_norm(name + ".encoder_attn_layer_norm");
    add_linear(name + ".fc1", kInner, kWidth);
    add_linear(name + ".fc2", kWidth, kInner);
    add_norm(name + ".final_layer_norm");
  }

  void write(const std::filesystem::path& file) const {
    formats::SafetensorsWriter writer(file, specs_, {{"format", "pt"}});
    int seed = 0;
    for (const formats::TensorSpec& spec : specs_) {
      std::int64_t count = 1;
      for (const std::int64_t size : spec.shape) count *= size;
      std::vector<float> values(static_cast<std::size_t>(count));
      for (float& value : values) value = static_cast<float>(std::sin(++seed * 1.7) * 0.5);
      writer.write({values.data(), 1, count, count, tensor::DType::kF32, tensor::Device::kCpu});
    }
    writer.finish();
  }

 private:
  std::vector<formats::TensorSpec> specs_;
};

}  // namespace

std::filesystem::path write_huggingface_example(const std::filesystem::path& folder) {
  core::Json vocabulary = core::Json::object();
  for (const char* special : {"<s>", "<pad>", "</s>", "<unk>"}) vocabulary[special] = vocabulary.size();
  for (const std::string& character : byte_characters()) vocabulary[character] = vocabulary.size();
  vocabulary["th"] = vocabulary.size();
  const auto size = static_cast<std::int64_t>(vocabulary.size());
  core::write_file(folder / "vocab.json", vocabulary.dump());
  core::write_file(folder / "merges.txt", "#version: 0.2\nt h\n");
  const core::Json config = {{"model_type", "bart"},
                             {"vocab_size", size},
                             {"d_model", kWidth},
                             {"encoder_layers", 1},
                             {"decoder_layers", 1},
                             {"encoder_attention_heads", 2},
                             {"decoder_attention_heads", 2},
                             {"encoder_ffn_dim", kInner},
                             {"decoder_ffn_dim", kInner},
                             {"max_position_embeddings", kPositions},
                             {"activation_function", "gelu"},
                             {"decoder_start_token_id", 2},
                             {"forced_bos_token_id", 0},
                             {"num_beams", 3},
                             {"max_length", 30}};
  core::write_file(folder / "config.json", config.dump(2) + "\n");
  ExampleTensors tensors;
  tensors.add("final_logits_bias", {1, size});
  tensors.add("model.shared.weight", {size, kWidth});
  for (const char* stack : {"encoder", "decoder"}) {
    const std::string prefix = fmt::format("model.{}.", stack);
    tensors.add(prefix + "embed_positions.weight", {kPositions + 2, kWidth});
    tensors.add_norm(prefix + "layernorm_embedding");
    tensors.add_layer(prefix + "layers.0", stack == std::string_view("decoder"));
  }
  tensors.write(folder / "model.safetensors");
  return folder;
}

}  // namespace dragoman::imports
