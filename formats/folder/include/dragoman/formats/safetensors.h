#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/tensor/tensor.h>

namespace dragoman::formats {

/// The free text-to-text map `__metadata__` of a file.
using Metadata = std::map<std::string, std::string>;

/// What the header of a safetensors file says about one tensor.
struct StoredTensor {
  std::string name;
  std::string type;  ///< as written: "F32", "BF16", "U8", ...
  std::optional<tensor::DType>
      dtype;                        ///< the type, if it is one that read() and convert know; others can be listed only
  std::vector<std::int64_t> shape;  ///< no dimensions: a single value
  std::int64_t size = 0;            ///< number of elements
  std::uint64_t offset = 0;         ///< of the first byte, from the beginning of the file
  std::uint64_t bytes = 0;
};

/// "[32000, 512]"
std::string describe_shape(std::span<const std::int64_t> shape);

/// A safetensors file (https://github.com/huggingface/safetensors, "Format"), mapped read-only. Opening reads the
/// header alone and checks all of it: length (at most 100 MB, as the reference implementation), JSON, types, shapes,
/// that the tensors fill the data area without overlap or hole, and that the file ends where they end. Copies share the
/// mapping. Immutable: any thread may use it. The file must not be changed while it is open; writers of this library
/// replace files and never change them.
class SafetensorsFile {
 public:
  /// Throws Error{kIo} if the file cannot be read, Error{kBadInput} (file, byte offset, reason) if it is malformed.
  static SafetensorsFile open(const std::filesystem::path& path);
  /// The same for bytes in memory, which must outlive the object. `name` stands in messages.
  static SafetensorsFile view(std::span<const std::byte> bytes, std::string name);

  /// The path, for messages.
  const std::string& name() const noexcept;
  /// In the order of their data.
  const std::vector<StoredTensor>& tensors() const noexcept;
  const StoredTensor* find(std::string_view name) const;
  const Metadata& metadata() const noexcept;

  /// The bytes of a tensor of this file, little-endian, valid as long as any copy of this object. They need not be
  /// aligned to the type.
  std::span<const std::byte> read(const StoredTensor& stored) const;
  std::span<const std::byte> read(std::string_view name) const;
  /// Elements [first, first + out.size()) of a tensor of this file, rounded to nearest even to the float type of `out`
  /// if that differs. `out` is contiguous host memory. Types other than floats are only copied; Error{kUnsupported}
  /// otherwise.
  void read(const StoredTensor& stored, std::int64_t first, const tensor::Tensor& out) const;
  /// The whole tensor.
  void read(const StoredTensor& stored, const tensor::Tensor& out) const;

  /// Keeps the mapping alive for those who point into it.
  std::shared_ptr<const void> owner() const noexcept;

 private:
  struct State;
  explicit SafetensorsFile(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// What SafetensorsWriter needs to know before the first value.
struct TensorSpec {
  std::string name;
  tensor::DType dtype = tensor::DType::kF32;
  std::vector<std::int64_t> shape;
};

/// Writes a safetensors file tensor by tensor, so that no second copy of the values is needed. The file appears under
/// its name at finish() and not before (see core::OutputFile). The header is padded with spaces to 8 bytes, and wider
/// types must come first, so that every tensor is aligned to its type. The bytes equal those of the reference
/// implementation for its order (wider types first, then by name). One thread.
class SafetensorsWriter {
 public:
  /// Throws Error{kInvalidArgument} for duplicate names, the name "__metadata__", a negative dimension, or a wider type
  /// after a narrower one.
  SafetensorsWriter(const std::filesystem::path& path, std::vector<TensorSpec> tensors, const Metadata& metadata = {});
  ~SafetensorsWriter();
  SafetensorsWriter(SafetensorsWriter&&) noexcept;
  SafetensorsWriter& operator=(SafetensorsWriter&&) noexcept;

  /// The next values, in row order: a whole tensor or a part of one. Floats are rounded to nearest even to the type of
  /// the tensor.
  void write(const tensor::Tensor& values);
  /// Throws Error{kInvalidArgument} unless every value has been written; then gives the file its name.
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::formats
