#include "ctranslate2/model_file.h"

#include "weights/byte_cursor.h"

#include <algorithm>
#include <cmath>

#include <dragoman/core/quote.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/formats/safetensors.h>
#include <dragoman/tensor/dtype.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;
using core::Quoted;
using ArrayType = Ctranslate2File::Type;

constexpr std::string_view kScaleSuffix = "_scale";
/// The factor of int16 matrices that are stored without a scale.
constexpr float kInt16Scale = 1000;

std::size_t width_of(ArrayType type) {
  switch (type) {
    case ArrayType::kFloat32:
    case ArrayType::kInt32:
      return 4;
    case ArrayType::kInt16:
    case ArrayType::kFloat16:
    case ArrayType::kBfloat16:
      return 2;
    case ArrayType::kInt8:
      return 1;
  }
  return 0;
}

bool is_quantised(ArrayType type) {
  return type == ArrayType::kInt8 || type == ArrayType::kInt16;
}

/// Reads a length that includes the final NUL (two bytes), and the name.
std::string read_name(ByteCursor& cursor) {
  const auto length = cursor.number<std::uint16_t>("the length of a name");
  if (length == 0) cursor.fail("a name without an end; this is no model of CTranslate2");
  std::string_view text = cursor.text(length, "a name");
  if (text.back() != '\0') cursor.fail("a name that does not end in NUL; this is no model of CTranslate2");
  text.remove_suffix(1);
  return std::string(text);
}

void replace_first(std::string& text, std::string_view from, std::string_view to) {
  if (const std::size_t at = text.find(from); at != std::string::npos) text.replace(at, from.size(), to);
}

/// Arrays of the first revision have the names of OpenNMT-tf's variables. CTranslate2 rewrites them by these rules
/// (src/models/transformer.cc), in this order.
std::string name_of_today(std::string name) {
  constexpr std::pair<std::string_view, std::string_view> kRules[] = {{"transformer/", ""},
                                                                      {":0", ""},
                                                                      {"w_embs", "embeddings/weight"},
                                                                      {"kernel", "weight"},
                                                                      {"LayerNorm", "layer_norm"},
                                                                      {"dense", "projection"},
                                                                      {"conv1d_", "linear_"},
                                                                      {"conv1d", "linear_0"}};
  for (const auto& [from, to] : kRules) replace_first(name, from, to);
  if (name.find("encoder") != std::string::npos) {
    replace_first(name, "multi_head", "self_attention");
  } else {
    replace_first(name, "masked_multi_head", "self_attention");
    replace_first(name, "multi_head", "attention");
  }
  return name;
}

/// Versions before 4 store the width of an element instead of its type.
ArrayType read_type(ByteCursor& cursor, int version) {
  const auto code = cursor.number<std::uint8_t>("the type of an array");
  if (version >= 4) {
    if (code > static_cast<std::uint8_t>(ArrayType::kBfloat16)) cursor.fail("unknown type {} of an array", code);
    return static_cast<ArrayType>(code);
  }
  switch (code) {
    case 4:
      return ArrayType::kFloat32;
    case 2:
      return ArrayType::kInt16;
    case 1:
      return ArrayType::kInt8;
    default:
      cursor.fail("elements of {} bytes", code);
  }
}

ForeignWeights::Shape read_shape(ByteCursor& cursor) {
  constexpr std::int64_t kMax = std::int64_t{1} << 40;
  ForeignWeights::Shape shape;
  const auto rank = cursor.number<std::uint8_t>("the rank of an array");
  std::int64_t count = 1;
  for (int i = 0; i < rank; ++i) {
    shape.push_back(cursor.number<std::uint32_t>("a dimension"));
    if (shape.back() != 0 && count > kMax / shape.back()) cursor.fail("an array that no file holds");
    count *= shape.back();
  }
  return shape;
}

template <class Stored>
Stored element(const std::byte* bytes, std::size_t index) {
  Stored value;
  std::memcpy(&value, bytes + index * sizeof value, sizeof value);
  return value;
}

