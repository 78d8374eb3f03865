#pragma once

#include "archive/zip_archive.h"
#include "weights/foreign_weights.h"

#include <filesystem>
#include <map>
#include <memory>

#include <dragoman/formats/mapped_file.h>

namespace dragoman::imports {

/// The arrays of a Marian model, including its configuration.
class MarianFile : public ForeignWeights {
 public:
  static constexpr std::string_view kConfiguration = "special:model.yml";

  /// Opens a .npz or a .bin, recognised by the first bytes. Throws Error{kIo or kBadInput}, and Error{kUnsupported} for
  /// formats that are specific to one processor.
  static std::unique_ptr<MarianFile> open(const std::filesystem::path& path);
  /// Returns whether the file begins like one of the two kinds and contains a configuration.
  static bool recognises(const std::filesystem::path& path);

  /// Returns the YAML that describes the model.
  virtual std::string configuration() const = 0;
};

/// NumPy's archive of arrays, stored or deflated.
class MarianNpz final : public MarianFile {
 public:
  explicit MarianNpz(const std::filesystem::path& path);

  const std::string& file() const override { return archive_.name(); }
  const Shape* shape_of(std::string_view name) const override;
  void read(std::string_view name, std::span<float> out) const override;
  std::vector<std::string> names() const override;
  std::string configuration() const override;

 private:
  enum class Type : std::uint8_t { kFloat16, kFloat32, kFloat64, kBytes };
  struct Array {
    Type type = Type::kFloat32;
    bool column_major = false;
    Shape shape{};
    std::size_t begin = 0;  ///< of the values in their file of the archive
    ZipArchive::Bytes stored{};
    std::string file{};  ///< of the archive, if it is stored
    const ZipArchive::PackedFile* packed = nullptr;
  };

  static std::size_t width_of(Type type);
  void add(std::string name, Array array, ZipArchive::Bytes beginning, std::uint64_t size);
  const Array& get(std::string_view name) const;
  /// Returns the values. `scratch` owns decompressed ones.
  ZipArchive::Bytes values_of(const Array& array, std::vector<std::byte>& scratch) const;

  formats::MappedFile mapped_;
  ZipArchive archive_;
  std::map<std::string, Array, std::less<>> arrays_;
};

/// Marian's own binary format, version 1. Supports float32, float16, and intgemm's integers that are the same for all
/// processors; these are divided by their multipliers.
class MarianBin final : public MarianFile {
 public:
  explicit MarianBin(const std::filesystem::path& path);

  const std::string& file() const override { return file_; }
  const Shape* shape_of(std::string_view name) const override;
  void read(std::string_view name, std::span<float> out) const override;
  bool stored_turned(std::string_view name) const override;
  std::vector<std::string> names() const override;
  std::string configuration() const override;

 private:
  enum class Type : std::uint8_t { kFloat16, kFloat32, kInt8, kIntgemm8, kIntgemm16, kOther };
  struct Array {
    Type type = Type::kFloat32;
    Shape shape{};
    ZipArchive::Bytes bytes{};
  };

  Type type_of(std::uint64_t code, std::string_view name) const;
  void check_size(const std::string& name, const Array& array) const;
  const Array& get(std::string_view name) const;

  std::string file_;
  formats::MappedFile mapped_;
  std::map<std::string, Array, std::less<>> arrays_;
};

}  // namespace dragoman::imports
