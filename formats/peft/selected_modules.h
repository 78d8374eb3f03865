#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <dragoman/core/json.h>

namespace dragoman::imports {

/// The modules that an adapter_config.json selects by its keys `target_modules`, `exclude_modules`,
/// `layers_to_transform` and `layers_pattern`, as in PEFT's check_target_module_exists(). PEFT silently drops the
/// weights of other modules.
///
/// Regular expressions are not evaluated: a key with an expression selects every module.
class SelectedModules {
 public:
  /// `file` is for messages. Throws Error{kBadInput} if a key has a value of the wrong type.
  SelectedModules(const core::Json& config, const std::string& file);

  /// Returns the key that excludes the module, or nullopt. Takes time proportional to the square of the length of the
  /// name, but does not depend on the number of names in the lists.
  std::optional<std::string_view> left_out_by(std::string_view module) const;

 private:
  using Names = std::set<std::string, std::less<>>;

  /// One or more names, or a regular expression for whole names.
  struct NameList {
    Names names = {};
    bool whole = false;  ///< must match the whole name, and not only its end after a dot
    bool any = true;     ///< nothing is known about it
  };

  NameList names_of(const core::Json& config, const char* key, const std::string& file) const;
  void read_layers(const core::Json& config, const std::string& file);
  static bool holds(const NameList& list, std::string_view module);
  bool has_selected_layer(std::string_view module) const;

  NameList targets_;
  NameList excluded_;
  std::optional<std::set<std::int64_t>> layers_;
  Names layer_lists_;  ///< the names before the index of a layer; empty: any
};

}  // namespace dragoman::imports
