#include "random.h"

#include <cmath>

namespace dragoman::backend::cuda::device {
namespace {

/// ops::gumbel_noise.
SIMT_DEVICE double gumbel_noise(const ops::RowNoise& noise, std::int64_t vocabulary, std::int64_t token) {
  const std::uint64_t index = noise.step * static_cast<std::uint64_t>(vocabulary) + static_cast<std::uint64_t>(token);
  const double uniform = fmax(1 - random_uniform(noise.seed, noise.stream, index), 0x1p-54);
  return -log(fmax(-log(uniform), 0x1p-60));
}

/// Of rank, falling, then of token, rising.
struct Candidate {
  double rank = -INFINITY;
  std::int32_t token = 0x7FFFFFFF;

  SIMT_DEVICE bool before(const Candidate& other) const {
    return rank > other.rank || (rank == other.rank && token < other.token);
  }
};

/// A block for each row: makes log probabilities of the logits, then finds the best token k times, each time among
/// those that come after the last one. k is small but where all tokens are wanted.
struct SelectBest {
  TopK arguments;

  SIMT_DEVICE bool is_allowed(const ops::AllowedRange& range, std::int32_t token) const {
    std::int32_t low = range.begin;
    std::int32_t high = range.end;
    while (low < high) {
      const std::int32_t middle = low + (high - low) / 2;
      if (arguments.allowed[middle] < token)
        low = middle + 1;
      else
        high = middle;
    }
    return low < range.end && arguments.allowed[low] == token;
  }

  SIMT_DEVICE void change_logits(std::int64_t row) const {
    const Matrix& logits = arguments.logits;
    if (arguments.allowed_of_row != nullptr) {
      const ops::AllowedRange range = arguments.allowed_of_row[row];
      if (range.begin != range.end)
        for (std::int64_t v = simt::thread_index(); v < logits.cols; v += kThreads)
          if (!is_allowed(range, static_cast<std::int32_t>(v))) at(logits, row, v) = -INFINITY;
    }
    simt::barrier();
    for (std::int64_t i = simt::thread_index(); i < arguments.edit_count; i += kThreads) {
      const ops::LogitEdit edit = arguments.edits[i];
      if (edit.row != row) continue;
      float& logit = at(logits, row, edit.token);
      logit = logit * (logit > 0 ? 1 / edit.penalty : edit.penalty) + edit.bias;
    }
    simt::barrier();
    if (arguments.temperatures == nullptr) return;
    const double temperature = arguments.temperatures[row];
    if (temperature != 1)
      for (std::int64_t v = simt::thread_index(); v < logits.cols; v += kThreads)
        at(logits, row, v) = static_cast<float>(at(logits, row, v) / temperature);
  }

  SIMT_DEVICE Candidate best_after(std::int64_t row, const ops::RowNoise& noise, const Candidate& last,
                                   const Shared<double>& ranks, const Shared<std::int32_t>& tokens) const {
    const Matrix& logits = arguments.logits;
    Candidate best;
    for (std::int64_t v = simt::thread_index(); v < logits.cols; v += kThreads) {
      Candidate candidate{at(logits, row, v), static_cast<std::int32_t>(v)};
      if (noise.drawn) candidate.rank += gumbel_noise(noise, logits.cols, v);
      if (candidate.rank != candidate.rank) candidate.rank = -INFINITY;
      if (last.before(candidate) && candidate.before(best)) best = candidate;
    }
    for (int mask = kWarp / 2; mask > 0; mask /= 2) {
      const Candidate other{simt::shuffle_xor(best.rank, mask), simt::shuffle_xor(best.token, mask)};
      if (other.before(best)) best = other;
    }
    if (simt::thread_index() % kWarp == 0) {
      ranks[simt::thread_index() / kWarp] = best.rank;
      tokens[simt::thread_index() / kWarp] = best.token;
    }
    simt::barrier();
    for (int i = 0; i < kWarps; ++i) {
      const Candidate other{ranks[i], tokens[i]};
      if (other.before(best)) best = other;
    }
    simt::barrier();
    return best;
  }

  SIMT_DEVICE void operator()() const {
    simt::SharedMemory memory;
    const auto cells = memory.take<float>(kWarps);
    const auto ranks = memory.take<double>(kWarps);
    const auto tokens = memory.take<std::int32_t>(kWarps);
    const Matrix& logits = arguments.logits;
    const std::int64_t row = simt::block_index();
    change_logits(row);
    float maximum = -INFINITY;
    for (std::int64_t v = simt::thread_index(); v < logits.cols; v += kThreads)
      maximum = fmaxf(maximum, at(logits, row, v));
    maximum = reduce_block(maximum, Maximum(), cells);
    float sum = 0;
    for (std::int64_t v = simt::thread_index(); v < logits.cols; v += kThreads)
      sum += expf(at(logits, row, v) - maximum);
    const float log_sum = logf(reduce_block(sum, Sum(), cells));
    if (maximum != -INFINITY)
      for (std::int64_t v = simt::thread_index(); v < logits.cols; v += kThreads)
        at(logits, row, v) = (at(logits, row, v) - maximum) - log_sum;
    simt::barrier();
    for (std::int64_t i = simt::thread_index(); i < arguments.wanted_count; i += kThreads)
      if (arguments.wanted[i].row == row)
        at(arguments.wanted_log_probabilities, i, 0) = at(logits, row, arguments.wanted[i].token);
    ops::RowNoise noise;
    noise.drawn = false;
    if (arguments.noise != nullptr) noise = arguments.noise[row];
    Candidate last{INFINITY, -1};
    for (std::int64_t i = 0; i < arguments.k; ++i) {
      last = best_after(row, noise, last, ranks, tokens);
      if (simt::thread_index() != 0) continue;
      at(arguments.tokens, row, i) = last.token;
      at(arguments.log_probabilities, row, i) = at(logits, row, last.token);
    }
  }
};

}  // namespace

void top_k(const TopK& arguments) {
  for_each_row(arguments.logits.rows, 3 * kWarps * sizeof(double), SelectBest{arguments});
}

}  // namespace dragoman::backend::cuda::device
