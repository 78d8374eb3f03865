#include "table_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include <dragoman/core/random.h>

namespace dragoman::testing {

using decoding::DecodingOptions;
using decoding::Hypothesis;

std::vector<double> log_softmax(std::vector<double> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - largest);
  for (double& logit : logits) logit -= largest + std::log(sum);
  return logits;
}

TableModel::TableModel(const Options& options) : options_(options) {
  spec_.source_vocabulary = options.vocabulary;
  spec_.target_vocabulary = options.vocabulary;
  spec_.begin = kStart;
  spec_.decoder_start = options.decoder_start;
  spec_.end = kEnd;
  spec_.unknown = 0;
  spec_.maximum_source_length = 64;
  spec_.maximum_target_length = options.maximum_target_length;
}

std::uint64_t TableModel::append(std::uint64_t hash, std::int32_t token) const {
  const core::RandomBlock block = core::random_block(options_.seed, hash, static_cast<std::uint64_t>(token) + 1);
  return static_cast<std::uint64_t>(block[1]) << 32 | block[0];
}

std::uint64_t TableModel::start_hash(const std::vector<std::int32_t>& source) const {
  std::uint64_t hash = source.size();
  for (const std::int32_t token : source) hash = append(hash, token);
  return append(hash, kStart);
}

std::vector<double> TableModel::logits(std::uint64_t hash) const {
  std::vector<double> result(static_cast<std::size_t>(options_.vocabulary));
  for (std::size_t token = 0; token < result.size(); ++token)
    result[token] = options_.sharpness * (2 * core::random_uniform(options_.seed, hash, 1000 + token) - 1);
  result[kEnd] += options_.end_bias;
  return result;
}

std::vector<float> TableModel::attention(std::uint64_t hash, std::size_t source_length) const {
  std::vector<float> weights(source_length);
  for (std::size_t j = 0; j < source_length; ++j)
    weights[j] = static_cast<float>(core::random_uniform(options_.seed, hash, 2000 + j));
  const float sum = std::accumulate(weights.begin(), weights.end(), 0.0F);
  for (float& weight : weights) weight /= sum;
  return weights;
}

std::vector<double> TableModel::logits(const std::vector<std::int32_t>& source,
                                       const std::vector<std::int32_t>& tokens) const {
  std::uint64_t hash = start_hash(source);
  for (const std::int32_t token : tokens) hash = append(hash, token);
  return logits(hash);
}

std::vector<double> TableModel::distribution(const std::vector<std::int32_t>& source,
                                             const std::vector<std::int32_t>& tokens) const {
  return log_softmax(logits(source, tokens));
}

std::vector<float> TableModel::attention(const std::vector<std::int32_t>& source,
                                         const std::vector<std::int32_t>& tokens) const {
  std::uint64_t hash = start_hash(source);
  for (const std::int32_t token : tokens) hash = append(hash, token);
  return attention(hash, source.size());
}

std::size_t TableModel::live_slots() const {
  return static_cast<std::size_t>(std::count_if(slots_.begin(), slots_.end(), [](const Slot& s) { return s.live; }));
}

void TableModel::admit(const tensor::RaggedTokens& sources, std::span<std::int32_t> slots) {
  largest_admission_ = std::max(largest_admission_, slots.size());
  for (std::size_t b = 0; b < slots.size(); ++b) {
    std::size_t slot = 0;
    while (slot < slots_.size() && slots_[slot].live) ++slot;
    if (slot == slots_.size()) slots_.emplace_back();
    const auto source = sources.sequence(static_cast<std::int64_t>(b));
    slots_[slot] = {true, {source.begin(), source.end()}};
    slots[b] = static_cast<std::int32_t>(slot);
  }
}

void TableModel::release(std::int32_t slot) {
  ASSERT_TRUE(slots_.at(static_cast<std::size_t>(slot)).live) << "slot " << slot << " is released twice";
  slots_[static_cast<std::size_t>(slot)].live = false;
}

