#include "scenario.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

namespace dragoman::faults {
namespace {

namespace fs = std::filesystem;

/// Captions of pictures that nobody took, in German and in English: `lines` of them, with a few that are not plain.
std::pair<std::string, std::string> make_corpus(int lines) {
  using Word = std::pair<std::string_view, std::string_view>;
  constexpr std::array<Word, 5> kWho = {{{"Ein Mann", "A man"},
                                         {"Eine Frau", "A woman"},
                                         {"Ein Hund", "A dog"},
                                         {"Zwei Kinder", "Two children"},
                                         {"Eine Gruppe von Menschen", "A group of people"}}};
  constexpr std::array<Word, 4> kWhat = {
      {{"steht", "stands"}, {"sitzt", "sits"}, {"spielt", "plays"}, {"läuft", "runs"}}};
  constexpr std::array<Word, 5> kWhere = {{{"auf der Straße.", "on the street."},
                                           {"am Strand.", "at the beach."},
                                           {"vor einem Haus.", "in front of a house."},
                                           {"im Schnee.", "in the snow."},
                                           {"neben einem roten Auto.", "next to a red car."}}};
  std::string german;
  std::string english;
  for (int i = 0; i < lines; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto& [wer, who] = kWho[at % kWho.size()];
    const auto& [was, what] = kWhat[at / 2 % kWhat.size()];
    const auto& [wo, where] = kWhere[at / 3 % kWhere.size()];
    german += fmt::format("{} {} {}\n", wer, was, wo);
    english += fmt::format("{} {} {}\n", who, what, where);
  }
  return {german, english};
}

std::string as_jsonl(const std::string& text) {
  std::string lines;
  for (std::size_t begin = 0, number = 1; begin < text.size(); ++number) {
    const std::size_t end = text.find('\n', begin);
    lines += fmt::format("{{\"source\": \"{}\", \"id\": {}}}\n", text.substr(begin, end - begin), number);
    begin = end + 1;
  }
  return lines;
}

/// A training run of a second: 24 updates, two validations, checkpoints, an average.
constexpr std::string_view kTraining = R"(output: out/run
model: {{type: transformer, d_model: 16, heads: 2, feed_forward: 32, encoder_layers: 1, decoder_layers: 1}}
data:
  train: {{source: {0}/text.de, target: {0}/text.en}}
  validation: {{source: {0}/few.de, target: {0}/few.en}}
  tokenizer: {0}/tokenizer.json
training: {{updates: 24, report_every: 6, batch_tokens: 256, ema_decay: 0.5, schedule: {{type: constant, learning_rate: 0.01, warmup: 2}}}}
validation: {{every: 12, metrics: [chrf], metric: loss, samples: 1}}
checkpoint: {{every: 6, keep: 2, average: 2}}
threads: 2
)";

constexpr std::string_view kPipeline = R"(stages:
  - read: {path: text.de}
  - split: {locale: de}
  - translate: {model: best, decoder: greedy}
  - write: {path: out/text.en}
)";

constexpr std::string_view kStream = R"(stages:
  - read: {path: "-"}
  - encode: {tokenizer: tokenizer.json}
  - write: {path: "-"}
)";

/// Its pattern looks ahead from each letter, and finds nothing.
constexpr std::string_view kPatternTokenizer = R"({"version": "1.0", "added_tokens": [], "normalizer": null,
  "pre_tokenizer": {"type": "Split", "behavior": "Isolated", "invert": false, "pattern": {"Regex": "(?=a{0,60}b)a"}},
  "post_processor": null, "decoder": null,
  "model": {"type": "WordLevel", "vocab": {"a": 0, "?": 1}, "unk_token": "?"}})";

void must(const Equipment& equipment, const std::vector<std::string>& arguments) {
  const Scenario scenario{.name = "fixture", .command = arguments.front(), .arguments = arguments};
  RunPlan plan = plan_of(equipment, scenario, equipment.fixtures());
  plan.seconds = 120;
  const Outcome outcome = run(plan);
  if (!outcome.ended || outcome.status != 0 || outcome.signal != 0)
    throw std::runtime_error(
        fmt::format("preparing the inputs: dragoman {} failed: {}", fmt::join(arguments, " "), outcome.error));
}

