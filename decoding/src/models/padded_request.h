#pragma once

#include <cstdint>
#include <vector>

#include <dragoman/decoding/step_model.h>

namespace dragoman::decoding {

/// A request with rows of padding at its end, which give the step the shape of another one. They begin hypotheses of
/// the first row's sentence, and nobody reads their results. Keeps its memory from step to step.
class PaddedRequest {
 public:
  /// Returns `request` with `padding` more rows of the token `start`. The result refers to `request` and is valid until
  /// the next call. If there is padding, each row of `request` has one token. If the device chooses rows, the result
  /// has a log probability for each of `rows_before`, the rows of the last step with its padding.
  const StepRequest& assign(const StepRequest& request, std::int64_t padding, std::int32_t start,
                            std::int64_t rows_before);

 private:
  StepRequest padded_;
  std::vector<nn::RowRef> rows_;
  std::vector<std::int32_t> tokens_;
  std::vector<std::int32_t> offsets_;
  std::vector<double> temperatures_;
  std::vector<ops::RowNoise> noise_;
  std::vector<ops::ShortlistRange> shortlist_of_row_;
  std::vector<double> log_probabilities_;
};

}  // namespace dragoman::decoding
