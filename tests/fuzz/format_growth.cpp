#include "format_growth.h"

#include "growth.h"
#include "stored_zip.h"
#include "torch_growth.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>

#include <dragoman/core/json.h>

namespace dragoman::fuzz {
namespace {

using core::Json;
using namespace std::string_literals;

// safetensors

std::string safetensors(const Json& header, std::string_view data) {
  const std::string text = header.dump();
  return little_endian(text.size(), 8) + text + std::string(data);
}

std::string many_tensors(std::string_view /*seed*/, std::size_t size) {
  Json header = Json::object();
  const std::size_t count = size / 70;
  for (std::size_t i = 0; i < count; ++i)
    header[fmt::format("layer.{}", i)] = {{"dtype", "F32"}, {"shape", {1}}, {"data_offsets", {4 * i, 4 * i + 4}}};
  return safetensors(header, std::string(4 * count, '\0'));
}

std::string tensors_of_shared_bytes(std::string_view /*seed*/, std::size_t size) {
  Json header = Json::object();
  const std::size_t data = size / 2;
  for (std::size_t i = 0; i < size / 140; ++i)
    header[fmt::format("layer.{}", i)] = {{"dtype", "U8"}, {"shape", {data}}, {"data_offsets", {0, data}}};
  return safetensors(header, std::string(data, '\0'));
}

// Marian

/// The seed with more arrays, each a copy of its first one under another name.
std::string many_arrays(std::string_view seed, std::size_t size) {
  const auto [archive, rest] = split_files(seed);
  std::vector<ZipFile> files = files_of_zip(archive);
  const std::string array = files.front().content;
  for (std::size_t i = 0; i < std::min<std::size_t>(size / (array.size() + 120), 60000); ++i)
    files.push_back({fmt::format("array_{}.npy", i), array});
  return zip_of(files) + std::string(rest);
}

std::string model_files_of_shared_bytes(std::string_view seed, std::size_t size) {
  return files_of_shared_bytes(seed, size) + std::string(split_files(seed).rest);
}

/// The settings in the seed, grown as YAML grows. They are an array of bytes with NumPy's header of 128 bytes.
std::string grown_settings(std::string_view seed, Growth growth, std::size_t size) {
  constexpr std::size_t kHeader = 128;
  const auto [archive, rest] = split_files(seed);
  std::vector<ZipFile> files = files_of_zip(archive);
  for (ZipFile& file : files) {
    if (file.name != "special:model.yml.npy") continue;
    std::string yaml = file.content.substr(kHeader);
    while (!yaml.empty() && yaml.back() == '\0') yaml.pop_back();
    const std::string grown = grow(yaml, growth, 1, size);
    std::string header = fmt::format("{{'descr': '|i1', 'fortran_order': False, 'shape': ({},), }}", grown.size());
    header.resize(kHeader - 11, ' ');
    file.content = "\x93NUMPY" + little_endian(1, 2) + little_endian(header.size() + 1, 2);
    file.content.append(header).append("\n").append(grown);
  }
  return zip_of(files) + std::string(rest);
}

std::string settings_with_aliases(std::string_view seed, std::size_t size) {
  return grown_settings(seed, Growth::kAlias, size);
}

std::string settings_with_levels(std::string_view seed, std::size_t size) {
  return grown_settings(seed, Growth::kNest, size);
}

// CTranslate2

std::string named(std::string_view name) {
  return little_endian(name.size() + 1, 2) + std::string(name) + '\0';
}

/// Where the number of arrays stands: behind the binary version, the model's name and its revision.
std::size_t place_of_arrays(std::string_view model) {
  return 4 + 2 + number_at(model, 4, 2) + 4;
}

/// Where the number of aliases stands: behind the last array.
std::size_t place_of_aliases(std::string_view model) {
  std::size_t at = place_of_arrays(model);
  std::size_t left = number_at(model, at, 4);
  for (at += 4; left > 0; --left) {
    at += 2 + number_at(model, at, 2);
    at += 1 + 4 * number_at(model, at, 1) + 1;
    at += 4 + number_at(model, at, 4);
  }
  return at;
}

/// A model with more entries in the list whose number of entries stands at `place`, and the other files of the seed.
std::string with_more_entries(std::string_view seed, std::size_t place, const std::vector<std::string>& entries) {
  std::string text(seed.substr(0, place));
  text += little_endian(number_at(seed, place, 4) + entries.size(), 4);
  for (const std::string& entry : entries) text += entry;
  return text + std::string(seed.substr(place + 4));
}

std::string more_arrays(std::string_view seed, std::size_t size) {
  std::vector<std::string> arrays;
  for (std::size_t i = 0; i < size / 25; ++i)
    arrays.push_back(named(fmt::format("array_{}", i)) + "\0\1"s + little_endian(1, 4) + "x");
  return with_more_entries(seed, place_of_arrays(seed), arrays);
}

/// Many names of the model's first array.
std::string many_aliases(std::string_view seed, std::size_t size) {
  const std::size_t first = place_of_arrays(seed) + 4;
  const std::string array(seed.substr(first, 2 + number_at(seed, first, 2)));
  std::vector<std::string> aliases;
  for (std::size_t i = 0; i < size / 40; ++i) aliases.push_back(named(fmt::format("alias_{}", i)) + array);
  return with_more_entries(seed, place_of_aliases(seed), aliases);
}

// Adapters

std::string grown_adapters(std::string_view seed, std::size_t size, const char* key) {
  const auto [text, rest] = split_files(seed);
  Json config = Json::parse(text);
  for (std::size_t i = 0; i < size / 20; ++i) config[key][fmt::format("module_{}", i)] = 2;
  return config.dump() + std::string(rest);
}

std::string many_ranks(std::string_view seed, std::size_t size) {
  return grown_adapters(seed, size, "rank_pattern");
}

std::string many_alphas(std::string_view seed, std::size_t size) {
  return grown_adapters(seed, size, "alpha_pattern");
}

std::string many_modules(std::string_view seed, std::size_t size) {
  const auto [text, rest] = split_files(seed);
  Json config = Json::parse(text);
  for (std::size_t i = 0; i < size / 20; ++i) config["target_modules"].push_back(fmt::format("module_{}", i));
  return config.dump() + std::string(rest);
}

// Tokenizers

/// The seed with more pieces, which are numbered on.
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

/// The seed with more added tokens, which are numbered on.
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

/// The piece has letters that are a third of the file, unless that is longer than pieces may be.
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

/// Pieces of up to a thousand letters, each of which is looked for at every place of a text.
std::string long_pieces(std::string_view seed, std::size_t size) {
  Json json = Json::parse(seed);
  for (std::size_t length = 100; length <= 1000; length += 100)
    json["model"]["vocab"].push_back({std::string(length, 'a'), -5.0});
  const std::string text = json.dump();
  return text + std::string(size - std::min(size, text.size()), ' ');
}

/// A template that names a token again and again, which stands for as many ids.
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

/// A SentencePiece model, whose messages may stand in any order, with more pieces of its letters.
std::string many_sentencepieces(std::string_view seed, std::size_t size) {
  constexpr std::string_view kLetters = "thea";
  constexpr std::size_t kLength = 10;
  return std::string(seed) + parts(size, [&](std::size_t number) {
           std::string piece;
           for (std::size_t i = 0; i < kLength; ++i) piece += kLetters[number >> 2 * i & 3];
           return "\x0a\x13\x0a\x0a"s + piece + "\x15" + little_endian(0xC1A00000, 4) + "\x18\x01";
         });
}

// Others

std::string many_requests(std::string_view seed, std::size_t size) {
  return parts(size, [&](std::size_t) { return std::string(seed); });
}

/// Pairs of one token on each side. See to_bytes(EncodedBlock).
std::string many_pairs(std::string_view /*seed*/, std::size_t size) {
  constexpr std::string_view kMagic = "DRGBLK1\n";
  const std::size_t pairs = size / 16;
  const auto repeated = [&](std::uint64_t number) {
    return parts(pairs * 4, [&](std::size_t) { return little_endian(number, 4); });
  };
  const std::string lengths = repeated(1);
  const std::string tokens = repeated(2);
  return std::string(kMagic) + little_endian(pairs, 8) + little_endian(pairs, 8) + little_endian(pairs, 8) +
         std::string(16, '\0') + lengths + lengths + tokens + tokens;
}

/// More rows of numbers, which stand at the end of the table. See DetectorTable::bytes().
std::string many_rows(std::string_view seed, std::size_t size) {
  constexpr std::size_t kPlaceOfRows = 12;
  const std::size_t width = number_at(seed, kPlaceOfRows + 4, 4);
  std::string text(seed);
  text.replace(kPlaceOfRows, 4, little_endian(number_at(seed, kPlaceOfRows, 4) + size / width, 4));
  return text + std::string(size / width * width, '\1');
}

std::string many_sums(std::string_view seed, std::size_t size) {
  return std::string(seed) +
         parts(size, [](std::size_t i) { return std::string(64, '0') + fmt::format("  file_{}\n", i); });
}

std::string many_stages(std::string_view /*seed*/, std::size_t size) {
  return "stages:\n- read: {path: a}\n" + parts(size, [](std::size_t) { return "- normalize: {form: nfkc}\n"; }) +
         "- write: {path: b}\n";
}

std::string long_ranking(std::string_view seed, std::size_t size) {
  Json json = Json::parse(seed);
  Json ranking = Json::array();
  for (std::size_t i = 0; i < size / 30; ++i) ranking.push_back({{"update", i}, {"value", 1 + static_cast<double>(i)}});
  json["early_stopping"]["ranking"] = ranking;
  return json.dump();
}

std::string many_sentences(std::string_view seed, std::size_t size) {
  Json json = Json::parse(seed);
  const Json sentence = json["sentences"][0];
  constexpr std::size_t kMaxCount = 4000;  // a reference has at most 4,096
  const std::size_t count = std::min(size / sentence.dump().size(), kMaxCount);
  for (std::size_t i = 0; i < count; ++i) json["sentences"].push_back(sentence);
  return json.dump();
}

/// Zeros, packed to a thousandth.
std::string packed_zeros(std::string_view /*seed*/, std::size_t size) {
  constexpr int kGzip = 16 + MAX_WBITS;
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzip, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY);
  std::string zeros(size * 1000, '\0');
  std::string packed(size * 2 + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(zeros.data());
  stream.avail_in = static_cast<uInt>(zeros.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return "raw\n" + packed;
}

constexpr auto kGrowths = std::to_array<FormatGrowth>({
    {"safetensors", "many tensors", "sample.safetensors", many_tensors},
    {"safetensors", "tensors of shared bytes", "sample.safetensors", tensors_of_shared_bytes, "overlaps another"},
    {"torch_file", "tensors of one storage", "state.pt", tensors_of_one_storage},
    {"torch_file", "references to one text", "state.pt", references_to_one_text},
    {"torch_file", "pairs of pairs", "state.pt", pairs_of_pairs},
    {"torch_file", "nested lists", "state.pt", nested_lists},
    {"torch_file", "many keys", "state.pt", many_keys},
    {"torch_file", "many storages", "state.pt", many_storages},
    {"torch_file", "files of shared bytes", "state.pt", files_of_shared_bytes, "share bytes"},
    {"fairseq", "settings of one text", "example", settings_of_one_text, "more than any model's"},
    {"fairseq", "weights of one storage", "example", weights_of_one_storage, "parts of the model share them"},
    {"marian", "many arrays", "plain", many_arrays, "of no use in such a model"},
    {"marian", "files of shared bytes", "plain", model_files_of_shared_bytes, "share bytes"},
    {"marian", "settings with aliases", "plain", settings_with_aliases, "too many values"},
    {"marian", "settings with levels", "plain", settings_with_levels, "nested too deeply"},
    {"ctranslate2", "many arrays", "opus-int8", more_arrays, "of no use in such a model"},
    {"ctranslate2", "many aliases", "opus-int8", many_aliases},
    {"peft", "many ranks", "patterns", many_ranks},
    {"peft", "many alphas", "patterns", many_alphas},
    {"peft", "many modules", "patterns", many_modules},
    {"tokenizer_json", "many pieces", "plain.json", many_pieces},
    {"tokenizer_json", "a long piece", "plain.json", long_piece},
    {"tokenizer_json", "a long added token", "plain.json", long_added_token, "looked for in texts"},
    {"tokenizer_json", "many added tokens", "plain.json", many_added_tokens},
    {"composed", "many pieces", "unigram", many_pieces},
    {"composed", "many added tokens", "unigram", many_added_tokens},
    {"composed", "a long piece", "unigram", long_piece, "looked for in texts"},
    {"composed", "long pieces", "unigram", long_pieces},
    {"composed", "a long added token", "unigram", long_added_token, "looked for in texts"},
    {"composed", "a long template", "unigram", long_template},
    {"tokenizer_formats", "many pieces", "sentencepiece", many_sentencepieces},
    {"http_request", "many requests", "get", many_requests},
    {"pair_block", "many pairs", "ids", many_pairs},
    {"detector_table", "many rows", "six_languages", many_rows},
    {"checksums", "many sums", "text", many_sums, "is missing"},
    {"pipeline_config", "many stages", "encode", many_stages, "a pipeline has at most 1000"},
    {"training_state", "a long ranking", "state.json", long_ranking},
    {"model_reference", "many sentences", "two_sentences", many_sentences},
    {"compressed", "packed zeros", "gzip", packed_zeros},
});

}  // namespace

std::span<const FormatGrowth> format_growths() {
  return kGrowths;
}

}  // namespace dragoman::fuzz
