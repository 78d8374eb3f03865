#include "ctranslate2/export.h"

#include "ctranslate2/model_file.h"
#include "ctranslate2/names.h"
#include "weights/exported_shape.h"

#include <limits>
#include <map>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;
using transformer::Config;

constexpr std::string_view kCtranslate2Format = "ctranslate2";

/// The arrays of a model.bin by name, in the order of the file.
class Ctranslate2Writer {
 public:
  explicit Ctranslate2Writer(const ExportedModel& exported) : exported_(exported) {}

  void flag(const std::string& name, int value) { scalar(name, Type::kInt8, static_cast<std::int8_t>(value)); }
  void number(const std::string& name, int value) { scalar(name, Type::kInt16, static_cast<std::int16_t>(value)); }
  void table(const std::string& name, ForeignWeights::Shape shape, std::vector<float> values) {
    entries_[name] = {.shape = std::move(shape), .values = std::move(values)};
  }
  void part(const std::string& name, const PlannedWeight& planned, std::size_t part) {
    ForeignWeights::Shape shape{planned.share()};
    if (!planned.is_vector) shape.push_back(planned.cols);
    entries_[name] = {.shape = std::move(shape), .planned = &planned, .part = part};
  }

  void write(const std::filesystem::path& path) {
    constexpr std::uint32_t kVersion = 6;
    constexpr std::uint32_t kRevision = 7;
    find_aliases();
    core::OutputFile file(path, {.partial = core::PartialPolicy::kTemporary});
    put(file, kVersion);
    put_name(file, "TransformerSpec");
    put(file, kRevision);
    put(file, static_cast<std::uint32_t>(entries_.size() - aliases_.size()));
    for (const auto& [name, entry] : entries_)
      if (!aliases_.contains(name)) put_array(file, name, entry);
    put(file, static_cast<std::uint32_t>(aliases_.size()));
    for (const auto& [alias, name] : aliases_) {
      put_name(file, alias);
      put_name(file, name);
    }
    file.commit();
  }

 private:
  using Type = Ctranslate2File::Type;

  struct Entry {
    Type type = Type::kFloat32;
    ForeignWeights::Shape shape{};
    std::string scalar{};
    std::vector<float> values{};
    const PlannedWeight* planned = nullptr;
    std::size_t part = 0;
  };

  template <class Number>
  void scalar(const std::string& name, Type type, Number value) {
    entries_[name] = {.type = type, .scalar = std::string(reinterpret_cast<const char*>(&value), sizeof value)};
  }

  /// Finds names whose values another name has already. The values are stored under the first name.
  void find_aliases() {
    std::map<std::pair<std::string, std::size_t>, std::string> first;
    for (const auto& [name, entry] : entries_) {
      if (entry.planned == nullptr) continue;
      const auto [known, is_new] = first.emplace(std::pair(entry.planned->parameter, entry.part), name);
      if (!is_new) aliases_.emplace(name, known->second);
    }
  }

  template <class Number>
  static void put(core::OutputFile& file, Number value) {
    file.write({reinterpret_cast<const char*>(&value), sizeof value});
  }
  static void put_name(core::OutputFile& file, const std::string& name) {
    put(file, static_cast<std::uint16_t>(name.size() + 1));
    file.write({name.c_str(), name.size() + 1});
  }

