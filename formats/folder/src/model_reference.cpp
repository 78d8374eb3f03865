#include "dragoman/formats/model_reference.h"

#include "dragoman/formats/model_folder.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include <dragoman/core/append_member.h>
#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/fingerprint.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/core/quote.h>

namespace dragoman::formats {
namespace {

using core::ErrorCode;
using core::Json;

/// More sentences would take unreasonably long.
constexpr std::size_t kMaxSentences = 4096;

class SentenceReader {
 public:
  SentenceReader(const Json& json, const nn::SequenceSpec& spec, std::string where)
      : fields_(json, std::move(where)), spec_(spec) {}

  ReferenceSentence read() {
    ReferenceSentence sentence{.source = ids("source", spec_.source_vocabulary, spec_.maximum_source_length),
                               .target = ids("target", spec_.target_vocabulary, spec_.maximum_target_length - 1),
                               .tags = fields_.require_key<int>("tags"),
                               .log_probabilities = numbers("log_probabilities"),
                               .greedy = ids("greedy", spec_.target_vocabulary, spec_.maximum_target_length),
                               .margins = numbers("margins")};
    fields_.finish();
    const auto targets = static_cast<std::int64_t>(sentence.target.size());
    fields_.check(!sentence.source.empty(), "source", "is empty");
    fields_.check(sentence.tags >= 0 && sentence.tags <= targets, "tags", "must be a number of target tokens");
    fields_.check(static_cast<std::int64_t>(sentence.log_probabilities.size()) == targets + 1, "log_probabilities",
                  "must be one for each target token and one for the end");
    fields_.check(sentence.margins.size() == sentence.greedy.size(), "margins", "must be one for each token of greedy");
    fields_.check(static_cast<std::int64_t>(sentence.greedy.size()) + sentence.tags <= spec_.maximum_target_length,
                  "greedy", "is longer than the model writes");
    return sentence;
  }

 private:
  const Json& list(const char* key) {
    const Json& found = fields_.subtree(key);
    fields_.check(found.is_array(), key, "must be a list");
    return found;
  }
  std::vector<std::int32_t> ids(const char* key, std::int64_t vocabulary, std::int64_t most) {
    const Json& found = list(key);
    fields_.check(static_cast<std::int64_t>(found.size()) <= most, key, "has more tokens than the model takes");
    std::vector<std::int32_t> read;
    for (const Json& id : found) {
      fields_.check(id.is_number_integer() && id >= 0 && id < vocabulary, key, "must be ids of the vocabulary");
      read.push_back(id.get<std::int32_t>());
    }
    return read;
  }
  std::vector<double> numbers(const char* key) {
    std::vector<double> read;
    for (const Json& number : list(key)) {
      fields_.check(number.is_number() && std::isfinite(number.get<double>()), key, "must be finite numbers");
      read.push_back(number.get<double>());
    }
    return read;
  }

  core::OptionReader fields_;
  const nn::SequenceSpec& spec_;
};

std::uint64_t read_fingerprint(const Json& json, const std::string& where, const std::string& name) {
  constexpr std::size_t kHexDigits = 16;
  std::uint64_t value = 0;
  const auto* text = json.is_string() ? &json.get_ref<const std::string&>() : nullptr;
  const bool is_one =
      text != nullptr && text->size() == kHexDigits &&
      std::from_chars(text->data(), text->data() + kHexDigits, value, 16).ptr == text->data() + kHexDigits;
  if (!is_one)
    core::fail(ErrorCode::kBadInput, "{}: weights: {}: must be a fingerprint of {} hexadecimal digits", where,
               core::quote(name), kHexDigits);
  return value;
}

std::uint64_t fingerprint_of(std::span<const std::byte> bytes) {
  return core::fingerprint({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

ModelReference read_model_reference(const Json& json, const nn::SequenceSpec& sequences, const std::string& where) {
  core::OptionReader fields(json, where);
  const int version = fields.require_key<int>("format_version");
  fields.check(version == ModelReference::kFormatVersion, "format_version",
               "is of a newer program, or of none; this one reads version 1");
  const Json& weights = fields.subtree("weights");
  fields.check(weights.is_object(), "weights", "must hold names and fingerprints");
  const Json& sentences = fields.subtree("sentences");
  fields.check(sentences.is_array(), "sentences", "must be a list of sentences");
  fields.check(sentences.size() <= kMaxSentences, "sentences",
               fmt::format("holds {} sentences; at most {} are allowed", sentences.size(), kMaxSentences));
  fields.finish();
  ModelReference reference;
  for (const auto& [name, value] : weights.items())
    reference.weights.emplace_back(name, read_fingerprint(value, where, name));
  for (const Json& sentence : sentences)
    reference.sentences.push_back(
        SentenceReader(sentence, sequences, fmt::format("{}: sentences: {}", where, reference.sentences.size()))
            .read());
  return reference;
}

ModelReference load_model_reference(const std::filesystem::path& folder, const nn::SequenceSpec& sequences) {
  const std::filesystem::path file = folder / ModelFiles::kReference;
  const std::string text = core::read_regular_file(file, ModelReference::kLargest);
  return read_model_reference(core::parse_json(text, file.string()), sequences, file.string());
}

std::string to_text(const ModelReference& reference) {
  Json weights = Json::object();
  for (const auto& [name, fingerprint] : reference.weights)
    core::append_member(weights, name, fmt::format("{:016x}", fingerprint));
  std::string text = fmt::format("{{\"format_version\": {},\n\"weights\": {},\n\"sentences\": [",
                                 ModelReference::kFormatVersion, weights.dump(0));
  const char* separator = "\n";
  for (const ReferenceSentence& sentence : reference.sentences) {
    const Json object{{"source", sentence.source}, {"target", sentence.target},
                      {"tags", sentence.tags},     {"log_probabilities", sentence.log_probabilities},
                      {"greedy", sentence.greedy}, {"margins", sentence.margins}};
    text += separator + core::one_line(object);
    separator = ",\n";
  }
  return text + "\n]}\n";
}

WeightDifferences find_changed_weights(const ModelReference& reference, const SafetensorsFile& weights) {
  WeightDifferences differences;
  for (const auto& [name, fingerprint] : reference.weights) {
    const StoredTensor* stored = weights.find(name);
    if (stored != nullptr && stored->dtype != tensor::DType::kF32) continue;
    ++differences.compared;
    if (stored == nullptr || fingerprint_of(weights.read(*stored)) != fingerprint) differences.names.push_back(name);
  }
  return differences;
}

}  // namespace dragoman::formats