std::string with_fixtures(std::string argument, const std::string& fixtures) {
  constexpr std::string_view kPlace = "{f}";
  if (const std::size_t place = argument.find(kPlace); place != std::string::npos)
    argument.replace(place, kPlace.size(), fixtures);
  return argument;
}

void copy_folder(const fs::path& from, const fs::path& to) {
  fs::create_directories(to.parent_path());
  fs::copy(from, to, fs::copy_options::recursive);
}

/// The names and bytes that differ, but for those that may.
std::string difference(const Tree& a, const Tree& b, const std::vector<std::string>& changeable) {
  std::string names;
  for (const auto& [path, content] : a) {
    const auto other = b.find(path);
    const bool same = other != b.end() && (other->second == content || std::ranges::count(changeable, path) > 0);
    if (!same) names += " " + path;
  }
  for (const auto& [path, content] : b)
    if (!a.contains(path)) names += " " + path;
  return names;
}

struct Undisturbed {
  Outcome outcome;
  Tree results;
  std::uint64_t allocations = 0;
};

/// What watches an undisturbed run. Both make it slower, and take processor time.
enum class Watch : std::uint8_t { kNothing, kSupervisor, kHooks };

Undisturbed run_undisturbed(const Equipment& equipment, const Scenario& scenario, Watch watch) {
  const fs::path folder = equipment.scratch / ("measure-" + scenario.name);
  make_workplace(equipment, scenario, folder);
  RunPlan plan = plan_of(equipment, scenario, folder);
  plan.seconds = 120;
  plan.notes_beginning = true;
  const fs::path count = folder / "allocations";
  if (watch == Watch::kHooks) {
    plan.environment.push_back("LD_PRELOAD=" + equipment.hooks);
    plan.environment.push_back("DRAGOMAN_FAULT_ALLOCATIONS=" + count.string());
  } else {
    plan.supervised = watch == Watch::kSupervisor;
  }
  Undisturbed result{.outcome = run(plan), .results = read_tree(folder / "out")};
  if (watch == Watch::kHooks && fs::exists(count)) result.allocations = std::stoull("0" + read_bytes(count));
  fs::remove_all(folder);
  return result;
}

std::string first_lines(const fs::path& file, int count) {
  std::ifstream lines(file);
  std::string text;
  for (std::string line; count > 0 && std::getline(lines, line); --count) text += line + "\n";
  return text;
}

}  // namespace

