#include "part_markup.h"

#include <algorithm>

#include <dragoman/pipeline/model_view.h>

namespace dragoman::pipeline {
namespace {

/// Weights below do not decide where a tag stands.
constexpr float kLeastWeight = 0.01F;

/// Returns the number of the segment at this position of the plain text.
std::size_t segment_at(const TranslationWork& work, std::size_t position) {
  return static_cast<std::size_t>(std::ranges::upper_bound(work.segments, position) - work.segments.begin()) - 1;
}

markup::Link link(const TextRange& source, const TextRange& target, float weight) {
  return {static_cast<std::uint32_t>(source.begin), static_cast<std::uint32_t>(source.end),
          static_cast<std::uint32_t>(target.begin), static_cast<std::uint32_t>(target.end), weight};
}

/// Returns the bytes of the translation that each token adds. Empty: unknown, since the text is not the tokens' text.
std::vector<TextRange> places_of(const ModelView& model, std::span<const std::int32_t> tokens,
                                 const std::string& translation) {
  const auto decoder = model.target_tokenizer->make_decoder();
  std::vector<TextRange> places;
  std::string text;
  for (const std::int32_t token : tokens) {
    const std::size_t begin = text.size();
    decoder->decode(token, text);
    places.push_back({begin, text.size()});
  }
  decoder->finish(text);
  if (text.size() != translation.size()) places.clear();
  return places;
}

/// Weights from target tokens to source tokens: the mean of the middle layers.
class MeanAttention {
 public:
  explicit MeanAttention(const decoding::AttentionMaps& maps) : maps_(maps) {
    const std::size_t layers = maps.layers.size();
    first_ = layers > 2 ? 1 : 0;
    last_ = layers > 2 ? layers - 1 : layers;
  }
  float at(std::size_t target, std::size_t source) const {
    float sum = 0;
    for (std::size_t layer = first_; layer < last_; ++layer)
      sum += maps_.at(layer, 0, static_cast<std::int64_t>(target), static_cast<std::int64_t>(source));
    return sum / static_cast<float>(last_ - first_);
  }

 private:
  const decoding::AttentionMaps& maps_;
  std::size_t first_ = 0;
  std::size_t last_ = 0;
};

std::vector<markup::Link> proportional_links(const std::vector<TextRange>& source, std::size_t size) {
  std::vector<markup::Link> links;
  for (std::size_t i = 0; i < source.size(); ++i)
    links.push_back(link(source[i], {size * i / source.size(), size * (i + 1) / source.size()}, 1));
  return links;
}

std::string joined_text(const TranslationWork& work) {
  std::string text;
  for (const TranslationPart& part : work.parts) text.append(part.before).append(part.translation);
  return text + work.after;
}

}  // namespace

void read_markup(TranslationWork& work) {
  work.document.emplace(work.record.text);
  for (const markup::Segment& segment : work.document->segments()) {
    if (!work.segments.empty()) work.plain += '\n';
    work.segments.push_back(work.plain.size());
    work.plain += segment.text;
  }
}

std::vector<TextRange> segment_sentences(const TranslationWork& work) {
  std::vector<TextRange> all;
  for (std::size_t i = 0; i < work.segments.size(); ++i)
    for (const TextRange& range : work.document->sentences(i, work.record.sentences))
      all.push_back({work.segments[i] + range.begin, work.segments[i] + range.end});
  return all;
}

bool has_tags_within(const TranslationWork& work, const TextRange& range) {
  const std::size_t segment = segment_at(work, range.begin);
  const std::size_t begin = work.segments[segment];
  return work.document->segments()[segment].has_tags_within({range.begin - begin, range.end - begin});
}

decoding::InnerStatesRequest alignment_request() {
  return {.attention = decoding::AttentionRequest{.kind = decoding::AttentionKind::kCross, .mean = true}};
}

std::vector<markup::Link> links_of(const ModelView& model, const TranslationPart& part,
                                   std::span<const std::int32_t> tokens, const decoding::AttentionMaps& maps) {
  const std::vector<TextRange>& source = part.source_text.tokens;
  const std::size_t tags = part.source_text.tags;
  const std::vector<TextRange> target = places_of(model, tokens, part.translation);
  if (target.empty() || maps.values.empty() || static_cast<std::size_t>(maps.queries) < target.size() ||
      static_cast<std::size_t>(maps.keys) < tags + source.size())
    return proportional_links(source, part.translation.size());
  const MeanAttention attention(maps);
  std::vector<markup::Link> links;
  for (std::size_t t = 0; t < target.size(); ++t) {
    if (target[t].begin == target[t].end) continue;
    for (std::size_t s = 0; s < source.size(); ++s) {
      const float weight = attention.at(t, tags + s);
      if (weight >= kLeastWeight && source[s].begin < source[s].end)
        links.push_back(link(source[s], target[t], weight));
    }
  }
  return links;
}

std::string joined(const TranslationWork& work) {
  if (!work.document) return joined_text(work);
  std::vector<markup::TranslatedSegment> translations(work.segments.size());
  std::size_t last = work.segments.size();
  for (const TranslationPart& part : work.parts) {
    const std::size_t segment = segment_at(work, part.text.begin);
    markup::TranslatedSegment& translation = translations[segment];
    if (segment == last) translation.text += part.before;
    last = segment;
    const std::size_t source = part.text.begin - work.segments[segment];
    const std::size_t target = translation.text.size();
    translation.text += part.translation;
    if (!part.has_tags)
      translation.links.push_back(
          link({source, source + part.text.end - part.text.begin}, {target, translation.text.size()}, 1));
    for (markup::Link moved : part.links) {
      moved.source_begin += static_cast<std::uint32_t>(source);
      moved.source_end += static_cast<std::uint32_t>(source);
      moved.target_begin += static_cast<std::uint32_t>(target);
      moved.target_end += static_cast<std::uint32_t>(target);
      translation.links.push_back(moved);
    }
  }
  return work.document->assemble(translations);
}

}  // namespace dragoman::pipeline
