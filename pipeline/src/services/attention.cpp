#include "dragoman/pipeline/attention.h"

#include "dragoman/pipeline/translate_service.h"
#include "settings/attention_kinds.h"

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/folder.h>
#include <dragoman/core/json.h>
#include <dragoman/formats/npy.h>

namespace dragoman::pipeline {
namespace {

using core::Json;
using decoding::AttentionKind;

std::vector<std::string> pieces_of(const tokenizer::Tokenizer& tokenizer, std::span<const std::int32_t> tokens) {
  std::vector<std::string> pieces;
  for (const std::int32_t token : tokens) pieces.emplace_back(tokenizer.piece(token));
  return pieces;
}

}  // namespace

SentenceAttention label_attention(const ModelView& model, const AttentionSettings& settings,
                                  decoding::AttentionMaps maps, std::span<const std::int32_t> source,
                                  std::span<const std::int32_t> target) {
  const nn::SequenceSpec& spec = model.model->spec();
  SentenceAttention attention{.kind = settings.kind.value_or(AttentionKind::kCross),
                              .before_softmax = settings.request.before_softmax,
                              .full_context = settings.request.full_context,
                              .maps = std::move(maps)};
  const std::vector<std::string> sources = pieces_of(*model.source_tokenizer, source);
  // There is one row more than target tokens: the inputs begin with a start token, and the predictions end with an end
  // token.
  std::vector<std::int32_t> inputs{spec.decoder_start};
  inputs.insert(inputs.end(), target.begin(), target.end());
  std::vector<std::int32_t> predicted(target.begin(), target.end());
  predicted.push_back(spec.end);
  // A translation that was cut has no row for the end that it did not choose, nor for its last token as an input.
  const bool was_cut =
      attention.kind != AttentionKind::kEncoder && attention.maps.queries == static_cast<std::int64_t>(target.size());
  if (was_cut) {
    inputs.pop_back();
    predicted.pop_back();
  }
  switch (attention.kind) {
    case AttentionKind::kEncoder:
      attention.queries = attention.keys = sources;
      break;
    case AttentionKind::kDecoder:
      attention.queries = attention.keys = pieces_of(*model.target_tokenizer, inputs);
      break;
    case AttentionKind::kCross:
      attention.queries = pieces_of(*model.target_tokenizer, predicted);
      attention.keys = sources;
      break;
  }
  core::require(static_cast<std::int64_t>(attention.queries.size()) == attention.maps.queries &&
                    static_cast<std::int64_t>(attention.keys.size()) == attention.maps.keys,
                core::ErrorCode::kInternal, "{} rows and {} columns of attention for {} and {} tokens",
                attention.maps.queries, attention.maps.keys, attention.queries.size(), attention.keys.size());
  return attention;
}

Json to_json(const SentenceAttention& attention) {
  const decoding::AttentionMaps& maps = attention.maps;
  Json layers = Json::array();
  for (std::size_t layer = 0; layer < maps.layers.size(); ++layer) {
    Json heads = Json::array();
    for (std::size_t head = 0; head < maps.heads.size(); ++head) {
      Json rows = Json::array();
      for (std::int64_t i = 0; i < maps.queries; ++i) {
        Json row = Json::array();
        for (std::int64_t j = 0; j < maps.keys; ++j) row.push_back(maps.at(layer, head, i, j));
        rows.push_back(std::move(row));
      }
      heads.push_back(std::move(rows));
    }
    layers.push_back(std::move(heads));
  }
  const bool is_mean = maps.heads.size() == 1 && maps.heads.front() < 0;
  return {{"of", name_of(attention.kind)},
          {"layers", maps.layers},
          {"heads", is_mean ? Json("mean") : Json(maps.heads)},
          {"queries", attention.queries},
          {"keys", attention.keys},
          {attention.before_softmax ? "scores" : "weights", std::move(layers)}};
}

void require_empty_folders(const AttentionSettings& settings) {
  for (const std::string& folder : {settings.svg, settings.npy})
    core::require(folder.empty() || core::list_folder(folder).empty(), core::ErrorCode::kBadInput,
                  "{}: pictures and arrays of attention go into a folder of their own, and this one is not empty; name "
                  "another, or remove it",
                  folder);
}

void write_attention(const SentenceAttention& attention, const AttentionSettings& settings, const std::string& name) {
  const auto path_in = [&](const std::string& folder, const char* extension) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    core::require(!error, core::ErrorCode::kIo, "{}: cannot make the folder: {}", folder, error.message());
    return std::filesystem::path(folder) / (name + extension);
  };
  const decoding::AttentionMaps& maps = attention.maps;
  if (!settings.svg.empty()) {
    const std::string title = fmt::format(
        "{}: {} attention{}{} (rows: tokens {}, columns: what they look at)", name, name_of(attention.kind),
        attention.before_softmax ? " before the softmax" : "", attention.full_context ? " with full context" : "",
        attention.kind == AttentionKind::kCross ? "that are predicted" : "that are read");
    core::write_file(path_in(settings.svg, ".svg"), to_svg(attention, title));
  }
  if (!settings.npy.empty()) {
    const std::int64_t shape[] = {static_cast<std::int64_t>(maps.layers.size()),
                                  static_cast<std::int64_t>(maps.heads.size()), maps.queries, maps.keys};
    formats::write_npy(path_in(settings.npy, ".npy"), shape, maps.values);
  }
}

}  // namespace dragoman::pipeline
