#include "gemm.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>
#include <oneapi/dnnl/dnnl_debug.h>
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
#include <omp.h>
#elif DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_TBB
#include <tbb/task_arena.h>
#endif

#include <dragoman/core/error.h>
#include <dragoman/tensor/dtype.h>

namespace dragoman::backend::cpu {
namespace {

using Dimension = dnnl::memory::dim;
using Layout = dnnl::memory::desc;

// Row counts that padding rounds up to: at most a third more, and nothing above 256, where AVX2 kernels were seen to
// change their order of summation.
constexpr std::array<std::int64_t, 14> kBuckets = {1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256};
constexpr std::int64_t kReferenceBucket = 64;

/// Runs `body` with oneDNN held to one thread. The OpenMP thread count is a property of the calling thread; it is put
/// back, since the thread may belong to a program that uses OpenMP itself.
template <class Body>
decltype(auto) on_one_thread(Body&& body) {
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
  struct Guard {
    int before = omp_get_max_threads();
    Guard() { omp_set_num_threads(1); }
    ~Guard() { omp_set_num_threads(before); }
  } const guard;
  return body();
#elif DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_TBB
  thread_local tbb::task_arena arena(1);
  return arena.execute(std::forward<Body>(body));
#else
  return body();
#endif
}

/// oneDNN (2.6.3) writes generated code into memory without looking whether it got any, and calls kernels that it could
/// not generate: both end the program. So before it generates code there must be more memory than that takes;
/// std::bad_alloc if there is not.
void require_memory_for_code() {
  constexpr std::size_t kHeadroom = std::size_t{8} << 20;
  void* block = ::mmap(nullptr, kHeadroom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) throw std::bad_alloc();
  ::munmap(block, kHeadroom);
}

/// Runs what oneDNN's C++ interface may throw from; running out of memory is what it is everywhere else.
template <class Body>
decltype(auto) translating_errors(Body&& body) {
  try {
    return body();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
    core::fail(core::ErrorCode::kInternal, "oneDNN: {} ({})", error.what(), dnnl_status2str(error.status));
  }
}

void check(dnnl_status_t status, const char* what) {
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  core::require(status == dnnl_success, core::ErrorCode::kInternal, "oneDNN: {} failed: {}", what,
                dnnl_status2str(status));
}

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& thread_stream() {
  thread_local dnnl::stream stream(cpu_engine());
  return stream;
}

using Element = dnnl::memory::data_type;

struct Elements {
  Element x;
  Element weight;
  Element product;
};

Elements elements_of(GemmType type) {
  switch (type) {
    case GemmType::kF32:
      return {Element::f32, Element::f32, Element::f32};
    case GemmType::kBF16:
      return {Element::bf16, Element::bf16, Element::f32};
    case GemmType::kI8:
      return {Element::u8, Element::s8, Element::s32};
  }
  core::fail(core::ErrorCode::kInternal, "unknown type of a matrix product");
}

Layout strided(Element element, Dimension rows, Dimension cols, Dimension row_stride, Dimension col_stride) {
  return {{rows, cols}, element, {row_stride, col_stride}};
}

Layout contiguous(Element element, Dimension rows, Dimension cols) {
  return strided(element, rows, cols, cols, 1);
}

Layout any_layout(Element element, Dimension rows, Dimension cols) {
  return {{rows, cols}, element, dnnl::memory::format_tag::any};
}

dnnl::matmul::primitive_desc describe_matmul(const Layout& source, const Layout& weights, const Layout& destination,
                                             dnnl::primitive_attr attributes = {}) {
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
#if DNNL_VERSION_MAJOR >= 3
  return {cpu_engine(), source, weights, destination, attributes};
#else
  return {dnnl::matmul::desc(source, weights, destination), attributes, cpu_engine()};
#endif
}

/// The layout that oneDNN wants the weights in for this many rows.
Layout preferred_layout(GemmType type, std::int64_t rows, std::int64_t outputs, std::int64_t inputs) {
  const Elements elements = elements_of(type);
  return describe_matmul(contiguous(elements.x, rows, inputs), any_layout(elements.weight, inputs, outputs),
                         contiguous(elements.product, rows, outputs))
      .weights_desc();
}

struct MatmulKey {
  GemmType type;
  std::int64_t rows;
  std::int64_t outputs;
  std::int64_t inputs;
  bool operator==(const MatmulKey&) const = default;
};

struct MatmulKeyHash {
  std::size_t operator()(const MatmulKey& key) const noexcept {
    std::uint64_t hash = 0;
    for (const std::int64_t part : {static_cast<std::int64_t>(key.type), key.rows, key.outputs, key.inputs})
      hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9E3779B97F4A7C15;
    return static_cast<std::size_t>(hash ^ (hash >> 32));
  }
};

/// A compiled matmul with its memory objects, ready to be pointed at data. Belongs to one thread.
struct Matmul {
  dnnl::matmul primitive;
  dnnl::memory source;
  dnnl::memory destination;
  dnnl::memory scratchpad;
};

Matmul make_matmul(const MatmulKey& key, const Layout& weights) {
  require_memory_for_code();
  const Elements elements = elements_of(key.type);
  const auto description = describe_matmul(contiguous(elements.x, key.rows, key.inputs), weights,
                                           contiguous(elements.product, key.rows, key.outputs));
  return {dnnl::matmul(description), dnnl::memory(description.src_desc(), cpu_engine(), nullptr),
          dnnl::memory(description.dst_desc(), cpu_engine(), nullptr),
          dnnl::memory(description.scratchpad_desc(), cpu_engine())};
}

/// The matmuls of this thread. Creating one takes 0.1 to 0.2 ms, so they are kept; rather than growing without bound
/// the cache starts afresh.
Matmul& cached_matmul(const MatmulKey& key, const Layout& weights) {
  constexpr std::size_t kMostMatmuls = 1024;
  thread_local std::unordered_map<MatmulKey, Matmul, MatmulKeyHash> cache;
  const auto found = cache.find(key);
  if (found != cache.end()) return found->second;
  if (cache.size() >= kMostMatmuls) cache.clear();
  return cache.emplace(key, make_matmul(key, weights)).first->second;
}

void execute(Matmul& matmul, const void* x, const dnnl::memory& weights, void* y) {
  matmul.source.set_data_handle(const_cast<void*>(x));
  matmul.destination.set_data_handle(y);
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, matmul.source.get()},
                                       {DNNL_ARG_WEIGHTS, weights.get()},
                                       {DNNL_ARG_DST, matmul.destination.get()},
                                       {DNNL_ARG_SCRATCHPAD, matmul.scratchpad.get()}};
  check(dnnl_primitive_execute(matmul.primitive.get(), thread_stream().get(), std::size(arguments), arguments),
        "matmul");
}

