#include "dragoman/decoding/hypothesis.h"

namespace dragoman::decoding {

bool better(const Hypothesis& a, const Hypothesis& b) {
  if (a.score != b.score) return a.score > b.score;
  if (a.steps != b.steps) return a.steps < b.steps;
  return a.tokens < b.tokens;
}

}  // namespace dragoman::decoding
