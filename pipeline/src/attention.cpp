#include "dragoman/pipeline/attention.h"

#include "dragoman/pipeline/translate_service.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/formats/npy.h>

namespace dragoman::pipeline {
namespace {

using core::Json;
using core::Option;
using core::OptionReader;
using decoding::AttentionKind;

constexpr int kMostNumbers = 4096;
constexpr std::int64_t kLargestNumber = 1 << 16;

const std::vector<std::pair<std::string_view, std::optional<AttentionKind>>>& kinds() {
  static const std::vector<std::pair<std::string_view, std::optional<AttentionKind>>> all = {
      {"none", std::nullopt},
      {"encoder", AttentionKind::kEncoder},
      {"decoder", AttentionKind::kDecoder},
      {"cross", AttentionKind::kCross}};
  return all;
}

int parse_number(std::string_view text, bool may_be_negative) {
  const auto parsed = core::number_parser(core::NumberRange<std::int64_t>{
      .least = may_be_negative ? -kLargestNumber : 0, .most = kLargestNumber})(std::string(text));
  return parsed.get<int>();
}

/// "all", or numbers and ranges with commas between: "0-3,7".
Json parse_numbers(const std::string& word, bool may_be_negative) {
  Json numbers = Json::array();
  if (word == "all") return numbers;
  for (std::size_t begin = 0; begin <= word.size();) {
    const std::size_t end = std::min(word.find(',', begin), word.size());
    const std::string_view item = std::string_view(word).substr(begin, end - begin);
    const std::size_t dash = item.find('-', 1);
    const int first = parse_number(item.substr(0, dash), may_be_negative);
    const int last = dash == std::string_view::npos ? first : parse_number(item.substr(dash + 1), may_be_negative);
    core::require(first <= last && last - first + static_cast<int>(numbers.size()) < kMostNumbers,
                  core::ErrorCode::kInvalidArgument, "must be numbers and rising ranges, as in 0-3,7; or all");
    for (int number = first; number <= last; ++number) numbers.push_back(number);
    begin = end + 1;
  }
  return numbers;
}

/// In YAML a list, a number, or the same text as on the command line.
std::vector<int> read_numbers(OptionReader& options, const char* key, bool may_be_negative) {
  if (!options.has(key)) return {};
  const Json& value = options.subtree(key);
  Json numbers = value;
  if (value.is_string()) {
    try {
      numbers = parse_numbers(value.get<std::string>(), may_be_negative);
    } catch (const core::Error& error) {
      options.check(false, key, error.what());
    }
  } else if (value.is_number_integer()) {
    numbers = Json::array({value});
  }
  options.check(numbers.is_array() && numbers.size() <= kMostNumbers, key, "must be a list of numbers, or all");
  std::vector<int> result;
  for (const Json& number : numbers) {
    options.check(number.is_number_integer() && number.get<std::int64_t>() <= kLargestNumber &&
                      number.get<std::int64_t>() >= (may_be_negative ? -kLargestNumber : 0),
                  key, may_be_negative ? "must hold numbers of layers" : "must hold numbers from 0");
    result.push_back(number.get<int>());
  }
  return result;
}

core::OptionTable<decoding::AttentionRequest> request_table() {
  using Request = decoding::AttentionRequest;
  const auto numbers = [](const char* name, const char* help, bool may_be_negative) {
    return Option{.name = name,
                  .placeholder = "LIST",
                  .help = help,
                  .fallback = "all",
                  .parse = [may_be_negative](const std::string& word) {
                    return word == "all" ? Json(word) : parse_numbers(word, may_be_negative);
                  }};
  };
  return core::OptionTable<Request>()
      .custom({numbers("attention_layers", "layers from 0, as in 0,2-4; -1 is the last; or all", true)},
              [](OptionReader& options, Request& request) {
                request.layers = read_numbers(options, "attention_layers", true);
              })
      .custom({numbers("attention_heads", "heads from 0, as in 0-3 for the first four; or all", false)},
              [](OptionReader& options, Request& request) {
                request.heads = read_numbers(options, "attention_heads", false);
              })
      .flag("attention_mean", &Request::mean, "the mean of these heads in place of each")
      .flag("attention_before_softmax", &Request::before_softmax, "what goes into the softmax, not what comes out")
      .flag("attention_full_context", &Request::full_context,
            "the decoder sees the whole target, for alignments; its probabilities do not");
}

std::string_view name_of(AttentionKind kind) {
  for (const auto& [name, other] : kinds())
    if (other == kind) return name;
  return {};
}

std::string escape_xml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        // XML has no way to say most control characters.
        escaped += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
    }
  }
  return escaped;
}

