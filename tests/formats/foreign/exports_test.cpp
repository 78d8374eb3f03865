#include "dragoman/imports/exports.h"

#include "golden_cases.h"

#include <cstring>

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/formats/safetensors.h>
#include <dragoman/plugins/export_model.h>
#include <dragoman/plugins/quantize_model.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::imports {
namespace {

using testing::error_of;
using testing::golden_file;
using ::testing::HasSubstr;

std::filesystem::path bundled_model() {
  return testing::source_folder() / "examples/multi30k/model";
}

class Exports : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::filesystem::path& model, const std::string& format) {
    const std::filesystem::path output = scratch_ / format;
    plugins::export_model(model, output, format, host_);
    return output;
  }

  static void expect_same_parameters(const plugins::LoadedModel& before, const plugins::LoadedModel& after) {
    for (const nn::Parameter& parameter : before.model->parameters().all()) {
      const nn::Parameter* found = after.model->parameters().find(parameter.name);
      ASSERT_NE(found, nullptr) << parameter.name;
      ASSERT_EQ(found->value.size(), parameter.value.size());
      EXPECT_EQ(std::memcmp(found->value.data, parameter.value.data,
                            static_cast<std::size_t>(parameter.value.size()) * sizeof(float)),
                0)
          << parameter.name;
    }
  }

  testing::TemporaryFolder scratch_;
  plugins::Host host_;
};

TEST_F(Exports, ComeBackFromCtranslate2BitForBit) {
  plugins::import_model(golden_file("ctranslate2/opus-int8"), scratch_ / "imported", host_);
  for (const auto& kept : {bundled_model(), scratch_ / "imported"}) {
    const ImportedModel back(host_, write(kept, "ctranslate2"));
    const plugins::LoadedModel before = plugins::load_model(kept, host_, {.trainable = true});
    const plugins::LoadedModel after = plugins::load_model(back.folder(), host_, {.trainable = true});
    expect_same_parameters(before, after);
    EXPECT_EQ(before.model->config()["positions"], after.model->config()["positions"]);
    EXPECT_EQ(before.config.sequences.decoder_start, after.config.sequences.decoder_start);
    std::filesystem::remove_all(scratch_ / "ctranslate2");
  }
}

TEST_F(Exports, ComeBackFromTransformersBitForBit) {
  std::vector<std::filesystem::path> models{bundled_model()};
  for (const char* family : {"marian", "marian-separate", "pegasus"}) {
    models.push_back(scratch_ / family);
    plugins::import_model(golden_file(std::string("huggingface/") + family), models.back(), host_);
  }
  for (const auto& kept : models) {
    const ImportedModel back(host_, write(kept, "huggingface"));
    const plugins::LoadedModel before = plugins::load_model(kept, host_, {.trainable = true});
    const plugins::LoadedModel after = plugins::load_model(back.folder(), host_, {.trainable = true});
    expect_same_parameters(before, after);
    EXPECT_EQ(before.model->config()["positions"], after.model->config()["positions"]) << kept;
    EXPECT_EQ(before.config.sequences.decoder_start, after.config.sequences.decoder_start);
    EXPECT_EQ(before.config.sequences.unknown, after.config.sequences.unknown);
    for (const char* line : {"Two dogs run after a red ball.", "Ein Hund l\u00e4uft."})
      EXPECT_EQ(before.source_tokenizer->encode(line), after.source_tokenizer->encode(line)) << kept;
    std::filesystem::remove_all(scratch_ / "huggingface");
  }
}

TEST_F(Exports, ComeBackFromMarianBitForBit) {
  for (const char* name : {"opus", "untied"}) {
    const ImportedModel imported(host_, golden_file(std::string("marian/") + name));
    const std::filesystem::path exported = write(imported.folder(), "marian-npz");
    const ImportedModel back(host_, exported);
    for (const char* file : {"model.safetensors", "config.json"})
      EXPECT_TRUE(core::read_file(back.folder() / file) == core::read_file(imported.folder() / file)) << name << file;
    std::filesystem::remove_all(exported);
  }
}

/// golden/check_marian.py shows the difference with Marian itself.
TEST_F(Exports, WarnOfWhatMarianTranslatesDifferently) {
  for (const auto& [name, warnings] : {std::pair("opus", 0U), {"untied", 1U}}) {
    const ImportedModel imported(host_, golden_file(std::string("marian/") + name));
    std::vector<std::string> said;
    plugins::export_model(imported.folder(), scratch_ / name, "marian-npz", host_, {},
                          [&](core::LogLevel, std::string_view message) { said.emplace_back(message); });
    ASSERT_EQ(said.size(), warnings) << name;
    for (const std::string& warning : said)
      EXPECT_THAT(warning, HasSubstr("its search leaves out the norm of earlier keys and values"));
  }
}

