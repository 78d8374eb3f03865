#include "frequency_penalty.h"

#include <dragoman/core/options.h>

namespace example {
namespace {

using namespace dragoman;

class FrequencyPenalty final : public decoding::LogitsProcessor {
 public:
  explicit FrequencyPenalty(float alpha) : alpha_(alpha) {}

  /// Edits of one token add up.
  void apply(const decoding::SentenceState&, const decoding::LiveHypothesis& hypothesis,
             decoding::RowEdits& edits) override {
    for (const std::int32_t token : hypothesis.tokens) edits.add(token, -alpha_);
  }

 private:
  float alpha_;
};

}  // namespace

std::unique_ptr<decoding::LogitsProcessor> make_frequency_penalty(core::OptionReader& options) {
  const auto alpha = options.get("alpha", 0.5);
  options.check(alpha >= 0, "alpha", "must not be negative");
  return std::make_unique<FrequencyPenalty>(static_cast<float>(alpha));
}

}  // namespace example
