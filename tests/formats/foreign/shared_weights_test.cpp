// Files in which many parts of a model refer to the same weights.
#include "archive/zip_writer.h"
#include "fairseq/example.h"
#include "golden_cases.h"
#include "huggingface/example.h"
#include "meter.h"
#include "reshaped_model.h"
#include "weights/bart_names.h"

#include <fstream>

#include <dragoman/formats/average.h>
#include <dragoman/pipeline/scorer.h>
#include <dragoman/plugins/export_model.h>
#include <dragoman/plugins/quantize_model.h>
#include <dragoman/transformer/config.h>

namespace dragoman::imports {
namespace {

using core::Json;
using std::filesystem::path;
using testing::error_of;
using testing::golden_file;
using ::testing::HasSubstr;
using testing::write_reshaped_model;

constexpr std::size_t kMebibyte = std::size_t{1} << 20;
constexpr std::int64_t kWidth = 256;
/// Floats of the storage: the matrices of layers, and tables with some more rows.
constexpr std::int64_t kStorage = 272 * kWidth;

/// A file of torch whose tensors are views of one storage of zeros.
class SharedTorchFile {
 public:
  explicit SharedTorchFile(const path& file) : archive_(file) {}

  void begin_dict() { pickle_ += "}("; }
  void begin_settings() { pickle_ += "cargparse\nNamespace\n)\x81}("; }
  void end() { pickle_ += "u"; }
  void end_settings() { pickle_ += "ub"; }
  void text(std::string_view text) {
    pickle_ += 'X';
    number_of(static_cast<std::int32_t>(text.size()));
    pickle_ += text;
  }
  void number(std::int64_t value) {
    pickle_ += 'J';
    number_of(static_cast<std::int32_t>(value));
  }
  /// The storage is written out in the first tensor, and then referred to as the pickle's value 0.
  void tensor(const std::string& name, std::int64_t rows, std::int64_t cols, bool is_vector) {
    text(name);
    pickle_ += "ctorch._utils\n_rebuild_tensor_v2\n(";
    if (std::exchange(is_first_, false)) {
      pickle_ += "(";
      text("storage");
      pickle_ += "ctorch\nFloatStorage\n";
      text("0");
      text("cpu");
      number(kStorage);
      pickle_.append("tQq\0", 4);
    } else {
      pickle_.append("h\0", 2);
    }
    number(0);
    pickle_ += '(';
    if (!is_vector) number(rows);
    number(cols);
    pickle_ += "t(";
    if (!is_vector) number(cols);
    number(1);
    pickle_ += "t\x89}tR";
  }
  void finish() {
    archive_.add("archive/data.pkl", {pickle_ + "."});
    archive_.add("archive/data/0", {std::string(kStorage * sizeof(float), '\0')});
    archive_.finish();
  }

 private:
  void number_of(std::int32_t value) { pickle_.append(reinterpret_cast<const char*>(&value), sizeof value); }

  ZipWriter archive_;
  std::string pickle_ = "\x80\x02";
  bool is_first_ = true;
};

/// A BART or fairseq model with these layers in each stack.
TransformerShape shape_of(int layers, const Json& keys, std::int64_t pieces) {
  Json config = {{"d_model", kWidth}, {"heads", 2}, {"feed_forward", kWidth}, {"norm", "post"}};
  config["encoder_layers"] = config["decoder_layers"] = layers;
  config.update(keys);
  TransformerShape shape{.config = transformer::read_config(config, "test"), .sequences = {}};
  shape.sequences.source_vocabulary = shape.sequences.target_vocabulary = static_cast<std::int32_t>(pieces);
  shape.sequences.maximum_source_length = shape.sequences.maximum_target_length = 40;
  return shape;
}

/// Adds the tensors of `plan` whose names `wanted` accepts.
void add_tensors(SharedTorchFile& file, const WeightPlan& plan,
                 const std::function<bool(std::string_view name)>& wanted) {
  for (const PlannedWeight& planned : plan)
    for (const WeightPart& part : planned.parts)
      if (wanted(part.name))
        file.tensor(part.name, planned.share(), planned.is_vector ? planned.share() : planned.cols, planned.is_vector);
}

bool any(std::string_view) {
  return true;
}

/// Each layer of both stacks has 16 matrices of the storage's size, which are 4 MiB.
class SharedWeights : public ::testing::Test {
 protected:
  SharedWeights() { std::filesystem::create_directory(folder_); }

  std::string error_of_import(const std::string& importer = {}) {
    std::filesystem::remove_all(scratch_ / "imported");
    const fuzz::AllocationMeter meter;
    std::string error =
        error_of([&] { plugins::import_model(folder_, scratch_ / "imported", host_, {.importer = importer}); });
    allocated_ = meter.peak();
    return error;
  }
  /// Expects an error that names the file, little memory, and no output.
  void expect_refusal(const std::string& file) {
    EXPECT_THAT(error_of_import(), ::testing::AllOf(HasSubstr(file), HasSubstr("bytes of weights would become"),
                                                    HasSubstr("since parts of the model share them")));
    EXPECT_LT(allocated_, 24 * kMebibyte);
    EXPECT_FALSE(std::filesystem::exists(scratch_ / "imported"));
  }

