#include "dragoman/training/early_stopping.h"

#include "config_tables.h"

#include <algorithm>
#include <cmath>

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>

namespace dragoman::training {

bool EarlyStopping::observe(std::int64_t update, double value) {
  const bool finite = std::isfinite(value);
  const bool best = finite && (ranking_.empty() || better(value, ranking_.front().value));
  stale_ = best ? 0 : stale_ + 1;
  if (!finite) return false;
  const auto place =
      std::ranges::find_if(ranking_, [&](const ScoredUpdate& known) { return better(value, known.value); });
  ranking_.insert(place, {update, value});
  const auto remember = static_cast<std::size_t>(std::max<std::int64_t>(options_.remember, 1));
  if (ranking_.size() > remember) ranking_.resize(remember);
  return best;
}

core::Json EarlyStopping::save() const {
  core::Json ranking = core::Json::array();
  for (const ScoredUpdate& known : ranking_) ranking.push_back({{"update", known.update}, {"value", known.value}});
  return {{"validations_without_best", stale_}, {"ranking", ranking}};
}

void EarlyStopping::restore(const core::Json& json, const std::string& where) {
  core::OptionReader options(json, where);
  stale_ = options.get<std::int64_t>("validations_without_best", 0);
  options.check(stale_ >= 0 && stale_ <= kMany, "validations_without_best", fmt::format("must lie in 0 .. {}", kMany));
  const core::Json& ranking = options.subtree("ranking");
  options.check(ranking.is_array() || ranking.is_null(), "ranking", "must be a list");
  ranking_.clear();
  for (const core::Json& item : ranking) {
    core::OptionReader known(item, where + ": ranking");
    const auto update = known.require_key<std::int64_t>("update");
    // What was not finite stands as null in states of version 1.
    if (!known.subtree("value").is_null()) ranking_.push_back({update, known.require_key<double>("value")});
    known.finish();
  }
  options.finish();
  std::ranges::stable_sort(ranking_,
                           [&](const ScoredUpdate& a, const ScoredUpdate& b) { return better(a.value, b.value); });
  const auto remember = static_cast<std::size_t>(std::max<std::int64_t>(options_.remember, 1));
  if (ranking_.size() > remember) ranking_.resize(remember);
}

}  // namespace dragoman::training