void run_matmul(const MatmulKey& key, const void* x, const dnnl::memory& weights, void* y) {
  on_one_thread([&] { translating_errors([&] { execute(cached_matmul(key, weights.get_desc()), x, weights, y); }); });
}

/// Cheap numbers between -1 and 1 for the probe; what they are does not matter, only that sums over them round.
std::vector<float> noise(std::int64_t count, std::uint32_t seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::uint32_t state = seed;
  for (float& value : values) {
    state = state * 1664525 + 1013904223;
    value = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F;
  }
  return values;
}

/// `row`, `rows` times over.
std::vector<float> repeat(const std::vector<float>& row, std::int64_t rows) {
  std::vector<float> result;
  result.reserve(row.size() * static_cast<std::size_t>(rows));
  for (std::int64_t r = 0; r < rows; ++r) result.insert(result.end(), row.begin(), row.end());
  return result;
}

/// Floats as elements of a product whose sums round.
std::vector<std::byte> as_elements(GemmType type, const std::vector<float>& values) {
  const std::size_t size = type == GemmType::kF32 ? sizeof(float) : sizeof(std::uint16_t);
  std::vector<std::byte> elements(values.size() * size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t bits = tensor::f32_to_bf16(values[i]);
    std::memcpy(elements.data() + i * size, type == GemmType::kF32 ? static_cast<const void*>(&values[i]) : &bits,
                size);
  }
  return elements;
}

/// What we know about weights [outputs, inputs].
struct Shape {
  Layout layout;
  std::vector<std::int64_t> buckets;
};

