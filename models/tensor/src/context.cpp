#include "dragoman/tensor/context.h"

#include "dragoman/tensor/host_view.h"
#include "dragoman/tensor/ragged.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include <dragoman/core/error.h>
#include <dragoman/tensor/packed_weight.h>

namespace dragoman::tensor {
namespace {

constexpr std::size_t kSmallestUpload = 256;
/// Larger uploads go to the device directly, which avoids a copy on the host.
constexpr std::size_t kLargestStaged = std::size_t{1} << 16;

}  // namespace

StepRecorder::~StepRecorder() = default;
ContextExtension::~ContextExtension() = default;

std::int64_t next_generation() noexcept {
  static std::atomic<std::int64_t> last{0};
  return ++last;
}

void check_ragged(const RaggedTokens& batch, std::int64_t vocabulary) {
  using core::ErrorCode;
  core::require(!batch.offsets.empty() && batch.offsets.front() == 0 && batch.offsets.back() == batch.total(),
                ErrorCode::kInvalidArgument, "offsets must start at 0 and end at the number of tokens, {}",
                batch.total());
  for (std::int64_t b = 0; b < batch.batch(); ++b)
    core::require(batch.offsets[b] <= batch.offsets[b + 1], ErrorCode::kInvalidArgument,
                  "offsets fall from {} to {} at sequence {}", batch.offsets[b], batch.offsets[b + 1], b);
  for (std::size_t i = 0; i < batch.tokens.size(); ++i)
    core::require(batch.tokens[i] >= 0 && batch.tokens[i] < vocabulary, ErrorCode::kInvalidArgument,
                  "token {} at position {} is outside of the vocabulary of {}", batch.tokens[i], i, vocabulary);
}

std::size_t Context::room_of_upload(std::size_t bytes) const noexcept {
  // Rounded up, so that later allocations have the same addresses in most steps.
  return recorder_ == nullptr ? bytes : std::bit_ceil(std::max(bytes, kSmallestUpload));
}

void* Context::upload_room(std::size_t bytes) {
  if (in_body_)
    core::fail(core::ErrorCode::kInternal, "the body of a step uploads {} bytes; that belongs to its preparation",
               bytes);
  const std::size_t room = room_of_upload(bytes);
  void* const data = arena_.allocate(room);
  if (recorder_ != nullptr) uploads_.emplace_back(data, room);
  return data;
}

const void* Context::upload_bytes(const void* values, std::size_t bytes) {
  void* const copy = upload_room(bytes);
  if (staging_ && bytes <= kLargestStaged)
    stage(static_cast<std::byte*>(copy), values, bytes);
  else if (bytes > 0)
    memory_->upload(copy, values, bytes);
  return copy;
}

void Context::stage(std::byte* to, const void* values, std::size_t bytes) {
  const auto* const from = static_cast<const std::byte*>(values);
  const bool follows = !staged_runs_.empty() && to == staged_runs_.back().end_of_room;
  if (staged_runs_.empty()) staged_bytes_.clear();
  if (follows)
    staged_bytes_.resize(staged_runs_.back().begin + static_cast<std::size_t>(to - staged_runs_.back().to));
  else
    staged_runs_.push_back({.to = to, .begin = staged_bytes_.size(), .end = 0, .end_of_room = nullptr});
  staged_bytes_.insert(staged_bytes_.end(), from, from + bytes);
  staged_runs_.back().end = staged_bytes_.size();
  staged_runs_.back().end_of_room = to + Arena::room_of(room_of_upload(bytes));
}

void Context::flush_uploads() {
  // Moved out first, so that a failed upload is not repeated.
  const std::vector<StagedRun> runs = std::exchange(staged_runs_, {});
  for (const StagedRun& run : runs)
    if (run.end > run.begin) memory_->upload(run.to, staged_bytes_.data() + run.begin, run.end - run.begin);
}

LayerMemory::LayerMemory(Context& context, bool wanted)
    : context_(context),
      outer_(context.current_arena_),
      active_(wanted && outer_ == &context.arena_ && !context.records() && !context.extensions_keep_results()) {}

void LayerMemory::next_layer() {
  if (!active_) return;
  Arena& arena = context_.layer_arenas_[next_];
  next_ = 1 - next_;
  arena.reset();
  context_.current_arena_ = &arena;
}

void Context::start_step() {
  arena_.reset();
  host_arena_.reset();
  uploads_.clear();
  for (const auto& extension : extensions_)
    if (extension) extension->begin_step();
}

void Context::free_step_memory() {
  arena_.free_blocks();
  for (Arena& arena : layer_arenas_) arena.free_blocks();
  host_arena_.free_blocks();
  uploads_.clear();
  for (const auto& extension : extensions_)
    if (extension) extension->free_step_memory();
}

bool Context::extensions_allow_recording() const {
  return std::ranges::all_of(extensions_, [](const auto& each) { return !each || each->allows_recording(); });
}

bool Context::extensions_keep_results() const {
  return std::ranges::any_of(extensions_, [](const auto& each) { return each && each->keeps_results(); });
}

ExtensionStates Context::extension_states() const {
  ExtensionStates states{};
  for (std::size_t i = 0; i < states.size(); ++i)
    if (extensions_[i]) states[i] = extensions_[i]->state();
  return states;
}

void Context::resume_extensions(const ExtensionStates& states) {
  for (std::size_t i = 0; i < states.size(); ++i)
    if (extensions_[i]) extensions_[i]->resume(states[i]);
}

void Context::restart_extensions(const ExtensionStates& states) {
  for (std::size_t i = 0; i < states.size(); ++i)
    if (extensions_[i]) extensions_[i]->restart(states[i]);
}

Tensor copy_to_step(Context& context, std::span<const float> values, std::int64_t rows, std::int64_t cols) {
  core::require(static_cast<std::int64_t>(values.size()) == rows * cols, core::ErrorCode::kInvalidArgument,
                "{} values do not fill [{}, {}]", values.size(), rows, cols);
  const Tensor tensor = context.allocate(rows, cols);
  const HostView view = HostView::to_be_written(context.memory(), tensor);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j)
      set_element(view.tensor(), i, j, values[static_cast<std::size_t>(i * cols + j)]);
  view.store();
  return tensor;
}

