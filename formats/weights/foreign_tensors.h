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

/// The tensors of one or several files by their names, and which of them somebody has read: what nobody reads is a sign
/// that the model is another than the one that was described. One thread at a time.
class ForeignTensors final : public ForeignWeights {
 public:
  explicit ForeignTensors(std::string where) : where_(std::move(where)) {}

  const std::string& file() const override { return where_; }
  const Shape* shape_of(std::string_view name) const override;
  void read(std::string_view name, std::span<float> out) const override;
  std::vector<std::string> names() const override;

  /// Error{kBadInput} for a name that is there.
  void add(std::string name, ForeignTensor tensor);
  bool contains(std::string_view name) const { return tensors_.contains(name); }
  /// Error{kBadInput} that says what is missing.
  const ForeignTensor& get(std::string_view name) const;

  /// All of a tensor, whose dimensions without those of 1 must be these without those of 1. Error{kBadInput} that names
  /// tensor and shapes.
  void read(std::string_view name, const std::vector<std::int64_t>& shape, const tensor::Tensor& out);
  /// The same without reading it.
  void check_shape(std::string_view name, const std::vector<std::int64_t>& shape) const;
  /// Whether both are there with the same shape and values; they are read in pieces.
  bool equal(std::string_view one, std::string_view other) const;
  /// A tensor that may be left, since what it says is known otherwise; it need not be there.
  void leave(std::string_view name);
  /// Error{kBadInput} that names tensors that nobody has read or left.
  void finish() const;

 private:
  struct Entry {
    ForeignTensor tensor;
    bool used = false;
  };
  std::string where_;
  std::map<std::string, Entry, std::less<>> tensors_;
};

/// Adds the tensors of a safetensors file.
void add_safetensors(ForeignTensors& tensors, const std::filesystem::path& file);
/// Adds the tensors of a state dict that torch.save() has written: those at the top, or below the key `below`.
void add_torch(ForeignTensors& tensors, const std::filesystem::path& file, std::string_view below = {});
/// The same of a file that is open.
void add_torch(ForeignTensors& tensors, const TorchFile& opened, std::string_view below = {});

}  // namespace dragoman::imports