dnnl::memory pack(GemmType type, const void* weight, std::int64_t stride, std::int64_t outputs, std::int64_t inputs,
                  dnnl::memory packed) {
  dnnl::memory plain(strided(elements_of(type).weight, inputs, outputs, 1, std::max(stride, inputs)), cpu_engine(),
                     const_cast<void*>(weight));
  dnnl::reorder(plain, packed).execute(thread_stream(), plain, packed);
  return packed;
}

/// Multiplies `rows` equal rows. Gives the common row of the result, or nothing if its rows differ.
std::vector<float> common_row(GemmType type, const dnnl::memory& weights, std::int64_t outputs, std::int64_t inputs,
                              std::int64_t rows, std::uint32_t seed) {
  const std::vector<std::byte> x = as_elements(type, repeat(noise(inputs, seed), rows));
  std::vector<float> y(static_cast<std::size_t>(rows * outputs));
  run_matmul({type, rows, outputs, inputs}, x.data(), weights, y.data());
  const std::vector<float> first(y.begin(), y.begin() + outputs);
  const std::vector<float> expected = repeat(first, rows);
  return std::memcmp(y.data(), expected.data(), y.size() * sizeof(float)) == 0 ? first : std::vector<float>();
}

/// The common rows of several multiplications, end to end. Two orders of summation often round to the same bits, so
/// enough sums are taken that a difference shows: some thousands.
std::vector<float> common_rows(GemmType type, const dnnl::memory& weights, std::int64_t outputs, std::int64_t inputs,
                               std::int64_t rows) {
  constexpr std::int64_t kEnoughSums = 4096;
  std::vector<float> result;
  for (std::uint32_t seed = 1;
       seed == 1 || static_cast<std::int64_t>(result.size()) < std::min(kEnoughSums, 256 * outputs); ++seed) {
    const std::vector<float> row = common_row(type, weights, outputs, inputs, rows, seed);
    if (row.empty()) return {};
    result.insert(result.end(), row.begin(), row.end());
  }
  return result;
}

bool has_layout(const Layout& layout, GemmType type, std::int64_t rows, std::int64_t outputs, std::int64_t inputs) {
  return preferred_layout(type, rows, outputs, inputs) == layout;
}

/// Of a product whose sums are exact, so that there is nothing to probe.
std::vector<std::int64_t> buckets_of_layout(const Layout& layout, GemmType type, std::int64_t outputs,
                                            std::int64_t inputs) {
  std::vector<std::int64_t> buckets;
  for (const std::int64_t rows : kBuckets)
    if (rows == 1 || has_layout(layout, type, rows, outputs, inputs)) buckets.push_back(rows);
  return buckets;
}

/// The largest set of buckets that the probe finds to give one row the same bits at all places in all of them. Where
/// the reference bucket itself fails, smaller ones are tried; a single row always agrees with itself.
std::vector<std::int64_t> stable_buckets(GemmType type, const dnnl::memory& weights, std::int64_t outputs,
                                         std::int64_t inputs) {
  std::vector<std::vector<float>> results;
  for (const std::int64_t rows : kBuckets)
    results.push_back(rows == 1 || has_layout(weights.get_desc(), type, rows, outputs, inputs)
                          ? common_rows(type, weights, outputs, inputs, rows)
                          : std::vector<float>());
  auto reference = static_cast<std::size_t>(std::ranges::find(kBuckets, kReferenceBucket) - kBuckets.begin());
  while (results[reference].empty()) --reference;
  std::vector<std::int64_t> stable;
  for (std::size_t i = 0; i < kBuckets.size(); ++i)
    if (results[i].size() == results[reference].size() &&
        std::memcmp(results[i].data(), results[reference].data(), results[i].size() * sizeof(float)) == 0)
      stable.push_back(kBuckets[i]);
  return stable;
}

Shape probe_shape(GemmType type, std::int64_t outputs, std::int64_t inputs) {
  require_memory_for_code();
  return on_one_thread([&] {
    const Layout layout = preferred_layout(type, kReferenceBucket, outputs, inputs);
    if (type == GemmType::kI8) return Shape{layout, buckets_of_layout(layout, type, outputs, inputs)};
    const std::vector<std::byte> weight = as_elements(type, noise(outputs * inputs, 99));
    const dnnl::memory packed = pack(type, weight.data(), inputs, outputs, inputs, dnnl::memory(layout, cpu_engine()));
    return Shape{layout, stable_buckets(type, packed, outputs, inputs)};
  });
}

