#include "gemm.h"

#include "kernels/views.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
#include <new>
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
/// The bytes that a probe compares at either end of a result: another order of sums shows in all of its parts.
constexpr std::size_t kComparedBytes = std::size_t{4} << 20;

std::size_t size_of(GemmType type) {
  return type == GemmType::kF32 ? 4 : type == GemmType::kI8 ? 1 : 2;
}

/// Returns the shape with its matrices stored without gaps, except for the padding of rows that the alignment requires.
GemmShape packed(GemmShape shape) {
  const auto unit = std::max<std::int64_t>(1, shape.alignment / static_cast<std::int64_t>(size_of(shape.type)));
  const auto whole = [](std::int64_t n, std::int64_t of) { return (n + of - 1) / of * of; };
  shape.a_stride = whole(shape.transpose_a ? shape.rows : shape.inner, unit);
  shape.b_stride = whole(shape.transpose_b ? shape.inner : shape.cols, unit);
  shape.c_stride = whole(shape.cols, 4);
  return shape;
}

GemmQuestion question_of(GemmShape shape) {
  shape.rows = 0;
  shape.a_stride = shape.b_stride = shape.c_stride = 0;
  return {shape};
}

/// Bytes that hold a workspace at whatever address they begin, and the first address in them that is aligned.
std::size_t workspace_room(std::size_t bytes) {
  return bytes + kWorkspaceAlignment - 1;
}
void* workspace_in(void* room) {
  const auto address = reinterpret_cast<std::uintptr_t>(room);
  return static_cast<char*>(room) + (kWorkspaceAlignment - address % kWorkspaceAlignment) % kWorkspaceAlignment;
}

/// Whether an allocation has failed, or would have gone beyond what may be taken.
bool is_lack_of_memory(const std::exception& error) {
  const auto* const of_ours = dynamic_cast<const core::Error*>(&error);
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
         (of_ours != nullptr && of_ours->code() == core::ErrorCode::kUnsupported);
}

template <class T>
int alignment_of(std::initializer_list<std::pair<const T*, std::int64_t>> rows) {
  std::uintptr_t bits = 16;
  for (const auto& [data, stride] : rows)
    bits |= reinterpret_cast<std::uintptr_t>(data) | (static_cast<std::uintptr_t>(stride) * sizeof(T));
  return 1 << std::countr_zero(bits);
}

}  // namespace

void PlainGemm::multiply(tensor::Context&, const device::Product& product, RowBits) {
  device::product(product);
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
}
void PlainGemm::multiply_int8(tensor::Context&, const device::Int8Product& product) {
  device::product_int8(product);
}

/// Operands of random numbers, room for results, and the results of the algorithm that the others are compared with.
class LibraryGemm::Probe {
 public:
  Probe(const GemmLibrary& library, tensor::DeviceMemory& memory, const GemmShape& largest)
      : library_(library),
        memory_(memory),
        a_(memory, bytes_of(largest.transpose_a ? largest.inner : largest.rows, largest.a_stride, largest.type)),
        b_(memory, bytes_of(largest.transpose_b ? largest.cols : largest.inner, largest.b_stride, largest.type)),
        c_(memory, static_cast<std::size_t>(largest.rows * largest.c_stride) * 4),
        bias_(memory, static_cast<std::size_t>(largest.cols) * 4) {
    fill(a_, largest.type);
    fill(b_, largest.type);
    fill(bias_, GemmType::kF32);
  }

  /// The bytes of a result, or of its two ends.
  struct Result {
    std::vector<std::byte> first;
    std::vector<std::byte> last;
    std::size_t bytes = 0;

