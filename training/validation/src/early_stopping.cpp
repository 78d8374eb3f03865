#include "dragoman/training/early_stopping.h"

#include "configuration/config_tables.h"

#include <algorithm>
#include <cmath>

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>

namespace dragoman::training {

bool EarlyStopping::observe(std::int64_t update, double value) {
  const bool finite = std::isfinite(value);
  const bool best = finite && (ranking_.empty() || better(value, ranking_.front().value));
  const bool counts = best && enough(value);
  stale_ = counts ? 0 : stale_ + 1;
  if (counts) counted_ = value;
  if (!finite) return false;
  const auto place =
      std::ranges::find_if(ranking_, [&](const ScoredUpdate& known) { return better(value, known.value); });
  ranking_.insert(place, {update, value});
  const auto remember = static_cast<std::size_t>(std::max<std::int64_t>(options_.remember, 1));
  if (ranking_.size() > remember) ranking_.resize(remember);
  return best;
}

bool EarlyStopping::enough(double value) const noexcept {
  if (!counted_ || options_.minimum_improvement == 0) return true;
  return (options_.higher_is_better ? value - *counted_ : *counted_ - value) >= options_.minimum_improvement;
}

core::Json EarlyStopping::save() const {
  core::Json ranking = core::Json::array();
  for (const ScoredUpdate& known : ranking_) ranking.push_back({{"update", known.update}, {"value", known.value}});
  core::Json json{{"validations_without_best", stale_}, {"ranking", ranking}};
  if (options_.minimum_improvement > 0 && counted_) json["counted"] = *counted_;
  return json;
}

void EarlyStopping::restore(const core::Json& json, const std::string& where) {
  core::OptionReader options(json, where);
  stale_ = options.get<std::int64_t>("validations_without_best", 0);
  options.check(stale_ >= 0 && stale_ <= kMany, "validations_without_best", fmt::format("must lie in 0 .. {}", kMany));
  counted_.reset();
  if (options.has("counted")) counted_ = options.require_key<double>("counted");
  const core::Json& ranking = options.subtree("ranking");
  options.check(ranking.is_array() || ranking.is_null(), "ranking", "must be a list");
  ranking_.clear();
  for (const core::Json& item : ranking) {
    core::OptionReader known(item, where + ": ranking");
    const auto update = known.require_key<std::int64_t>("update");
    // Non-finite values are null in states of version 1.
    if (!known.subtree("value").is_null()) ranking_.push_back({update, known.require_key<double>("value")});
    known.finish();
  }
  options.finish();
  // States of runs without a minimum do not have this value; the best one counted.
  std::ranges::stable_sort(ranking_,
                           [&](const ScoredUpdate& a, const ScoredUpdate& b) { return better(a.value, b.value); });
  const auto remember = static_cast<std::size_t>(std::max<std::int64_t>(options_.remember, 1));
  if (ranking_.size() > remember) ranking_.resize(remember);
  if (!counted_ && !ranking_.empty()) counted_ = ranking_.front().value;
}

}  // namespace dragoman::training