TEST_F(Exports, OfT5AreTheTensorsThatTransformersWrote) {
  for (const char* family : {"t5", "flan-t5", "umt5"}) {
    const std::filesystem::path original = golden_file(std::string("huggingface/") + family);
    const ImportedModel imported(host_, original);
    const std::filesystem::path exported = write(imported.folder(), "huggingface");
    const auto theirs = formats::SafetensorsFile::open(original / "model.safetensors");
    const auto ours = formats::SafetensorsFile::open(exported / "model.safetensors");
    ASSERT_EQ(ours.tensors().size(), theirs.tensors().size()) << family;
    for (const formats::StoredTensor& tensor : theirs.tensors()) {
      const formats::StoredTensor* found = ours.find(tensor.name);
      ASSERT_NE(found, nullptr) << tensor.name;
      EXPECT_EQ(found->shape, tensor.shape) << tensor.name;
      const auto a = ours.read(tensor.name);
      const auto b = theirs.read(tensor.name);
      EXPECT_TRUE(std::ranges::equal(a, b)) << tensor.name;
    }
    const core::Json config = core::load_json((exported / "config.json").string());
    const core::Json wanted = core::load_json((original / "config.json").string());
    // What transformers takes for granted it does not write.
    for (const auto& [key, value] : config.items()) EXPECT_EQ(value, wanted.value(key, value)) << family << ' ' << key;
    const ImportedModel back(host_, exported);
    EXPECT_EQ(back.loaded().config.model, imported.loaded().config.model);
    EXPECT_EQ(back.greedy("Who has seen my brother?", 40), imported.greedy("Who has seen my brother?", 40)) << family;
    std::filesystem::remove_all(exported);
  }
}

TEST_F(Exports, HaveTheNamesOfTransformers) {
  const std::filesystem::path folder = write(bundled_model(), "huggingface");
  const core::Json config = core::load_json((folder / "config.json").string());
  EXPECT_EQ(config["architectures"], core::Json({"PegasusForConditionalGeneration"})) << "its norms stand in front";
  const auto file = formats::SafetensorsFile::open(folder / "model.safetensors");
  EXPECT_EQ(file.metadata().at("format"), "pt");
  const plugins::LoadedModel model = plugins::load_model(bundled_model(), host_, {.trainable = true});
  const tensor::Tensor& qkv = model.model->parameters().find("decoder.layers.1.self_attention.qkv.weight")->value;
  const auto* stored = file.find("model.decoder.layers.1.self_attn.k_proj.weight");
  ASSERT_NE(stored, nullptr);
  std::vector<float> values(static_cast<std::size_t>(stored->size));
  file.read(*stored, {values.data(), 1, stored->size, stored->size, tensor::DType::kF32, tensor::Device::kCpu});
  EXPECT_TRUE(std::equal(values.begin(), values.end(), qkv.row<float>(qkv.rows / 3)));
}

/// golden/check_auto_tokenizer.py lets transformers open such folders.
TEST_F(Exports, HaveTokenizersForAutoTokenizer) {
  const std::filesystem::path fast = write(bundled_model(), "huggingface");
  const core::Json config = core::load_json((fast / "tokenizer_config.json").string());
  EXPECT_EQ(config["tokenizer_class"], "PreTrainedTokenizerFast");
  EXPECT_EQ(config["eos_token"], "</s>");
  EXPECT_EQ(config["pad_token"], "<s>") << "the decoder's first input";
  EXPECT_EQ(config["clean_up_tokenization_spaces"], false);
  const auto tokenizer = tokenizer::load_tokenizer(fast / "tokenizer.json");
  EXPECT_EQ(tokenizer::ids_of_post_processor(*tokenizer), (tokenizer::SurroundingIds{.behind = {2}}));
  const auto ours = tokenizer::load_tokenizer(bundled_model() / "tokenizer.json");
  EXPECT_EQ(tokenizer->encode("Zwei Hunde </s>"), ours->encode("Zwei Hunde </s>"));
  std::filesystem::remove_all(fast);
  for (const bool separate : {false, true}) {
    const std::string family = separate ? "marian-separate" : "marian";
    plugins::import_model(golden_file("huggingface/" + family), scratch_ / family, host_);
    const std::filesystem::path marian = write(scratch_ / family, "huggingface");
    const core::Json class_of = core::load_json((marian / "tokenizer_config.json").string());
    EXPECT_EQ(class_of["tokenizer_class"], "MarianTokenizer");
    EXPECT_EQ(class_of["separate_vocabs"], separate);
    EXPECT_EQ(std::filesystem::exists(marian / "target_vocab.json"), separate);
    const core::Json pieces = core::load_json((marian / "vocab.json").string());
    const core::Json original = core::load_json((golden_file("huggingface/" + family) / "vocab.json").string());
    for (const auto& [piece, id] : original.items()) EXPECT_EQ(pieces[piece], id) << piece;
    std::filesystem::remove_all(marian);
  }
  plugins::import_model(golden_file("huggingface/t5"), scratch_ / "t5", host_);
  const std::filesystem::path t5 = write(scratch_ / "t5", "huggingface");
  EXPECT_TRUE(std::filesystem::exists(t5 / "spiece.model"));
  EXPECT_EQ(tokenizer::ids_of_post_processor(*tokenizer::load_tokenizer(t5 / "tokenizer.json")),
            (tokenizer::SurroundingIds{.behind = {1}}));
}

