#include "options/lines/line_job.h"
#include "options/lines/line_pairs.h"
#include "options/model_options.h"
#include "options/option_group.h"
#include "program/command.h"

#include <array>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/core/option_table.h>
#include <dragoman/formats/npy.h>
#include <dragoman/formats/safetensors.h>
#include <dragoman/pipeline/embedder.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;
using core::ErrorCode;
using core::Json;
using pipeline::Pooling;

constexpr std::array<std::pair<std::string_view, Pooling>, 4> kPoolings = {
    {{"mean", Pooling::kMean}, {"first", Pooling::kFirst}, {"max", Pooling::kMax}, {"none", Pooling::kNone}}};

/// Returns a row of the states as JSON.
Json row_of(const decoding::TokenStates& states, std::int64_t layer, std::int64_t token) {
  const auto begin = states.values.begin() + (layer * states.tokens + token) * states.width;
  return std::vector<float>(begin, begin + states.width);
}

/// Writes the results of lines in one format.
class EmbeddingWriter {
 public:
  virtual ~EmbeddingWriter() = default;
  virtual void write(const pipeline::LineEmbedding& line) = 0;
  virtual void finish() {}  ///< writes what is written at the end
};

/// Writes {"tokens": [..], "embedding": [..]}, or "states" with a row per token. With all layers, these are lists.
class JsonLines final : public EmbeddingWriter {
 public:
  JsonLines(LineJob& job, bool pooled, bool all_layers) : job_(&job), pooled_(pooled), all_layers_(all_layers) {}

  void write(const pipeline::LineEmbedding& line) override {
    if (!line.error.empty()) return job_->write(core::one_line({{"error", line.error}}));
    const decoding::TokenStates& states = line.states;
    Json layers = Json::array();
    for (std::int64_t layer = 0; layer < states.layers; ++layer) {
      Json rows = Json::array();
      for (std::int64_t token = 0; token < states.tokens; ++token) rows.push_back(row_of(states, layer, token));
      layers.push_back(pooled_ ? std::move(rows.front()) : std::move(rows));
    }
    const Json object{{"tokens", line.pieces},
                      {pooled_ ? "embedding" : "states", all_layers_ ? std::move(layers) : std::move(layers.front())}};
    job_->write(core::one_line(object));
  }

 private:
  LineJob* job_;
  bool pooled_;
  bool all_layers_;
};

/// Writes an array. The header precedes the rows of all lines, so rows are kept until the end.
class ArrayWriter : public EmbeddingWriter {
 public:
  ArrayWriter(std::string output, bool all_layers) : output_(std::move(output)), all_layers_(all_layers) {}

  void write(const pipeline::LineEmbedding& line) override {
    const decoding::TokenStates& states = line.states;
    layers_ = states.layers;
    width_ = states.width;
    for (std::int64_t token = 0; token < states.tokens; ++token)
      for (std::int64_t layer = 0; layer < states.layers; ++layer) {
        const auto begin = states.values.begin() + (layer * states.tokens + token) * states.width;
        values_.insert(values_.end(), begin, begin + states.width);
      }
    rows_ += states.tokens;
    offsets_.push_back(static_cast<std::int32_t>(rows_));
  }

 protected:
  std::vector<std::int64_t> shape() const {
    return all_layers_ ? std::vector<std::int64_t>{rows_, layers_, width_} : std::vector<std::int64_t>{rows_, width_};
  }

  std::string output_;
  std::vector<float> values_;
  std::vector<std::int32_t> offsets_{0};

 private:
  bool all_layers_;
  std::int64_t rows_ = 0;
  std::int64_t layers_ = 1;
  std::int64_t width_ = 0;
};

class NumpyArray final : public ArrayWriter {
 public:
  using ArrayWriter::ArrayWriter;
  void finish() override { formats::write_npy(output_, shape(), values_); }
};

