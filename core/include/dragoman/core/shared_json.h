#pragma once

#include <memory>

#include <dragoman/core/json_fwd.h>

namespace dragoman::core {

/// An immutable Json tree with value semantics, for structs in headers that include only json_fwd.h. Copies share the
/// tree; comparison compares the trees. Any number of threads may read copies.
///
///     const SharedJson options(Json{{"separator", "@@"}});     // json.h
///     std::cout << options.get().value("separator", "");
class SharedJson {
 public:
  /// An empty object. A moved-from value is one too.
  SharedJson() = default;
  SharedJson(Json tree);  // NOLINT(google-explicit-constructor): stands for the tree
  /// Returns a null tree, for callers that distinguish it from an empty object.
  static SharedJson null();

  const Json& get() const noexcept;
  /// Returns whether the tree has no elements.
  bool empty() const noexcept;
  bool operator==(const SharedJson& other) const;

 private:
  std::shared_ptr<const Json> tree_;  ///< null stands for an empty object
};

}  // namespace dragoman::core