TEST_F(Exports, RefuseWhatTheOtherToolkitCannotSay) {
  EXPECT_THAT(error_of([&] { write(bundled_model(), "marian-npz"); }),
              HasSubstr("cannot be exported as marian-npz: its decoder begins with a token, and Marian's with zeros; "
                        "train with model.decoder_start"));
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "marian-npz")) << "nothing is left of an export that was refused";
  const ImportedModel opus(host_, golden_file("marian/opus"));
  EXPECT_THAT(error_of([&] { write(opus.folder(), "huggingface"); }), HasSubstr("layer_norm_epsilon is 1e-06"));
  EXPECT_THAT(error_of([&] { write(opus.folder(), "onnx"); }),
              HasSubstr("known are ctranslate2, marian-npz, huggingface"));
  // The prefix of a task would be lost.
  plugins::import_model(golden_file("huggingface/t5"), scratch_ / "task", host_,
                        {.options = {{"source_prefix", "translate English to German: "}}});
  EXPECT_THAT(error_of([&] { write(scratch_ / "task", "huggingface"); }),
              HasSubstr("cannot be exported as huggingface: it has tokens around every sentence"));
  core::write_file(scratch_ / "ctranslate2", "years of work");
  EXPECT_THAT(error_of([&] { write(opus.folder(), "ctranslate2"); }), HasSubstr("exists already"));
  EXPECT_EQ(core::read_file(scratch_ / "ctranslate2"), "years of work");
}

/// golden/make_exports.py: ctranslate2 and transformers gave exactly these with the exported model.
TEST_F(Exports, TranslateElsewhereAsHere) {
  DRAGOMAN_NEEDS_DATA("multi30k/test_2016_flickr.de.gz");
  constexpr std::size_t kLines = 200;
  core::LineReader reader(testing::data_folder() / "multi30k/test_2016_flickr.de.gz");
  std::vector<pipeline::Record> lines(kLines);
  for (pipeline::Record& line : lines) ASSERT_TRUE(reader.next(line.text));
  const core::Json golden = core::load_json(golden_file("exports.json").string());
  for (const auto& [name, strategy, penalty] : {std::tuple("ctranslate2-greedy", "greedy", "ct2"),
                                                {"ctranslate2-beam", "beam", "ct2"},
                                                {"transformers-greedy", "greedy", "transformers"},
                                                {"transformers-beam", "beam", "transformers"}}) {
    ASSERT_EQ(golden[name]["equal"], kLines);
    pipeline::TranslateOptions options{.ignore_model_defaults = true};
    options.search.decoder = strategy;
    options.search.length_penalty = penalty;
    options.search.alpha = 1;
    options.search.minimum_length = 1;
    options.search.maximum_length = 100;
    options.details = true;
    pipeline::Translator translator(pipeline::Model(bundled_model(), host_, {.threads = 1}), options);
    std::string hypotheses;
    for (const pipeline::Record& record : translator.translate(lines)) {
      std::string pieces;
      for (const auto& piece : record.fields["tokens"].get<std::vector<std::string>>())
        pieces += (pieces.empty() ? "" : " ") + piece;
      hypotheses += pieces + "\n";
    }
    EXPECT_EQ(formats::sha256_of(hypotheses), golden[name]["sha256"].get<std::string>()) << name;
  }
}

/// The last value of the file is changed, which its sums tell, or is infinite, and the sums are not there.
TEST_F(Exports, DoNotVouchForWhatIsDamaged) {
  const std::filesystem::path model = scratch_ / "model";
  plugins::import_model(golden_file("huggingface/marian"), model, host_);
  std::string weights = core::read_file(model / "model.safetensors");
  const auto expect_refusals = [&](const char* reason) {
    for (const char* format : {"ctranslate2", "huggingface", "marian-npz"})
      EXPECT_THAT(error_of([&] { write(model, format); }), HasSubstr(reason)) << format;
    for (const tensor::ComputeChoice type : {tensor::ComputeChoice::kBF16, tensor::ComputeChoice::kI8})
      EXPECT_THAT(error_of([&] { plugins::quantize_model(model, scratch_ / "rounded", type, host_); }),
                  HasSubstr(reason));
    for (const char* output : {"ctranslate2", "huggingface", "marian-npz", "rounded"})
      EXPECT_FALSE(std::filesystem::exists(scratch_ / output)) << output;
  };
  weights.back() = static_cast<char>(weights.back() ^ 1);
  core::write_file(model / "model.safetensors", weights);
  expect_refusals("damaged or was changed");
  weights.replace(weights.size() - 4, 4, std::string("\0\0\x80\x7F", 4));
  core::write_file(model / "model.safetensors", weights);
  std::filesystem::remove(model / "SHA256SUMS");
  expect_refusals("holds inf");
}

}  // namespace
}  // namespace dragoman::imports
