#include "marian/model_file.h"

#include "marian/npy_header.h"
#include "weights/byte_cursor.h"

#include <algorithm>
#include <cmath>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/formats/safetensors.h>
#include <dragoman/tensor/dtype.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;
using core::Quoted;

constexpr std::string_view kNpy = ".npy";
/// The size of NumPy's array headers, with a margin.
constexpr std::size_t kLongestHeader = 4096;

template <class Stored>
Stored stored_at(const std::byte* bytes, std::size_t index) {
  Stored value;
  std::memcpy(&value, bytes + index * sizeof value, sizeof value);
  return value;
}

/// Called before anything is decompressed.
void require_small_configuration(std::int64_t bytes, const std::string& file) {
  constexpr std::int64_t kMax = std::int64_t{1} << 20;
  core::require(bytes <= kMax, ErrorCode::kBadInput, "{}: its configuration has {} bytes; at most {} are read", file,
                bytes, kMax);
}

std::string as_text(ZipArchive::Bytes bytes) {
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  // A C string, padded to whole blocks.
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

/// Returns whether the array has multipliers of activations in Bergamot's models, which only integer products need.
bool is_calibration(std::string_view name) {
  return name.ends_with("_QuantMultA") || name == "decoder_output_state_QuantMult";
}

bool is_weight_name(std::string_view name) {
  return !name.starts_with("special:") && !is_calibration(name);
}

}  // namespace

std::unique_ptr<MarianFile> MarianFile::open(const std::filesystem::path& path) {
  const std::string beginning = core::read_beginning(path, 4);
  if (ZipArchive::is_archive(std::as_bytes(std::span(beginning)))) return std::make_unique<MarianNpz>(path);
  return std::make_unique<MarianBin>(path);
}

bool MarianFile::recognises(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  try {
    const std::string beginning = core::read_beginning(path, std::size_t{1} << 20);
    const auto bytes = std::as_bytes(std::span(beginning));
    if (beginning.size() < 16) return false;
    if (!ZipArchive::is_archive(bytes))
      return stored_at<std::uint64_t>(bytes.data(), 0) == 1 && beginning.find(kConfiguration) != std::string::npos;
    const formats::MappedFile mapped(path);
    const ZipArchive archive(mapped.bytes(), path.string(), ZipArchive::Packed::kTaken);
    const std::string name(kConfiguration);
    for (const std::string& spelled : {name, name + std::string(kNpy)})
      if (archive.files().contains(spelled) || archive.packed_files().contains(spelled)) return true;
  } catch (const core::Error&) {
    // Any failure means that the file is not recognised.
  }
  return false;
}

MarianNpz::MarianNpz(const std::filesystem::path& path)
    : mapped_(path), archive_(mapped_.bytes(), path.string(), ZipArchive::Packed::kTaken) {
  for (const auto& [name, bytes] : archive_.files()) add(name, {.stored = bytes, .file = name}, bytes, bytes.size());
  std::vector<std::byte> beginning;
  for (const auto& [name, packed] : archive_.packed_files()) {
    beginning.resize(std::min<std::uint64_t>(packed.size, kLongestHeader));
    archive_.unpack(packed, beginning);
    add(name, {.packed = &packed}, beginning, packed.size);
  }
}

std::size_t MarianNpz::width_of(Type type) {
  switch (type) {
    case Type::kFloat16:
      return 2;
    case Type::kFloat32:
      return 4;
    case Type::kFloat64:
      return 8;
    case Type::kBytes:
      return 1;
  }
  return 0;
}

