#pragma once

#include "archive/zip_archive.h"
#include "torch/pickle.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include <dragoman/tensor/tensor.h>

namespace dragoman::imports {

/// What torch.save() has written since torch 1.6: a zip archive with a pickle of everything but the numbers, and a file
/// for each storage. Mapped; the numbers are read where they lie. Immutable: any thread may use it.
class TorchFile {
 public:
  /// Error{kIo}; Error{kBadInput} for a damaged file, naming file, place and reason; Error{kUnsupported} that says how
  /// to save it anew for the form of older versions, and for what would run code.
  static TorchFile open(const std::filesystem::path& path);
  /// The same for bytes in memory, which must outlive the object. `name` stands in messages.
  static TorchFile view(std::span<const std::byte> bytes, std::string name);

  const PickleValue& root() const noexcept;
  const std::string& name() const noexcept;
  /// In bytes.
  std::uint64_t size() const noexcept;

  /// Throws Error{kBadInput} unless every element of the tensor lies in its storage; `place` names it.
  void check(const PickledTensor& tensor, const std::string& place) const;
  /// Elements [first, first + out.size()), in row order whatever the strides, rounded to nearest even to `out`,
  /// contiguous F32. check()ed before. Error{kUnsupported} for types that are no numbers.
  void read(const PickledTensor& tensor, std::int64_t first, const tensor::Tensor& out, const std::string& place) const;

 private:
  struct State;
  explicit TorchFile(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// Whether the first bytes are those of a file of torch, of the old form, too.
bool looks_like_torch(std::span<const std::byte> beginning) noexcept;

}  // namespace dragoman::imports
