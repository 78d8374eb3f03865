#pragma once

#include "weights/foreign_weights.h"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include <dragoman/formats/mapped_file.h>

namespace dragoman::imports {

/// The model.bin of a CTranslate2 folder, in binary versions 1 to 6: arrays with names and types and, from version 3
/// on, aliases. Opening reads and validates the whole structure. Values are read on demand.
class Ctranslate2File final : public ForeignWeights {
 public:
  enum class Type : std::uint8_t { kFloat32, kInt8, kInt16, kInt32, kFloat16, kBfloat16 };  // numbered as in the file

  explicit Ctranslate2File(const std::filesystem::path& path);

  int version() const noexcept { return version_; }
  /// Returns the kind of model, "TransformerSpec", ...; empty in version 1, which has no kinds.
  const std::string& spec() const noexcept { return spec_; }
  std::uint32_t revision() const noexcept { return revision_; }

  const std::string& file() const override { return file_; }
  const Shape* shape_of(std::string_view name) const override;
  /// Divides integer matrices by their scales, as CTranslate2 does if it computes in float32.
  void read(std::string_view name, std::span<float> out) const override;
  std::string_view stored_name(std::string_view name) const override;
  /// Returns the names without scales, which belong to their matrices.
  std::vector<std::string> names() const override;

  /// Returns a setting, i.e. a scalar, or nullopt if there is none of that name.
  std::optional<double> number(std::string_view name) const;
  /// Returns a setting that is a string, stored as an array of bytes.
  std::optional<std::string> text(std::string_view name) const;
  Type type_of(std::string_view name) const;
  /// Returns whether both names have the same values.
  bool equal(std::string_view one, std::string_view other) const;

 private:
  struct Array {
    Type type = Type::kFloat32;
    Shape shape{};
    std::span<const std::byte> bytes{};
  };
  using Arrays = std::map<std::string, Array, std::less<>>;

  const Array* find(std::string_view name) const;
  const Array& get(std::string_view name) const;
  /// Returns the divisor of each row, or one divisor for all.
  std::vector<float> scales_of(std::string_view name, const Array& array) const;

  std::string file_;
  formats::MappedFile mapped_;
  int version_ = 0;
  std::string spec_;
  std::uint32_t revision_ = 1;
  Arrays arrays_;
  std::map<std::string, std::string, std::less<>> aliases_;
};

}  // namespace dragoman::imports
