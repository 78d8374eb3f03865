#include "gemm.h"

#include "gemm_probe.h"
#include "kernels/views.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/folder.h>

namespace dragoman::backend::cuda {
namespace {

constexpr std::size_t kMaxPlans = 8192;
constexpr std::size_t kMaxAnswersBytes = std::size_t{16} << 20;
/// The most elements of a matrix in a probe for row-stable products.
constexpr std::int64_t kMaxProbed = std::int64_t{16} << 20;

GemmQuestion question_of(GemmShape shape) {
  shape.rows = 0;
  shape.a_stride = shape.b_stride = shape.c_stride = shape.input_stride = 0;
  return {shape};
}

template <class T>
int alignment_of(std::initializer_list<std::pair<const T*, std::int64_t>> rows) {
  std::uintptr_t bits = 16;
  for (const auto& [data, stride] : rows)
    bits |= reinterpret_cast<std::uintptr_t>(data) | (static_cast<std::uintptr_t>(stride) * sizeof(T));
  return 1 << std::countr_zero(bits);
}

/// A matrix or a bias that does not exist is aligned.
bool is_aligned_for_epilogue(const float* data) {
  return reinterpret_cast<std::uintptr_t>(data) % kEpilogueAlignment == 0;
}

/// Returns kNone if libraries do not compute the epilogue.
GemmActivation activation_of_library(const device::Epilogue& epilogue) {
  if (epilogue.accumulate || epilogue.dropout.threshold > 0) return GemmActivation::kNone;
  if (epilogue.activation == ops::Activation::kGeluTanh) return GemmActivation::kGeluTanh;
  // With a ReLU, libraries keep a mask of bits in place of its input.
  const bool is_relu = epilogue.activation == ops::Activation::kRelu && epilogue.pre_activation.data == nullptr;
  return is_relu ? GemmActivation::kRelu : GemmActivation::kNone;
}

/// The plain kernels leave the dropout to another one.
void drop_if_wanted(const device::Matrix& c, const device::Epilogue& epilogue) {
  if (epilogue.dropout.threshold > 0) device::drop_product(c, epilogue);
}

}  // namespace

void PlainGemm::multiply(tensor::Context&, const device::Product& product, RowBits) {
  device::product(product);
  drop_if_wanted(product.c, product.epilogue);
}
void PlainGemm::multiply_halves(tensor::Context& context, const device::HalfProduct& product, RowBits) {
  const tensor::ScratchScope scope(context.arena());
  const auto turned = [&](const device::WordMatrix& x, std::int64_t rows) {
    const std::int64_t words = device::words_of(x.rows, 2);
    const device::WordMatrix y{scratch<std::uint32_t>(context, rows * words), rows, words, words};
    device::turn_words(x, y);
    return y;
  };
  const auto& [type, a, transpose_a, b, transpose_b, c, epilogue] = product;
  device::product_of_halves(type, transpose_a ? turned(a, c.rows) : a, transpose_b ? b : turned(b, c.cols), c,
                            epilogue);
  drop_if_wanted(c, epilogue);
}
void PlainGemm::multiply_int8(tensor::Context&, const device::Int8Product& product) {
  device::product_int8(product);
}

LibraryGemm::LibraryGemm(std::unique_ptr<GemmLibrary> library, tensor::DeviceMemory& memory,
                         const std::filesystem::path& folder, std::vector<std::int64_t> row_buckets)
    : library_(std::move(library)), memory_(&memory), row_buckets_(std::move(row_buckets)) {
  if (folder.empty()) return;
  file_ = answers_file(folder, library_->identity());
  std::error_code error;
  if (!std::filesystem::is_regular_file(file_, error)) return;
  try {
    answers_ = parse_answers(core::read_regular_file(file_, kMaxAnswersBytes), library_->identity());
  } catch (const core::Error& unreadable) {
    trouble_ = unreadable.what();
  }
}

std::string LibraryGemm::trouble() const {
  const std::lock_guard lock(answers_mutex_);
  return trouble_;
}

void LibraryGemm::keep_answers() noexcept {
  if (file_.empty()) return;
  try {
    core::make_folder(file_.parent_path());
    core::write_file(file_, format_answers(answers_, library_->identity()));
    trouble_.clear();
  } catch (const std::exception& error) {  // they are found again, which takes time and changes nothing
    trouble_ = error.what();
  }
}

/// The buckets whose matrices are not too large for a probe.
std::vector<std::int64_t> LibraryGemm::rows_asked(const GemmQuestion& question) const {
  std::vector<std::int64_t> buckets;
  for (const std::int64_t rows : row_buckets_)
    if (buckets.empty() || rows * std::max(question.shape.cols, question.shape.inner) <= kMaxProbed)
      buckets.push_back(rows);
  return buckets;
}

std::vector<GemmAlgorithm> LibraryGemm::candidates_of(const GemmQuestion& question, std::int64_t rows) const {
  GemmShape shape = question.shape;
  shape.rows = rows;
  std::vector<GemmAlgorithm> all = library_->candidates(packed(shape), false);
  // The candidates for the largest number of rows follow.
  shape.rows = rows_asked(question).back();
  for (const GemmAlgorithm& algorithm : library_->candidates(packed(shape), false))
    if (std::ranges::find(all, algorithm) == all.end()) all.push_back(algorithm);
  return all;
}

/// Empty if a bucket has no algorithm with the bits of the library's first one for many rows.
GemmAnswer LibraryGemm::find_answer(const GemmQuestion& question) const {
  const std::vector<std::int64_t> buckets = rows_asked(question);
  GemmShape largest = question.shape;
  largest.rows = buckets.back();
  largest = packed(largest);
  const std::vector<GemmAlgorithm> best = library_->candidates(largest, false);
  if (best.empty()) return {};
  GemmProbe probe(*library_, *memory_, largest);
  const auto expected = probe.result(largest, best.front());
  if (!expected) return {};
  GemmAnswer answer;
  for (const std::int64_t rows : buckets) {
    GemmShape shape = question.shape;
    shape.rows = rows;
    shape = packed(shape);
    const std::vector<GemmAlgorithm> all = candidates_of(question, rows);
    int fastest = -1;
    double least = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto result = probe.result(shape, all[i]);
      if (!result || !result->agrees(*expected)) continue;
      const double seconds = probe.time(shape, all[i]);
      if (fastest >= 0 && seconds >= least) continue;
      fastest = static_cast<int>(i);
      least = seconds;
    }
    if (fastest < 0) return {};
    answer.push_back(fastest);
  }
  return answer;
}

