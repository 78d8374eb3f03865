#include "weights/weight_plan.h"

#include <algorithm>
#include <set>

#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/formats/safetensors.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;

/// Returns the shape of a part in the file.
ForeignWeights::Shape part_shape(const PlannedWeight& planned, const WeightPart& part) {
  if (planned.is_vector) return {planned.share()};
  if (part.turned) return {planned.cols, planned.share()};
  return {planned.share(), planned.cols};
}

/// Vectors may be [n], [1, n] or [n, 1], as toolkits store them.
bool same_shape(const ForeignWeights::Shape& found, const ForeignWeights::Shape& wanted) {
  if (wanted.size() != 1) return found == wanted;
  return count_of(found) == wanted.front() && std::ranges::count_if(found, [](auto d) { return d != 1; }) <= 1;
}

/// The faults of one kind, for a message.
class FaultList {
 public:
  explicit FaultList(const char* what) : what_(what) {}
  void add(std::string fault) {
    if (++count_ <= kShown) shown_.push_back(std::move(fault));
  }
  std::string text() const {
    if (count_ == 0) return {};
    return fmt::format("; {}: {}{}", what_, fmt::join(shown_, ", "), count_ > kShown ? ", ..." : "");
  }

 private:
  static constexpr std::size_t kShown = 4;
  const char* what_;
  std::size_t count_ = 0;
  std::vector<std::string> shown_;
};

/// Transposes: out [rows, cols] = values [cols, rows].
void turn(std::span<const float> values, std::int64_t rows, std::int64_t cols, float* out) {
  constexpr std::int64_t kBlock = 16;  // so that both sides stay in the first-level cache
  core::StopCheck check("transposing weights");
  for (std::int64_t r = 0; r < rows; r += kBlock) {
    check(static_cast<std::size_t>(kBlock * cols));
    for (std::int64_t c = 0; c < cols; c += kBlock)
      for (std::int64_t i = r; i < std::min(rows, r + kBlock); ++i)
        for (std::int64_t j = c; j < std::min(cols, c + kBlock); ++j)
          out[i * cols + j] = values[static_cast<std::size_t>(j * rows + i)];
  }
}

}  // namespace

ForeignWeights::~ForeignWeights() = default;

std::int64_t count_of(const ForeignWeights::Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dimension : shape) count *= dimension;
  return count;
}

const PlannedWeight* find(const WeightPlan& plan, std::string_view parameter) {
  const auto found = std::ranges::find(plan, parameter, &PlannedWeight::parameter);
  return found == plan.end() ? nullptr : &*found;
}

std::uint64_t most_unfolded_bytes(std::uint64_t stored) noexcept {
  constexpr std::uint64_t kFactor = 16;
  constexpr std::uint64_t kFree = std::uint64_t{1} << 26;
  return stored > (UINT64_MAX - kFree) / kFactor ? UINT64_MAX : kFactor * stored + kFree;
}

void require_proportion(const std::string& file, std::uint64_t stored, std::uint64_t unfolded) {
  const std::uint64_t most = most_unfolded_bytes(stored);
  core::require(
      unfolded <= most, ErrorCode::kBadInput,
      "{}: its {} bytes of weights would become {} bytes, since parts of the model share them; at most {} are "
      "read, more than any real model needs",
      file, stored, unfolded, most);
}

namespace {

std::uint64_t float_bytes_of(const ForeignWeights::Shape& shape) {
  std::uint64_t bytes = sizeof(float);
  for (const std::int64_t dimension : shape)
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(dimension), &bytes)) return UINT64_MAX;
  return bytes;
}

void add_saturated(std::uint64_t& sum, std::uint64_t more) {
  if (__builtin_add_overflow(sum, more, &sum)) sum = UINT64_MAX;
}

