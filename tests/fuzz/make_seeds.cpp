// Writes the seeds that are made by the program itself: make_fuzz_seeds tests/fuzz/corpus
#include "targets/fairseq_harness.h"
#include "targets/huggingface_harness.h"
#include "targets/model_folder_harness.h"
#include "targets/peft_harness.h"
#include "targets/resume_harness.h"
#include "test_data.h"

#include <cstdio>
#include <fstream>

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/tokenizer/tokenizer_files.h>
#include <dragoman/transformer/transformer.h>

namespace dragoman::fuzz {
namespace {

namespace fs = std::filesystem;

void put_seed(const fs::path& file, std::string_view content) {
  fs::create_directories(file.parent_path());
  put_file(file, content);
}

void make_resume_seeds(const fs::path& folder) {
  const InterruptedRun run;
  for (const char* name : {"run.json", "metrics.jsonl", "checkpoint-1/state.json"})
    put_seed(folder / fs::path(name).stem(), name + ("\n" + core::read_file(run.pristine() / name)));
}

/// A model of a few hundred parameters over the tokenizer of the small task.
std::string model_folder(const core::Json& own, std::optional<tensor::DType> rounded = {},
                         tensor::ComputeChoice compute = tensor::ComputeChoice::kF32,
                         const tokenizer::TokenizerSpec& stored = {}) {
  fs::path tokenizer_file = scratch() / "task" / "tokenizer.json";
  if (!stored.is_native()) {
    auto definition = tokenizer::read_tokenizer_file(tokenizer_file);
    definition.fuse_unknown = true;  // as all SentencePiece models do
    tokenizer_file = scratch() / "tokenizer.model";
    tokenizer::write_tokenizer_file(definition, tokenizer::FileKind::kSentencePiece, tokenizer_file);
  }
  const auto tokenizer = tokenizer::load_tokenizer(tokenizer_file);
  const nn::SequenceSpec spec{.source_vocabulary = tokenizer->size(),
                              .target_vocabulary = tokenizer->size(),
                              .maximum_source_length = 16,
                              .maximum_target_length = 16};
  core::Json config = {{"d_model", 4}, {"heads", 2}, {"feed_forward", 4}, {"encoder_layers", 1}, {"decoder_layers", 1}};
  config.update(own);
  const auto model = transformer::make_transformer(spec, config);
  model->parameters().allocate(tensor::host_memory(), tensor::DType::kF32, tensor::Device::kCpu);
  model->parameters().initialise(3);
  const fs::path folder = scratch() / "seed";
  formats::write_model_folder(folder, {.model_type = "transformer",
                                       .model = model.get(),
                                       .tokenizer = stored.with_content(core::read_file(tokenizer_file)),
                                       .card = "seed",
                                       .rounded = rounded,
                                       .compute = compute});
  std::string seed;
  for (const char* name : {"config.json", "tokenizer.json", "model.safetensors", "tokenizer.model"})
    seed += (fs::exists(folder / name) ? core::read_file(folder / name) : "") + std::string(kNextFile);
  while (seed.ends_with(kNextFile)) seed.resize(seed.size() - kNextFile.size());
  return seed;
}

/// The files of a folder of transformers as exercise_huggingface() takes them; those that are not there are empty.
std::string files_of(const fs::path& folder) {
  std::string seed;
  for (const char* name : kForeignFiles) {
    if (fs::exists(folder / name)) seed += core::read_file(folder / name);
    seed += kNextFile;
  }
  seed.resize(seed.size() - kNextFile.size());
  return seed;
}

/// The example of the importer, with what a folder may have besides.
std::string foreign_folder() {
  plugins::Host host;
  const fs::path folder = scratch() / "example";
  fs::create_directory(folder);
  host.registry().model_importers().get("huggingface").write_example(folder);
  core::write_file(folder / "generation_config.json",
                   R"({"num_beams": 2, "length_penalty": 0.8, "max_length": 20, "bad_words_ids": [[1]]})");
  core::write_file(folder / "tokenizer_config.json", R"({"tokenizer_class": "BartTokenizer"})");
  return files_of(folder);
}

std::string fairseq_folder() {
  plugins::Host host;
  const fs::path folder = scratch() / "fairseq-example";
  fs::create_directory(folder);
  host.registry().model_importers().get("fairseq").write_example(folder);
  std::ifstream checkpoint(folder / "checkpoint_best.pt", std::ios::binary);  // which core::read_file() would unpack
  return std::string(std::istreambuf_iterator<char>(checkpoint), {}) + std::string(kNextForeignFile) +
         core::read_file(folder / "dict.de.txt") + std::string(kNextForeignFile) +
         core::read_file(folder / "dict.en.txt");
}

/// The importer's example, with these keys in its configuration.
std::string adapters_with(const core::Json& keys) {
  core::Json config = core::load_json((peft_example() / kAdapterFiles[0]).string());
  config.update(keys);
  return config.dump(2) + std::string(kNextForeignFile) + core::read_file(peft_example() / kAdapterFiles[1]);
}

void make_seeds(const fs::path& corpus) {
  put_seed(corpus / "peft" / "example", adapters_with(core::Json::object()));
  put_seed(corpus / "peft" / "patterns", adapters_with({{"r", 8},
                                                        {"rank_pattern", {{"q_proj", 2}, {"encoder_attn.v_proj", 2}}},
                                                        {"alpha_pattern", {{"v_proj", 1.5}}},
                                                        {"use_rslora", true},
                                                        {"bias", "none"},
                                                        {"init_lora_weights", "gaussian"}}));
  put_seed(corpus / "fairseq" / "example", fairseq_folder());
  put_seed(corpus / "huggingface" / "bart", foreign_folder());
  // Those of a T5 with a SentencePiece model and with a tokenizer.json.
  const fs::path golden = testing::source_folder() / "tests/formats/golden/huggingface";
  for (const char* family : {"t5", "flan-t5"}) put_seed(corpus / "huggingface" / family, files_of(golden / family));
  make_resume_seeds(corpus / "resume");
  put_seed(corpus / "model_folder" / "pre_norm", model_folder(core::Json::object()));
  put_seed(corpus / "model_folder" / "post_norm",
           model_folder({{"norm", "post"}, {"activation", "swiglu"}, {"positions", "learned"}, {"tying", "none"}}));
  put_seed(corpus / "model_folder" / "int8",
           model_folder(core::Json::object(), tensor::DType::kI8, tensor::ComputeChoice::kI8));
  put_seed(corpus / "model_folder" / "bf16",
           model_folder({{"tying", "none"}}, tensor::DType::kBF16, tensor::ComputeChoice::kBF16));
  put_seed(corpus / "model_folder" / "other_tokenizer",
           model_folder(core::Json::object(), {}, tensor::ComputeChoice::kF32, {.type = "sentencepiece"}));
}

}  // namespace
}  // namespace dragoman::fuzz

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: make_fuzz_seeds tests/fuzz/corpus\n", stderr);
    return 2;
  }
  dragoman::fuzz::make_seeds(arguments[1]);
}