void LibraryGemm::require_no_recording(const GemmShape& shape) const {
  core::require(!library_->recording(), core::ErrorCode::kInternal,
                "a step is recorded that has a product of {} x {} x {}, which was not run before", shape.rows,
                shape.cols, shape.inner);
}

const GemmAnswer& LibraryGemm::answer(const GemmQuestion& question) {
  const auto known = answers_.find(question);
  if (known != answers_.end()) return known->second;
  require_no_recording(question.shape);
  const GemmAnswer& found = answers_.emplace(question, find_answer(question)).first->second;
  keep_answers();
  return found;
}

const std::vector<GemmAlgorithm>& LibraryGemm::algorithms_for(const GemmQuestion& question) {
  const auto known = algorithms_.find(question);
  if (known != algorithms_.end()) return known->second;
  const std::vector<std::int64_t> buckets = rows_asked(question);
  std::vector<GemmAlgorithm> algorithms;
  const GemmAnswer& numbers = answer(question);
  for (std::size_t i = 0; i < buckets.size() && numbers.size() == buckets.size(); ++i) {
    const std::vector<GemmAlgorithm> all = candidates_of(question, buckets[i]);
    const auto number = static_cast<std::size_t>(numbers[i]);
    if (number < all.size()) algorithms.push_back(all[number]);
  }
  if (algorithms.size() != buckets.size()) algorithms.clear();
  // One that does not compute the activation function makes the kernel after the product compute it for all rows.
  for (std::size_t i = 0; i < algorithms.size(); ++i) {
    GemmShape shape = question.shape;
    shape.rows = buckets[i];
    if (!computes_activation_of(shape, algorithms[i])) algorithms.clear();
  }
  return algorithms_.emplace(question, std::move(algorithms)).first->second;
}

LibraryGemm::Plan LibraryGemm::make_plan(const GemmShape& shape, RowBits bits) {
  // Where a shape has its own bits, the library's rule alone decides. A stopwatch would decide differently on another
  // day, and algorithms that agree on one shape may cut the sums of another one in different places.
  if (bits == RowBits::kOfShape) {
    const Plan first = first_plan(library_->candidates(shape, true), 0, shape);
    const std::lock_guard lock(answers_mutex_);
    return first.algorithm && computes_activation_of(shape, *first.algorithm) ? first : Plan{};
  }
  const GemmQuestion question = question_of(shape);
  const std::vector<std::int64_t> buckets = rows_asked(question);
  const std::lock_guard lock(answers_mutex_);
  const std::vector<GemmAlgorithm>& algorithms = algorithms_for(question);
  const auto bucket = static_cast<std::size_t>(std::ranges::lower_bound(buckets, shape.rows) - buckets.begin());
  // Where the algorithm for the bucket cannot do the exact shape: one of another bucket, which has the same bits.
  return first_plan(algorithms, std::min(bucket, buckets.size() - 1), shape);
}