float number_at(ArrayType type, const std::byte* bytes, std::size_t index) {
  switch (type) {
    case ArrayType::kFloat32:
      return element<float>(bytes, index);
    case ArrayType::kInt8:
      return element<std::int8_t>(bytes, index);
    case ArrayType::kInt16:
      return element<std::int16_t>(bytes, index);
    case ArrayType::kInt32:
      return static_cast<float>(element<std::int32_t>(bytes, index));
    case ArrayType::kFloat16:
      return tensor::f16_to_f32(element<std::uint16_t>(bytes, index));
    case ArrayType::kBfloat16:
      return tensor::bf16_to_f32(element<std::uint16_t>(bytes, index));
  }
  return 0;
}

}  // namespace

Ctranslate2File::Ctranslate2File(const std::filesystem::path& path) : file_(path.string()), mapped_(path) {
  constexpr int kOldest = 1;
  constexpr int kNewest = 6;
  ByteCursor cursor(mapped_.bytes(), file_);
  const auto version = cursor.number<std::uint32_t>("the version");
  core::require(version >= kOldest && version <= kNewest, ErrorCode::kUnsupported,
                "{}: is no model of CTranslate2 of the binary versions {} to {} (it begins with {}); convert it anew "
                "with a CTranslate2 of today",
                file_, kOldest, kNewest, version);
  version_ = static_cast<int>(version);
  if (version_ >= 2) {
    spec_ = read_name(cursor);
    revision_ = cursor.number<std::uint32_t>("the revision");
  }
  const auto count = cursor.number<std::uint32_t>("the number of arrays");
  for (std::uint32_t i = 0; i < count; ++i) {
    std::string name = read_name(cursor);
    if (revision_ == 1) name = name_of_today(std::move(name));
    Array array{.shape = read_shape(cursor)};
    array.type = read_type(cursor, version_);
    std::uint64_t bytes = cursor.number<std::uint32_t>("the size of an array");
    if (version_ < 4) bytes *= width_of(array.type);
    if (bytes != static_cast<std::uint64_t>(count_of(array.shape)) * width_of(array.type))
      cursor.fail("{} of the shape {} has {} bytes", Quoted{name}, formats::describe_shape(array.shape), bytes);
    array.bytes = cursor.take(bytes, "an array");
    const auto [known, is_new] = arrays_.emplace(std::move(name), std::move(array));
    if (!is_new) cursor.fail("{} stands twice", Quoted{known->first});
  }
  if (version_ >= 3) {
    const auto aliases = cursor.number<std::uint32_t>("the number of aliases");
    for (std::uint32_t i = 0; i < aliases; ++i) {
      std::string alias = read_name(cursor);
      std::string name = read_name(cursor);
      if (!arrays_.contains(name)) cursor.fail("{} is an alias of {}, which there is not", Quoted{alias}, Quoted{name});
      if (arrays_.contains(alias)) cursor.fail("{} is an array and an alias", Quoted{alias});
      aliases_.insert_or_assign(std::move(alias), std::move(name));
    }
  }
  if (cursor.left() != 0) cursor.fail("{} bytes behind the last array; copy the file again", cursor.left());
}

std::string_view Ctranslate2File::stored_name(std::string_view name) const {
  const auto alias = aliases_.find(name);
  return alias == aliases_.end() ? name : std::string_view(alias->second);
}

const Ctranslate2File::Array* Ctranslate2File::find(std::string_view name) const {
  const auto found = arrays_.find(stored_name(name));
  return found == arrays_.end() ? nullptr : &found->second;
}

const Ctranslate2File::Array& Ctranslate2File::get(std::string_view name) const {
  const Array* array = find(name);
  core::require(array != nullptr, ErrorCode::kBadInput, "{}: has no {}", file_, Quoted{name});
  return *array;
}