double element(const Tensor& tensor, std::int64_t row, std::int64_t col) {
  switch (tensor.dtype) {
    case DType::kF32:
      return tensor.row<float>(row)[col];
    case DType::kF64:
      return tensor.row<double>(row)[col];
    case DType::kF16:
      return f16_to_f32(tensor.row<std::uint16_t>(row)[col]);
    case DType::kBF16:
      return bf16_to_f32(tensor.row<std::uint16_t>(row)[col]);
    case DType::kI8:
      return tensor.row<std::int8_t>(row)[col];
    case DType::kI32:
      return tensor.row<std::int32_t>(row)[col];
  }
  return 0;
}

double element(const StoredMatrix& matrix, std::int64_t row, std::int64_t col) {
  const double value = element(matrix.values, row, col);
  return matrix.scales.empty() ? value : static_cast<float>(value) * matrix.scales.as<float>()[row];
}

void set_element(const Tensor& tensor, std::int64_t row, std::int64_t col, double value) {
  switch (tensor.dtype) {
    case DType::kF32:
      tensor.row<float>(row)[col] = static_cast<float>(value);
      return;
    case DType::kF64:
      tensor.row<double>(row)[col] = value;
      return;
    case DType::kF16:
      tensor.row<std::uint16_t>(row)[col] = f32_to_f16(static_cast<float>(value));
      return;
    case DType::kBF16:
      tensor.row<std::uint16_t>(row)[col] = f32_to_bf16(static_cast<float>(value));
      return;
    default:
      core::fail(core::ErrorCode::kUnsupported, "cannot store a real number as {}", name_of(tensor.dtype));
  }
}

}  // namespace dragoman::tensor