    /// So many rows of the same product, from the first one on, or all of them.
    bool agrees(const Result& whole) const {
      const std::size_t common = std::min(first.size(), whole.first.size());
      return std::memcmp(first.data(), whole.first.data(), common) == 0 && (bytes != whole.bytes || last == whole.last);
    }
  };
  /// Nothing if it cannot be computed so.
  std::optional<Result> result(const GemmShape& shape, const GemmAlgorithm& algorithm) {
    const std::optional<Workspace> workspace = make_workspace(shape, algorithm);
    if (!workspace) return std::nullopt;
    Result result{.first = {}, .last = {}, .bytes = static_cast<std::size_t>(shape.rows * shape.c_stride) * 4};
    memory_.clear(c_.data(), result.bytes);
    library_.run(shape, operands(), algorithm, workspace->data, workspace->bytes);
    result.first.resize(std::min(result.bytes, kComparedBytes));
    result.last.resize(std::min(result.bytes - result.first.size(), kComparedBytes));
    memory_.copy_out(result.first.data(), c_.data(), result.first.size());
    if (!result.last.empty())
      memory_.copy_out(result.last.data(), static_cast<char*>(c_.data()) + result.bytes - result.last.size(),
                       result.last.size());
    return result;
  }
  double time(const GemmShape& shape, const GemmAlgorithm& algorithm) {
    const Workspace workspace = make_workspace(shape, algorithm).value_or(Workspace{});
    return library_.time(shape, operands(), algorithm, workspace.data, workspace.bytes);
  }

 private:
  static std::size_t bytes_of(std::int64_t rows, std::int64_t stride, GemmType type) {
    return static_cast<std::size_t>(rows * stride) * size_of(type);
  }
  GemmOperands operands() const { return {a_.data(), b_.data(), c_.data(), static_cast<const float*>(bias_.data())}; }
  struct Workspace {
    void* data = nullptr;
    std::size_t bytes = 0;
  };
  /// Nothing if the algorithm cannot do the shape.
  std::optional<Workspace> make_workspace(const GemmShape& shape, const GemmAlgorithm& algorithm) {
    const std::optional<std::size_t> bytes = library_.workspace(shape, algorithm);
    if (!bytes) return std::nullopt;
    if (workspace_room(*bytes) > workspace_.size()) workspace_ = tensor::Buffer(memory_, workspace_room(*bytes));
    return Workspace{workspace_in(workspace_.data()), *bytes};
  }
  /// Numbers between -1 and 1 (of int8 all) with all of their bits, so that another order of a sum shows. They repeat
  /// after a prime number of them, so rows differ.
  void fill(const tensor::Buffer& buffer, GemmType type) const {
    constexpr std::size_t kMaxNumbers = 1'000'003;
    std::vector<std::uint8_t> numbers(std::min(kMaxNumbers * size_of(type), buffer.size()));
    std::uint64_t state = 0x9E3779B97F4A7C15U;
    for (std::size_t i = 0; i < numbers.size(); i += size_of(type)) {
      state ^= state << 13U;
      state ^= state >> 7U;
      state ^= state << 17U;
      write_number(&numbers[i], type, state);
    }
    for (std::size_t done = 0; done < buffer.size(); done += numbers.size())
      memory_.copy_in(static_cast<char*>(buffer.data()) + done, numbers.data(),
                      std::min(numbers.size(), buffer.size() - done));
  }
  static void write_number(std::uint8_t* place, GemmType type, std::uint64_t random) {
    if (type == GemmType::kI8) {
      *place = static_cast<std::uint8_t>(random >> 32U);
    } else if (type == GemmType::kF32) {
      const float value = static_cast<float>(static_cast<std::int32_t>(random >> 32U)) * 0x1p-31F;
      std::memcpy(place, &value, sizeof value);
    } else {
      // Sign, an exponent of four below 1, and the bits of the fraction: as bf16 or as fp16.
      const int fraction = type == GemmType::kBF16 ? 7 : 10;
      const std::uint64_t exponent = (type == GemmType::kBF16 ? 123 : 11) + (random >> 40U) % 4;
      const auto value =
          static_cast<std::uint16_t>((random >> 63U) << 15U | exponent << fraction | (random & ((1U << fraction) - 1)));
      std::memcpy(place, &value, sizeof value);
    }
  }

  const GemmLibrary& library_;
  tensor::DeviceMemory& memory_;
  tensor::Buffer a_, b_, c_, bias_, workspace_;
};

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
    GemmAnswers finished = answers_;
    for (const GemmQuestion& question : unfinished_) finished.erase(question);
    core::write_file(file_, format_answers(finished, library_->identity()));
    trouble_.clear();
  } catch (const std::exception& error) {  // they are found again, which takes time and changes nothing
    trouble_ = error.what();
  }
}

