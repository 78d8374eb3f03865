#include "convert.h"
#include "dragoman/formats/safetensors.h"

#include <algorithm>
#include <limits>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/core/quote.h>

namespace dragoman::formats {
namespace {

using core::ErrorCode;
using core::Json;
using core::quote;

std::int64_t element_count(const TensorSpec& spec) {
  std::int64_t count = 1;
  for (const std::int64_t dimension : spec.shape)
    core::require(dimension >= 0 && !__builtin_mul_overflow(count, dimension, &count), ErrorCode::kInvalidArgument,
                  "the tensor {} has the impossible shape {}", quote(spec.name), describe_shape(spec.shape));
  core::require(count <= std::numeric_limits<std::int64_t>::max() / 8, ErrorCode::kInvalidArgument,
                "the tensor {} is too large: {}", quote(spec.name), describe_shape(spec.shape));
  return count;
}

void check_names(const std::vector<TensorSpec>& tensors) {
  core::TextViewSet names{"__metadata__"};
  for (const TensorSpec& spec : tensors)
    core::require(names.insert(spec.name).second, ErrorCode::kInvalidArgument,
                  "a file cannot hold two tensors named {} (__metadata__ is taken)", quote(spec.name));
}

void check_order(const std::vector<TensorSpec>& tensors) {
  const auto wider = std::adjacent_find(tensors.begin(), tensors.end(), [](const TensorSpec& a, const TensorSpec& b) {
    return tensor::size_of(a.dtype) < tensor::size_of(b.dtype);
  });
  core::require(wider == tensors.end(), ErrorCode::kInvalidArgument,
                "the tensor {} would not be aligned: put tensors of wider types before those of narrower ones",
                wider == tensors.end() ? std::string() : quote(std::next(wider)->name));
}

std::string header_text(const std::vector<TensorSpec>& tensors, const Metadata& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::int64_t end = 0;
  for (const TensorSpec& spec : tensors) {
    const std::int64_t begin = end;
    end += element_count(spec) * static_cast<std::int64_t>(tensor::size_of(spec.dtype));
    // push_back, because operator[] of an ordered object searches all keys.
    header.push_back(
        {spec.name,
         Json{{"dtype", tensor::name_of(spec.dtype)}, {"shape", spec.shape}, {"data_offsets", {begin, end}}}});
  }
  std::string text = core::one_line(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

std::string little_endian(std::uint64_t value) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(value >> shift & 0xFF);
  return bytes;
}

}  // namespace

struct SafetensorsWriter::Impl {
  Impl(const std::filesystem::path& path, std::vector<TensorSpec> specs)
      : file(path, {.partial = core::PartialPolicy::kTemporary}), tensors(std::move(specs)) {
    skip_complete();
  }

  /// Advances to the next tensor that lacks values.
  void skip_complete() {
    while (current < tensors.size() && written == element_count(tensors[current])) {
      ++current;
      written = 0;
    }
  }

  void write_values(const std::byte* values, tensor::DType from, std::int64_t count) {
    const tensor::DType to = tensors[current].dtype;
    constexpr std::int64_t kChunk = 1 << 16;
    for (std::int64_t i = 0; i < count; i += kChunk) {
      const std::int64_t n = std::min(kChunk, count - i);
      buffer.resize(static_cast<std::size_t>(n) * tensor::size_of(to));
      convert(from, values + static_cast<std::size_t>(i) * tensor::size_of(from), to, buffer.data(), n);
      file.write({reinterpret_cast<const char*>(buffer.data()), buffer.size()});
    }
    written += count;
    skip_complete();
  }

  core::OutputFile file;
  std::vector<TensorSpec> tensors;
  std::size_t current = 0;
  std::int64_t written = 0;
  std::vector<std::byte> buffer;
};

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path, std::vector<TensorSpec> tensors,
                                     const Metadata& metadata) {
  check_names(tensors);
  check_order(tensors);
  const std::string header = header_text(tensors, metadata);
  impl_ = std::make_unique<Impl>(path, std::move(tensors));
  impl_->file.write(little_endian(header.size()));
  impl_->file.write(header);
}

SafetensorsWriter::~SafetensorsWriter() = default;
SafetensorsWriter::SafetensorsWriter(SafetensorsWriter&&) noexcept = default;
SafetensorsWriter& SafetensorsWriter::operator=(SafetensorsWriter&&) noexcept = default;

void SafetensorsWriter::write(const tensor::Tensor& values) {
  if (values.size() == 0) return;
  core::require(impl_->current < impl_->tensors.size(), ErrorCode::kInvalidArgument,
                "{}: values were given after the last tensor", impl_->file.name());
  const TensorSpec& spec = impl_->tensors[impl_->current];
  core::require(values.size() <= element_count(spec) - impl_->written, ErrorCode::kInvalidArgument,
                "{}: the tensor {} has room for {} more values and was given {}", impl_->file.name(), quote(spec.name),
                element_count(spec) - impl_->written, values.size());
  const std::int64_t rows = values.contiguous() ? 1 : values.rows;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto start = static_cast<std::size_t>(i * values.stride) * tensor::size_of(values.dtype);
    impl_->write_values(static_cast<const std::byte*>(values.data) + start, values.dtype, values.size() / rows);
  }
}

void SafetensorsWriter::finish() {
  core::require(impl_->current == impl_->tensors.size(), ErrorCode::kInvalidArgument,
                "{}: the tensor {} has not been written", impl_->file.name(),
                impl_->current == impl_->tensors.size() ? std::string() : quote(impl_->tensors[impl_->current].name));
  impl_->file.commit();
}

}  // namespace dragoman::formats