class SafetensorsArray final : public ArrayWriter {
 public:
  SafetensorsArray(const std::string& output, bool pooled, bool all_layers)
      : ArrayWriter(output, all_layers), pooled_(pooled) {}
  void finish() override {
    std::vector<formats::TensorSpec> tensors{{pooled_ ? "embeddings" : "states", tensor::DType::kF32, shape()}};
    if (!pooled_) tensors.push_back({"offsets", tensor::DType::kI32, {static_cast<std::int64_t>(offsets_.size())}});
    formats::SafetensorsWriter writer(output_, tensors);
    writer.write(view(values_, tensor::DType::kF32));
    if (!pooled_) writer.write(view(offsets_, tensor::DType::kI32));
    writer.finish();
  }

 private:
  template <class T>
  static tensor::Tensor view(std::vector<T>& values, tensor::DType dtype) {
    const auto size = static_cast<std::int64_t>(values.size());
    return {values.data(), 1, size, size, dtype, tensor::Device::kCpu};
  }
  bool pooled_;
};

class Embed final : public Command {
 public:
  std::string_view name() const override { return "embed"; }
  std::string_view summary() const override {
    return "compute vectors of text from the states of a trained model's encoder or decoder";
  }
  std::string_view examples() const override {
    return "dragoman embed --model models/de-en news.de --format npy --output news.npy\n"
           "dragoman embed --model models/de-en news.de --pooling none --layer all --format safetensors --output "
           "news.safetensors\n"
           "dragoman embed --model models/de-en news.de --target news.en --output features.jsonl\n";
  }

  void add_options(po::options_description& options) override {
    options.add_options()("model,m", po::value(&model_)->required()->value_name("DIR"), "required: model folder")(
        "input,i", po::value(&input_)->default_value("-")->value_name("FILE"), "source lines; - is standard input")(
        "target", po::value(&target_)->notifier(require_name)->value_name("FILE"),
        "target lines, one per source line: embed them with the states of the decoder, given the source, before the "
        "projection to the vocabulary")("output,o", po::value(&output_)->default_value("-")->value_name("FILE"),
                                        "vectors; - is standard output (jsonl)")(
        "format", po::value(&format_)->default_value("jsonl")->value_name("FORMAT"),
        "jsonl: one object per line, with the tokens; npy: one array [lines, width]; safetensors: the same array as "
        "`embeddings`, or with --pooling none `states` of all tokens and `offsets` of the lines. npy and safetensors "
        "are kept in memory until the end")("pooling", po::value(&pooling_)->default_value("mean")->value_name("HOW"),
                                            "how the vectors of a line's tokens, including its end (with --target: the "
                                            "start), are combined: mean, first, max; none: not combined")(
        "layer", po::value(&layer_)->default_value("final")->value_name("N"),
        "final: the output of the stack; 0: the token embeddings; N: the output of layer N (-1: the last layer); all: "
        "0 to the last layer");
    long_lines_.add_to(
        options,
        "for a line with more tokens than the model supports: fail; cut (embed the supported part); or skip (write an "
        "`error` instead of a vector, jsonl). After a failure, continue with --resume --long-lines skip");
    job_.add_to(options);
    po::options_description machine = option_group("Machine");
    model_options_.add_to(machine);
    options.add(machine);
  }
  std::vector<std::string> positional() const override { return {"input"}; }

  void run(const Session& session) override {
    if (input_ == "-" && target_ == "-") throw UsageError("--input and --target cannot both be standard input");
    const pipeline::LongLines long_lines = long_lines_.read();
    const Pooling pooling = read_pooling();
    const decoding::StatesRequest states = read_states();
    check_format(pooling, long_lines);
    if (format_ != "jsonl") require_place(output_);
    plugins::Host host(model_options_.host());
    pipeline::Embedder embedder(pipeline::Model(model_, host, model_options_.read(host, session.log), session.stop),
                                {.pooling = pooling, .states = states, .long_lines = long_lines});
    LinePairReader reader(input_, target_, session.stop);
    if (format_ == "jsonl") {
      job_.open("embed", identity(), {model_}, output_, session.stop);
      job_.skip_lines_kept(reader);
    }
    const std::unique_ptr<EmbeddingWriter> writer = make_writer(pooling, states);
    std::vector<pipeline::LineEmbedding> lines;
    const auto compute = [&] {
      std::vector<pipeline::LinePair> pairs;
      const bool more =
          reader.read(pairs, pooling == Pooling::kNone ? LinePairReader::kFewBytes : LinePairReader::kUsualBytes);
      lines = embedder.embed(std::move(pairs), session.stop);
      return more;
    };
    job_.run(session, "embed", reader, compute, [&] {
      for (const pipeline::LineEmbedding& line : lines) write(line, *writer);
    });
    writer->finish();
    for (const std::string& text : {pipeline::describe(reader.counts()), long_lines_.describe("line")})
      if (!text.empty()) session.log(core::LogLevel::kInfo, text);
  }