/// From the least to the greatest number of a picture; weights from 0 to 1.
class Scale {
 public:
  explicit Scale(const SentenceAttention& attention) {
    if (!attention.before_softmax) return;
    least_ = std::numeric_limits<float>::max();
    most_ = std::numeric_limits<float>::lowest();
    for (const float value : attention.maps.values) {
      if (!std::isfinite(value)) continue;
      least_ = std::min(least_, value);
      most_ = std::max(most_, value);
    }
  }
  /// White to dark blue.
  std::string colour(float value) const {
    const double share = most_ > least_ ? std::clamp((value - least_) / (most_ - least_), 0.0F, 1.0F) : 0.0;
    const auto mix = [&](int light, int dark) { return static_cast<int>(std::lround(light + share * (dark - light))); };
    return fmt::format("#{:02x}{:02x}{:02x}", mix(255, 8), mix(255, 48), mix(255, 107));
  }

 private:
  float least_ = 0;
  float most_ = 1;
};

class Picture {
 public:
  Picture(const SentenceAttention& attention, const std::string& title)
      : attention_(attention),
        scale_(attention),
        left_(kLetter * longest(attention.queries) + 12),
        top_(kLetter * longest(attention.keys) + kTitle + 12),
        panel_width_(left_ + kCell * static_cast<int>(attention.maps.keys) + 16),
        panel_height_(top_ + kCell * static_cast<int>(attention.maps.queries) + 16) {
    const decoding::AttentionMaps& maps = attention.maps;
    const int width = panel_width_ * static_cast<int>(maps.heads.size()) + 16;
    const int height = kTitle + panel_height_ * static_cast<int>(maps.layers.size()) + 16;
    add(R"svg(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}")svg", width,
        height);
    add(R"svg( font-family="sans-serif" font-size="11">{})svg", kLineEnd);
    add(R"svg(<rect width="{}" height="{}" fill="white"/>{})svg", width, height, kLineEnd);
    add(R"svg(<text x="8" y="16" font-size="13" font-weight="bold">{}</text>{})svg", escape_xml(title), kLineEnd);
    for (std::size_t layer = 0; layer < maps.layers.size(); ++layer)
      for (std::size_t head = 0; head < maps.heads.size(); ++head) add_panel(layer, head);
    text_ += "</svg>\n";
  }
  std::string take() { return std::move(text_); }

 private:
  static constexpr int kCell = 16;
  static constexpr int kLetter = 7;
  static constexpr int kTitle = 22;
  static constexpr char kLineEnd = '\n';

  static int longest(const std::vector<std::string>& labels) {
    std::size_t most = 1;
    // Letters, not bytes.
    for (const std::string& label : labels) {
      std::size_t letters = 0;
      for (const char c : label) letters += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
      most = std::max(most, letters);
    }
    return static_cast<int>(most);
  }
  static int at(int begin, std::size_t cell) { return begin + kCell * static_cast<int>(cell); }

  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  void add_panel(std::size_t layer, std::size_t head) {
    const decoding::AttentionMaps& maps = attention_.maps;
    add(R"svg(<g transform="translate({},{})">{})svg", 8 + panel_width_ * static_cast<int>(head),
        kTitle + panel_height_ * static_cast<int>(layer), kLineEnd);
    const std::string which = maps.heads[head] < 0 ? "mean of heads" : fmt::format("head {}", maps.heads[head]);
    add(R"svg(<text x="0" y="14" fill="#555">layer {}, {}</text>{})svg", maps.layers[layer], which, kLineEnd);
    for (std::size_t j = 0; j < attention_.keys.size(); ++j)
      add(R"svg(<text transform="translate({},{}) rotate(-90)">{}</text>{})svg", at(left_, j) + 12, top_ - 4,
          escape_xml(attention_.keys[j]), kLineEnd);
    for (std::size_t i = 0; i < attention_.queries.size(); ++i)
      add(R"svg(<text x="{}" y="{}" text-anchor="end">{}</text>{})svg", left_ - 4, at(top_, i) + 12,
          escape_xml(attention_.queries[i]), kLineEnd);
    for (std::size_t i = 0; i < attention_.queries.size(); ++i)
      for (std::size_t j = 0; j < attention_.keys.size(); ++j)
        add_cell(i, j, maps.at(layer, head, static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)));
    text_ += "</g>\n";
  }

  void add_cell(std::size_t i, std::size_t j, float value) {
    if (!std::isfinite(value)) return;
    add(R"svg(<rect x="{}" y="{}" width="{}" height="{}" fill="{}" stroke="#ddd" stroke-width="0.5">)svg", at(left_, j),
        at(top_, i), kCell, kCell, scale_.colour(value));
    add("<title>{} \u2192 {}: {:.4f}</title></rect>\n", escape_xml(attention_.queries[i]),
        escape_xml(attention_.keys[j]), value);
  }

  const SentenceAttention& attention_;
  Scale scale_;
  int left_;
  int top_;
  int panel_width_;
  int panel_height_;
  std::string text_;
};

