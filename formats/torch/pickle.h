#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace dragoman::imports {

/// What a pickle holds, as data. Nothing is ever called: of the names that a pickle may call, those that torch writes
/// for tensors and plain containers are understood; objects of argparse.Namespace and of the classes of fairseq's and
/// omegaconf's configurations are read as dictionaries of their attributes; any other is refused.
struct PickleValue;
using PickleRef = const PickleValue*;

/// What `torch._utils._rebuild_tensor_v2` is told of a tensor.
struct PickledTensor {
  std::string storage;            ///< the key of its storage, a file of the archive
  std::string_view storage_type;  ///< "FloatStorage"
  std::int64_t offset = 0;        ///< of the first element in the storage, in elements
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< in elements
};

struct PickledList {
  std::vector<PickleRef> items;
};
struct PickledTuple {
  std::vector<PickleRef> items;
};
/// Also an OrderedDict and an argparse.Namespace, by its attributes.
struct PickledDict {
  std::vector<std::pair<PickleRef, PickleRef>> items;
};
struct PickledStorage {
  std::string key;
  std::string_view type;
};
/// A name that stands for itself, such as the type of a storage.
struct PickledGlobal {
  std::string name;
};

struct PickleValue {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, PickledList, PickledTuple, PickledDict,
               PickledStorage, std::shared_ptr<const PickledTensor>, PickledGlobal>
      value;

  template <class T>
  const T* as() const noexcept {
    return std::get_if<T>(&value);
  }
  /// Of a dictionary: the value at a text; nullptr if it is none, or has no such key.
  PickleRef at(std::string_view key) const;
};

/// Reads the opcodes of protocols 2 to 5 (PEP 307, PEP 3154, and Python's pickletools) that torch.save() writes.
class Pickle {
 public:
  /// `name` stands in messages. Error{kBadInput} for a damaged pickle; Error{kUnsupported} that names what would be
  /// called, for one that calls anything but what is said above.
  Pickle(std::span<const std::byte> bytes, const std::string& name);

  const PickleValue& root() const noexcept { return *root_; }
  /// How many bytes the pickle took; others may follow.
  std::size_t size() const noexcept { return size_; }

 private:
  std::deque<PickleValue> values_;  // referred to by others, in any way, cycles included
  PickleRef root_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace dragoman::imports
