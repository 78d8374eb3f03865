#include "fairseq/checkpoint.h"

#include "torch/torch_file.h"

#include <set>

#include <dragoman/core/append_member.h>
#include <dragoman/core/error.h>
#include <dragoman/core/json.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;
using core::Json;

/// Converts pickled settings to JSON, to the depth at which settings occur. Objects of omegaconf are replaced by their
/// contents.
class SettingsReader {
 public:
  explicit SettingsReader(const std::string& file) : file_(file) {}

  Json read(const PickleValue& value, int depth = 0) {
    constexpr int kDeepest = 8;
    charge(1);
    if (const auto* flag = value.as<bool>()) return *flag;
    if (const auto* number = value.as<std::int64_t>()) return *number;
    if (const auto* number = value.as<double>()) return *number;
    if (const auto* text = value.as<std::string>()) {
      charge(text->size() / kLettersOfValue);
      return *text;
    }
    if (depth == kDeepest) return {};
    if (const auto* list = value.as<PickledList>()) return read_list(list->items, depth);
    if (const auto* tuple = value.as<PickledTuple>()) return read_list(tuple->items, depth);
    if (value.as<PickledDict>() == nullptr) return {};
    charge(value.as<PickledDict>()->items.size());
    for (const char* held : {"_content", "_val"})
      if (const PickleRef content = value.at(held); content != nullptr && value.at("_metadata") != nullptr)
        return read(*content, depth + 1);
    Json object = Json::object();
    std::set<std::string_view> known;
    for (const auto& [key, item] : value.as<PickledDict>()->items)
      if (const auto* name = key->as<std::string>()) {
        charge(name->size() / kLettersOfValue);
        Json read_item = read(*item, depth + 1);
        if (known.insert(*name).second)
          core::append_member(object, *name, std::move(read_item));
        else
          object[*name] = std::move(read_item);
      }
    return object;
  }

 private:
  static constexpr std::size_t kLettersOfValue = 64;

  /// Counts the values read. An object that occurs once in a pickle may be referenced any number of times, so each
  /// reference counts.
  void charge(std::size_t values) {
    constexpr std::size_t kMaxValues = 20000;  // a real one has some hundred
    values_ += values;
    core::require(values_ <= kMaxValues, ErrorCode::kBadInput, "{}: its settings are more than any model's", file_);
  }
  Json read_list(const std::vector<PickleRef>& items, int depth) {
    Json list = Json::array();
    for (const PickleRef item : items) list.push_back(read(*item, depth + 1));
    return list;
  }

  const std::string& file_;
  std::size_t values_ = 0;
};

/// Flattens the groups of newer models: encoder.layers becomes encoder_layers.
void flatten(Json& settings) {
  for (const char* group : {"encoder", "decoder"}) {
    const auto found = settings.find(group);
    if (found == settings.end() || !found->is_object()) continue;
    const Json keys = *found;
    for (const auto& [key, value] : keys.items()) settings[std::string(group) + "_" + key] = value;
  }
}

const Json& part_of(const Json& tree, const char* key) {
  static const Json none = Json::object();
  const auto found = tree.find(key);
  return found != tree.end() && found->is_object() ? *found : none;
}

std::string text_at(const Json& tree, const char* key) {
  const auto found = tree.find(key);
  return found != tree.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

FairseqCheckpoint open_fairseq_checkpoint(const std::filesystem::path& file) {
  const TorchFile opened = TorchFile::open(file);
  FairseqCheckpoint checkpoint;
  SettingsReader reader(opened.name());
  const auto read_part = [&](const char* key) {
    const PickleRef part = opened.root().at(key);
    Json read = part == nullptr ? Json() : reader.read(*part);
    return read.is_object() ? read : Json::object();
  };
  const Json cfg = read_part("cfg");
  if (!cfg.empty()) {
    checkpoint.settings = part_of(cfg, "model");
    const Json& task = part_of(cfg, "task");
    checkpoint.task = text_at(task, "_name");
    for (const char* key : {"source_lang", "target_lang"})
      if (text_at(checkpoint.settings, key).empty()) checkpoint.settings[key] = text_at(task, key);
  } else {
    checkpoint.settings = read_part("args");
    checkpoint.task = text_at(checkpoint.settings, "task");
  }
  core::require(!checkpoint.settings.empty() && opened.root().at("model") != nullptr, ErrorCode::kBadInput,
                "{}: has no model with its settings (args or cfg); it is no checkpoint of fairseq-train",
                opened.name());
  flatten(checkpoint.settings);
  checkpoint.weights = std::make_unique<ForeignTensors>(opened.name());
  add_torch(*checkpoint.weights, opened, "model");
  return checkpoint;
}

}  // namespace dragoman::imports
