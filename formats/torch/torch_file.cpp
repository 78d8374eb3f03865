#include "torch/torch_file.h"

#include "torch/storages.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/formats/mapped_file.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;

/// Real pickles have some hundred bytes for each tensor.
constexpr std::size_t kLongestPickle = std::size_t{8} << 20;
/// Protocol 2 and torch's magic number: LONG1 of 10 bytes.
constexpr std::array<unsigned char, 6> kOldForm{0x80, 0x02, 0x8A, 0x0A, 0x6C, 0xFC};

bool is_of_old_form(std::span<const std::byte> bytes) noexcept {
  return bytes.size() >= kOldForm.size() && std::memcmp(bytes.data(), kOldForm.data(), kOldForm.size()) == 0;
}

const TorchStorage& storage_type(std::string_view name) {
  const TorchStorage* const found = find_torch_storage(name);
  core::require(found != nullptr, ErrorCode::kInternal, "there is no storage of the type {}", name);
  return *found;
}

/// Returns nullopt on overflow.
std::optional<std::int64_t> count_elements(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(count, size, &count)) return std::nullopt;
  return count;
}

/// Returns the last element used, relative to the beginning of the storage, or nullopt on overflow.
std::optional<std::int64_t> last_element(const PickledTensor& tensor) {
  std::int64_t last = tensor.offset;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    std::int64_t step = 0;
    if (__builtin_mul_overflow(tensor.shape[i] - 1, tensor.strides[i], &step) ||
        __builtin_add_overflow(last, step, &last))
      return std::nullopt;
  }
  return last;
}

/// Iterates over the elements of a tensor in row order, from a given one on.
class StridedWalk {
 public:
  StridedWalk(const PickledTensor& tensor, std::int64_t first)
      : tensor_(&tensor), index_(tensor.shape.size()), at_(tensor.offset) {
    for (std::size_t i = tensor.shape.size(); i-- > 0;) {
      index_[i] = first % tensor.shape[i];
      first /= tensor.shape[i];
      at_ += index_[i] * tensor.strides[i];
    }
  }
  std::int64_t at() const noexcept { return at_; }
  void advance() noexcept {
    for (std::size_t i = index_.size(); i-- > 0;) {
      at_ += tensor_->strides[i];
      if (++index_[i] < tensor_->shape[i]) return;
      at_ -= index_[i] * tensor_->strides[i];
      index_[i] = 0;
    }
  }

 private:
  const PickledTensor* tensor_;
  std::vector<std::int64_t> index_;
  std::int64_t at_;
};

/// Returns the folder that contains everything in a torch archive: the name of the saved file.
std::string folder_of(const ZipArchive& archive) {
  for (const auto& [file, content] : archive.files())
    if (file == "data.pkl" || file.ends_with("/data.pkl")) return file.substr(0, file.size() - 8);
  core::fail(ErrorCode::kBadInput, "{}: is a zip archive without data.pkl, so no torch.save() wrote it",
             archive.name());
}

}  // namespace

struct TorchFile::State {
  State(std::string file_name, std::unique_ptr<const formats::MappedFile> mapped_file, std::span<const std::byte> bytes)
      : mapping(std::move(mapped_file)),
        size(bytes.size()),
        archive(bytes, std::move(file_name)),
        folder(folder_of(archive)),
        pickle(pickle_of(archive, folder), archive.name()) {
    const auto* const order = archive.find(folder + "byteorder");
    if (order != nullptr)
      core::require(order->size() == 6 && std::memcmp(order->data(), "little", 6) == 0, ErrorCode::kUnsupported,
                    "{}: its numbers are big-endian; save it on another machine", archive.name());
  }

  static std::span<const std::byte> pickle_of(const ZipArchive& archive, const std::string& folder) {
    const std::span<const std::byte> bytes = *archive.find(folder + "data.pkl");
    if (bytes.size() > kLongestPickle)
      core::fail(ErrorCode::kBadInput, "{}: its pickle has {} bytes, more than any model needs ({})", archive.name(),
                 bytes.size(), kLongestPickle);
    return bytes;
  }