  void put_array(core::OutputFile& file, const std::string& name, const Entry& entry) {
    put_name(file, name);
    put(file, static_cast<std::uint8_t>(entry.shape.size()));
    for (const std::int64_t dimension : entry.shape) put(file, static_cast<std::uint32_t>(dimension));
    put(file, static_cast<std::uint8_t>(entry.type));
    if (entry.type != Type::kFloat32) {
      put(file, static_cast<std::uint32_t>(entry.scalar.size()));
      return file.write(entry.scalar);
    }
    std::span<const float> values = entry.values;
    if (entry.planned != nullptr) {
      extract_part(*entry.planned, entry.part, value_of(exported_, entry.planned->parameter), buffer_);
      values = buffer_;
    }
    if (values.size_bytes() > std::numeric_limits<std::uint32_t>::max())
      refuse_export(exported_, kCtranslate2Format,
                    fmt::format("{} has more than 4 GiB, which its files cannot say", name));
    put(file, static_cast<std::uint32_t>(values.size_bytes()));
    file.write({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }

  const ExportedModel& exported_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> aliases_;
  std::vector<float> buffer_;
};

/// Returns the number of the activation in CTranslate2's enumeration.
int activation_number(const ExportedModel& exported, const Config& config) {
  switch (config.activation.activation) {
    case ops::Activation::kRelu:
      return 0;
    case ops::Activation::kSwish:
      return 2;
    case ops::Activation::kGelu:
      return 3;
    case ops::Activation::kTanh:
      return 5;
    case ops::Activation::kSigmoid:
      return 6;
    default:
      refuse_export(exported, kCtranslate2Format, "it has an activation of feed-forward layers that is unknown there");
  }
}

void put_settings(Ctranslate2Writer& writer, const ExportedModel& exported, const TransformerShape& shape) {
  const Config& config = shape.config;
  for (const Side side : {Side::kEncoder, Side::kDecoder}) {
    const std::string scope = name_of(side) + std::string("/");
    writer.number(scope + "num_heads", config.heads);
    writer.flag(scope + "pre_norm", config.norm == transformer::NormPlace::kPre ? 1 : 0);
    writer.flag(scope + "activation", activation_number(exported, config));
    writer.flag(scope + "scale_embeddings", config.embedding_scale ? 1 : 0);
  }
  writer.flag("encoder/embeddings_merge", 0);
  writer.flag("encoder/multi_query_attention", 0);
  writer.number("decoder/alignment_layer", config.alignment_layer);
  writer.number("decoder/alignment_heads", config.alignment_heads);
  writer.flag("decoder/alibi", 0);
  writer.flag("decoder/alibi_use_positive_positions", 0);
  writer.flag("decoder/scale_alibi", 0);
  writer.flag("decoder/start_from_zero_embedding", shape.zero_start ? 1 : 0);
}

void put_positions(Ctranslate2Writer& writer, const ExportedModel& exported, const TransformerShape& shape,
                   const Ctranslate2Names& names) {
  const Config& config = shape.config;
  for (const Side side : {Side::kEncoder, Side::kDecoder}) {
    const std::int64_t count =
        side == Side::kEncoder ? shape.sequences.maximum_source_length : shape.sequences.maximum_target_length;
    std::vector<float> table;
    if (config.positions == nn::PositionKind::kLearned) {
      const tensor::Tensor& value = value_of(exported, fmt::format("{}.positions.weight", name_of(side)));
      table.assign(value.as<float>() + config.position_offset * config.d_model, value.as<float>() + value.size());
    } else {
      table = position_table(config, count);
    }
    writer.table(names.positions(side).name, {count, config.d_model}, std::move(table));
  }
}

void write_lists(const ExportedModel& exported, const TransformerShape& shape, const std::filesystem::path& folder) {
  const auto source = pieces_of(*exported.source_tokenizer, shape.source_pieces());
  const auto target = pieces_of(*exported.target_tokenizer, shape.target_pieces());
  const auto write = [&](const char* name, const std::vector<std::string>& pieces) {
    core::write_file(folder / name, core::Json(pieces).dump(1) + "\n");
  };
  if (source == target) return write("shared_vocabulary.json", target);
  write("source_vocabulary.json", source);
  write("target_vocabulary.json", target);
}

/// Returns whether each source starts with the begin token. CTranslate2's models do not define other tokens around
/// sentences.
bool begins_sources(const ExportedModel& exported) {
  formats::SequenceTags tags = exported.config->languages.always;
  tags.source_end = true;
  if (tags.empty()) return false;
  if (tags != formats::SequenceTags{.source_prefix = {exported.model->spec().begin}})
    refuse_export(exported, kCtranslate2Format,
                  "it has tokens around every sentence, which its users would have to give");
  return true;
}

void write_config(const ExportedModel& exported, const TransformerShape& shape, const std::filesystem::path& folder) {
  const nn::SequenceSpec& sequences = shape.sequences;
  const auto piece = [&](std::int32_t id) { return std::string(exported.target_tokenizer->piece(id)); };
  const std::int32_t begin =
      shape.zero_start && sequences.begin == sequences.decoder_start ? sequences.end : sequences.begin;
  const core::Json config = {{"add_source_bos", begins_sources(exported)},
                             {"add_source_eos", exported.config->languages.always.source_end},
                             {"bos_token", piece(begin)},
                             {"decoder_start_token", piece(shape.zero_start ? sequences.end : sequences.decoder_start)},
                             {"eos_token", piece(sequences.end)},
                             {"layer_norm_epsilon", shape.config.layer_norm_epsilon},
                             {"multi_query_attention", false},
                             {"unk_token", piece(sequences.unknown)}};
  core::write_file(folder / "config.json", config.dump(2) + "\n");
}

}  // namespace

void write_ctranslate2(const ExportedModel& exported, const std::filesystem::path& output) {
  TransformerShape shape = exported_shape(exported, false);
  shape.untied_layers = true;
  shape.untied_tables = true;
  const Ctranslate2Names names;
  const WeightPlan plan = plan_transformer(shape, names);
  Ctranslate2Writer writer(exported);
  for (const PlannedWeight& planned : plan)
    for (std::size_t part = 0; part < planned.parts.size(); ++part)
      writer.part(planned.parts[part].name, planned, part);
  put_settings(writer, exported, shape);
  put_positions(writer, exported, shape, names);
  writer.write(output / "model.bin");
  write_config(exported, shape, output);
  write_lists(exported, shape, output);
  copy_tokenizers(exported, output);
}

}  // namespace dragoman::imports
