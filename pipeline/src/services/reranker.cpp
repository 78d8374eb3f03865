#include "dragoman/pipeline/reranker.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>

namespace dragoman::pipeline {
namespace {

using core::Json;

void require_line(bool holds, const std::string& where, std::string_view problem) {
  core::require(holds, core::ErrorCode::kBadInput, "{}: {}; give what translate writes with details and n_best", where,
                problem);
}

void add_translation(NBestLine& line, const Json& entry, const std::string& where) {
  require_line(entry.is_object() && entry.contains("translation") && entry["translation"].is_string(), where,
               "a translation is no text");
  require_line(entry.contains("score") && entry["score"].is_number(), where, "a translation has no score");
  line.translations.push_back(entry["translation"].get<std::string>());
  line.scores.push_back(entry["score"].get<double>());
}

}  // namespace

NBestLine read_n_best_line(std::string_view text, const std::string& where) {
  NBestLine line;
  line.record = core::parse_json(text, where);
  require_line(line.record.is_object(), where, "is no JSON object");
  const Json& record = line.record;
  if (!record.contains("translation") && !record.contains("n_best")) return line;
  require_line(record.contains("source") && record["source"].is_string(), where, "has no source");
  line.source = record["source"].get<std::string>();
  if (!record.contains("n_best")) {
    add_translation(line, record, where);
    return line;
  }
  require_line(record["n_best"].is_array() && !record["n_best"].empty(), where, "n_best is no list of translations");
  for (const Json& entry : record["n_best"]) add_translation(line, entry, where);
  return line;
}

struct Reranker::Impl {
  explicit Impl(const RerankOptions& rerank_options) : options(rerank_options) {
    core::require(!options.models.empty(), core::ErrorCode::kInvalidArgument, "there is no model to rerank with");
    for (const RerankModel& model : options.models) scorers.emplace_back(model.model, options.scorer);
  }

  /// Returns the scores of all translations of all lines, in order.
  std::vector<double> scores_of(std::size_t model, std::span<NBestLine> lines, std::span<const std::string> where,
                                const std::stop_token& stop) {
    std::vector<LinePair> pairs;
    for (std::size_t i = 0; i < lines.size(); ++i)
      for (const std::string& translation : lines[i].translations) {
        pairs.push_back({lines[i].source, translation, where[i]});
        if (options.models[model].reverse) std::swap(pairs.back().source, pairs.back().target);
      }
    std::vector<double> scores;
    std::vector<LineScore> scored = scorers[model].score(std::move(pairs), stop);
    auto next = scored.begin();
    for (NBestLine& line : lines)
      for (std::size_t t = 0; t < line.translations.size(); ++t, ++next) {
        scores.push_back(next->score);
        line.cut = line.cut || next->cut;
        if (line.error.empty()) line.error = std::move(next->error);
      }
    return scores;
  }

  /// Returns the weighted sum of one translation's scores.
  double sum_of(double list_score, const std::vector<std::vector<double>>& parts, std::size_t at) const {
    double sum = options.list_weight * list_score;
    for (std::size_t m = 0; m < parts.size(); ++m) sum += options.models[m].weight * parts[m][at];
    return sum;
  }

  /// Sorts one line. `parts` are the models' scores of its translations.
  void sort(NBestLine& line, const std::vector<std::vector<double>>& parts, std::size_t first,
            const std::string& where) const {
    const std::size_t count = line.translations.size();
    std::vector<double> sums(count);
    for (std::size_t t = 0; t < count; ++t) {
      sums[t] = sum_of(line.scores[t], parts, first + t);
      // Sums beyond the range of numbers have no order, and JSON has no text for them.
      core::require(std::isfinite(sums[t]), core::ErrorCode::kBadInput,
                    "{}: the weighted sum of the scores of {} is not finite (NaN or infinite); use smaller weights",
                    where, core::Quoted{line.translations[t]});
    }
    Json entries = line.record.contains("n_best") ? std::move(line.record["n_best"]) : Json::array({line.record});
    for (std::size_t t = 0; t < count; ++t) {
      Json& named = entries[t]["rerank_parts"] = Json::object();
      named["list"] = line.scores[t];
      for (std::size_t m = 0; m < parts.size(); ++m) named[options.models[m].name()] = parts[m][first + t];
      entries[t]["rerank_score"] = sums[t];
    }
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return sums[a] > sums[b]; });
    Json sorted = Json::array();
    NBestLine ranked;
    for (const std::size_t t : order) {
      sorted.push_back(std::move(entries[t]));
      ranked.translations.push_back(std::move(line.translations[t]));
      ranked.scores.push_back(line.scores[t]);
    }
    line.translations = std::move(ranked.translations);
    line.scores = std::move(ranked.scores);
    for (const auto& [key_of_best, value] : sorted.front().items()) line.record[key_of_best] = value;
    line.record["text"] = line.translations.front();
    if (line.record.contains("n_best")) line.record["n_best"] = std::move(sorted);
  }

  RerankOptions options;
  std::vector<Scorer> scorers;
};

Reranker::Reranker(const RerankOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Reranker::~Reranker() = default;
Reranker::Reranker(Reranker&&) noexcept = default;
Reranker& Reranker::operator=(Reranker&&) noexcept = default;

void Reranker::rerank(std::span<NBestLine> lines, std::span<const std::string> where, const std::stop_token& stop) {
  std::vector<std::vector<double>> parts;
  for (std::size_t m = 0; m < impl_->options.models.size(); ++m)
    parts.push_back(impl_->scores_of(m, lines, where, stop));
  std::size_t first = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    NBestLine& line = lines[i];
    const std::size_t count = line.translations.size();
    if (!line.error.empty())
      line.record["rerank_error"] = line.error;
    else if (line.can_be_ranked())
      impl_->sort(line, parts, first, where[i]);
    first += count;
  }
}

}  // namespace dragoman::pipeline
