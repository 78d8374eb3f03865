#pragma once

#include "weights/foreign_weights.h"

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/tensor/tensor.h>

namespace dragoman::imports {

class TorchFile;

/// A tensor in a file of another toolkit.
struct ForeignTensor {
  std::string file;  ///< for messages
  std::vector<std::int64_t> shape{};
  /// Writes elements [first, first + out.size()), in row order, to `out`: contiguous F32 on the host.
  std::function<void(std::int64_t first, const tensor::Tensor& out)> read{};
};

/// The tensors of one or several files by name. Records which tensors have been read: an unread tensor indicates that
/// the model differs from its description. One thread at a time.
class ForeignTensors final : public ForeignWeights {
 public:
  explicit ForeignTensors(std::string where) : where_(std::move(where)) {}

  const std::string& file() const override { return where_; }
  const Shape* shape_of(std::string_view name) const override;
  void read(std::string_view name, std::span<float> out) const override;
  std::vector<std::string> names() const override;

  /// Counts `stored` bytes of a file whose tensors may share them, and the `unfolded` bytes of its tensors as floats.
  /// All such files together have one budget. Throws Error{kBadInput} if it is exceeded (require_proportion()).
  void charge(const std::string& file, std::uint64_t stored, std::uint64_t unfolded);
  /// Throws Error{kBadInput} for a duplicate name.
  void add(std::string name, ForeignTensor tensor);
  bool contains(std::string_view name) const { return tensors_.contains(name); }
  /// Throws Error{kBadInput} that names a missing tensor.
  const ForeignTensor& get(std::string_view name) const;

  /// Reads a whole tensor. Its shape must equal `shape` if dimensions of 1 are ignored. Throws Error{kBadInput} that
  /// names tensor and shapes.
  void read(std::string_view name, const std::vector<std::int64_t>& shape, const tensor::Tensor& out);
  /// Checks the shape without reading the tensor.
  void check_shape(std::string_view name, const std::vector<std::int64_t>& shape) const;
  /// Returns whether both exist with the same shape and values. They are read in blocks.
  bool equal(std::string_view one, std::string_view other) const;
  /// Marks a tensor that need not be read, because its content is known from elsewhere. It may be missing.
  void leave(std::string_view name);
  /// Throws Error{kBadInput} that names the tensors that were neither read nor marked.
  void finish() const;

 private:
  struct Entry {
    ForeignTensor tensor;
    bool used = false;
  };
  std::string where_;
  std::map<std::string, Entry, std::less<>> tensors_;
  std::uint64_t stored_ = 0;
  std::uint64_t unfolded_ = 0;
};

/// Adds the tensors of a safetensors file.
void add_safetensors(ForeignTensors& tensors, const std::filesystem::path& file);
/// Adds the tensors of a state dict written by torch.save(): the top-level ones, or the ones below the key `below`.
void add_torch(ForeignTensors& tensors, const std::filesystem::path& file, std::string_view below = {});
/// Adds the tensors of an open file.
void add_torch(ForeignTensors& tensors, const TorchFile& opened, std::string_view below = {});

}  // namespace dragoman::imports
