#include "json_growth.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include <dragoman/core/json.h>

namespace dragoman::fuzz {

using core::Json;

std::string many_pieces(std::string_view seed, std::size_t size) {
  Json json = Json::parse(seed);
  Json& vocabulary = json["model"]["vocab"];
  const std::size_t known = vocabulary.size();
  for (std::size_t i = 0; i < size / 20; ++i) {
    const std::string piece = fmt::format("piece{}", i);
    if (vocabulary.is_array())
      vocabulary.push_back({piece, -5.0});
    else
      vocabulary[piece] = known + i;
  }
  return json.dump();
}

std::string many_added_tokens(std::string_view seed, std::size_t size) {
  Json json = Json::parse(seed);
  const std::size_t known = json["model"]["vocab"].size();
  for (std::size_t i = 0; i < size / 130; ++i)
    json["added_tokens"].push_back({{"id", known + i},
                                    {"content", fmt::format("<token{}>", i)},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", false},
                                    {"special", true}});
  return json.dump();
}

std::string long_piece(std::string_view seed, std::size_t size) {
  Json json = Json::parse(seed);
  Json& vocabulary = json["model"]["vocab"];
  const std::size_t known = vocabulary.size();
  const std::string piece(size / 3, 'a');
  if (vocabulary.is_array())
    vocabulary.push_back({piece, -5.0});
  else
    vocabulary[piece] = known;
  return json.dump() + std::string(size - size / 3, ' ');
}

std::string long_added_token(std::string_view seed, std::size_t size) {
  Json json = Json::parse(seed);
  json["added_tokens"].push_back({{"id", json["model"]["vocab"].size()},
                                  {"content", std::string(size / 3, 'a')},
                                  {"single_word", false},
                                  {"lstrip", false},
                                  {"rstrip", false},
                                  {"normalized", false},
                                  {"special", false}});
  return json.dump() + std::string(size - size / 3, ' ');
}

std::string long_pieces(std::string_view seed, std::size_t size) {
  Json json = Json::parse(seed);
  for (std::size_t length = 100; length <= 1000; length += 100)
    json["model"]["vocab"].push_back({std::string(length, 'a'), -5.0});
  const std::string text = json.dump();
  return text + std::string(size - std::min(size, text.size()), ' ');
}

std::string long_template(std::string_view seed, std::size_t size) {
  Json json = Json::parse(seed);
  Json steps = Json::array({{{"Sequence", {{"id", "A"}, {"type_id", 0}}}}});
  const std::size_t count = size / 60;
  for (std::size_t i = 0; i < count; ++i) steps.push_back({{"SpecialToken", {{"id", "x"}, {"type_id", 0}}}});
  const Json token = {{"id", "x"}, {"ids", std::vector<int>(count, 0)}, {"tokens", Json::array()}};
  json["post_processor"] = {
      {"type", "TemplateProcessing"}, {"single", steps}, {"pair", Json::array()}, {"special_tokens", {{"x", token}}}};
  return json.dump();
}

}  // namespace dragoman::fuzz
