#pragma once

#include <cstdint>
#include <string>

#include <dragoman/core/json.h>
#include <dragoman/decoding/search.h>
#include <dragoman/pipeline/translate_service.h>
#include <dragoman/server/translation_service.h>

namespace dragoman::server {

/// A decoder that the whole server may have, and not one request.
inline constexpr const char* kServersOwnDecoder = "mbr";

/// Reads the options of a request's search, as core::OptionReader reads a line's. Error{kBadInput} that names the key,
/// also for more than `max_hypotheses` hypotheses, and for minimum Bayes risk.
decoding::Search read_request_search(const core::Json& options, std::int32_t max_hypotheses);

/// Returns the search of a request for a model with this default strategy and beam: with a hypothesis for each
/// alternative, and a beam search if terms are required.
decoding::Search completed_search(decoding::Search search, const TranslateRequest& request, const std::string& strategy,
                                  std::int32_t beam_size);

/// Returns the fields of a record that carry the request's demands on one sentence.
core::Json sentence_fields(const TranslateRequest& request, bool is_first);

}  // namespace dragoman::server
