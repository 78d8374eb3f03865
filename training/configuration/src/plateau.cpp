#include "configuration/config_tables.h"
#include "dragoman/training/schedule.h"

#include <cmath>

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>

namespace dragoman::training {

bool Plateau::improves(double value) const {
  if (!std::isfinite(value)) return false;
  if (!best_) return true;
  return higher_is_better_ ? value > *best_ * (1 + options_.threshold) : value < *best_ * (1 - options_.threshold);
}

bool Plateau::observe(double value) {
  if (improves(value)) {
    best_ = value;
    stale_ = 0;
  } else {
    ++stale_;
  }
  if (cooling_ > 0) {
    --cooling_;
    stale_ = 0;
  }
  if (stale_ <= options_.patience) return false;
  ++reductions_;
  cooling_ = options_.cooldown;
  stale_ = 0;
  return true;
}

core::Json Plateau::save() const {
  core::Json json{{"validations_without_improvement", stale_}, {"cooldown", cooling_}, {"reductions", reductions_}};
  if (best_) json["best"] = *best_;
  return json;
}

void Plateau::restore(const core::Json& json, const std::string& where) {
  core::OptionReader options(json, where);
  best_.reset();
  if (options.has("best")) best_ = options.require_key<double>("best");
  stale_ = options.get<std::int64_t>("validations_without_improvement", 0);
  cooling_ = options.get<std::int64_t>("cooldown", 0);
  reductions_ = options.get<std::int64_t>("reductions", 0);
  for (const std::int64_t count : {stale_, cooling_, reductions_})
    options.check(count >= 0 && count <= kMany, "reductions",
                  fmt::format("and the other counts must lie in 0 .. {}", kMany));
  options.finish();
}

}  // namespace dragoman::training
