#include "verification.h"

#include <fmt/format.h>

namespace dragoman::cli {

Report describe_verification(const pipeline::ModelVerification& verified) {
  Report report;
  report.add("against", verified.against);
  report.add("computed_in", verified.compute,
             verified.compute + (verified.rounded_weights ? ", with weights that were rounded since" : ""));
  report.add_value("rounded_weights", verified.rounded_weights);
  if (verified.compared_weights > 0) {
    report.add_value("compared_weights", verified.compared_weights);
    report.add("changed_weights", verified.changed_weights,
               fmt::format("{} of {}", verified.changed_weights.size(), verified.compared_weights));
  }
  report.add_value("sentences", verified.sentences);
  report.add_value("tokens", verified.tokens);
  report.add("mean_error", verified.mean_error,
             fmt::format("{:.2g} of 1 + |log p|, over {} tokens; allowed: {:.2g}", verified.mean_error, verified.tokens,
                         verified.bounds.mean));
  report.add("largest_error", verified.largest_error,
             fmt::format("{:.2g}; allowed: {:.2g}", verified.largest_error, verified.bounds.largest));
  report.add_value("bounds", core::Json{{"mean", verified.bounds.mean},
                                        {"largest", verified.bounds.largest},
                                        {"margin", verified.bounds.margin}});
  report.add_value("near_ties", verified.near_ties);
  report.add("equal_translations", verified.equal_translations,
             fmt::format("{} of {} greedy ones{}", verified.equal_translations, verified.sentences,
                         verified.near_ties == 0 ? std::string()
                                                 : fmt::format("; {} part where the best token led by at most {}",
                                                               verified.near_ties, verified.bounds.margin)));
  report.add_value("faults", verified.faults);
  return report;
}

}  // namespace dragoman::cli
