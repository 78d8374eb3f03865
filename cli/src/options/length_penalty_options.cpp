#include "options/length_penalty_options.h"

#include "options/number_option.h"

#include <fmt/format.h>

namespace dragoman::cli {

namespace po = boost::program_options;

void LengthPenaltyOptions::add_to(po::options_description& options, const std::string& usual) {
  const std::string preset = fmt::format("PRESET (={})", usual);
  options.add_options()("length-penalty", po::value(&preset_)->value_name(preset),
                        "length normalisation of the log probability: none, fairseq, gnmt, marian, ct2, transformers")(
      "alpha", real_number("--alpha", alpha_, kAnyNumber)->value_name("X"),
      "strength of the length penalty (default: the preset's)");
}

std::string LengthPenaltyOptions::identity() const {
  return fmt::format("{} {}", preset_, alpha_ ? fmt::format("{}", *alpha_) : std::string());
}

decoding::LengthPenalty LengthPenaltyOptions::chosen() const {
  return decoding::LengthPenalty::preset(preset_.empty() ? "fairseq" : preset_, alpha_);
}

}  // namespace dragoman::cli
