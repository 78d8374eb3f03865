#include <fmt/format.h>

#include <dragoman/evaluation/score.h>

namespace dragoman::evaluation {

std::string Score::number(int decimals) const {
  const std::string plain = fmt::format("{:.{}f}", value, decimals);
  // As in sacreBLEU, a mean of zero means that there is no interval.
  if (!confidence || confidence->mean <= 0) return plain;
  return fmt::format("{} (μ = {:.{}f} ± {:.{}f})", plain, confidence->mean, decimals, confidence->half_width, decimals);
}

std::string Score::text(int decimals) const {
  const std::string line = fmt::format("{}|{} = {}", name, signature, number(decimals));
  return details.empty() ? line : line + " " + details;
}

}  // namespace dragoman::evaluation
