#include "checks.h"

namespace dragoman::plugins {

Finding check_cached_steps(const Bench& bench) {
  Subject subject = bench.subject();
  const std::vector<Pair> pairs = example_pairs();
  const Distance found = distance(decode_stepwise(subject, pairs), decode_whole(subject, pairs));
  return judge(found, tolerance_of(subject.dtype()), "one token at a time against the whole pass",
               "what a step sees (positions, history, scales) is not what the same token sees in the whole pass");
}

Finding check_forced_prefix(const Bench& bench) {
  Subject subject = bench.subject();
  const std::vector<Pair> pairs = example_pairs();
  const Matrix expected = decode_whole(subject, pairs);
  Distance found;
  for (const std::size_t prefix : {2U, 3U, 7U})
    found = larger(found, distance(decode_stepwise(subject, pairs, prefix), expected));
  return judge(found, tolerance_of(subject.dtype()), "a prefix of 2, 3 and 7 tokens in one step against the whole pass",
               "decode() takes n tokens of a row only if n is 1, or only on an empty history");
}

}  // namespace dragoman::plugins