  std::span<const std::byte> storage(const PickledTensor& tensor, const std::string& place) const {
    const auto* const found = archive.find(folder + "data/" + tensor.storage);
    if (found == nullptr)
      core::fail(ErrorCode::kBadInput, "{}: {}: its numbers, {}data/{}, are missing", archive.name(),
                 core::quote(place), folder, tensor.storage);
    return *found;
  }

  /// Returns the storage after verifying its checksum, which is done once.
  std::span<const std::byte> sound_storage(const PickledTensor& tensor, const std::string& place) const {
    const std::span<const std::byte> bytes = storage(tensor, place);
    const std::lock_guard lock(mutex);
    if (!sound.contains(tensor.storage)) {
      archive.check_sum(folder + "data/" + tensor.storage);
      sound.insert(tensor.storage);
    }
    return bytes;
  }

  std::unique_ptr<const formats::MappedFile> mapping;
  std::uint64_t size;
  ZipArchive archive;
  std::string folder;
  Pickle pickle;
  mutable std::mutex mutex;
  mutable std::set<std::string> sound;  ///< storages whose checksums are verified
};

TorchFile TorchFile::open(const std::filesystem::path& path) {
  auto mapping = std::make_unique<const formats::MappedFile>(path);
  const std::span<const std::byte> bytes = mapping->bytes();
  core::require(!is_of_old_form(bytes), ErrorCode::kUnsupported,
                "{}: is of the form that torch wrote before version 1.6, which is read by running it; save it anew in "
                "Python: import torch; torch.save(torch.load('{}', map_location='cpu'), 'new.pt')",
                path.string(), path.filename().string());
  auto state = std::make_shared<const State>(path.string(), std::move(mapping), bytes);
  state->archive.check_sum(state->folder + "data.pkl");
  return TorchFile(std::move(state));
}

TorchFile TorchFile::view(std::span<const std::byte> bytes, std::string name) {
  return TorchFile(std::make_shared<const State>(std::move(name), nullptr, bytes));
}

const PickleValue& TorchFile::root() const noexcept {
  return state_->pickle.root();
}
const std::string& TorchFile::name() const noexcept {
  return state_->archive.name();
}

std::uint64_t TorchFile::size() const noexcept {
  return state_->size;
}

void TorchFile::check(const PickledTensor& tensor, const std::string& place) const {
  const std::optional<std::int64_t> count = count_elements(tensor.shape);
  if (count == 0) return;
  const auto elements =
      static_cast<std::int64_t>(state_->storage(tensor, place).size() / storage_type(tensor.storage_type).width);
  const auto last = last_element(tensor);
  // Expanded tensors (of stride 0) could be larger than any memory.
  if (!count || *count > elements || !last || *last >= elements)
    core::fail(ErrorCode::kBadInput, "{}: {}: its shape leaves its storage, which has {} elements; the file is damaged",
               name(), core::quote(place), elements);
}

void TorchFile::read(const PickledTensor& tensor, std::int64_t first, const tensor::Tensor& out,
                     const std::string& place) const {
  if (out.size() == 0) return;
  const std::int64_t count = count_elements(tensor.shape).value_or(0);
  core::require(out.dtype == tensor::DType::kF32 && out.contiguous() && first >= 0 && first <= count &&
                    out.size() <= count - first,
                ErrorCode::kInvalidArgument, "{}: more elements were asked for than there are", place);
  const TorchStorage& type = storage_type(tensor.storage_type);
  const std::byte* const storage = state_->sound_storage(tensor, place).data();
  auto* const values = out.as<float>();
  StridedWalk walk(tensor, first);
  core::StopCheck check("reading weights");
  for (std::int64_t i = 0; i < out.size(); ++i, walk.advance()) {
    check(5);
    values[i] = type.read(storage + static_cast<std::size_t>(walk.at()) * type.width);
  }
}

bool looks_like_torch(std::span<const std::byte> beginning) noexcept {
  return ZipArchive::is_archive(beginning) || is_of_old_form(beginning);
}

}  // namespace dragoman::imports