void MarianNpz::add(std::string name, Array array, ZipArchive::Bytes beginning, std::uint64_t size) {
  if (name.ends_with(kNpy)) name.resize(name.size() - kNpy.size());
  const std::string where = fmt::format("{}: {}", file(), core::quote(name));
  const NpyHeader header = read_npy_header(beginning, where);
  constexpr std::pair<std::string_view, Type> kTypes[] = {
      {"<f4", Type::kFloat32}, {"<f2", Type::kFloat16}, {"<f8", Type::kFloat64}, {"|i1", Type::kBytes},
      {"<i1", Type::kBytes},   {"|u1", Type::kBytes},   {"<u1", Type::kBytes},   {"|S1", Type::kBytes}};
  const auto type = std::ranges::find(kTypes, header.type, &std::pair<std::string_view, Type>::first);
  core::require(type != std::end(kTypes), ErrorCode::kUnsupported, "{}: arrays of the type {} are not read", where,
                Quoted{header.type});
  array.type = type->second;
  array.column_major = header.column_major;
  array.shape = header.shape;
  array.begin = header.size;
  const auto count = static_cast<std::uint64_t>(count_of(array.shape));
  core::require(header.size <= size && (size - header.size) / width_of(array.type) == count, ErrorCode::kBadInput,
                "{}: has {} bytes behind its header, which says {}; get the file again", where, size - header.size,
                formats::describe_shape(array.shape));
  core::require(arrays_.emplace(std::move(name), std::move(array)).second, ErrorCode::kBadInput,
                "{}: stands there twice", where);
}

const MarianNpz::Array& MarianNpz::get(std::string_view name) const {
  const auto found = arrays_.find(name);
  core::require(found != arrays_.end(), ErrorCode::kBadInput, "{}: has no array {}", file(), Quoted{name});
  return found->second;
}

const ForeignWeights::Shape* MarianNpz::shape_of(std::string_view name) const {
  const auto found = arrays_.find(name);
  return found == arrays_.end() ? nullptr : &found->second.shape;
}

std::vector<std::string> MarianNpz::names() const {
  std::vector<std::string> names;
  for (const auto& [name, array] : arrays_)
    if (is_weight_name(name)) names.push_back(name);
  return names;
}

ZipArchive::Bytes MarianNpz::values_of(const Array& array, std::vector<std::byte>& scratch) const {
  if (array.packed == nullptr) {
    archive_.check_sum(array.file);
    return array.stored.subspan(array.begin);
  }
  scratch.resize(array.packed->size);
  archive_.unpack(*array.packed, scratch);
  return ZipArchive::Bytes(scratch).subspan(array.begin);
}

void MarianNpz::read(std::string_view name, std::span<float> out) const {
  const Array& array = get(name);
  core::require(count_of(array.shape) == static_cast<std::int64_t>(out.size()), ErrorCode::kInternal,
                "{}: {} values of {} asked for", file(), out.size(), name);
  core::require(array.type != Type::kBytes, ErrorCode::kBadInput,
                "{}: {} is of single bytes, and weights of Marian are floats; get the file again", file(),
                Quoted{name});
  std::vector<std::byte> scratch;
  const std::byte* bytes = values_of(array, scratch).data();
  const auto value = [&](std::size_t i) -> float {
    switch (array.type) {
      case Type::kFloat16:
        return tensor::f16_to_f32(stored_at<std::uint16_t>(bytes, i));
      case Type::kFloat32:
        return stored_at<float>(bytes, i);
      case Type::kFloat64:
        return static_cast<float>(stored_at<double>(bytes, i));
      case Type::kBytes:
        break;
    }
    return 0;
  };
  core::StopCheck check("reading weights");
  if (!array.column_major || array.shape.size() < 2) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      check();
      out[i] = value(i);
    }
    return;
  }
  core::require(array.shape.size() == 2, ErrorCode::kUnsupported, "{}: {} has {} dimensions in Fortran's order", file(),
                Quoted{name}, array.shape.size());
  const auto rows = static_cast<std::size_t>(array.shape[0]);
  const auto cols = static_cast<std::size_t>(array.shape[1]);
  for (std::size_t r = 0; r < rows; ++r) {
    check(10 * cols);
    for (std::size_t c = 0; c < cols; ++c) out[r * cols + c] = value(c * rows + r);
  }
}