std::vector<std::string> pieces_of(const tokenizer::Tokenizer& tokenizer, std::span<const std::int32_t> tokens) {
  std::vector<std::string> pieces;
  for (const std::int32_t token : tokens) pieces.emplace_back(tokenizer.piece(token));
  return pieces;
}

}  // namespace

decoding::InnerStatesRequest AttentionSettings::inner() const {
  if (!kind) return {};
  decoding::InnerStatesRequest inner{.attention = request};
  inner.attention->kind = *kind;
  return inner;
}

const core::OptionTable<AttentionSettings>& attention_table() {
  using Settings = AttentionSettings;
  static const auto table =
      core::OptionTable<Settings>()
          .group("Attention")
          .choice("attention", &Settings::kind, kinds(), "WHICH",
                  "show attention: of the encoder or the decoder to itself, or of the decoder to the source")
          .include(&Settings::request, request_table())
          .text("attention_svg", &Settings::svg, "DIR", "write a picture of each sentence: LINE.svg")
          .text("attention_npy", &Settings::npy, "DIR",
                "write an array of each sentence, layers x heads x queries x keys: LINE.npy");
  return table;
}

void check(const AttentionSettings& settings, const core::OptionReader& options) {
  if (settings.kind) {
    options.check(!settings.request.full_context || settings.kind != AttentionKind::kEncoder, "attention_full_context",
                  "is about a decoder; leave it out, or set attention to decoder or cross");
    return;
  }
  constexpr const char* kDemand = "needs attention: encoder, decoder or cross";
  options.check(settings.request.layers.empty(), "attention_layers", kDemand);
  options.check(settings.request.heads.empty(), "attention_heads", kDemand);
  options.check(!settings.request.mean, "attention_mean", kDemand);
  options.check(!settings.request.before_softmax, "attention_before_softmax", kDemand);
  options.check(!settings.request.full_context, "attention_full_context", kDemand);
  options.check(settings.svg.empty(), "attention_svg", kDemand);
  options.check(settings.npy.empty(), "attention_npy", kDemand);
}

SentenceAttention label_attention(const TranslationModel& model, const AttentionSettings& settings,
                                  decoding::AttentionMaps maps, std::span<const std::int32_t> source,
                                  std::span<const std::int32_t> target) {
  const nn::SequenceSpec& spec = model.model->spec();
  SentenceAttention attention{.kind = settings.kind.value_or(AttentionKind::kCross),
                              .before_softmax = settings.request.before_softmax,
                              .maps = std::move(maps)};
  const std::vector<std::string> sources = pieces_of(*model.source_tokenizer, source);
  // One row more than the target has tokens: the input before them, or what is predicted behind them.
  std::vector<std::int32_t> inputs{spec.decoder_start};
  inputs.insert(inputs.end(), target.begin(), target.end());
  std::vector<std::int32_t> predicted(target.begin(), target.end());
  predicted.push_back(spec.end);
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
  attention.queries.resize(static_cast<std::size_t>(attention.maps.queries));
  attention.keys.resize(static_cast<std::size_t>(attention.maps.keys));
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

std::string to_svg(const SentenceAttention& attention, const std::string& title) {
  return Picture(attention, title).take();
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
    const std::string title = fmt::format("{}: {} attention{}", name, name_of(attention.kind),
                                          attention.before_softmax ? " before the softmax" : "");
    core::write_file(path_in(settings.svg, ".svg"), to_svg(attention, title));
  }
  if (!settings.npy.empty()) {
    const std::int64_t shape[] = {static_cast<std::int64_t>(maps.layers.size()),
                                  static_cast<std::int64_t>(maps.heads.size()), maps.queries, maps.keys};
    formats::write_npy(path_in(settings.npy, ".npy"), shape, maps.values);
  }
}

}  // namespace dragoman::pipeline