void make_fixtures(const Equipment& equipment) {
  const fs::path folder = equipment.fixtures();
  fs::create_directories(folder / "tmp");
  const auto [german, english] = make_corpus(60);
  const auto [few_german, few_english] = make_corpus(6);
  write_bytes(folder / "text.de", german);
  write_bytes(folder / "text.en", english);
  std::string links;
  for (const char c : german) links += c == '\n' ? "0-0\n" : "";
  write_bytes(folder / "text.align", links);
  write_bytes(folder / "few.de", few_german);
  write_bytes(folder / "few.en", few_english);
  write_bytes(folder / "text.jsonl", as_jsonl(german));
  write_bytes(folder / "pipeline.yml", std::string(kPipeline));
  write_bytes(folder / "stream.yml", std::string(kStream));
  write_bytes(folder / "train.yml", fmt::format(kTraining, folder.string()));
  copy_folder(equipment.model, folder / "model");
  fs::copy_file(equipment.plugin, folder / "plugin.so");
  for (const char* of : {"huggingface/marian", "ctranslate2/opus-int8", "marian/opus", "fairseq/joint", "peft/marian"})
    copy_folder(equipment.foreign / of, folder / "foreign" / of);
  write_bytes(folder / "pattern.json", std::string(kPatternTokenizer));
  write_bytes(folder / "long-line", std::string(20'000, 'a') + "\n");
  must(equipment, {"learn-bpe", "--input", "text.de", "text.en", "--vocab-size", "340", "--output", "tokenizer.json"});
  must(equipment, {"learn-bpe", "--input", "text.de", "--vocab-size", "300", "--output", "small.json"});
  must(equipment, {"convert", "tokenizer.json", "--to", "sentencepiece", "--output", "t.model"});
  must(equipment, {"convert", "foreign/huggingface/marian", "--output", "foreign/ours"});
  must(equipment, {"count-words", "--input", "text.de", "--output", "de.counts"});
  must(equipment, {"count-words", "--input", "text.en", "--output", "en.counts"});
  must(equipment, {"encode", "--tokenizer", "tokenizer.json", "--input", "text.de", "--output", "pieces"});
  must(equipment,
       {"translate", "--model", "model", "--decoder", "greedy", "--input", "text.de", "--output", "hypothesis.en"});
  must(equipment, {"train", "--config", "train.yml", "--set", "output=run"});
  must(equipment, {"translate", "--model", "run/best", "--input", "text.de", "--beam-size", "2", "--n-best", "2",
                   "--format", "jsonl", "--output", "lists.jsonl"});
  write_bytes(folder / "few-lists.jsonl", first_lines(folder / "lists.jsonl", 40));  // for pipes that are slow
  must(equipment, {"train", "--config", "train.yml", "--set", "output=interrupted/run", "--set", "training.updates=6"});
}

void make_workplace(const Equipment& equipment, const Scenario& scenario, const fs::path& folder) {
  fs::create_directories(folder / "tmp");
  if (scenario.start.empty())
    fs::create_directory(folder / "out");
  else
    copy_folder(equipment.fixtures() / scenario.start, folder / "out");
}

void add_earlier_results(const Equipment& equipment, const Scenario& scenario, const fs::path& folder) {
  for (const Output& output : scenario.outputs) {
    if (output.old.empty())
      write_bytes(folder / "out" / output.name, "an earlier result, to be replaced\n");
    else
      copy_folder(equipment.fixtures() / output.old, folder / "out" / output.name);
  }
}

RunPlan plan_of(const Equipment& equipment, const Scenario& scenario, const fs::path& folder) {
  RunPlan plan;
  plan.command = {equipment.program};
  for (const std::string& argument : scenario.arguments)
    plan.command.push_back(with_fixtures(argument, equipment.fixtures().string()));
  plan.folder = folder.string();
  plan.environment = {"TMPDIR=" + (folder / "tmp").string(), "LC_ALL=C.UTF-8"};
  if (scenario.reads_standard_input()) plan.input.text = read_bytes(equipment.fixtures() / scenario.input);
  return plan;
}

Profile measure(const Equipment& equipment, const Scenario& scenario) {
  const Undisturbed first =
      run_undisturbed(equipment, scenario, equipment.supervision ? Watch::kSupervisor : Watch::kNothing);
  const Undisturbed second =
      run_undisturbed(equipment, scenario, equipment.hooks.empty() ? Watch::kNothing : Watch::kHooks);
  const Outcome bare = run_undisturbed(equipment, scenario, Watch::kNothing).outcome;
  const std::string changed = difference(first.results, second.results, scenario.changeable);
  if (!first.outcome.ended || first.outcome.signal != 0 || !second.outcome.ended)
    throw std::runtime_error(scenario.name + ": does not end properly when nothing is wrong: " + first.outcome.error);
  if (!changed.empty() || first.outcome.output != second.outcome.output ||
      first.outcome.status != second.outcome.status)
    throw std::runtime_error(scenario.name + ": two undisturbed runs differ:" + changed + second.outcome.error);
  if (equipment.supervision && !first.outcome.supervisor_saw_start)
    throw std::runtime_error(scenario.name + ": the program did not set SIGPIPE, by which its start is known");
  return {.status = first.outcome.status,
          .output = first.outcome.output,
          .error = first.outcome.error,
          .results = first.results,
          .calls = first.outcome.calls,
          .allocations = second.allocations,
          .peak_address_space = first.outcome.peak_address_space,
          .seconds = first.outcome.seconds,
          .processor_seconds = bare.processor_seconds,
          .began_after = bare.began_after};
}

}  // namespace dragoman::faults