std::string MarianNpz::configuration() const {
  const Array& array = get(kConfiguration);
  core::require(array.type == Type::kBytes, ErrorCode::kBadInput, "{}: {} is no text", file(), kConfiguration);
  require_small_configuration(count_of(array.shape), file());
  std::vector<std::byte> scratch;
  return as_text(values_of(array, scratch));
}

MarianBin::MarianBin(const std::filesystem::path& path) : file_(path.string()), mapped_(path) {
  struct Header {
    std::uint64_t name_length;
    std::uint64_t type;
    std::uint64_t rank;
    std::uint64_t bytes;
  };
  constexpr std::uint64_t kVersion = 1;
  constexpr std::uint64_t kEncryptedVersion = 2;
  ByteCursor cursor(mapped_.bytes(), file_);
  const auto version = cursor.number<std::uint64_t>("the version");
  core::require(version != kEncryptedVersion, ErrorCode::kUnsupported, "{}: is encrypted, which is not read", file_);
  core::require(version == kVersion, ErrorCode::kBadInput,
                "{}: is neither a .npz nor a .bin of Marian (it begins with the number {})", file_, version);
  const auto count = cursor.number<std::uint64_t>("the number of arrays");
  if (count > cursor.left() / sizeof(Header)) cursor.fail("{} arrays are more than the file has room for", count);
  if (count == 0) cursor.fail("no arrays at all");
  std::vector<Header> headers(count);
  const auto header_bytes = cursor.take(count * sizeof(Header), "the headers");
  std::memcpy(headers.data(), header_bytes.data(), header_bytes.size());
  std::vector<std::string> names;
  for (const Header& header : headers) {
    std::string_view name = cursor.text(header.name_length, "a name");
    if (name.empty() || name.back() != '\0') cursor.fail("a name that does not end in NUL");
    name.remove_suffix(1);
    names.emplace_back(name);
  }
  std::vector<Array> arrays;
  for (const Header& header : headers) {
    constexpr std::int64_t kMax = std::int64_t{1} << 40;
    if (header.rank > 16) cursor.fail("an array of {} dimensions", header.rank);
    Array array;
    std::int64_t elements = 1;
    for (std::uint64_t i = 0; i < header.rank; ++i) {
      array.shape.push_back(cursor.number<std::int32_t>("a dimension"));
      if (array.shape.back() < 0 || (array.shape.back() != 0 && elements > kMax / array.shape.back()))
        cursor.fail("an array that no file holds");
      elements *= array.shape.back();
    }
    arrays.push_back(std::move(array));
  }
  const auto padding = cursor.number<std::uint64_t>("the padding");
  cursor.take(padding, "the padding");
  for (std::size_t i = 0; i < headers.size(); ++i) {
    Array& array = arrays[i];
    array.bytes = cursor.take(headers[i].bytes, "an array");
    array.type = type_of(headers[i].type, names[i]);
    check_size(names[i], array);
    if (!arrays_.emplace(names[i], std::move(array)).second) cursor.fail("{} stands twice", Quoted{names[i]});
  }
  // Some writers pad the end.
  const auto rest = cursor.take(cursor.left(), "the end");
  if (!std::ranges::all_of(rest, [](std::byte byte) { return byte == std::byte{0}; }))
    cursor.fail("{} bytes behind the last array", rest.size());
}

MarianBin::Type MarianBin::type_of(std::uint64_t code, std::string_view name) const {
  switch (code) {
    case 0x101:  // signed and unsigned bytes
    case 0x201:
      return Type::kInt8;
    case 0x402:
      return Type::kFloat16;
    case 0x404:
      return Type::kFloat32;
    case 0x4101:  // from Bergamot
    case 0x10001:
      return Type::kIntgemm8;
    case 0x4102:
    case 0x10002:
      return Type::kIntgemm16;
    default:
      break;
  }
  constexpr std::uint64_t kPacked = 0x800;
  constexpr std::uint64_t kIntgemm = 0x10000;
  if (is_calibration(name)) return Type::kOther;
  core::require((code & (kPacked | kIntgemm)) == 0, ErrorCode::kUnsupported,
                "{}: {} is packed for the products of one kind of processor (type {:#x}); convert the model's .npz "
                "with marian-conv --gemm-type float32, intgemm8 or intgemm16",
                file_, Quoted{name}, code);
  core::fail(ErrorCode::kUnsupported, "{}: {} is of the type {:#x}, which is not read", file_, Quoted{name}, code);
}

