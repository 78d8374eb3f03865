#include "best_keys.h"
#include "top_k_parts.h"

// The best tokens of each row in one pass over its logits. A block for each panel of a row edits its logits and finds
// their maximum, the sum of their exponentials and the best of them. Then a block for each row combines the results of
// its panels.
//
// For a large k, which sampling may request, rows are sorted. With noise, ranks are in double precision. Without noise
// and for a small k, integer keys order the logits.
namespace dragoman::backend::cuda::device {
namespace {

constexpr int kOwnTokens = kTopKPanel / kThreads;  ///< per thread: every kThreads-th of the panel

/// Reorders the logits of gathered outputs, which are in column order, into the order of the rows' shortlists.
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

/// kRanks: with noise, or for sorting.
template <bool kRanks>
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
    float own[kOwnTokens];
    float maximum = -INFINITY;
    SIMT_UNROLL
    for (int i = 0; i < kOwnTokens; ++i) {
      const int e = simt::thread_index() + i * kThreads;
      own[i] = -INFINITY;
      if (e < count) {
        own[i] = values[e];
        if (temperature != 1) values[e] = own[i] = static_cast<float>(own[i] / temperature);
      }
      maximum = fmaxf(maximum, own[i]);
    }
    maximum = reduce_block(maximum, Maximum(), cells);
    float sum = 0;
    SIMT_UNROLL
    for (int i = 0; i < kOwnTokens; ++i) sum += own[i] == -INFINITY ? 0 : expf(own[i] - maximum);
    sum = reduce_block(sum, Sum(), cells);
    if (simt::thread_index() == 0) {
      a.scratch.maxima[simt::block_index()] = maximum;
      a.scratch.sums[simt::block_index()] = sum;
    }
    const std::int64_t end = entries_from(a.scored, a.scored_count, global_row, first + count);
    for (std::int64_t i = entries_from(a.scored, a.scored_count, global_row, first) + simt::thread_index(); i < end;
         i += kThreads)
      at(a.scored_log_probabilities, i, 0) = values[static_cast<int>(a.scored[i].token - first)];
    if constexpr (kRanks)
      find_by_ranks(row, first, count, values, own, memory);
    else
      find_by_keys(first, static_cast<int>(count), values, own, memory);
  }

  /// Each of the k best tokens is among the tokens of the k threads with the best maxima. So one warp first finds these
  /// threads, and then the tokens.
  SIMT_DEVICE void find_by_keys(std::int64_t first, int count, const Shared<float>& values,
                                const float (&own)[kOwnTokens], simt::SharedMemory& memory) const {
    const auto keys = memory.take<std::uint64_t>(kThreads);
    const auto threads = memory.take<std::int32_t>(kMaxQuickTopK);
    const auto k = static_cast<int>(arguments.k);
    const auto first_token = static_cast<std::int32_t>(first);
    float best = -INFINITY;
    int of_best = 0;
    SIMT_UNROLL
    for (int i = 0; i < kOwnTokens; ++i) {
      if (!(own[i] > best)) continue;
      best = own[i];
      of_best = i;
    }
    const auto key_of = [&](int e, float value) { return e < count ? best_key(value, first_token + e) : 0; };
    keys[simt::thread_index()] = key_of(simt::thread_index() + of_best * kThreads, best);
    simt::barrier();
    if (simt::thread_index() < kWarp)
      take_best_keys(
          kThreads, k, [&](int i) -> std::uint64_t { return keys[i]; },
          [&](int n, const BestKey& of_thread) { threads[n] = of_thread.key == 0 ? -1 : of_thread.index; });
    simt::barrier();
    if (simt::thread_index() >= kWarp) return;
    const auto token_of = [&](int i) {
      const int thread = threads[i / kOwnTokens];
      return thread < 0 ? count : thread + i % kOwnTokens * kThreads;
    };
    take_best_keys(
        k * kOwnTokens, k,
        [&](int i) -> std::uint64_t {
          const int e = token_of(i);
          return e < count ? key_of(e, values[e]) : 0;
        },
        [&](int n, const BestKey& found) {
          const std::int64_t place = simt::block_index() * k + n;
          const int e = found.key == 0 ? count : token_of(found.index);
          arguments.scratch.tokens[place] = e < count ? first_token + e : kNoToken;
          arguments.scratch.values[place] = e < count ? static_cast<float>(values[e]) : -INFINITY;
        });
  }

