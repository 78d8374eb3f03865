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

/// The contents of a pickle as data. Nothing is ever called. The names of callables that torch writes for tensors and
/// plain containers are interpreted. Objects of argparse.Namespace and of the configuration classes of fairseq and
/// omegaconf become dictionaries of their attributes. Any other callable is an error.
struct PickleValue;
using PickleRef = const PickleValue*;

/// The arguments of `torch._utils._rebuild_tensor_v2` for a tensor.
struct PickledTensor {
  std::string storage;            ///< the key of its storage, which is a file of the archive
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
/// A dictionary, an OrderedDict, or an argparse.Namespace by its attributes.
struct PickledDict {
  std::vector<std::pair<PickleRef, PickleRef>> items;
};
struct PickledStorage {
  std::string key;
  std::string_view type;
};
/// A name without a call, such as the type of a storage.
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
  /// Returns the value at a string key, or nullptr if this is not a dictionary or lacks the key.
  PickleRef at(std::string_view key) const;
};

/// Reads the opcodes of protocols 2 to 5 (PEP 307, PEP 3154, and Python's pickletools) that torch.save() writes.
class Pickle {
 public:
  /// `name` is for messages. Throws Error{kBadInput} for a damaged pickle, and Error{kUnsupported} that names the
  /// callable for a pickle that calls anything else than described above.
  Pickle(std::span<const std::byte> bytes, const std::string& name);

  const PickleValue& root() const noexcept { return *root_; }
  /// Returns the number of bytes of the pickle. Others may follow.
  std::size_t size() const noexcept { return size_; }

 private:
  std::deque<PickleValue> values_;  // they refer to each other in any way, including cycles
  PickleRef root_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace dragoman::imports