void TableModel::step(const decoding::StepRequest& request, decoding::StepResult& result) {
  largest_step_ = std::max(largest_step_, request.rows.size());
  std::vector<std::uint64_t> next;
  std::vector<std::int32_t> next_slots;
  result = {};
  for (std::size_t r = 0; r < request.rows.size(); ++r) {
    const nn::RowRef& row = request.rows[r];
    const Slot& slot = slots_.at(static_cast<std::size_t>(row.slot));
    ASSERT_TRUE(slot.live);
    const auto tokens = request.next.sequence(static_cast<std::int64_t>(r));
    ASSERT_FALSE(tokens.empty());
    std::uint64_t hash = 0;
    if (row.parent < 0) {
      ASSERT_EQ(tokens[0], spec_.decoder_start);
      hash = start_hash(slot.source);
    } else {
      ASSERT_EQ(history_slots_.at(static_cast<std::size_t>(row.parent)), row.slot);
      hash = append(histories_.at(static_cast<std::size_t>(row.parent)), tokens[0]);
    }
    result.forced_log_probabilities.push_back(0);
    if (request.alignment) result.alignments.push_back(attention(hash, slot.source.size()));
    for (std::size_t i = 1; i < tokens.size(); ++i) {
      result.forced_log_probabilities.push_back(log_softmax(logits(hash))[static_cast<std::size_t>(tokens[i])]);
      hash = append(hash, tokens[i]);
      if (request.alignment) result.alignments.push_back(attention(hash, slot.source.size()));
    }
    next.push_back(hash);
    next_slots.push_back(row.slot);

    std::vector<double> scores = logits(hash);
    for (const ops::LogitEdit& edit : request.edits) {
      if (edit.row != static_cast<std::int32_t>(r)) continue;
      double& logit = scores[static_cast<std::size_t>(edit.token)];
      logit = (logit > 0 ? logit / edit.penalty : logit * edit.penalty) + edit.bias;
    }
    for (double& logit : scores) logit /= request.temperatures.empty() ? 1 : request.temperatures[r];
    scores = log_softmax(scores);
    std::vector<double> ranking = scores;
    for (std::size_t v = 0; v < ranking.size() && !request.noise.empty() && request.noise[r].drawn; ++v)
      ranking[v] += ops::gumbel_noise(request.noise[r], options_.vocabulary, static_cast<std::int64_t>(v));
    std::vector<std::int32_t> order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      return ranking[static_cast<std::size_t>(a)] > ranking[static_cast<std::size_t>(b)];
    });
    for (const ops::ScoredToken& scored : request.scored)
      if (scored.row == static_cast<std::int32_t>(r))
        result.scored_log_probabilities.push_back(scores[static_cast<std::size_t>(scored.token)]);
    ASSERT_LE(request.candidates, options_.vocabulary);
    for (std::int64_t k = 0; k < request.candidates; ++k) {
      result.tokens.push_back(order[static_cast<std::size_t>(k)]);
      result.log_probabilities.push_back(scores[static_cast<std::size_t>(order[static_cast<std::size_t>(k)])]);
    }
  }
  histories_ = next;
  history_slots_ = next_slots;
}

std::vector<decoding::Sentence> random_sentences(std::size_t count, std::int32_t longest, std::uint64_t seed) {
  std::vector<decoding::Sentence> sentences(count);
  for (std::size_t i = 0; i < count; ++i) {
    sentences[i].line = i;
    const std::uint64_t length = 1 + core::random_below(static_cast<std::uint64_t>(longest), seed, i, 0);
    for (std::uint64_t t = 0; t < length; ++t)
      sentences[i].source.push_back(3 + static_cast<std::int32_t>(core::random_below(2, seed, i, t + 1)));
    sentences[i].source.push_back(TableModel::kEnd);
  }
  return sentences;
}

namespace {

struct Enumeration {
  const TableModel& model;
  const std::vector<std::int32_t>& source;
  std::int32_t maximum_length;
  const DecodingOptions& options;
  std::vector<Hypothesis> found;

  void visit(const Hypothesis& before) {
    const std::vector<double> next = model.distribution(source, before.tokens);
    for (std::int32_t token = 0; token < static_cast<std::int32_t>(next.size()); ++token) {
      Hypothesis after = before;
      after.token_log_probabilities.push_back(next[static_cast<std::size_t>(token)]);
      after.log_probability += next[static_cast<std::size_t>(token)];
      after.alignment.push_back(model.attention(source, before.tokens));
      if (token == TableModel::kEnd) {
        finish(after);
      } else if (static_cast<std::int32_t>(before.tokens.size()) < maximum_length) {
        after.tokens.push_back(token);
        visit(after);
      }
    }
  }

  void finish(Hypothesis& hypothesis) {
    hypothesis.steps = static_cast<std::int32_t>(hypothesis.tokens.size());
    hypothesis.score = options.length_penalty.score(hypothesis.log_probability,
                                                    static_cast<std::int64_t>(hypothesis.tokens.size()), true);
    for (std::size_t j = 0; j < source.size() && options.coverage_penalty != 0; ++j) {
      double covered = 0;
      for (const auto& row : hypothesis.alignment) covered += static_cast<double>(row[j]);
      hypothesis.score += options.coverage_penalty * std::log(std::min(covered, 1.0));
    }
    found.push_back(hypothesis);
  }
};

}  // namespace

std::vector<Hypothesis> exhaustive_search(const TableModel& model, const std::vector<std::int32_t>& source,
                                          std::int32_t maximum_length, const DecodingOptions& options) {
  Enumeration enumeration{model, source, maximum_length, options, {}};
  enumeration.visit({});
  std::sort(enumeration.found.begin(), enumeration.found.end(),
            [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  return enumeration.found;
}

void expect_same(const std::vector<std::vector<Hypothesis>>& a, const std::vector<std::vector<Hypothesis>>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].size(), b[i].size()) << "sentence " << i;
    for (std::size_t n = 0; n < a[i].size(); ++n) {
      EXPECT_EQ(a[i][n].tokens, b[i][n].tokens) << "sentence " << i << ", hypothesis " << n;
      EXPECT_EQ(a[i][n].score, b[i][n].score) << "sentence " << i << ", hypothesis " << n;
      EXPECT_EQ(a[i][n].token_log_probabilities, b[i][n].token_log_probabilities);
      EXPECT_EQ(a[i][n].alignment, b[i][n].alignment);
      EXPECT_EQ(a[i][n].stopped_by, b[i][n].stopped_by);
    }
  }
}

}  // namespace dragoman::testing