const ForeignWeights::Shape* Ctranslate2File::shape_of(std::string_view name) const {
  const Array* array = find(name);
  return array == nullptr ? nullptr : &array->shape;
}

std::vector<std::string> Ctranslate2File::names() const {
  std::vector<std::string> names;
  for (const auto& [name, array] : arrays_) {
    const bool is_scale =
        name.ends_with(kScaleSuffix) && arrays_.contains(name.substr(0, name.size() - kScaleSuffix.size()));
    if (!is_scale) names.push_back(name);
  }
  return names;
}

std::vector<float> Ctranslate2File::scales_of(std::string_view name, const Array& array) const {
  const std::string scale_name = std::string(stored_name(name)) + std::string(kScaleSuffix);
  const Array* stored = find(scale_name);
  if (stored == nullptr) {
    core::require(array.type == ArrayType::kInt16, ErrorCode::kBadInput,
                  "{}: {} is of int8, but has no scales; convert the model again", file_, Quoted{name});
    return {kInt16Scale};
  }
  const std::int64_t count = count_of(stored->shape);
  core::require(count == 1 || (!array.shape.empty() && count == array.shape.front()), ErrorCode::kBadInput,
                "{}: {} has {} scales for the shape {}", file_, Quoted{name}, count,
                formats::describe_shape(array.shape));
  std::vector<float> scales(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < scales.size(); ++i) {
    scales[i] = number_at(stored->type, stored->bytes.data(), i);
    core::require(std::isfinite(scales[i]) && scales[i] > 0, ErrorCode::kBadInput,
                  "{}: {}: scale {} is not a number above 0", file_, Quoted{scale_name}, i);
  }
  return scales;
}

void Ctranslate2File::read(std::string_view name, std::span<float> out) const {
  const Array& array = get(name);
  core::require(count_of(array.shape) == static_cast<std::int64_t>(out.size()), ErrorCode::kInternal,
                "{}: {} values of {} asked for", file_, out.size(), name);
  const std::byte* bytes = array.bytes.data();
  core::StopCheck check("reading weights");
  if (!is_quantised(array.type)) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      check();
      out[i] = number_at(array.type, bytes, i);
    }
    return;
  }
  const std::vector<float> scales = scales_of(name, array);
  const std::size_t row = std::max<std::size_t>(1, out.size() / scales.size());
  for (std::size_t r = 0; r * row < out.size(); ++r) {
    check(row);
    const float factor = 1.0F / scales[r];
    for (std::size_t i = r * row; i < (r + 1) * row; ++i) out[i] = number_at(array.type, bytes, i) * factor;
  }
}

std::optional<double> Ctranslate2File::number(std::string_view name) const {
  const Array* array = find(name);
  if (array == nullptr) return std::nullopt;
  core::require(count_of(array->shape) == 1, ErrorCode::kBadInput, "{}: {} is no single number, but of the shape {}",
                file_, Quoted{name}, formats::describe_shape(array->shape));
  return number_at(array->type, array->bytes.data(), 0);
}

std::optional<std::string> Ctranslate2File::text(std::string_view name) const {
  const Array* array = find(name);
  if (array == nullptr) return std::nullopt;
  core::require(array->type == ArrayType::kInt8, ErrorCode::kBadInput, "{}: {} is no text", file_, Quoted{name});
  return std::string(reinterpret_cast<const char*>(array->bytes.data()), array->bytes.size());
}

Ctranslate2File::Type Ctranslate2File::type_of(std::string_view name) const {
  return get(name).type;
}

bool Ctranslate2File::equal(std::string_view one, std::string_view other) const {
  const Array* a = find(one);
  const Array* b = find(other);
  if (a == nullptr || b == nullptr) return false;
  if (a == b) return true;
  return a->type == b->type && a->shape == b->shape && std::ranges::equal(a->bytes, b->bytes) &&
         (!is_quantised(a->type) || scales_of(one, *a) == scales_of(other, *b));
}

}  // namespace dragoman::imports
