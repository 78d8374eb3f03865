#include "dragoman/plugins/model_reference.h"

#include <algorithm>
#include <cmath>

#include <dragoman/core/error.h>
#include <dragoman/core/parallel.h>
#include <dragoman/core/random.h>
#include <dragoman/decoding/model_stepper.h>
#include <dragoman/decoding/score.h>

namespace dragoman::plugins {
namespace {

using formats::ReferenceSentence;

/// Sentence lengths: one token, two typical lengths, and one that exceeds a page of the decoder's state.
constexpr std::uint64_t kLengths[] = {1, 5, 12, 33};
constexpr std::int64_t kLongestGreedy = 24;

std::vector<std::int32_t> plain_tokens(const tokenizer::Tokenizer& tokenizer, std::int64_t vocabulary) {
  std::vector<std::int32_t> tokens;
  for (std::int32_t id = 0; id < std::min<std::int64_t>(tokenizer.size(), vocabulary); ++id)
    if (!tokenizer.is_special(id)) tokens.push_back(id);
  return tokens;
}

/// Returns the tags of the default languages; the first language of the table replaces a missing default.
formats::SequenceTags usual_tags(const formats::LanguageTable& table) {
  const std::string first = table.languages.empty() ? std::string() : table.languages.front().first;
  const auto known = [&](const std::string& language) { return language.empty() ? first : language; };
  return table.tags(known(table.source_language), known(table.target_language));
}

std::vector<std::int32_t> draw_tokens(const std::vector<std::int32_t>& from, std::uint64_t length,
                                      std::uint64_t stream) {
  std::vector<std::int32_t> tokens;
  for (std::uint64_t i = 0; i < length && !from.empty(); ++i)
    tokens.push_back(from[core::random_below(from.size(), 0, stream, i)]);
  return tokens;
}

template <class... Lists>
std::vector<std::int32_t> joined(const Lists&... lists) {
  std::vector<std::int32_t> all;
  (all.insert(all.end(), lists.begin(), lists.end()), ...);
  return all;
}

void require_going_on(const std::stop_token& stop) {
  if (stop.stop_requested())
    core::fail(core::ErrorCode::kInterrupted, "interrupted while a model's reference was computed");
}

/// Extends the tags greedily, token by token.
void read_greedy(const nn::Seq2SeqModel& model, tensor::Context& context, ReferenceSentence& sentence,
                 const std::stop_token& stop) {
  const nn::SequenceSpec& spec = model.spec();
  decoding::ModelStepper stepper(model, context);
  const std::vector<std::int32_t> source_offsets{0, static_cast<std::int32_t>(sentence.source.size())};
  std::int32_t slot = 0;
  stepper.admit({sentence.source, source_offsets}, {&slot, 1});
  std::vector<std::int32_t> next{spec.decoder_start};
  next.insert(next.end(), sentence.target.begin(), sentence.target.begin() + sentence.tags);
  decoding::StepResult result;
  nn::RowRef row{.slot = slot, .parent = -1};
  const std::int64_t most = std::min<std::int64_t>(kLongestGreedy, spec.maximum_target_length - sentence.tags - 1);
  while (static_cast<std::int64_t>(sentence.greedy.size()) < most) {
    require_going_on(stop);
    const std::vector<std::int32_t> offsets{0, static_cast<std::int32_t>(next.size())};
    stepper.step(
        {.rows = {&row, 1}, .next = {next, offsets}, .candidates = std::min<std::int64_t>(2, spec.target_vocabulary)},
        result);
    sentence.greedy.push_back(result.tokens.front());
    sentence.margins.push_back(result.log_probabilities.front() - result.log_probabilities.back());
    if (sentence.greedy.back() == spec.end) break;
    next = {sentence.greedy.back()};
    row.parent = 0;
  }
  stepper.release(slot);
}

bool is_finite(const ReferenceSentence& sentence) {
  const auto finite = [](double value) { return std::isfinite(value); };
  return std::ranges::all_of(sentence.log_probabilities, finite) && std::ranges::all_of(sentence.margins, finite);
}

/// Rounds to the digits that are significant in F32.
void shorten(std::vector<double>& values) {
  constexpr double kDigits = 1e6;
  for (double& value : values) value = std::round(value * kDigits) / kDigits;
}

}  // namespace

std::vector<ReferenceSentence> draw_reference_sentences(const nn::Seq2SeqModel& model,
                                                        const tokenizer::Tokenizer& source_tokenizer,
                                                        const tokenizer::Tokenizer& target_tokenizer,
                                                        const formats::LanguageTable& languages) {
  const nn::SequenceSpec& spec = model.spec();
  const formats::SequenceTags tags = usual_tags(languages);
  const auto source_tokens = plain_tokens(source_tokenizer, spec.source_vocabulary);
  const auto target_tokens = plain_tokens(target_tokenizer, spec.target_vocabulary);
  const auto room = [](std::int64_t longest, std::size_t taken) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(longest - static_cast<std::int64_t>(taken) - 1, 0));
  };
  const std::uint64_t source_room = room(spec.maximum_source_length, tags.of_source());
  const std::uint64_t target_room = room(spec.maximum_target_length, tags.target_prefix.size());
  std::vector<ReferenceSentence> sentences;
  for (const std::uint64_t length : kLengths) {
    const std::uint64_t stream = 2 * sentences.size();
    sentences.push_back(
        {.source = joined(tags.source_prefix, draw_tokens(source_tokens, std::min(length, source_room), stream),
                          std::vector<std::int32_t>(tags.source_end ? 1 : 0, spec.end), tags.source_suffix),
         .target = joined(tags.target_prefix, draw_tokens(target_tokens, std::min(length, target_room), stream + 1)),
         .tags = static_cast<std::int32_t>(tags.target_prefix.size())});
  }
  return sentences;
}

void read_reference_sentence(const nn::Seq2SeqModel& model, tensor::Context& context, ReferenceSentence& sentence,
                             const std::stop_token& stop) {
  require_going_on(stop);
  const std::vector<std::int32_t> source_offsets{0, static_cast<std::int32_t>(sentence.source.size())};
  const std::vector<std::int32_t> target_offsets{0, static_cast<std::int32_t>(sentence.target.size())};
  sentence.log_probabilities =
      decoding::score(model, context, {sentence.source, source_offsets}, {sentence.target, target_offsets})
          .front()
          .token_log_probabilities;
  sentence.greedy.clear();
  sentence.margins.clear();
  read_greedy(model, context, sentence, stop);
}

std::string make_model_reference(const std::filesystem::path& folder, Host& host,
                                 std::vector<std::pair<std::string, std::uint64_t>> weights,
                                 const std::stop_token& stop) {
  const LoadedModel loaded = load_model(folder, host);
  core::SequentialExecutor executor;
  const auto context = host.runtime().make_context(tensor::Device::kCpu, executor);
  formats::ModelReference reference{.weights = std::move(weights)};
  for (ReferenceSentence& sentence : draw_reference_sentences(*loaded.model, *loaded.source_tokenizer,
                                                              *loaded.target_tokenizer, loaded.config.languages)) {
    read_reference_sentence(*loaded.model, *context, sentence, stop);
    if (!is_finite(sentence)) continue;
    shorten(sentence.log_probabilities);
    shorten(sentence.margins);
    reference.sentences.push_back(std::move(sentence));
  }
  return formats::to_text(reference);
}

}  // namespace dragoman::plugins