  /// A folder of transformers with its weights in `shards` files.
  void write_bart(int layers, int shards) {
    const Json keys = {{"positions", "learned"}, {"position_offset", 2}, {"embedding_norm", true},
                       {"output_bias", true},    {"tying", "all"},       {"activation", "gelu"}};
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) std::filesystem::remove(entry.path());
    write_huggingface_example(folder_);
    std::filesystem::remove(folder_ / "model.safetensors");
    Json config = core::load_json((folder_ / "config.json").string());
    const std::int64_t pieces = config["vocab_size"];
    config.update({{"d_model", kWidth},
                   {"encoder_layers", layers},
                   {"decoder_layers", layers},
                   {"encoder_ffn_dim", kWidth},
                   {"decoder_ffn_dim", kWidth}});
    core::write_file(folder_ / "config.json", config.dump());
    const WeightPlan plan =
        plan_transformer(shape_of(layers, keys, pieces), BartNames({.shared = "model.shared.weight"}));
    Json files = Json::object();
    for (int shard = 0; shard < shards; ++shard) {
      const std::string name = shards == 1 ? "pytorch_model.bin" : fmt::format("pytorch_model-{}.bin", shard);
      SharedTorchFile file(folder_ / name);
      file.begin_dict();
      add_tensors(file, plan, [&](std::string_view tensor) {
        if (static_cast<int>(std::hash<std::string_view>()(tensor) % static_cast<std::size_t>(shards)) != shard)
          return false;
        files[std::string(tensor)] = name;
        return true;
      });
      file.end();
      file.finish();
    }
    if (shards != 1)
      core::write_file(folder_ / "pytorch_model.bin.index.json", Json{{"weight_map", std::move(files)}}.dump());
  }

  void write_fairseq(int layers) {
    write_fairseq_example(folder_);
    SharedTorchFile file(folder_ / "checkpoint_best.pt");
    file.begin_dict();
    file.text("args");
    file.begin_settings();
    for (const auto& [key, value] :
         {std::pair("arch", "transformer"), {"task", "translation"}, {"source_lang", "de"}, {"target_lang", "en"}}) {
      file.text(key);
      file.text(value);
    }
    for (const auto& [key, value] : {std::pair<const char*, std::int64_t>("embed_dim", kWidth),
                                     {"ffn_embed_dim", kWidth},
                                     {"layers", layers},
                                     {"attention_heads", 2}})
      for (const char* side : {"encoder_", "decoder_"}) {
        file.text(std::string(side) + key);
        file.number(value);
      }
    file.end_settings();
    file.text("model");
    file.begin_dict();
    const Json keys = {{"tying", "none"}, {"positions", "sinusoidal-tensor2tensor"}};
    add_tensors(file,
                plan_transformer(shape_of(layers, keys, 10),
                                 BartNames({.prefix = "", .output = "decoder.output_projection.weight"})),
                any);
    file.end();
    file.end();
    file.finish();
  }