/// Probed once per shape and process; the reference stays valid.
const Shape& shape_of(GemmType type, std::int64_t outputs, std::int64_t inputs) {
  static std::mutex mutex;
  static std::map<std::tuple<GemmType, std::int64_t, std::int64_t>, Shape> known;
  const std::scoped_lock lock(mutex);
  const std::tuple key(type, outputs, inputs);
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  Shape shape = translating_errors([&] { return probe_shape(type, outputs, inputs); });
  return known.emplace(key, std::move(shape)).first->second;
}

/// Products of plain matrices of bf16 of any shape: one kernel for each form of the operands, which oneDNN packs
/// itself. A kernel for each shape would be faster, but takes a millisecond to make, and in training each batch has
/// another number of rows.
class AnyShapeMatmul {
 public:
  struct Form {
    bool transpose_a;
    bool transpose_b;
    bool accumulate;
  };

  explicit AnyShapeMatmul(const Form& form) : form_(form) {
    require_memory_for_code();
    constexpr Dimension kAny = DNNL_RUNTIME_DIM_VAL;
    dnnl::primitive_attr attributes;
    if (form.accumulate) {
      dnnl::post_ops sum;
      sum.append_sum(1.0F);
      attributes.set_post_ops(sum);
    }
    const auto description =
        describe_matmul(layout(Element::bf16, kAny, kAny, kAny, form.transpose_a),
                        layout(Element::bf16, kAny, kAny, kAny, form.transpose_b),
                        layout(Element::f32, kAny, kAny, kAny, /*transposed=*/false), std::move(attributes));
    primitive_ = dnnl::matmul(description);
    scratchpad_ = dnnl::memory(description.scratchpad_desc(), cpu_engine());
  }

  void run(const GemmArguments<std::uint16_t>& arguments) {
    const auto [m, n, k] = std::tuple(arguments.m, arguments.n, arguments.k);
    const auto at = [](const Layout& of, const void* data) {
      return dnnl::memory(of, cpu_engine(), const_cast<void*>(data));
    };
    primitive_.execute(
        thread_stream(),
        {{DNNL_ARG_SRC, at(layout(Element::bf16, m, k, arguments.a_stride, form_.transpose_a), arguments.a)},
         {DNNL_ARG_WEIGHTS, at(layout(Element::bf16, k, n, arguments.b_stride, form_.transpose_b), arguments.b)},
         {DNNL_ARG_DST, at(layout(Element::f32, m, n, arguments.c_stride, /*transposed=*/false), arguments.c)},
         {DNNL_ARG_SCRATCHPAD, scratchpad_}});
  }

 private:
  /// Of an operand [rows, cols], which is stored transposed or not.
  static Layout layout(Element element, Dimension rows, Dimension cols, Dimension stride, bool transposed) {
    return transposed ? strided(element, rows, cols, 1, stride) : strided(element, rows, cols, stride, 1);
  }

  Form form_;
  dnnl::matmul primitive_;
  dnnl::memory scratchpad_;
};

/// That of this thread.
AnyShapeMatmul& any_shape_matmul(const AnyShapeMatmul::Form& form) {
  thread_local std::array<std::optional<AnyShapeMatmul>, 8> made;
  std::optional<AnyShapeMatmul>& matmul =
      made[(form.transpose_a ? 4U : 0U) + (form.transpose_b ? 2U : 0U) + (form.accumulate ? 1U : 0U)];
  if (!matmul) matmul.emplace(form);
  return *matmul;
}

/// A single row may come with any stride; oneDNN wants one that a row fits into.
template <class Element>
GemmArguments<Element> with_true_strides(GemmArguments<Element> arguments) {
  arguments.a_stride = std::max(arguments.a_stride, arguments.transpose_a ? arguments.m : arguments.k);
  arguments.b_stride = std::max(arguments.b_stride, arguments.transpose_b ? arguments.k : arguments.n);
  arguments.c_stride = std::max(arguments.c_stride, arguments.n);
  return arguments;
}