 private:
  /// Rejects `--target "$NAME"` with an empty name.
  static void require_name(const std::string& name) {
    if (name.empty()) throw UsageError("--target has no name of a file behind it");
  }
  /// An array is written at the end, so obstacles are reported now.
  static void require_place(const std::string& output) {
    const std::filesystem::path folder = std::filesystem::absolute(output).parent_path();
    std::error_code ignored;
    core::require(std::filesystem::is_directory(folder, ignored), ErrorCode::kIo, "{}: there is no folder {}", output,
                  folder.string());
  }

  Pooling read_pooling() const {
    for (const auto& [name, pooling] : kPoolings)
      if (name == pooling_) return pooling;
    throw UsageError("--pooling must be mean, first, max or none");
  }

  decoding::StatesRequest read_states() const {
    decoding::StatesRequest states{.of_decoder = !target_.empty(), .final_states = layer_ == "final"};
    if (layer_ == "final" || layer_ == "all") return states;
    try {
      states.layers = {core::number_parser(core::NumberRange<int>{.least = -4096, .most = 4096})(layer_).get<int>()};
    } catch (const core::Error& error) {
      throw UsageError(fmt::format("--layer must be final, all or a number: {}", error.what()));
    }
    return states;
  }

  void check_format(Pooling pooling, pipeline::LongLines long_lines) const {
    if (format_ == "jsonl") return;
    if (format_ != "npy" && format_ != "safetensors") throw UsageError("--format must be jsonl, npy or safetensors");
    if (output_ == "-") throw UsageError(fmt::format("--format {} needs --output FILE", format_));
    if (format_ == "npy" && pooling == Pooling::kNone)
      throw UsageError("--pooling none gives each line its own number of vectors: use --format safetensors or jsonl");
    if (job_.resumes() || job_.overwrites())
      throw UsageError("--resume and --overwrite are for --format jsonl: an array is written at the end");
    if (long_lines == pipeline::LongLines::kSkip)
      throw UsageError("--long-lines skip leaves lines without a vector: use --format jsonl, or cut the lines");
  }

  /// Returns everything that determines a line, except for the model and the text.
  core::Json identity() const {
    return {{"pooling", pooling_},
            {"layer", layer_},
            {"of", target_.empty() ? "source" : "target"},
            {"machine", model_options_.identity()}};
  }

  std::unique_ptr<EmbeddingWriter> make_writer(Pooling pooling, const decoding::StatesRequest& states) {
    const bool pooled = pooling != Pooling::kNone;
    const bool all_layers = !states.final_states && states.layers.empty();
    if (format_ == "jsonl") return std::make_unique<JsonLines>(job_, pooled, all_layers);
    if (format_ == "safetensors") return std::make_unique<SafetensorsArray>(output_, pooled, all_layers);
    return std::make_unique<NumpyArray>(output_, all_layers);
  }

  void write(const pipeline::LineEmbedding& line, EmbeddingWriter& writer) {
    writer.write(line);
    if (line.cut) long_lines_.count_cut();
    if (!line.error.empty()) long_lines_.count_skipped();
    if (format_ == "jsonl" && (line.cut || !line.error.empty())) job_.note_long_line(long_lines_.policy());
  }

  std::string model_;
  std::string input_;
  std::string target_;
  std::string output_;
  std::string format_;
  std::string pooling_;
  std::string layer_;
  LongLinesOption long_lines_;
  LineJob job_;
  ModelOptions model_options_;
};

}  // namespace

std::unique_ptr<Command> make_embed() {
  return std::make_unique<Embed>();
}

}  // namespace dragoman::cli
