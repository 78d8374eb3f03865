#include "attention_kinds.h"
#include "dragoman/pipeline/attention.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>

namespace dragoman::pipeline {
namespace {

using core::Json;
using core::Option;
using core::OptionReader;
using decoding::AttentionKind;

constexpr int kMaxNumbers = 4096;
constexpr std::int64_t kLargestNumber = 1 << 16;

int parse_number(std::string_view text, bool may_be_negative) {
  const auto parsed = core::number_parser(core::NumberRange<std::int64_t>{
      .least = may_be_negative ? -kLargestNumber : 0, .most = kLargestNumber})(std::string(text));
  return parsed.get<int>();
}

/// Parses "all", or numbers and ranges separated by commas: "0-3,7".
Json parse_numbers(const std::string& word, bool may_be_negative) {
  Json numbers = Json::array();
  if (word == "all") return numbers;
  for (std::size_t begin = 0; begin <= word.size();) {
    const std::size_t end = std::min(word.find(',', begin), word.size());
    const std::string_view item = std::string_view(word).substr(begin, end - begin);
    const std::size_t dash = item.find('-', 1);
    const int first = parse_number(item.substr(0, dash), may_be_negative);
    const int last = dash == std::string_view::npos ? first : parse_number(item.substr(dash + 1), may_be_negative);
    core::require(first <= last && last - first + static_cast<int>(numbers.size()) < kMaxNumbers,
                  core::ErrorCode::kInvalidArgument, "must be numbers and rising ranges, as in 0-3,7; or all");
    for (int number = first; number <= last; ++number) numbers.push_back(number);
    begin = end + 1;
  }
  return numbers;
}

}  // namespace

std::vector<int> read_number_list(OptionReader& options, const char* key, bool may_be_negative) {
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
  options.check(numbers.is_array() && numbers.size() <= kMaxNumbers, key, "must be a list of numbers, or all");
  std::vector<int> result;
  for (const Json& number : numbers) {
    options.check(number.is_number_integer() && number.get<std::int64_t>() <= kLargestNumber &&
                      number.get<std::int64_t>() >= (may_be_negative ? -kLargestNumber : 0),
                  key, may_be_negative ? "must hold numbers of layers" : "must hold numbers from 0");
    result.push_back(number.get<int>());
  }
  return result;
}

Option number_list_option(const char* name, const char* placeholder, const char* help, const char* fallback,
                          bool may_be_negative) {
  return {.name = name,
          .placeholder = placeholder,
          .help = help,
          .fallback = Json(fallback),
          .parse = [may_be_negative, fallback = std::string(fallback)](const std::string& word) {
            return word == fallback || word == "all" ? Json("all") : parse_numbers(word, may_be_negative);
          }};
}

namespace {

core::OptionTable<decoding::AttentionRequest> request_table() {
  using Request = decoding::AttentionRequest;
  const auto numbers = [](const char* name, const char* help, bool may_be_negative) {
    return number_list_option(name, "LIST", help, "all", may_be_negative);
  };
  return core::OptionTable<Request>()
      .group("Attention")
      .custom({numbers("attention_layers", "layers from 0, such as 0,2-4; -1 is the last; or all", true)},
              [](OptionReader& options, Request& request) {
                request.layers = read_number_list(options, "attention_layers", true);
              })
      .custom({numbers("attention_heads", "heads from 0, such as 0-3 for the first four; or all", false)},
              [](OptionReader& options, Request& request) {
                request.heads = read_number_list(options, "attention_heads", false);
              })
      .flag("attention_mean", &Request::mean, "show the mean of these heads instead of each head")
      .flag("attention_before_softmax", &Request::before_softmax,
            "show the inputs of the softmax instead of its outputs")
      .flag("attention_full_context", &Request::full_context,
            "let the decoder see the whole target, for alignments; this does not affect probabilities");
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
          .choice(
              "attention", &Settings::kind, attention_kinds(), "WHICH",
              "attention to show: none, encoder or decoder (self-attention), or cross (from the decoder to the source)")
          .include(&Settings::request, request_table())
          .text("attention_svg", &Settings::svg, "DIR", "folder for a picture of each sentence: LINE.svg")
          .text("attention_npy", &Settings::npy, "DIR",
                "folder for an array of each sentence, layers x heads x queries x keys: LINE.npy");
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

}  // namespace dragoman::pipeline