void MarianBin::check_size(const std::string& name, const Array& array) const {
  const auto count = static_cast<std::uint64_t>(count_of(array.shape));
  std::uint64_t needed = 0;
  switch (array.type) {
    case Type::kFloat16:
      needed = 2 * count;
      break;
    case Type::kFloat32:
      needed = 4 * count;
      break;
    case Type::kInt8:
      needed = count;
      break;
    case Type::kIntgemm8:
      needed = count + sizeof(float);
      break;
    case Type::kIntgemm16:
      needed = 2 * count + sizeof(float);
      break;
    case Type::kOther:
      break;
  }
  core::require(array.bytes.size() >= needed, ErrorCode::kBadInput, "{}: {} of the shape {} has {} bytes", file_,
                Quoted{name}, formats::describe_shape(array.shape), array.bytes.size());
}

const MarianBin::Array& MarianBin::get(std::string_view name) const {
  const auto found = arrays_.find(name);
  core::require(found != arrays_.end(), ErrorCode::kBadInput, "{}: has no array {}", file_, Quoted{name});
  return found->second;
}

const ForeignWeights::Shape* MarianBin::shape_of(std::string_view name) const {
  const auto found = arrays_.find(name);
  return found == arrays_.end() ? nullptr : &found->second.shape;
}

std::vector<std::string> MarianBin::names() const {
  std::vector<std::string> names;
  for (const auto& [name, array] : arrays_)
    if (is_weight_name(name)) names.push_back(name);
  return names;
}

bool MarianBin::stored_turned(std::string_view name) const {
  const Type type = get(name).type;
  // Embeddings are looked up by row, so they are unchanged.
  return (type == Type::kIntgemm8 || type == Type::kIntgemm16) && name.find("Wemb") == std::string_view::npos;
}

void MarianBin::read(std::string_view name, std::span<float> out) const {
  const Array& array = get(name);
  core::require(count_of(array.shape) == static_cast<std::int64_t>(out.size()), ErrorCode::kInternal,
                "{}: {} values of {} asked for", file_, out.size(), name);
  const std::byte* bytes = array.bytes.data();
  const auto factor = [&](std::size_t width) {
    const float multiplier = stored_at<float>(bytes + out.size() * width, 0);
    core::require(std::isfinite(multiplier) && multiplier > 0, ErrorCode::kBadInput,
                  "{}: {} has the multiplier {}, which is no number above 0", file_, Quoted{name}, multiplier);
    return 1 / multiplier;
  };
  switch (array.type) {
    case Type::kFloat16:
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = tensor::f16_to_f32(stored_at<std::uint16_t>(bytes, i));
      return;
    case Type::kFloat32:
      std::memcpy(out.data(), bytes, out.size_bytes());
      return;
    case Type::kIntgemm8: {
      const float scale = factor(1);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = stored_at<std::int8_t>(bytes, i) * scale;
      return;
    }
    case Type::kIntgemm16: {
      const float scale = factor(2);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = stored_at<std::int16_t>(bytes, i) * scale;
      return;
    }
    case Type::kInt8:
    case Type::kOther:
      break;
  }
  core::fail(ErrorCode::kBadInput, "{}: {} is of a type that weights are not of", file_, Quoted{name});
}

std::string MarianBin::configuration() const {
  const Array& array = get(kConfiguration);
  core::require(array.type == Type::kInt8, ErrorCode::kBadInput, "{}: {} is no text", file_, kConfiguration);
  require_small_configuration(count_of(array.shape), file_);
  return as_text(array.bytes.first(static_cast<std::size_t>(count_of(array.shape))));
}

}  // namespace dragoman::imports