  testing::TemporaryFolder scratch_;
  path folder_ = scratch_ / "model";
  plugins::Host host_;
  std::size_t allocated_ = 0;
};

TEST_F(SharedWeights, OfTransformersAreRefusedBeforeTheyAreUnfolded) {
  write_bart(2, 1);
  EXPECT_EQ(error_of_import(), "no error");
  write_bart(40, 1);
  EXPECT_LT(std::filesystem::file_size(folder_ / "pytorch_model.bin"), kMebibyte);
  expect_refusal("pytorch_model.bin: its ");
}

/// Each file alone is within its bounds.
TEST_F(SharedWeights, OfSeveralFilesHaveOneBudget) {
  write_bart(3, 2);
  EXPECT_EQ(error_of_import(), "no error");
  write_bart(40, 4);
  expect_refusal("pytorch_model-");
}

TEST_F(SharedWeights, OfFairseqAreRefusedBeforeTheyAreUnfolded) {
  write_fairseq(2);
  EXPECT_EQ(error_of_import(), "no error");
  write_fairseq(40);
  EXPECT_LT(std::filesystem::file_size(folder_ / "checkpoint_best.pt"), kMebibyte);
  expect_refusal("checkpoint_best.pt: its ");
}

/// Every file of the archive is its first one.
TEST_F(SharedWeights, OfAnNpzAreRefused) {
  std::filesystem::copy(golden_file("marian/opus"), folder_, std::filesystem::copy_options::recursive);
  EXPECT_EQ(error_of_import("marian"), "no error");
  std::ifstream file(folder_ / "model.npz", std::ios::binary);
  std::string archive((std::istreambuf_iterator<char>(file)), {});
  const std::size_t first = archive.find("PK\1\2");
  for (std::size_t entry = first; (entry = archive.find("PK\1\2", entry + 4)) != std::string::npos;)
    for (const auto& [at, size] : {std::pair<std::size_t, std::size_t>(16, 12), {42, 4}})
      archive.replace(entry + at, size, archive, first + at, size);
  core::write_file(folder_ / "model.npz", archive);
  EXPECT_THAT(error_of_import("marian"), HasSubstr("model.npz: byte"));
  EXPECT_THAT(error_of_import("marian"), HasSubstr("the files of the archive share bytes"));
}

/// An export to CTranslate2 stores tied layers once and names them by aliases.
class TiedLayers : public SharedWeights {
 protected:
  TiedLayers() { std::filesystem::remove(folder_); }
  void write_tied(const path& from, int layers) {
    std::filesystem::remove_all(folder_);
    Json changed = {{"d_model", 128}, {"heads", 2}, {"feed_forward", 256}, {"decoder_layers", layers}};
    changed["decoder_tied_layers"] = std::vector<int>(static_cast<std::size_t>(layers), 0);
    write_reshaped_model(from, folder_, changed, host_);
  }
  std::uintmax_t size() const { return std::filesystem::file_size(folder_ / "model.safetensors"); }
  std::string error_of_export(const std::string& format) {
    return error_of([&] { plugins::export_model(folder_, scratch_ / format, format, host_); });
  }
};

TEST_F(TiedLayers, ThatAliasesUnfoldAreRefused) {
  for (const int layers : {6, 300}) {
    write_tied(golden_file("marian/opus"), layers);
    ASSERT_EQ(error_of_export("ctranslate2"), "no error");
    EXPECT_LT(std::filesystem::file_size(scratch_ / "ctranslate2/model.bin"), 2 * size() + 2 * kMebibyte);
    std::filesystem::remove_all(folder_);
    std::filesystem::rename(scratch_ / "ctranslate2", folder_);
    if (layers == 6)
      EXPECT_EQ(error_of_import(), "no error");
    else
      expect_refusal("model.bin: its ");
  }
}

TEST_F(TiedLayers, AreNotUnfoldedByAnExportBeyondProportion) {
  write_tied(golden_file("huggingface/marian"), 6);
  EXPECT_EQ(error_of_export("huggingface"), "no error");
  std::filesystem::remove_all(scratch_ / "huggingface");
  write_tied(golden_file("huggingface/marian"), 300);
  EXPECT_THAT(error_of_export("huggingface"),
              ::testing::AllOf(HasSubstr("cannot be exported as huggingface: its "),
                               HasSubstr("since the format stores tied layers separately; at most "),
                               HasSubstr("Export it as ctranslate2, which stores them once")));
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "huggingface"));
}

/// Tied layers have no weights of their own in any form: when a model is opened, for its products, and when it is
/// converted. The states of a search, which each layer has, are not measured.
TEST_F(TiedLayers, TakeTheMemoryOfOneLayer) {
  constexpr int kLayers = 512;
  write_tied(golden_file("marian/opus"), kLayers);
  const std::uintmax_t bytes = size();
  EXPECT_LT(bytes, 2 * kMebibyte);
  const auto expect_little = [&](const char* what, const std::function<void()>& work) {
    const fuzz::AllocationMeter meter;
    work();
    EXPECT_LT(meter.peak(), 8 * bytes + 16 * kMebibyte) << what;
  };
  expect_little("opened", [&] { plugins::load_model(folder_, host_, {.trainable = true}); });
  for (const tensor::ComputeChoice type :
       {tensor::ComputeChoice::kF32, tensor::ComputeChoice::kBF16, tensor::ComputeChoice::kI8})
    expect_little("used", [&] {
      pipeline::Scorer scorer(pipeline::Model(folder_, host_, {.threads = 1, .compute = type}), {});
      EXPECT_FALSE(scorer.score({{.source = "a", .target = "b", .where = "line"}}).empty());
    });
  for (const tensor::ComputeChoice type : {tensor::ComputeChoice::kBF16, tensor::ComputeChoice::kI8})
    expect_little("rounded", [&] { plugins::quantize_model(folder_, scratch_ / "rounded", type, host_); });
  expect_little("averaged", [&] { formats::average_models({folder_, folder_}, scratch_ / "average"); });
  ASSERT_EQ(error_of_export("marian-npz"), "no error");
  expect_little("imported", [&] { plugins::load_model(scratch_ / "marian-npz", host_, {.trainable = true}); });
  const ImportedModel imported(host_, scratch_ / "marian-npz");
  EXPECT_EQ(imported.loaded().config.model["decoder_tied_layers"].size(), kLayers);
  EXPECT_LT(std::filesystem::file_size(imported.folder() / "model.safetensors"), bytes + kMebibyte);
}

}  // namespace
}  // namespace dragoman::imports