/// The first of the algorithms, from one of them on, that can do the shape.
LibraryGemm::Plan LibraryGemm::first_plan(const std::vector<GemmAlgorithm>& algorithms, std::size_t from,
                                          const GemmShape& shape) const {
  for (std::size_t i = 0; i < algorithms.size(); ++i) {
    const GemmAlgorithm& algorithm = algorithms[(from + i) % algorithms.size()];
    if (const auto bytes = library_->workspace(shape, algorithm)) return {algorithm, *bytes};
  }
  return {};
}

LibraryGemm::Plan LibraryGemm::plan(const GemmShape& shape, RowBits bits) {
  const std::pair exact{shape, bits};
  {
    const std::shared_lock lock(plans_mutex_);
    const auto known = plans_.find(exact);
    if (known != plans_.end()) return known->second;
  }
  const Plan made = make_plan(shape, bits);
  const std::unique_lock lock(plans_mutex_);
  if (plans_.size() >= kMaxPlans) plans_.clear();
  return plans_.insert_or_assign(exact, made).first->second;
}

bool LibraryGemm::run(tensor::Context& context, const GemmShape& shape, const GemmOperands& operands, RowBits bits) {
  if (shape.rows == 0 || shape.cols == 0 || shape.inner == 0) return false;
  const Plan made = plan(shape, bits);
  if (!made.algorithm) return false;
  const tensor::ScratchScope scope(context.arena());
  void* const workspace =
      made.workspace == 0 ? nullptr : workspace_in(context.arena().allocate(workspace_room(made.workspace)));
  library_->run(shape, operands, *made.algorithm, workspace, made.workspace);
  return true;
}

bool LibraryGemm::computes_activation_of(const GemmShape& shape, const GemmAlgorithm& algorithm) {
  if (shape.activation == GemmActivation::kNone) return true;
  const std::pair known{question_of(shape), algorithm};
  if (const auto found = verified_.find(known); found != verified_.end()) return found->second;
  require_no_recording(shape);
  return verified_.emplace(known, computes_activation(*library_, *memory_, shape, algorithm)).first->second;
}

bool LibraryGemm::run_activated(tensor::Context& context, GemmShape shape, GemmOperands operands,
                                const device::Matrix& c, const device::Epilogue& epilogue, RowBits bits) {
  const device::Matrix& input = epilogue.pre_activation;
  shape.activation = activation_of_library(epilogue);
  if (shape.activation == GemmActivation::kNone || !is_aligned_for_epilogue(epilogue.bias.data)) return false;
  if (!is_aligned_for_epilogue(input.data) || input.stride % kInputStrideUnit != 0) return false;
  shape.keeps_input = input.data != nullptr;
  shape.input_stride = input.stride;
  shape.bias = epilogue.bias.data != nullptr;
  shape.c_stride = c.stride;
  shape.alignment = std::min(shape.alignment, alignment_of<float>({{c.data, c.stride}}));
  operands.bias = epilogue.bias.data;
  operands.activation_input = input.data;
  operands.c = c.data;
  return run(context, shape, operands, bits);
}

/// One kernel computes the rest of the epilogue after the product.
bool LibraryGemm::run_with_epilogue(tensor::Context& context, GemmShape shape, GemmOperands operands,
                                    const device::Matrix& c, const device::Epilogue& epilogue, RowBits bits) {
  if (run_activated(context, shape, operands, c, epilogue, bits)) return true;
  device::Epilogue rest = epilogue;
  if (is_aligned_for_epilogue(epilogue.bias.data)) {
    shape.bias = epilogue.bias.data != nullptr;
    operands.bias = epilogue.bias.data;
    rest.bias = {};
  }
  const bool finished = rest.bias.data == nullptr && epilogue.activation == ops::Activation::kNone &&
                        epilogue.pre_activation.data == nullptr && epilogue.dropout.threshold == 0;
  const tensor::ScratchScope scope(context.arena());
  device::Matrix sums = finished || !epilogue.accumulate ? c : device::Matrix{nullptr, c.rows, c.cols, c.cols};
  if (epilogue.pre_activation.data != nullptr) sums = epilogue.pre_activation;
  if (sums.data == nullptr)
    sums.data =
        static_cast<float*>(context.arena().allocate(static_cast<std::size_t>(c.rows * c.cols) * sizeof(float)));
  shape.accumulate = finished && epilogue.accumulate;
  shape.c_stride = sums.stride;
  shape.alignment = std::min(shape.alignment, alignment_of<float>({{sums.data, sums.stride}}));
  operands.c = sums.data;
  if (!run(context, shape, operands, bits)) return false;
  if (rest.bias.data == nullptr) rest.pre_activation = {};  // the sums are there already
  if (!finished) device::finish_product(sums, c, rest);
  return true;
}