  SIMT_DEVICE void find_by_ranks(std::int64_t row, std::int64_t first, std::int64_t count, const Shared<float>& values,
                                 const float (&own_values)[kOwnTokens], simt::SharedMemory& memory) const {
    const TopK& a = arguments;
    ops::RowNoise noise;
    noise.drawn = false;
    if (a.noise != nullptr) noise = a.noise[a.first_row + row];
    Candidate own[kOwnTokens];
    SIMT_UNROLL
    for (int i = 0; i < kOwnTokens; ++i) {
      const int e = simt::thread_index() + i * kThreads;
      if (e >= count) continue;
      double rank = own_values[i];
      if (noise.drawn) rank += gumbel_noise(noise, a.vocabulary, first + e);
      own[i] = {rank != rank ? -INFINITY : rank, static_cast<std::int32_t>(first + e)};
    }
    if (a.k > kMaxQuickTopK)
      keep_all(row, first, count, values, own);
    else
      find_best(first, values, own, memory);
  }

  /// Stores all candidates for sorting, which needs a power of two. The last panel also fills the places after the
  /// vocabulary.
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

  /// Selects, k times, the best of the warps' best remaining candidates.
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

/// Combines the results of the panels of a row. Without kRanks, one warp does this.
template <bool kRanks>
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
         i += simt::thread_count()) {
      float& scored = at(a.scored_log_probabilities, i, 0);
      scored = log_probability(scored);
    }
    if constexpr (!kRanks)
      merge_by_keys(row, panels * a.k, log_probability);
    else if (a.k > kMaxQuickTopK)
      sort(row, log_probability);
    else
      merge(row, panels * a.k, log_probability);
  }

  template <class LogProbability>
  SIMT_DEVICE void merge_by_keys(std::int64_t row, std::int64_t count, const LogProbability& log_probability) const {
    const TopK& a = arguments;
    const std::int32_t* const tokens = a.scratch.tokens + row * count;
    const float* const values = a.scratch.values + row * count;
    take_best_keys(
        static_cast<int>(count), static_cast<int>(a.k),
        [&](int i) { return tokens[i] == kNoToken ? 0 : best_key(values[i], tokens[i]); },
        [&](int n, const BestKey& found) {
          at(a.tokens, row, n) = tokens[found.index];
          at(a.log_probabilities, row, n) = log_probability(values[found.index]);
        });
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

  /// A bitonic sort (Batcher 1968) of a power of two of candidates.
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

}  // namespace

namespace {

template <bool kRanks>
void find(const TopK& arguments) {
  const std::int64_t rows = arguments.tokens.rows;
  constexpr std::size_t kPanel = kTopKPanel * sizeof(float) + kWarps * sizeof(float);
  constexpr std::size_t kFound = kRanks ? kWarps * (sizeof(double) + sizeof(std::int32_t))
                                        : kThreads * sizeof(std::uint64_t) + kMaxQuickTopK * sizeof(std::int32_t);
  simt::launch({rows * top_k_panels(arguments.vocabulary)}, kThreads, kPanel + kFound, FindInPanels<kRanks>{arguments});
  simt::launch({rows}, kRanks ? kThreads : kWarp, kRanks ? 2 * kWarps * sizeof(double) : 0,
               FindInRows<kRanks>{arguments});
}

}  // namespace

void top_k(const TopK& arguments) {
  if (arguments.shortlist_columns != nullptr) for_each_row(arguments.tokens.rows, 0, OrderByLists{arguments});
  if (arguments.noise == nullptr && arguments.k <= kMaxQuickTopK)
    find<false>(arguments);
  else
    find<true>(arguments);
}

}  // namespace dragoman::backend::cuda::device
