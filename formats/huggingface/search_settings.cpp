#include "huggingface/search_settings.h"

#include "weights/config_reader.h"

#include <algorithm>
#include <array>

#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;
using core::Json;

constexpr const char* kGeneration = "generation_config.json";

std::string settings_file(const HuggingFaceFolder& folder) {
  return folder.file(folder.has(kGeneration) ? kGeneration : "config.json").string();
}

/// A key that Dragoman does not apply, and its neutral value, which is the default of transformers.
struct Unfollowed {
  const char* key;
  Json idle;
  const char* consequence;
};
const std::array<Unfollowed, 15>& unfollowed_keys() {
  static const std::array<Unfollowed, 15> keys{{
      {"do_sample", false, "translations are searched, not sampled, unless that is asked for (decoder: sampling)"},
      {"num_beam_groups", 1, "the beam is one group, unless some are asked for (beam_groups)"},
      {"diversity_penalty", 0.0, "is not followed; beam_groups and diversity_strength do the like"},
      {"encoder_no_repeat_ngram_size", 0, "is not followed: n-grams of the source may come again"},
      {"encoder_repetition_penalty", 1.0, "is not followed"},
      {"begin_suppress_tokens", Json(), "is not followed: a translation may begin with these tokens"},
      {"force_words_ids", Json(), "is not followed; constraints of a line can say that"},
      {"constraints", Json(), "is not followed; constraints of a line can say that"},
      {"forced_decoder_ids", Json(), "is not followed; target_prefix can say that"},
      {"exponential_decay_length_penalty", Json(), "is not followed"},
      {"sequence_bias", Json(), "is not followed"},
      {"guidance_scale", 1.0, "is not followed"},
      {"penalty_alpha", 0.0, "contrastive search is not followed"},
      {"min_new_tokens", 0, "is not followed; min_length is"},
      {"stop_strings", Json(), "is not followed"},
  }};
  return keys;
}

class SearchReader {
 public:
  SearchReader(const HuggingFaceFolder& folder, const nn::SequenceSpec& sequences)
      : sequences_(sequences), config_(folder.generation, settings_file(folder)) {}

  SearchSettings read() && {
    read_beam();
    read_lengths();
    read_repetition();
    read_suppressed();
    read_ends();
    for (const Unfollowed& key : unfollowed_keys())
      if (const Json* value = config_.find(key.key); value != nullptr && !is_idle(*value, key.idle))
        warn(key.key, fmt::format("is {}; {}", core::quote(core::one_line(*value)), key.consequence));
    return std::move(settings_);
  }

 private:
  static bool is_idle(const Json& value, const Json& idle) {
    return value == idle || (value.is_array() && value.empty()) ||
           (value.is_number() && idle.is_number() && value.get<double>() == idle.get<double>());
  }
  void warn(const char* key, std::string_view text) {
    settings_.warnings.push_back(fmt::format("{}: {}: {}", config_.name(), key, text));
  }

  void read_beam() {
    Json& decoding = settings_.decoding;
    // The defaults of transformers are not a decision of the model's author.
    const std::int64_t beams = config_.integer("num_beams", 0, 1, 128);
    if (beams == 1) decoding["decoder"] = "greedy";
    if (beams <= 1) return;
    decoding["beam_size"] = beams;
    const Json* const early = config_.find("early_stopping");
    if (early != nullptr && !early->is_boolean())
      warn("early_stopping", fmt::format("is {}; beams end as with false", core::quote(core::one_line(*early))));
    decoding["length_penalty"] = early != nullptr && *early == Json(true) ? "fairseq" : "transformers";
    decoding["alpha"] = config_.number("length_penalty", 1);
  }

  void read_lengths() {
    Json& decoding = settings_.decoding;
    // max_length counts the decoder's first input and the end, max_new_tokens the end, maximum_length neither.
    const std::int64_t longest = config_.integer("max_length", 0, 3, 65536);
    const std::int64_t added = config_.integer("max_new_tokens", 0, 2, 65536);
    const std::int64_t most = added > 0 ? added - 1 : longest > 0 ? longest - 2 : 0;
    if (most > 0) decoding["maximum_length"] = most;
    const std::int64_t shortest = config_.integer("min_length", 0, 0, 65536) - 1;
    if (shortest < 1) return;
    if (most == 0 || shortest <= most)
      decoding["minimum_length"] = shortest;
    else
      warn("min_length", fmt::format("is more than the longest translation, of {} tokens; it is left out", most));
  }

  void read_repetition() {
    Json& decoding = settings_.decoding;
    const std::int64_t ngram = config_.integer("no_repeat_ngram_size", 0, 0, 1000);
    if (ngram > 0) decoding["no_repeat_ngram"] = ngram;
    const double penalty = config_.number("repetition_penalty", 1);
    if (penalty < 0.001 || penalty > 1000)
      config_.refuse("repetition_penalty", fmt::format("is {}; it must be in 0.001 .. 1000", penalty),
                     ErrorCode::kBadInput);
    if (penalty != 1) decoding["repetition_penalty"] = penalty;
  }

  Json tokens_of(const char* key, const Json& list) const {
    if (!list.is_array()) config_.refuse(key, "must be a list", ErrorCode::kBadInput);
    for (const Json& id : list)
      if (!id.is_number_integer() || id < 0 || id >= sequences_.target_vocabulary)
        config_.refuse(key,
                       fmt::format("has {}, which is no id of the {} pieces of the target", core::one_line(id),
                                   sequences_.target_vocabulary),
                       ErrorCode::kBadInput);
    return list;
  }

  void read_suppressed() {
    Json suppressed = Json::array();
    if (const Json* words = config_.find("bad_words_ids"); words != nullptr) {
      if (!words->is_array()) config_.refuse("bad_words_ids", "must be a list of lists", ErrorCode::kBadInput);
      for (const Json& word : *words)
        if (!tokens_of("bad_words_ids", word).empty()) suppressed.push_back(word);
    }
    if (const Json* tokens = config_.find("suppress_tokens"); tokens != nullptr)
      for (const Json& token : tokens_of("suppress_tokens", *tokens)) suppressed.push_back(Json::array({token}));
    if (!suppressed.empty()) settings_.decoding["suppress_tokens"] = std::move(suppressed);
  }

  /// The model's own end is in config.json, and also ends sources.
  void read_ends() {
    for (const char* key : {"eos_token_id", "forced_eos_token_id"}) {
      const Json* ends = config_.find(key);
      if (ends == nullptr) continue;
      const Json list = ends->is_array() ? *ends : Json::array({*ends});
      for (const Json& end : list)
        if (end != Json(sequences_.end))
          warn(key,
               fmt::format("has {}; translations end with {} alone", core::quote(core::one_line(end)), sequences_.end));
    }
    if (const Json* forced = config_.find("forced_bos_token_id");
        forced != nullptr && forced->is_array() && forced->size() > 1)
      warn("forced_bos_token_id", "is a list of several tokens; none of them is forced");
  }

  const nn::SequenceSpec& sequences_;
  ConfigReader config_;
  SearchSettings settings_;
};

}  // namespace

SearchSettings read_search_settings(const HuggingFaceFolder& folder, const nn::SequenceSpec& sequences) {
  return SearchReader(folder, sequences).read();
}

std::int32_t decoder_start_of(const HuggingFaceFolder& folder, const nn::SequenceSpec& sequences) {
  const ConfigReader config(folder.generation, settings_file(folder));
  return static_cast<std::int32_t>(
      config.integer("decoder_start_token_id", sequences.decoder_start, 0, sequences.target_vocabulary - 1));
}

}  // namespace dragoman::imports