/// A stored tensor counts once as stored, and as unfolded each time it is read.
void check_proportion(const WeightPlan& plan, const ForeignWeights& weights) {
  std::uint64_t stored = 0;
  for (const std::string& name : weights.names())
    if (const auto* shape = weights.shape_of(name)) add_saturated(stored, float_bytes_of(*shape));
  std::uint64_t unfolded = 0;
  for (const PlannedWeight& planned : plan) add_saturated(unfolded, float_bytes_of({planned.rows, planned.cols}));
  require_proportion(weights.file(), stored, unfolded);
}

}  // namespace

void check_plan(const WeightPlan& plan, const ForeignWeights& weights,
                const std::function<bool(std::string_view name)>& ignored) {
  FaultList missing("missing");
  FaultList misshapen("of another shape");
  FaultList surplus("of no use in such a model");
  std::set<std::string, std::less<>> used;
  for (const PlannedWeight& planned : plan) {
    for (const WeightPart& part : planned.parts) {
      const ForeignWeights::Shape* shape = weights.shape_of(part.name);
      used.emplace(weights.stored_name(part.name));
      if (shape == nullptr) {
        if (!part.optional) missing.add(core::quote(part.name));
        continue;
      }
      const ForeignWeights::Shape wanted = part_shape(planned, part);
      if (!same_shape(*shape, wanted))
        misshapen.add(fmt::format("{} ({}, not {})", core::quote(part.name), formats::describe_shape(*shape),
                                  formats::describe_shape(wanted)));
    }
  }
  for (const std::string& name : weights.names())
    if (!used.contains(weights.stored_name(name)) && !ignored(name)) surplus.add(core::quote(name));
  const std::string faults = missing.text() + misshapen.text() + surplus.text();
  core::require(faults.empty(), ErrorCode::kBadInput, "{}: the arrays are not those of the model that it describes{}",
                weights.file(), faults);
  check_proportion(plan, weights);
}

void read_planned(const PlannedWeight& planned, const ForeignWeights& weights, const tensor::Tensor& out) {
  core::require(out.rows == planned.rows && out.cols == planned.cols, ErrorCode::kInternal,
                "{}: [{}, {}] was planned as [{}, {}]", planned.parameter, out.rows, out.cols, planned.rows,
                planned.cols);
  float* target = out.as<float>();
  std::fill_n(target, out.size(), planned.added_value);
  const std::int64_t count = planned.share() * (planned.is_vector ? 1 : planned.cols);
  std::vector<float> turned;
  for (const WeightPart& part : planned.parts) {
    core::check_stop("reading weights");
    const auto place = std::span(target, static_cast<std::size_t>(count));
    target += count;
    if (weights.shape_of(part.name) == nullptr) {
      std::ranges::fill(place, 0.0F);
    } else if (!planned.is_vector && part.turned != weights.stored_turned(part.name)) {
      turned.resize(place.size());
      weights.read(part.name, turned);
      turn(turned, planned.share(), planned.cols, place.data());
    } else {
      weights.read(part.name, place);
    }
  }
  if (planned.replaced_from >= 0) std::fill(out.as<float>() + planned.replaced_from, target, planned.added_value);
  const std::int64_t width = planned.is_vector ? 1 : planned.cols;
  for (const auto& [one, other] : planned.swapped) {
    float* const row = out.as<float>() + one * width;
    std::swap_ranges(row, row + width, out.as<float>() + other * width);
  }
}

void extract_part(const PlannedWeight& planned, std::size_t part, const tensor::Tensor& value,
                  std::vector<float>& out) {
  core::check_stop("writing weights");
  const std::int64_t count = planned.share() * (planned.is_vector ? 1 : planned.cols);
  const auto values = std::span<const float>(value.as<float>() + static_cast<std::int64_t>(part) * count,
                                             static_cast<std::size_t>(count));
  out.resize(values.size());
  if (!planned.is_vector && planned.parts[part].turned)
    turn(values, planned.cols, planned.share(), out.data());
  else
    std::ranges::copy(values, out.begin());
}

}  // namespace dragoman::imports
