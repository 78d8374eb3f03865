#include "start/run_embeddings.h"

#include "run/word_vectors.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/formats/safetensors.h>
#include <dragoman/nn/zero_start.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::training {
namespace {

using core::ErrorCode;

constexpr const char* kSides[] = {"source", "target"};

const EmbeddingsConfig& of_side(const DataConfig& config, std::size_t side) {
  return side == 0 ? config.source_embeddings : config.target_embeddings;
}

const nn::Parameter* table_of(const nn::Seq2SeqModel& model, std::size_t side) {
  const nn::EmbeddingTables tables = model.embedding_tables();
  return side == 0 ? tables.source : tables.target;
}

bool holds_floats(tensor::DType dtype) {
  return dtype != tensor::DType::kI8 && dtype != tensor::DType::kI32;
}

/// Fills a table.
class TableFiller {
 public:
  TableFiller(const EmbeddingsConfig& config, const tokenizer::Tokenizer& tokenizer, tensor::DeviceMemory& memory,
              const nn::Parameter& table)
      : config_(config),
        tokenizer_(tokenizer),
        width_(table.cols),
        view_(tensor::HostView::of(memory, table.value)),
        line_of_(static_cast<std::size_t>(table.rows), 0) {}

  /// Returns "812 of 1000 pieces from vectors.txt, which holds 4000; 188 keep their initial values".
  std::string fill(const std::stop_token& stop) {
    const bool is_text = !config_.file.ends_with(".safetensors");
    core::require(!is_text || config_.tensor.empty(), ErrorCode::kBadInput,
                  "data.embeddings: {}: `tensor` names one of a .safetensors file, and this is text; leave it out",
                  config_.file);
    if (is_text)
      read_text(stop);
    else
      read_safetensors();
    view_.store();
    const auto pieces = static_cast<std::int64_t>(line_of_.size());
    return fmt::format("{} of {} pieces from {}, which holds {}; {} keep their initial values", found_, pieces,
                       config_.file, held_, pieces - found_);
  }
  bool found_none() const noexcept { return found_ == 0; }

 private:
  /// `where` is the place of the row in the file, for messages.
  void set_row(std::int64_t row, std::span<const double> values, const std::string& where) {
    for (std::int64_t j = 0; j < width_; ++j) {
      const double value = config_.scale * values[static_cast<std::size_t>(j)];
      // Embeddings times the root of the width must be finite, too.
      constexpr double kMax = 1e30;
      core::require(std::fabs(value) <= kMax, ErrorCode::kBadInput,
                    "{}: {}: number {} is {} (times the scale {}); embeddings are at most {:g}, smaller by far if a "
                    "model is to learn with them",
                    config_.file, where, j + 1, values[static_cast<std::size_t>(j)], config_.scale, kMax);
      tensor::set_element(view_.tensor(), row, j, value);
    }
    ++found_;
  }

  void take(const WordVector& vector) {
    const std::optional<std::int32_t> id = tokenizer_.id(vector.piece);
    if (!id) return;
    std::uint64_t& line = line_of_.at(static_cast<std::size_t>(*id));
    core::require(line == 0, ErrorCode::kBadInput, "{}: line {}: the piece {} has a vector in line {} already",
                  config_.file, vector.line, core::Quoted{vector.piece}, line);
    line = vector.line;
    set_row(*id, vector.values, fmt::format("line {}", vector.line));
  }

  void read_text(const std::stop_token& stop) {
    core::InputFile file(config_.file, stop);
    WordVectorParser parser(file.name(), width_, [this](const WordVector& vector) { take(vector); });
    std::array<char, 1 << 16> buffer;
    while (const std::size_t count = file.read(buffer)) {
      core::require(!stop.stop_requested(), ErrorCode::kInterrupted, "interrupted while {} was read", file.name());
      parser.feed({buffer.data(), count});
    }
    parser.finish();
    held_ = static_cast<std::int64_t>(parser.vectors());
  }

  void read_safetensors() {
    const auto file = formats::SafetensorsFile::open(config_.file);
    const formats::StoredTensor& stored = matrix_of(file);
    std::vector<double> values(static_cast<std::size_t>(width_));
    const tensor::Tensor row{values.data(), 1, width_, width_, tensor::DType::kF64, tensor::Device::kReference};
    for (std::int64_t i = 0; i < stored.shape[0]; ++i) {
      file.read(stored, i * width_, row);
      for (std::int64_t j = 0; j < width_; ++j)
        core::require(std::isfinite(values[static_cast<std::size_t>(j)]), ErrorCode::kBadInput,
                      "{}: the tensor '{}' holds {} at [{}, {}]", config_.file, stored.name,
                      values[static_cast<std::size_t>(j)], i, j);
      set_row(i, values, fmt::format("row {}", i));
    }
    held_ = stored.shape[0];
  }

