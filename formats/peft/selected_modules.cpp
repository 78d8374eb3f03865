#include "peft/selected_modules.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <dragoman/core/error.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;
using core::Json;

constexpr const char* kTargets = "target_modules";
constexpr const char* kExcluded = "exclude_modules";
constexpr const char* kLayers = "layers_to_transform";
constexpr const char* kLayersPattern = "layers_pattern";

/// Returns whether a regular expression is a plain name. A dot in it matches any character, but names have dots there.
bool is_plain(std::string_view name) {
  return std::ranges::all_of(name,
                             [](unsigned char byte) { return std::isalnum(byte) != 0 || byte == '_' || byte == '.'; });
}

const Json& value_of(const Json& config, const char* key) {
  static const Json null;
  const auto found = config.find(key);
  return found == config.end() ? null : *found;
}

/// Calls `visit` with the name before an index, and the index, for each ".NAME.INDEX." of a module, until it returns
/// true. Returns whether it did.
template <class Visit>
bool any_layer(std::string_view module, Visit&& visit) {
  std::size_t begin = 0;
  std::string_view before;
  for (std::size_t dot; (dot = module.find('.', begin)) != std::string_view::npos; begin = dot + 1) {
    const std::string_view part = module.substr(begin, dot - begin);
    std::int64_t index = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool is_index = begin > 0 && error == std::errc() && end == part.data() + part.size() && index >= 0;
    if (is_index && visit(before, index)) return true;
    before = part;
  }
  return false;
}

}  // namespace

SelectedModules::SelectedModules(const Json& config, const std::string& file)
    : targets_(names_of(config, kTargets, file)), excluded_(names_of(config, kExcluded, file)) {
  read_layers(config, file);
}

SelectedModules::NameList SelectedModules::names_of(const Json& config, const char* key,
                                                    const std::string& file) const {
  const Json& value = value_of(config, key);
  NameList list;
  if (value.is_null()) return list;
  if (value.is_string()) {
    const auto& name = value.get_ref<const std::string&>();
    list.any = name.empty() || !is_plain(name) || name == "all-linear";
    list.whole = true;
    list.names.insert(name);
    return list;
  }
  const bool fits = value.is_array() && std::ranges::all_of(value, [](const Json& name) { return name.is_string(); });
  core::require(fits, ErrorCode::kBadInput, "{}: {} must be a name or a list of names", file, key);
  for (const Json& name : value) list.names.insert(name.get<std::string>());
  list.any = false;
  return list;
}

void SelectedModules::read_layers(const Json& config, const std::string& file) {
  const Json& layers = value_of(config, kLayers);
  if (layers.is_null() || (layers.is_array() && layers.empty()) || targets_.whole) return;
  const Json list = layers.is_array() ? layers : Json::array({layers});
  const Json& pattern = value_of(config, kLayersPattern);
  const Json patterns = pattern.is_array() ? pattern : pattern.is_null() ? Json::array() : Json::array({pattern});
  for (const Json& layer : list)
    core::require(layer.is_number_integer(), ErrorCode::kBadInput,
                  "{}: {} must be the index of a layer or a list of them", file, kLayers);
  for (const Json& name : patterns) {
    core::require(name.is_string(), ErrorCode::kBadInput, "{}: {} must be a name or a list of names", file,
                  kLayersPattern);
    const auto& text = name.get_ref<const std::string&>();
    if (!is_plain(text)) return;
    if (!text.empty()) layer_lists_.insert(text);
  }
  layers_.emplace();
  for (const Json& layer : list) layers_->insert(layer.get<std::int64_t>());
}

bool SelectedModules::holds(const NameList& list, std::string_view module) {
  if (list.names.contains(module)) return true;
  if (list.whole) return false;
  for (std::size_t dot = module.find('.'); dot != std::string_view::npos; dot = module.find('.', dot + 1))
    if (list.names.contains(module.substr(dot + 1))) return true;
  return false;
}

/// If a name has several indices, as in "block.0.layer.1", PEFT uses the first one since 0.19, and the last one in
/// earlier versions. A module counts as selected if any version of PEFT selects it.
bool SelectedModules::has_selected_layer(std::string_view module) const {
  return any_layer(module, [&](std::string_view list, std::int64_t index) {
    return (layer_lists_.empty() || layer_lists_.contains(list)) && layers_->contains(index);
  });
}

std::optional<std::string_view> SelectedModules::left_out_by(std::string_view module) const {
  if (!excluded_.any && holds(excluded_, module)) return kExcluded;
  if (!targets_.any && !holds(targets_, module)) return kTargets;
  // PEFT checks the layer only if a name in the list matched the end of the module's name.
  const bool named_whole = !targets_.any && targets_.names.contains(module);
  if (layers_ && !named_whole && !has_selected_layer(module)) return kLayers;
  return std::nullopt;
}

}  // namespace dragoman::imports