/// The product over no elements, of which oneDNN's documentation says nothing.
template <class Element>
void clear_unless_accumulating(const GemmArguments<Element>& arguments) {
  if (arguments.accumulate) return;
  for (std::int64_t i = 0; i < arguments.m; ++i) std::fill_n(arguments.c + i * arguments.c_stride, arguments.n, 0.0F);
}

}  // namespace

void gemm(const GemmArguments<float>& given) {
  if (given.m == 0 || given.n == 0) return;
  if (given.k == 0) return clear_unless_accumulating(given);
  [[maybe_unused]] static const bool code_fits = (require_memory_for_code(), true);  // made at the first call
  const GemmArguments<float> arguments = with_true_strides(given);
  on_one_thread([&] {
    check(dnnl_sgemm(arguments.transpose_a ? 'T' : 'N', arguments.transpose_b ? 'T' : 'N', arguments.m, arguments.n,
                     arguments.k, 1.0F, arguments.a, arguments.a_stride, arguments.b, arguments.b_stride,
                     arguments.accumulate ? 1.0F : 0.0F, arguments.c, arguments.c_stride),
          "sgemm");
  });
}

void gemm(const GemmArguments<std::uint16_t>& arguments) {
  if (arguments.m == 0 || arguments.n == 0) return;
  if (arguments.k == 0) return clear_unless_accumulating(arguments);
  on_one_thread([&] {
    translating_errors([&] {
      any_shape_matmul({arguments.transpose_a, arguments.transpose_b, arguments.accumulate})
          .run(with_true_strides(arguments));
    });
  });
}

struct PackedMatrix::Memory {
  dnnl::memory weights;
};

std::size_t PackedMatrix::bytes(GemmType type, std::int64_t outputs, std::int64_t inputs) {
  return shape_of(type, outputs, inputs).layout.get_size();
}

PackedMatrix::PackedMatrix(GemmType type, const void* weight, std::int64_t stride, std::int64_t outputs,
                           std::int64_t inputs, void* storage)
    : type_(type), outputs_(outputs), inputs_(inputs) {
  const Shape& shape = shape_of(type, outputs, inputs);
  buckets_ = shape.buckets;
  require_memory_for_code();
  on_one_thread([&] {
    translating_errors([&] {
      dnnl::memory packed(shape.layout, cpu_engine(), storage);
      memory_ = std::make_unique<Memory>(Memory{pack(type, weight, stride, outputs, inputs, std::move(packed))});
    });
  });
}

PackedMatrix::~PackedMatrix() = default;
PackedMatrix::PackedMatrix(PackedMatrix&&) noexcept = default;
PackedMatrix& PackedMatrix::operator=(PackedMatrix&&) noexcept = default;

void PackedMatrix::multiply(const void* x, std::int64_t rows, void* y) const {
  run_matmul({type_, rows, outputs_, inputs_}, x, memory_->weights, y);
}

bool sums_bytes_exactly() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::avx512_core_vnni:
    case dnnl::cpu_isa::avx512_core_bf16:
    case dnnl::cpu_isa::avx512_core_amx:
#if DNNL_VERSION_MAJOR >= 3
    case dnnl::cpu_isa::avx512_core_fp16:
    case dnnl::cpu_isa::avx512_core_amx_fp16:
#endif
      return true;
    default:
      return false;
  }
}

bool has_fast_bf16() {
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
#if DNNL_VERSION_MAJOR >= 3
  if (isa == dnnl::cpu_isa::avx512_core_amx_fp16) return true;
#endif
  return isa == dnnl::cpu_isa::avx512_core_amx;
}

bool limit_gemm(SimdLevel level) {
  if (level == SimdLevel::kBest) return true;
  const auto isa = level == SimdLevel::kAvx2 ? dnnl::cpu_isa::avx2 : dnnl::cpu_isa::sse41;
  return dnnl::set_max_cpu_isa(isa) == dnnl::status::success;
}

std::string gemm_version() {
  const dnnl::version_t& version = *dnnl::version();
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

std::string gemm_level() {
  std::string name = dnnl_cpu_isa2str(static_cast<dnnl_cpu_isa_t>(dnnl::get_effective_cpu_isa()));
  const std::string prefix = "cpu_isa_";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

}  // namespace dragoman::backend::cpu
