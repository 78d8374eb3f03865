#pragma once

#include <memory>

#include <dragoman/core/json_fwd.h>

namespace dragoman::core {

/// An immutable Json tree as a value, for structs in headers that include json_fwd.h only. Copies share the tree and
/// are compared by it. Any number of threads may read copies.
class SharedJson {
 public:
  /// An empty object, which a moved-from value is, too.
  SharedJson() = default;
  SharedJson(Json tree);  // NOLINT(google-explicit-constructor): stands for the tree
  /// A tree without a value, where that is told from an empty object.
  static SharedJson null();

  const Json& get() const noexcept;
  /// Whether the tree has no elements.
  bool empty() const noexcept;
  bool operator==(const SharedJson& other) const;

 private:
  std::shared_ptr<const Json> tree_;  ///< null: an empty object
};

}  // namespace dragoman::core