  const formats::StoredTensor& matrix_of(const formats::SafetensorsFile& file) const {
    core::require(!config_.tensor.empty() || file.tensors().size() == 1, ErrorCode::kBadInput,
                  "{}: holds {} tensors; say by `tensor` which are the embeddings", config_.file,
                  file.tensors().size());
    const formats::StoredTensor* const stored =
        config_.tensor.empty() ? &file.tensors().front() : file.find(config_.tensor);
    core::require(stored != nullptr, ErrorCode::kBadInput, "{}: holds no tensor {}", config_.file,
                  core::Quoted{config_.tensor});
    const std::vector<std::int64_t> shape{static_cast<std::int64_t>(line_of_.size()), width_};
    core::require(stored->shape == shape && stored->dtype && holds_floats(*stored->dtype), ErrorCode::kBadInput,
                  "{}: the tensor {} is {} {}, but the embeddings of the model are floats of {}", config_.file,
                  core::Quoted{stored->name}, stored->type, formats::describe_shape(stored->shape),
                  formats::describe_shape(shape));
    return *stored;
  }

  const EmbeddingsConfig& config_;
  const tokenizer::Tokenizer& tokenizer_;
  std::int64_t width_;
  tensor::HostView view_;
  std::vector<std::uint64_t> line_of_;  ///< line of each piece; 0: none yet
  std::int64_t found_ = 0;
  std::int64_t held_ = 0;
};

}  // namespace

void prepare_embeddings(const DataConfig& config, nn::Seq2SeqModel& model) {
  for (std::size_t side = 0; side < 2; ++side) {
    const EmbeddingsConfig& embeddings = of_side(config, side);
    if (embeddings.file.empty()) continue;
    const nn::Parameter* const table = table_of(model, side);
    core::require(table != nullptr, ErrorCode::kBadInput,
                  "data.embeddings.{}: the model does not say which parameter its embeddings of the {} are",
                  kSides[side], kSides[side]);
    core::require(side == 0 || config.source_embeddings.file.empty() || table != table_of(model, 0),
                  ErrorCode::kBadInput,
                  "data.embeddings: source and target have one table in this model (model.tying); name one file");
    if (embeddings.frozen) model.parameters().find(table->name)->frozen = true;
  }
}

void load_embeddings(const DataConfig& config, const RunTokenizers& tokenizers, nn::Seq2SeqModel& model,
                     const core::LogSink& log, const std::stop_token& stop) {
  for (std::size_t side = 0; side < 2; ++side) {
    const EmbeddingsConfig& embeddings = of_side(config, side);
    if (embeddings.file.empty()) continue;
    const RunTokenizer& tokenizer = side == 0 ? tokenizers.source : tokenizers.target;
    TableFiller filler(embeddings, *tokenizer.tokenizer, model.parameters().memory(), *table_of(model, side));
    const std::string account = filler.fill(stop);
    core::log(log, filler.found_none() ? core::LogLevel::kWarning : core::LogLevel::kInfo,
              fmt::format("embeddings of the {}: {}{}", kSides[side], account,
                          filler.found_none() ? "; are its pieces spelled as the tokenizer's?" : ""));
  }
}

void start_from_zeros(nn::Seq2SeqModel& model) {
  if (nn::starts_from_zeros(model)) return;
  const nn::Parameter* const table = model.embedding_tables().target;
  core::require(table != nullptr, ErrorCode::kBadInput,
                "model.decoder_start: zeros needs the embeddings of the decoder, and the model does not declare them; "
                "use begin or end");
  const std::int32_t start = model.spec().decoder_start;
  core::require(start != model.spec().end, ErrorCode::kBadInput,
                "model.decoder_start: the embedding of the begin token becomes zeros, and the begin token is the end "
                "token as well; name another in data.special_tokens.begin");
  core::require(!table->frozen, ErrorCode::kBadInput,
                "model.decoder_start: zeros would change the embeddings ({}), which are not trained; leave it out, or "
                "train them",
                table->name);
  tensor::clear(model.parameters().memory(), table->value.row_range(start, start + 1));
  model.parameters().values_changed();
}

core::Json embedding_sums(const DataConfig& config, const core::Json& before) {
  core::Json sums = core::Json::object();
  for (std::size_t side = 0; side < 2; ++side) {
    const std::string& file = of_side(config, side).file;
    if (file.empty()) continue;
    const std::string key = fmt::format("{}_embeddings", kSides[side]);
    std::error_code ignored;
    const bool gone = std::filesystem::status(file, ignored).type() == std::filesystem::file_type::not_found;
    const bool recorded = !before.is_null() && before["data"].contains(key);
    // The file is read twice, and to its end before it is used.
    const auto type = std::filesystem::status(file, ignored).type();
    core::require(type == std::filesystem::file_type::regular || type == std::filesystem::file_type::not_found,
                  ErrorCode::kBadInput,
                  "data.embeddings.{}: {} is no regular file (a pipe, a device or a folder); write it to a file",
                  kSides[side], file);
    sums[key] = gone && recorded ? before["data"][key] : core::Json(formats::sha256_of_file(file));
  }
  return sums;
}

}  // namespace dragoman::training
