#include "request_options.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <dragoman/core/option_spelling.h>
#include <dragoman/core/options.h>
#include <dragoman/core/quote.h>
#include <dragoman/decoding/option_table.h>

namespace dragoman::server {
namespace {

constexpr const char* kOptions = "options";

/// The beam of a request that needs one, if the service's own search has none.
constexpr std::int32_t kUsualBeam = 4;

}  // namespace

decoding::Search read_request_search(const core::Json& options, std::int32_t max_hypotheses) {
  decoding::Search search;
  if (options.is_null()) return search;
  core::require(options.is_object(), core::ErrorCode::kBadInput, "{}: must be an object with options of the search",
                kOptions);
  // For an option reader, null is an absent key. A client's null is a mistake, as it is among the other keys.
  for (const auto& [key, value] : options.items())
    core::require(!value.is_null(), core::ErrorCode::kBadInput, "{}: {}: is null; leave it out", kOptions,
                  core::printable(key, 80));
  const core::Json keys = core::spelled_with_underscores(options, kOptions);
  core::OptionReader reader(keys, kOptions);
  decoding::search_table().read(reader, search);
  reader.finish();
  reader.check(
      search.decoder != kServersOwnDecoder && !search.mbr_candidates && !search.mbr_samples && !search.mbr_utility,
      search.decoder == kServersOwnDecoder ? "decoder" : "mbr_candidates",
      "minimum Bayes risk is for all requests of a server, and not for one");
  for (const auto& [key, size] : {std::pair{"beam_size", search.beam_size}, std::pair{"n_best", search.n_best}})
    reader.check(size.value_or(1) <= max_hypotheses, key,
                 fmt::format("is {}; a request may have at most {}", size.value_or(1), max_hypotheses));
  return search;
}

decoding::Search completed_search(decoding::Search search, const TranslateRequest& request, const std::string& strategy,
                                  std::int32_t beam_size) {
  const std::int32_t wanted = std::max(request.alternatives + 1, search.n_best.value_or(1));
  const bool has_terms = request.glossary != nullptr || !request.constraints.empty();
  if (wanted > 1) search.n_best = wanted;
  if (request.details && request.alignment) search.alignment = true;
  if (!search.decoder && strategy == "greedy" && (wanted > 1 || has_terms)) search.decoder = "beam";
  if (search.decoder.value_or(strategy) != "beam" || search.beam_size) return search;
  const std::int32_t needed = std::max(wanted, has_terms ? 2 : 1);
  const std::int32_t usual = strategy == "beam" ? beam_size : kUsualBeam;
  if (usual < needed) search.beam_size = std::max(needed, kUsualBeam);
  return search;
}

core::Json sentence_fields(const TranslateRequest& request, bool is_first) {
  core::Json fields = core::Json::object();
  if (is_first && !request.target_prefix.empty()) fields["target_prefix"] = request.target_prefix;
  if (!request.constraints.empty()) fields["constraints"] = request.constraints;
  if (!request.suppress.empty()) fields["suppress"] = request.suppress;
  return fields;
}

}  // namespace dragoman::server
