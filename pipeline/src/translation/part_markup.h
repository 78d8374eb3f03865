#pragma once

#include "translation_work.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <dragoman/decoding/inner_states.h>
#include <dragoman/markup/markup.h>

namespace dragoman::pipeline {

/// Reads the record's text as HTML: sets the work's document, plain text and segments.
void read_markup(TranslationWork& work);

/// Returns the sentences of all segments as ranges of the plain text.
std::vector<TextRange> segment_sentences(const TranslationWork& work);

/// Returns whether tags are between the bytes of this range of the plain text.
bool has_tags_within(const TranslationWork& work, const TextRange& range);

/// Returns the request for the attention that links_of() reads: all layers, each as the mean of its heads.
decoding::InnerStatesRequest alignment_request();

/// Returns links between the tokens of a part and of its translation, by the mean attention of the decoder's middle
/// layers. docs/project/quality.md compares layers. Without attention, tokens are assumed to keep their relative
/// positions.
std::vector<markup::Link> links_of(const ModelView& model, const TranslationPart& part,
                                   std::span<const std::int32_t> tokens, const decoding::AttentionMaps& maps);

/// Returns the translations of the parts with the text between them, or the document with them.
std::string joined(const TranslationWork& work);

}  // namespace dragoman::pipeline
