#pragma once

#include "gemm_choices.h"
#include "launches.h"

#include <memory>
#include <mutex>
#include <shared_mutex>

#include <dragoman/tensor/context.h>

namespace dragoman::backend::cuda {

/// Whether a row of a product may depend on how many others there are. In inference it may not: which sentences share a
/// batch depends on when they come, and the same text is to have the same bits on every run. A step of training has the
/// same rows on every run.
enum class RowBits : std::uint8_t { kStable, kOfShape };

/// Columns of a product of int8 that libraries compute at a time.
inline constexpr std::int64_t kInt8Cols = 4;

/// The seam between ops and whatever multiplies matrices: c = op(a) op(b) and what the epilogue says, in the order of
/// the calling thread's stream. All take scratch of the context's. The same arguments give the same bits on every run,
/// in every process on the same device with the same libraries. Thread-safe.
class Gemm {
 public:
  virtual ~Gemm() = default;
  virtual void multiply(tensor::Context& context, const device::Product& product, RowBits bits) = 0;
  virtual void multiply_halves(tensor::Context& context, const device::HalfProduct& product, RowBits bits) = 0;
  /// A library multiplies only with multiples of kInt8Cols rows of the weight. It therefore reads the rows after the
  /// last column up to such a multiple. If the weight does not have these rows, the plain kernel computes.
  virtual void multiply_int8(tensor::Context& context, const device::Int8Product& product) = 0;
  /// Whether a column of a row-stable product of floats or halves keeps its bits when other columns come or go. int8
  /// products always do.
  virtual bool is_column_stable() const noexcept = 0;
};

/// This backend's own kernels (device/product.cu, device/tile_product.cu): one order of sums for all shapes, so always
/// row-stable. Words that do not lie as they are summed over are turned in scratch.
class PlainGemm final : public Gemm {
 public:
  void multiply(tensor::Context& context, const device::Product& product, RowBits bits) override;
  void multiply_halves(tensor::Context& context, const device::HalfProduct& product, RowBits bits) override;
  void multiply_int8(tensor::Context& context, const device::Int8Product& product) override;
  bool is_column_stable() const noexcept override { return true; }
};

/// A library's algorithms, and the plain kernels where it has none that will do.
///
/// The library's rule picks an algorithm, which fixes the bits. Where they may depend on the shape, that is all. Where
/// rows must be stable, it is the rule's for many rows. Others are timed, but only such that give its rows, bit by bit,
/// so time decides about nothing but time: a choice that is lost, or made on a busy device, changes no result. If any
/// number of rows has no such algorithm, the plain kernels compute them all. A product is timed once, when it is first
/// met, and the answers are kept in a file.
///
/// Activation functions are the library's where it has them, if they do what the ops specify. That is verified with
/// each algorithm before its first use. Otherwise a kernel of this backend computes them after the product. It also
/// adds a bias that the library could not read as vectors.
///
/// If the device has no memory for a probe, the product fails with the memory's error. Free memory decides about no
/// result.
class LibraryGemm final : public Gemm {
 public:
  /// Numbers of rows for which row-stable algorithms are looked for: what lies between takes that of the next, and what
  /// lies beyond, or has no room in a probe, that of the last.
  static inline const std::vector<std::int64_t> kRowBuckets{16, 64, 256, 1024, 4096};

  /// `folder`: where answers are kept for later processes; empty: nowhere.
  LibraryGemm(std::unique_ptr<GemmLibrary> library, tensor::DeviceMemory& memory, const std::filesystem::path& folder,
              std::vector<std::int64_t> row_buckets = kRowBuckets);

  void multiply(tensor::Context& context, const device::Product& product, RowBits bits) override;
  void multiply_halves(tensor::Context& context, const device::HalfProduct& product, RowBits bits) override;
  void multiply_int8(tensor::Context& context, const device::Int8Product& product) override;
  bool is_column_stable() const noexcept override { return false; }

  /// Why answers could not be written; empty if they could.
  std::string trouble() const;

 private:
  struct Plan {
    std::optional<GemmAlgorithm> algorithm;  ///< nothing: the plain kernel
    std::size_t workspace = 0;
  };
  bool run(tensor::Context& context, const GemmShape& shape, const GemmOperands& operands, RowBits bits);
  Plan plan(const GemmShape& shape, RowBits bits);
  Plan make_plan(const GemmShape& shape, RowBits bits);
  Plan first_plan(const std::vector<GemmAlgorithm>& algorithms, std::size_t from, const GemmShape& shape) const;
  const std::vector<GemmAlgorithm>& algorithms_for(const GemmQuestion& question);
  void require_no_recording(const GemmShape& shape) const;
  const GemmAnswer& answer(const GemmQuestion& question);
  GemmAnswer find_answer(const GemmQuestion& question) const;
  std::vector<std::int64_t> rows_asked(const GemmQuestion& question) const;
  std::vector<GemmAlgorithm> candidates_of(const GemmQuestion& question, std::int64_t rows) const;
  void keep_answers() noexcept;
  bool run_with_epilogue(tensor::Context& context, GemmShape shape, GemmOperands operands, const device::Matrix& c,
                         const device::Epilogue& epilogue, RowBits bits);
  /// Leaves the whole epilogue to the library. Returns false if the library does not have it.
  bool run_activated(tensor::Context& context, GemmShape shape, GemmOperands operands, const device::Matrix& c,
                     const device::Epilogue& epilogue, RowBits bits);
  /// Verifies each algorithm once for the products of a question. Needs answers_mutex_.
  bool computes_activation_of(const GemmShape& shape, const GemmAlgorithm& algorithm);

  std::unique_ptr<GemmLibrary> library_;
  tensor::DeviceMemory* memory_;
  std::filesystem::path file_;
  std::vector<std::int64_t> row_buckets_;
  PlainGemm plain_;
  mutable std::shared_mutex plans_mutex_;
  std::map<std::pair<GemmShape, RowBits>, Plan> plans_;
  mutable std::mutex answers_mutex_;
  GemmAnswers answers_;
  std::map<GemmQuestion, std::vector<GemmAlgorithm>> algorithms_;  ///< what the answers of this process stand for
  std::map<std::pair<GemmQuestion, GemmAlgorithm>, bool> verified_;
  std::string trouble_;
};

/// What multiplies on the device: the plain kernels, unless something else was set, which must outlive all that
/// computes there. Set before contexts are made; nullptr: the plain kernels again.
Gemm& gemm_of(tensor::Device device);
void set_gemm(tensor::Device device, Gemm* gemm);

}  // namespace dragoman::backend::cuda
