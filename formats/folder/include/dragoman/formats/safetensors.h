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

/// The entry for one tensor in the header of a safetensors file.
struct StoredTensor {
  std::string name;
  std::string type;  ///< as in the file: "F32", "BF16", "U8", ...
  /// The type, if read() and convert() support it. Tensors of other types can only be listed.
  std::optional<tensor::DType> dtype;
  std::vector<std::int64_t> shape;  ///< empty for a single value
  std::int64_t size = 0;            ///< the number of elements
  std::uint64_t offset = 0;         ///< of the first byte, from the beginning of the file
  std::uint64_t bytes = 0;
};

/// Returns a shape as text: "[32000, 512]".
std::string describe_shape(std::span<const std::int64_t> shape);

/// A safetensors file (https://github.com/huggingface/safetensors, "Format"), mapped read-only.
///
///     const auto file = SafetensorsFile::open("model.safetensors");
///     for (const StoredTensor& stored : file.tensors())
///       std::cout << stored.name << ' ' << describe_shape(stored.shape) << '\n';
///
/// Opening reads only the header and validates all of it: its length (at most 100 MB, as in the reference
/// implementation), JSON, types and shapes. The tensors must fill the data area without overlaps or gaps, and the file
/// must end after them.
///
/// Copies share the mapping. Immutable and thread-safe. The file must not be modified while it is open; writers of this
/// library replace files and never modify them.
class SafetensorsFile {
 public:
  /// Throws Error{kIo} if the file cannot be read, and Error{kBadInput} (file, byte offset, reason) if it is malformed.
  static SafetensorsFile open(const std::filesystem::path& path);
  /// Like open(), for bytes in memory, which must outlive the object. `name` is for messages.
  static SafetensorsFile view(std::span<const std::byte> bytes, std::string name);

  /// Returns the path, for messages.
  const std::string& name() const noexcept;
  /// Returns the tensors in the order of their data.
  const std::vector<StoredTensor>& tensors() const noexcept;
  const StoredTensor* find(std::string_view name) const;
  const Metadata& metadata() const noexcept;

  /// Returns the bytes of a tensor of this file, little-endian. They are valid as long as any copy of this object, and
  /// need not be aligned to the type.
  std::span<const std::byte> read(const StoredTensor& stored) const;
  std::span<const std::byte> read(std::string_view name) const;
  /// Reads the elements [first, first + out.size()) of a tensor of this file into `out`, which must be contiguous host
  /// memory. If `out` has another float type, the values are rounded to nearest even. Types other than floats can only
  /// be copied; a conversion throws Error{kUnsupported}.
  void read(const StoredTensor& stored, std::int64_t first, const tensor::Tensor& out) const;
  /// Reads the whole tensor.
  void read(const StoredTensor& stored, const tensor::Tensor& out) const;

  /// Returns an owner that keeps the mapping alive for objects that point into it.
  std::shared_ptr<const void> owner() const noexcept;

 private:
  struct State;
  explicit SafetensorsFile(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// The description of a tensor that SafetensorsWriter needs before its values.
struct TensorSpec {
  std::string name;
  tensor::DType dtype = tensor::DType::kF32;
  std::vector<std::int64_t> shape;
};

/// Writes a safetensors file tensor by tensor, so that no second copy of the values is needed. One thread at a time.
///
/// The file gets its name at finish() and not before (see core::OutputFile). The header is padded with spaces to 8
/// bytes, and wider types must come first, so that every tensor is aligned to its type. In the order of the reference
/// implementation (wider types first, then by name), the bytes equal its output.
///
///     std::array<float, 2> values{1, 2};
///     SafetensorsWriter writer("bias.safetensors", {{.name = "bias", .shape = {2}}});
///     writer.write({.data = values.data(), .rows = 1, .cols = 2, .stride = 2});
///     writer.finish();
class SafetensorsWriter {
 public:
  /// Throws Error{kInvalidArgument} for duplicate names, the name "__metadata__", a negative dimension, or a wider type
  /// after a narrower one.
  SafetensorsWriter(const std::filesystem::path& path, std::vector<TensorSpec> tensors, const Metadata& metadata = {});
  ~SafetensorsWriter();
  SafetensorsWriter(SafetensorsWriter&&) noexcept;
  SafetensorsWriter& operator=(SafetensorsWriter&&) noexcept;

  /// Writes the next values in row order: a whole tensor or a part of one. Floats are rounded to nearest even to the
  /// type of the tensor.
  void write(const tensor::Tensor& values);
  /// Gives the file its name. Throws Error{kInvalidArgument} unless every value has been written.
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::formats
