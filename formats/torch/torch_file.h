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

/// A file written by torch.save() since torch 1.6: a zip archive with a pickle of everything except the values, and a
/// file for each storage. The file is mapped, and values are read in place. Immutable and thread-safe.
class TorchFile {
 public:
  /// Throws Error{kIo}; Error{kBadInput} with file, place and reason for a damaged file; and Error{kUnsupported} for a
  /// pickle that would run code, and for the format of older versions, with instructions to save the file again.
  static TorchFile open(const std::filesystem::path& path);
  /// Like open(), for bytes in memory, which must outlive the object. `name` is for messages.
  static TorchFile view(std::span<const std::byte> bytes, std::string name);

  const PickleValue& root() const noexcept;
  const std::string& name() const noexcept;
  /// Returns the size in bytes.
  std::uint64_t size() const noexcept;

  /// Throws Error{kBadInput} unless every element of the tensor is inside its storage. `place` names the tensor.
  void check(const PickledTensor& tensor, const std::string& place) const;
  /// Reads the elements [first, first + out.size()), in row order regardless of the strides, and rounds to nearest
  /// even. `out` must be contiguous F32, and check() must have succeeded. Throws Error{kUnsupported} for types that are
  /// not numeric.
  void read(const PickledTensor& tensor, std::int64_t first, const tensor::Tensor& out, const std::string& place) const;

 private:
  struct State;
  explicit TorchFile(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// Returns whether `beginning` starts like a torch file, in the old or the new format.
bool looks_like_torch(std::span<const std::byte> beginning) noexcept;

}  // namespace dragoman::imports