void LibraryGemm::multiply(tensor::Context& context, const device::Product& product, RowBits bits) {
  const auto& [a, transpose_a, b, transpose_b, c, epilogue] = product;
  const GemmShape shape{.type = GemmType::kF32,
                        .transpose_a = transpose_a,
                        .transpose_b = transpose_b,
                        .alignment = alignment_of<float>({{a.data, a.stride}, {b.data, b.stride}}),
                        .rows = c.rows,
                        .cols = c.cols,
                        .inner = transpose_a ? a.rows : a.cols,
                        .a_stride = a.stride,
                        .b_stride = b.stride};
  if (!run_with_epilogue(context, shape, {.a = a.data, .b = b.data}, c, epilogue, bits))
    plain_.multiply(context, product, bits);
}

void LibraryGemm::multiply_halves(tensor::Context& context, const device::HalfProduct& product, RowBits bits) {
  const auto& [type, a, transpose_a, b, transpose_b, c, epilogue] = product;
  const GemmShape shape{.type = type == device::Half::kF16 ? GemmType::kF16 : GemmType::kBF16,
                        .transpose_a = transpose_a,
                        .transpose_b = transpose_b,
                        .alignment = alignment_of<std::uint32_t>({{a.data, a.stride}, {b.data, b.stride}}),
                        .rows = c.rows,
                        .cols = c.cols,
                        .inner = transpose_a   ? a.rows
                                 : transpose_b ? 2 * a.cols
                                               : b.rows,
                        .a_stride = 2 * a.stride,
                        .b_stride = 2 * b.stride};
  if (!run_with_epilogue(context, shape, {.a = a.data, .b = b.data}, c, epilogue, bits))
    plain_.multiply_halves(context, product, bits);
}

void LibraryGemm::multiply_int8(tensor::Context& context, const device::Int8Product& product) {
  const auto& [a, a_scales, weight, weight_scales, c, epilogue] = product;
  const tensor::ScratchScope scope(context.arena());
  const std::int64_t cols = (c.cols + kInt8Cols - 1) / kInt8Cols * kInt8Cols;
  device::View<std::int32_t> sums{nullptr, c.rows, c.cols, cols};
  sums.data = static_cast<std::int32_t*>(
      context.arena().allocate(static_cast<std::size_t>(sums.rows * sums.stride) * sizeof(std::int32_t)));
  const GemmShape shape{.type = GemmType::kI8,
                        .transpose_b = true,
                        .alignment = alignment_of<std::uint32_t>({{a.data, a.stride}, {weight.data, weight.stride}}),
                        .rows = c.rows,
                        .cols = cols <= weight.rows ? cols : c.cols,
                        .inner = 4 * a.cols,
                        .a_stride = 4 * a.stride,
                        .b_stride = 4 * weight.stride,
                        .c_stride = sums.stride};
  // Whatever the order, sums are exact.
  if (!run(context, shape, {.a = a.data, .b = weight.data, .c = sums.data}, RowBits::kStable))
    return plain_.multiply_int8(context, product);
  device::finish_int8_product(sums, a_scales, weight_scales, c, epilogue);
}

namespace {

struct SetGemm {
  tensor::Device device;
  Gemm* gemm;
};
struct SetGemms {
  std::shared_mutex mutex;
  std::vector<SetGemm> all;
};
SetGemms& set_gemms() {
  static SetGemms& of_process = *new SetGemms;  // lives to the end, since a static Host takes its products out of it
  return of_process;
}

}  // namespace

Gemm& gemm_of(tensor::Device device) {
  static PlainGemm& plain = *new PlainGemm;
  SetGemms& set = set_gemms();
  const std::shared_lock lock(set.mutex);
  for (const SetGemm& one : set.all)
    if (one.device == device) return *one.gemm;
  return plain;
}

void set_gemm(tensor::Device device, Gemm* gemm) {
  SetGemms& set = set_gemms();
  const std::unique_lock lock(set.mutex);
  std::erase_if(set.all, [&](const SetGemm& one) { return one.device == device; });
  if (gemm != nullptr) set.all.push_back({device, gemm});
}

}  // namespace dragoman::backend::cuda
