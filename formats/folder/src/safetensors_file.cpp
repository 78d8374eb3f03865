#include "convert.h"
#include "dragoman/formats/mapped_file.h"
#include "dragoman/formats/safetensors.h"
#include "safetensors_header.h"

#include <algorithm>

#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/quote.h>

namespace dragoman::formats {

using core::ErrorCode;
using core::quote;

std::string describe_shape(std::span<const std::int64_t> shape) {
  constexpr std::size_t kShown = 8;  // a damaged file may have a thousand
  const auto shown = shape.first(std::min(shape.size(), kShown));
  return fmt::format("[{}{}]", fmt::join(shown, ", "), shape.size() > kShown ? ", ..." : "");
}

struct SafetensorsFile::State {
  State(std::string file_name, std::unique_ptr<const MappedFile> mapped_file, std::span<const std::byte> all)
      : name(std::move(file_name)),
        mapping(std::move(mapped_file)),
        bytes(all),
        header(parse_safetensors_header(bytes, name)) {
    for (const StoredTensor& stored : header.tensors) by_name.emplace(stored.name, &stored);
  }

  std::string name;
  std::unique_ptr<const MappedFile> mapping;
  std::span<const std::byte> bytes;
  SafetensorsHeader header;
  core::TextViewMap<const StoredTensor*> by_name;
};

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  auto mapping = std::make_unique<const MappedFile>(path);
  const std::span<const std::byte> bytes = mapping->bytes();
  return SafetensorsFile(std::make_shared<const State>(path.string(), std::move(mapping), bytes));
}

SafetensorsFile SafetensorsFile::view(std::span<const std::byte> bytes, std::string name) {
  return SafetensorsFile(std::make_shared<const State>(std::move(name), nullptr, bytes));
}

const std::string& SafetensorsFile::name() const noexcept {
  return state_->name;
}
const std::vector<StoredTensor>& SafetensorsFile::tensors() const noexcept {
  return state_->header.tensors;
}
const Metadata& SafetensorsFile::metadata() const noexcept {
  return state_->header.metadata;
}
std::shared_ptr<const void> SafetensorsFile::owner() const noexcept {
  return state_;
}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  const auto found = state_->by_name.find(name);
  return found == state_->by_name.end() ? nullptr : found->second;
}

std::span<const std::byte> SafetensorsFile::read(const StoredTensor& stored) const {
  return state_->bytes.subspan(stored.offset, stored.bytes);
}

std::span<const std::byte> SafetensorsFile::read(std::string_view name) const {
  const StoredTensor* stored = find(name);
  core::require(stored != nullptr, ErrorCode::kBadInput, "{}: there is no tensor {}", state_->name, quote(name));
  return read(*stored);
}

void SafetensorsFile::read(const StoredTensor& stored, std::int64_t first, const tensor::Tensor& out) const {
  core::require(stored.dtype && (*stored.dtype == out.dtype || (is_float(*stored.dtype) && is_float(out.dtype))),
                ErrorCode::kUnsupported, "{}: byte {}: the tensor {} is of type {}, which cannot be read as {}",
                state_->name, stored.offset, quote(stored.name), stored.type, tensor::name_of(out.dtype));
  core::require(out.contiguous() && first >= 0 && first <= stored.size && out.size() <= stored.size - first,
                ErrorCode::kInvalidArgument, "{}: elements {} to {} of the tensor {} were asked for, which has {}",
                state_->name, first, first + out.size(), quote(stored.name), stored.size);
  const std::byte* source = read(stored).data() + static_cast<std::size_t>(first) * tensor::size_of(*stored.dtype);
  convert(*stored.dtype, source, out.dtype, static_cast<std::byte*>(out.data), out.size());
}

void SafetensorsFile::read(const StoredTensor& stored, const tensor::Tensor& out) const {
  core::require(out.size() == stored.size, ErrorCode::kInvalidArgument,
                "{}: the tensor {} has {} elements; room was given for {}", state_->name, quote(stored.name),
                stored.size, out.size());
  read(stored, 0, out);
}

}  // namespace dragoman::formats
