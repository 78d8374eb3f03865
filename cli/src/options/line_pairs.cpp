#include "options/line_pairs.h"

#include <functional>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>

namespace dragoman::cli {

LinePairReader::LinePairReader(const std::string& source, const std::string& target, const std::stop_token& stop)
    : sources_(source, stop), targets_(target.empty() ? nullptr : std::make_unique<core::LineReader>(target, stop)) {}

bool LinePairReader::read(std::vector<pipeline::LinePair>& pairs, std::size_t bytes) {
  for (std::size_t taken = 0; taken < bytes;) {
    pipeline::LinePair pair;
    const bool have_source = sources_.next(pair.source);
    const bool have_target = targets_ ? targets_->next(pair.target) : have_source;
    if (have_source != have_target) {
      const core::LineReader& shorter = have_source ? *targets_ : sources_;
      const core::LineReader& longer = have_source ? sources_ : *targets_;
      core::fail(core::ErrorCode::kBadInput, "{} ends after {} lines but {} goes on; they must be parallel",
                 shorter.name(), shorter.line_number(), longer.name());
    }
    if (!have_source) return false;
    for (const std::string& line : {std::cref(pair.source), std::cref(pair.target)})
      if (core::find_invalid_utf8(line) != std::string::npos) ++counts_.with_invalid_utf8;
    taken += pair.source.size() + pair.target.size() + 1;
    pair.where = fmt::format("{}: line {}", sources_.name(), sources_.line_number());
    pairs.push_back(std::move(pair));
  }
  return true;
}

}  // namespace dragoman::cli