/// The buckets, as far as probes have room for them.
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

/// If memory is short, fewer numbers of rows are probed. The others take the library's first algorithm, whose bits all
/// algorithms must give.
GemmAnswer LibraryGemm::find_answer(const GemmQuestion& question) {
  const std::vector<std::int64_t> buckets = rows_asked(question);
  GemmShape largest = question.shape;
  largest.rows = buckets.back();
  const std::vector<GemmAlgorithm> best = library_->candidates(packed(largest), false);
  if (best.empty()) return {};
  for (std::size_t probed = buckets.size();; --probed) {
    try {
      GemmAnswer answer = probed_answer(question, best.front(), std::span(buckets).first(probed));
      if (answer.size() < probed) return {};
      for (const std::int64_t rows : std::span(buckets).subspan(probed)) {
        const std::vector<GemmAlgorithm> all = candidates_of(question, rows);
        answer.push_back(static_cast<int>(std::ranges::find(all, best.front()) - all.begin()));
      }
      if (probed < buckets.size()) unfinished_.insert(question);
      return answer;
    } catch (const std::exception& error) {
      if (probed == 0 || !is_lack_of_memory(error)) throw;
    }
  }
}

/// Of some of the buckets; empty if one of them has no algorithm with the bits of `first`.
GemmAnswer LibraryGemm::probed_answer(const GemmQuestion& question, const GemmAlgorithm& first,
                                      std::span<const std::int64_t> buckets) const {
  if (buckets.empty()) return {};
  GemmShape largest = question.shape;
  largest.rows = buckets.back();
  largest = packed(largest);
  Probe probe(*library_, *memory_, largest);
  const auto expected = probe.result(largest, first);
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

const GemmAnswer& LibraryGemm::answer(const GemmQuestion& question) {
  const auto known = answers_.find(question);
  if (known != answers_.end()) return known->second;
  core::require(!library_->recording(), core::ErrorCode::kInternal,
                "a step is recorded that has a product of {} x {} x {}, which was not run before", question.shape.rows,
                question.shape.cols, question.shape.inner);
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
  return algorithms_.emplace(question, std::move(algorithms)).first->second;
}

LibraryGemm::Plan LibraryGemm::make_plan(const GemmShape& shape, RowBits bits) {
  // Where a shape has its own bits, the library's rule alone decides. A stopwatch would decide differently on another
  // day, and algorithms that agree on one shape may cut the sums of another one in different places.
  if (bits == RowBits::kOfShape) return first_plan(library_->candidates(shape, true), 0, shape);
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

bool LibraryGemm::run_with_epilogue(tensor::Context& context, GemmShape shape, GemmOperands operands,
                                    const device::Matrix& c, const device::Epilogue& epilogue, RowBits bits) {
  shape.bias = epilogue.bias.data != nullptr;
  operands.bias = epilogue.bias.data;
  const bool finished = epilogue.activation == ops::Activation::kNone && epilogue.pre_activation.data == nullptr;
  const tensor::ScratchScope scope(context.arena());
  device::Matrix sums = finished || !epilogue.accumulate ? c : device::Matrix{nullptr, c.rows, c.cols, c.cols};
  if (epilogue.pre_activation.data != nullptr) sums = epilogue.pre_activation;
  if (sums.data == nullptr)
    sums.data =
        static_cast<float*>(context.arena().allocate(static_cast<std::size_t>(c.rows * c.cols) * sizeof(float)));
  shape.accumulate = finished && epilogue.accumulate;
  shape.c_stride = sums.stride;
  shape.alignment = std::min(shape.alignment, alignment_of<float>({{sums.data, sums.stride}, {operands.bias, 0}}));
  operands.c = sums.data;
  if (!run(context, shape, operands, bits)) return false;
  if (!finished)
    device::finish_product(sums, c, {.activation = epilogue.activation, .accumulate = epilogue.accumulate});
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
