#include "random.h"

#include <cmath>

// The best tokens of each row in one pass over its logits: a block for each panel of a row changes its logits as asked,
// and finds their maximum, the sum of their exponentials and the best of them; then a block for each row puts together
// what its panels have found. Where more than a few are wanted, which sampling may ask for, rows are sorted.
namespace dragoman::backend::cuda::device {
namespace {

constexpr int kOwnTokens = kTopKPanel / kThreads;  ///< of a thread, every kThreads-th of the panel
constexpr std::int32_t kNoToken = 0x7FFFFFFF;

/// ops::gumbel_noise.
SIMT_DEVICE double gumbel_noise(const ops::RowNoise& noise, std::int64_t vocabulary, std::int64_t token) {
  const std::uint64_t index = noise.step * static_cast<std::uint64_t>(vocabulary) + static_cast<std::uint64_t>(token);
  const double uniform = fmax(1 - random_uniform(noise.seed, noise.stream, index), 0x1p-54);
  return -log(fmax(-log(uniform), 0x1p-60));
}

/// Of rank, falling, then of token, rising.
struct Candidate {
  double rank = -INFINITY;
  std::int32_t token = kNoToken;

  SIMT_DEVICE bool before(const Candidate& other) const {
    return rank > other.rank || (rank == other.rank && token < other.token);
  }
};

SIMT_DEVICE Candidate best_of_warp(Candidate best) {
  for (int mask = kWarp / 2; mask > 0; mask /= 2) {
    const Candidate other{simt::shuffle_xor(best.rank, mask), simt::shuffle_xor(best.token, mask)};
    if (other.before(best)) best = other;
  }
  return best;
}

/// The first of [begin, end) that is not below what is looked for.
template <class IsBelow>
SIMT_DEVICE std::int64_t lower_bound(std::int64_t begin, std::int64_t end, const IsBelow& is_below) {
  while (begin < end) {
    const std::int64_t middle = begin + (end - begin) / 2;
    if (is_below(middle))
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}
/// The first of `entries`, which are sorted, that is not before the token of the row.
template <class Entry>
SIMT_DEVICE std::int64_t entries_from(const Entry* entries, std::int64_t count, std::int64_t row, std::int64_t token) {
  return lower_bound(0, count, [&](std::int64_t i) {
    return entries[i].row < row || (entries[i].row == row && entries[i].token < token);
  });
}

/// Logits of gathered outputs in the order of the rows' lists, since those of the columns are in another.
struct OrderByLists {
  TopK arguments;
  SIMT_DEVICE void operator()() const {
    const std::int64_t row = simt::block_index();
    const ops::ShortlistRange range = arguments.shortlist_of_row[arguments.first_row + row];
    for (std::int64_t i = range.begin + simt::thread_index(); i < range.end; i += kThreads)
      at(arguments.scratch.shortlist_columns, row, arguments.shortlist_columns[i].place) =
          at(arguments.logits, row, arguments.shortlist_columns[i].column);
  }
};

struct FindInPanels {
  TopK arguments;

  SIMT_DEVICE void bring(std::int64_t row, std::int64_t first, std::int64_t count, const Shared<float>& values) const {
    const TopK& a = arguments;
    ops::ShortlistRange range;
    if (a.shortlist_of_row != nullptr) range = a.shortlist_of_row[a.first_row + row];
    const bool all = range.begin == range.end;
    for (int e = simt::thread_index(); e < count; e += kThreads)
      values[e] = all ? at(a.logits, row, first + e) : -INFINITY;
    if (all) return;
    simt::barrier();
    const auto place_of = [&](std::int64_t token) {
      return lower_bound(range.begin, range.end, [&](std::int64_t i) { return a.shortlist[i] < token; });
    };
    const std::int64_t end = place_of(first + count);
    for (std::int64_t i = place_of(first) + simt::thread_index(); i < end; i += kThreads)
      values[static_cast<int>(a.shortlist[i] - first)] = a.shortlist_columns == nullptr
                                                             ? at(a.logits, row, a.shortlist[i])
                                                             : at(a.scratch.shortlist_columns, row, i - range.begin);
  }

  SIMT_DEVICE void edit(std::int64_t row, std::int64_t first, std::int64_t count, const Shared<float>& values) const {
    const std::int64_t end = entries_from(arguments.edits, arguments.edit_count, row, first + count);
    for (std::int64_t i = entries_from(arguments.edits, arguments.edit_count, row, first) + simt::thread_index();
         i < end; i += kThreads) {
      const ops::LogitEdit change = arguments.edits[i];
      const auto place = static_cast<int>(change.token - first);
      const float logit = values[place];
      values[place] = logit * (logit > 0 ? 1 / change.penalty : change.penalty) + change.bias;
    }
  }

  SIMT_DEVICE void operator()() const {
    const TopK& a = arguments;
    simt::SharedMemory memory;
    const auto values = memory.take<float>(kTopKPanel);
    const auto cells = memory.take<float>(kWarps);
    const std::int64_t panels = a.scratch.panels;
    const std::int64_t row = simt::block_index() / panels;
    const std::int64_t global_row = a.first_row + row;
    const std::int64_t first = simt::block_index() % panels * kTopKPanel;
    const std::int64_t count = least(kTopKPanel, a.vocabulary - first);
    bring(row, first, count, values);
    simt::barrier();
    if (a.edit_count > 0) {
      edit(global_row, first, count, values);
      simt::barrier();
    }
    const double temperature = a.temperatures == nullptr ? 1 : a.temperatures[global_row];
    float maximum = -INFINITY;
    for (int e = simt::thread_index(); e < count; e += kThreads) {
      if (temperature != 1) values[e] = static_cast<float>(values[e] / temperature);
      maximum = fmaxf(maximum, values[e]);
    }
    maximum = reduce_block(maximum, Maximum(), cells);
    float sum = 0;
    for (int e = simt::thread_index(); e < count; e += kThreads) {
      const float value = values[e];
      sum += value == -INFINITY ? 0 : expf(value - maximum);
    }
    sum = reduce_block(sum, Sum(), cells);
    if (simt::thread_index() == 0) {
      a.scratch.maxima[simt::block_index()] = maximum;
      a.scratch.sums[simt::block_index()] = sum;
    }
    const std::int64_t end = entries_from(a.scored, a.scored_count, global_row, first + count);
    for (std::int64_t i = entries_from(a.scored, a.scored_count, global_row, first) + simt::thread_index(); i < end;
         i += kThreads)
      at(a.scored_log_probabilities, i, 0) = values[static_cast<int>(a.scored[i].token - first)];
    ops::RowNoise noise;
    noise.drawn = false;
    if (a.noise != nullptr) noise = a.noise[global_row];
    Candidate own[kOwnTokens];
    SIMT_UNROLL
    for (int i = 0; i < kOwnTokens; ++i) {
      const int e = simt::thread_index() + i * kThreads;
      if (e >= count) continue;
      double rank = values[e];
      if (noise.drawn) rank += gumbel_noise(noise, a.vocabulary, first + e);
      own[i] = {rank != rank ? -INFINITY : rank, static_cast<std::int32_t>(first + e)};
    }
    if (a.k > kMaxQuickTopK)
      keep_all(row, first, count, values, own);
    else
      find_best(first, values, own, memory);
  }

  /// For sorting, which takes a power of two of candidates: the last panel also fills the places after the vocabulary.
  SIMT_DEVICE void keep_all(std::int64_t row, std::int64_t first, std::int64_t count, const Shared<float>& values,
                            const Candidate (&own)[kOwnTokens]) const {
    SIMT_UNROLL
    for (int i = 0; i < kOwnTokens; ++i) {
      const int e = simt::thread_index() + i * kThreads;
      const std::int64_t place = row * arguments.scratch.candidates_of_row + first + e;
      if (first + e >= arguments.scratch.candidates_of_row) continue;
      arguments.scratch.ranks[place] = own[i].rank;
      arguments.scratch.tokens[place] = own[i].token;
      if (e < count) at(arguments.scratch.changed, row, first + e) = values[e];
    }
    if (first + count < arguments.vocabulary) return;
    for (std::int64_t e = first + kTopKPanel + simt::thread_index(); e < arguments.scratch.candidates_of_row;
         e += kThreads) {
      arguments.scratch.ranks[row * arguments.scratch.candidates_of_row + e] = -INFINITY;
      arguments.scratch.tokens[row * arguments.scratch.candidates_of_row + e] = kNoToken;
    }
  }

  /// k times the best of what each warp has left.
  SIMT_DEVICE void find_best(std::int64_t first, const Shared<float>& values, const Candidate (&own)[kOwnTokens],
                             simt::SharedMemory& memory) const {
    const auto ranks = memory.take<double>(kWarps);
    const auto tokens = memory.take<std::int32_t>(kWarps);
    const int warp = simt::thread_index() / kWarp;
    Candidate last{INFINITY, -1};
    bool chosen = true;
    for (std::int64_t n = 0; n < arguments.k; ++n) {
      if (chosen) {
        Candidate best;
        SIMT_UNROLL
        for (int i = 0; i < kOwnTokens; ++i)
          if (last.before(own[i]) && own[i].before(best)) best = own[i];
        best = best_of_warp(best);
        if (simt::thread_index() % kWarp == 0) {
          ranks[warp] = best.rank;
          tokens[warp] = best.token;
        }
      }
      simt::barrier();
      int of_warp = 0;
      Candidate best{ranks[0], tokens[0]};
      for (int i = 1; i < kWarps; ++i) {
        const Candidate other{ranks[i], tokens[i]};
        if (!other.before(best)) continue;
        best = other;
        of_warp = i;
      }
      chosen = of_warp == warp;
      last = best;
      if (simt::thread_index() == 0) {
        const std::int64_t place = simt::block_index() * arguments.k + n;
        arguments.scratch.ranks[place] = best.rank;
        arguments.scratch.tokens[place] = best.token;
        arguments.scratch.values[place] =
            best.token == kNoToken ? -INFINITY : static_cast<float>(values[static_cast<int>(best.token - first)]);
      }
      simt::barrier();
    }
  }
};

/// What the panels of a row have found, put together.
struct FindInRows {
  TopK arguments;

  SIMT_DEVICE void operator()() const {
    const TopK& a = arguments;
    const std::int64_t panels = a.scratch.panels;
    const std::int64_t row = simt::block_index();
    float maximum = -INFINITY;
    for (std::int64_t p = 0; p < panels; ++p) maximum = fmaxf(maximum, a.scratch.maxima[row * panels + p]);
    float sum = 0;
    for (std::int64_t p = 0; p < panels; ++p) {
      const float part = a.scratch.sums[row * panels + p];
      sum += part == 0 ? 0 : part * expf(a.scratch.maxima[row * panels + p] - maximum);
    }
    const float log_sum = logf(sum);
    const auto log_probability = [&](float logit) {
      return maximum == -INFINITY ? logit : (logit - maximum) - log_sum;
    };
    const std::int64_t end = entries_from(a.scored, a.scored_count, a.first_row + row + 1, 0);
    for (std::int64_t i = entries_from(a.scored, a.scored_count, a.first_row + row, 0) + simt::thread_index(); i < end;
         i += kThreads) {
      float& scored = at(a.scored_log_probabilities, i, 0);
      scored = log_probability(scored);
    }
    if (a.k > kMaxQuickTopK)
      sort(row, log_probability);
    else
      merge(row, panels * a.k, log_probability);
  }

  template <class LogProbability>
  SIMT_DEVICE void merge(std::int64_t row, std::int64_t count, const LogProbability& log_probability) const {
    const TopK& a = arguments;
    simt::SharedMemory memory;
    const auto ranks = memory.take<double>(kWarps);
    const auto tokens = memory.take<std::int32_t>(kWarps);
    const double* const all_ranks = a.scratch.ranks + row * count;
    const std::int32_t* const all_tokens = a.scratch.tokens + row * count;
    const float* const all_values = a.scratch.values + row * count;
    Candidate last{INFINITY, -1};
    for (std::int64_t n = 0; n < a.k; ++n) {
      Candidate own;
      float value = 0;
      for (std::int64_t i = simt::thread_index(); i < count; i += kThreads) {
        const Candidate candidate{all_ranks[i], all_tokens[i]};
        if (!last.before(candidate) || !candidate.before(own)) continue;
        own = candidate;
        value = all_values[i];
      }
      Candidate best = best_of_warp(own);
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
      last = best;
      if (own.token != best.token) continue;  // one thread has it
      at(a.tokens, row, n) = best.token;
      at(a.log_probabilities, row, n) = log_probability(value);
    }
  }

  /// Bitonic (Batcher 1968), of a power of two of candidates.
  template <class LogProbability>
  SIMT_DEVICE void sort(std::int64_t row, const LogProbability& log_probability) const {
    const TopK& a = arguments;
    const std::int64_t count = a.scratch.candidates_of_row;
    double* const ranks = a.scratch.ranks + row * count;
    std::int32_t* const tokens = a.scratch.tokens + row * count;
    for (std::int64_t size = 2; size <= count; size *= 2)
      for (std::int64_t stride = size / 2; stride > 0; stride /= 2) {
        for (std::int64_t i = simt::thread_index(); i < count / 2; i += kThreads) {
          const std::int64_t low = i / stride * 2 * stride + i % stride;
          const std::int64_t high = low + stride;
          const Candidate first{ranks[low], tokens[low]};
          const Candidate second{ranks[high], tokens[high]};
          const bool rising = (low & size) == 0;
          if (!(rising ? second.before(first) : first.before(second))) continue;
          ranks[low] = second.rank;
          tokens[low] = second.token;
          ranks[high] = first.rank;
          tokens[high] = first.token;
        }
        simt::barrier();
      }
    for (std::int64_t n = simt::thread_index(); n < a.k; n += kThreads) {
      at(a.tokens, row, n) = tokens[n];
      at(a.log_probabilities, row, n) = log_probability(at(a.scratch.changed, row, tokens[n]));
    }
  }
};

struct GatherWords {
  ShortlistRows arguments;
  SIMT_DEVICE void operator()() const {
    const auto [token, column] = arguments.columns[simt::block_index()];
    const std::uint32_t* const from = arguments.from + token * arguments.words;
    std::uint32_t* const to = arguments.to + column * arguments.words;
    for (std::int64_t i = simt::thread_index(); i < arguments.words; i += kThreads) to[i] = from[i];
    if (simt::thread_index() != 0) return;
    if (arguments.from_scales != nullptr) arguments.to_scales[column] = arguments.from_scales[token];
    if (arguments.from_bias != nullptr) arguments.to_bias[column] = arguments.from_bias[token];
  }
};

}  // namespace

void top_k(const TopK& arguments) {
  const std::int64_t rows = arguments.tokens.rows;
  if (arguments.shortlist_columns != nullptr) for_each_row(rows, 0, OrderByLists{arguments});
  constexpr std::size_t kShared = kTopKPanel * sizeof(float) + 3 * kWarps * sizeof(double);
  simt::launch({rows * top_k_panels(arguments.vocabulary)}, kThreads, kShared, FindInPanels{arguments});
  for_each_row(rows, 2 * kWarps * sizeof(double), FindInRows{arguments});
}

void gather_rows_of_words(const ShortlistRows& arguments, std::int64_t count) {
  for_each_row(count, 0, GatherWords{arguments});
}

}  // namespace dragoman::backend::cuda::device
