#include "error_message.h"
#include "golden_cases.h"
#include "test_data.h"

#include <sys/stat.h>

#include <cmath>

#include <gmock/gmock.h>

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/decoding/model_defaults.h>
#include <dragoman/formats/languages.h>
#include <dragoman/formats/safetensors.h>
#include <dragoman/pipeline/scorer.h>
#include <dragoman/pipeline/translator.h>
#include <dragoman/plugins/import_model.h>
#include <dragoman/plugins/load_model.h>

namespace dragoman::imports {
namespace {

using core::Json;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

/// What golden/make_huggingface.py made: a folder of transformers for each family, and in expected.json what
/// transformers makes of some lines with it.
std::filesystem::path family_folder(const std::string& family) {
  return testing::golden_file("huggingface") / family;
}

/// mBART-50's folder does not say which languages are meant.
pipeline::LanguagePair languages_of(const std::string& family) {
  if (family == "mbart50") return {"en_XX", "de_DE"};
  if (family == "madlad") return {"", "de"};
  return {};
}

/// T5's first models are told in words what to do.
constexpr const char* kTask = "translation_en_to_de";
constexpr const char* kPrefix = "translate English to German: ";
Json options_of_import(const std::string& family) {
  return family == "t5" ? Json{{"task", kTask}} : Json::object();
}

/// A copy of a family's folder, to be changed, and what is imported of it.
class ForeignFolder {
 public:
  explicit ForeignFolder(const std::string& family) {
    std::filesystem::copy(family_folder(family), path());
    std::filesystem::remove(path() / "expected.json");
  }

  std::filesystem::path path() const { return folder_ / "foreign"; }
  std::filesystem::path imported() const { return folder_ / "imported"; }
  /// Sets keys of a JSON file.
  void change(const std::string& file, const Json& keys) const {
    Json json = core::load_json((path() / file).string());
    json.update(keys);
    core::write_file(path() / file, json.dump());
  }
  void import() { plugins::import_model(path(), imported(), host_); }
  std::string error_of_import() {
    return error_of([&] { import(); });
  }
  plugins::Host& host() { return host_; }

 private:
  testing::TemporaryFolder folder_;
  plugins::Host host_;
};

class HuggingFaceFamily : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    expected_ = core::load_json((family_folder(GetParam()) / "expected.json").string())["lines"];
    plugins::import_model(family_folder(GetParam()), imported_, host_, {.options = options_of_import(GetParam())});
  }

  static std::vector<std::int32_t> ids(const Json& list) { return list.get<std::vector<std::int32_t>>(); }

  /// T5's tokenizer in transformers takes blanks off both ends of what it decodes.
  static std::string without_last_blanks(std::string text) {
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }

  /// A hypothesis as transformers writes it: the decoder's first input, the tokens, and the end if there is one.
  static std::vector<std::int32_t> without_frame(std::vector<std::int32_t> tokens, std::int32_t end) {
    tokens.erase(tokens.begin());
    if (!tokens.empty() && tokens.back() == end) tokens.pop_back();
    return tokens;
  }

  pipeline::TranslateOptions options() const {
    pipeline::TranslateOptions options;
    options.languages = languages_of(GetParam());
    options.details = true;
    return options;
  }

  /// The tokens of each line's translation.
  std::vector<std::vector<std::int32_t>> translate(const std::filesystem::path& model,
                                                   const pipeline::TranslateOptions& options,
                                                   std::vector<double>* scores = nullptr,
                                                   std::vector<std::string>* texts = nullptr) {
    pipeline::Translator translator(pipeline::Model(model, host_, {.threads = 1}), options);
    const auto loaded = plugins::load_model(model, host_);
    std::vector<std::vector<std::int32_t>> result;
    for (const Json& line : expected_) {
      pipeline::Record record;
      record.text = line["source"].get<std::string>();
      // No import has been told of the task.
      if (GetParam() == "t5" && model != imported_) record.text.insert(0, kPrefix);
      const auto translated = translator.translate(std::vector<pipeline::Record>{record});
      EXPECT_FALSE(translated.front().failed()) << translated.front().message;
      std::vector<std::int32_t> tokens;
      for (const Json& piece : translated.front().fields["tokens"])
        tokens.push_back(*loaded.target_tokenizer->id(piece.get<std::string>()));
      result.push_back(std::move(tokens));
      if (scores != nullptr) scores->push_back(translated.front().fields["score"].get<double>());
      if (texts != nullptr) texts->push_back(translated.front().text);
    }
    return result;
  }

  plugins::Host host_;
  testing::TemporaryFolder folder_;
  std::filesystem::path imported_ = folder_ / "imported";
  Json expected_;
};

TEST_P(HuggingFaceFamily, HasTheLogitsOfTransformers) {
  const auto spec = plugins::load_model(imported_, host_).config.sequences;
  pipeline::Scorer scorer(pipeline::Model(imported_, host_, {.threads = 1}), {.languages = languages_of(GetParam())});
  LargestError largest;
  for (const Json& line : expected_) {
    pipeline::LinePair pair{line["source"].get<std::string>(), line["target"].get<std::string>(), "line"};
    const pipeline::LineScore score = scorer.score({pair}).front();
    const auto& wanted = line["log_probabilities"];
    ASSERT_EQ(score.token_log_probabilities.size(), wanted.size()) << pair.target;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_NEAR(score.token_log_probabilities[i], wanted[i].get<double>(), 1e-4) << pair.target << ' ' << i;
      largest.add(score.token_log_probabilities[i], wanted[i].get<double>());
    }
  }
  EXPECT_EQ(spec.end, core::load_json((family_folder(GetParam()) / "config.json").string())["eos_token_id"]);
}

TEST_P(HuggingFaceFamily, TranslatesAsTransformersDoes) {
  const formats::ModelConfig config = plugins::load_config(imported_, host_);
  const std::int32_t end = config.sequences.end;
  const std::int32_t unknown = config.sequences.unknown;
  const bool suppresses = config.decoding.contains("suppress_tokens");
  int lines = 0;
  int equal_greedy = 0;
  int equal_beam = 0;
  for (const std::filesystem::path& model : {imported_, family_folder(GetParam())}) {
    std::vector<double> scores;
    std::vector<std::string> texts;
    const auto beam = translate(model, options(), &scores, &texts);
    pipeline::TranslateOptions greedy_options = options();
    const decoding::Search own =
        decoding::read_model_defaults(plugins::load_config(model, host_).decoding, model.string());
    greedy_options.ignore_model_defaults = true;
    greedy_options.search = {
        .decoder = "greedy", .maximum_length = own.maximum_length, .suppress_tokens = own.suppress_tokens};
    const auto greedy = translate(model, greedy_options);
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      const Json& line = expected_[i];
      const auto wanted = without_frame(ids(line["greedy"]), end);
      EXPECT_EQ(std::vector(greedy[i].begin(), greedy[i].begin() + std::min(greedy[i].size(), wanted.size())),
                std::vector(wanted.begin(), wanted.begin() + std::min(greedy[i].size(), wanted.size())))
          << line["source"];
      EXPECT_NEAR(static_cast<double>(greedy[i].size()), static_cast<double>(wanted.size()),
                  wanted.size() >= 62 ? 1 : 0);
      if (model == imported_) {
        ++lines;
        equal_greedy += greedy[i] == wanted ? 1 : 0;
        equal_beam += beam[i] == without_frame(ids(line["beam"]), end) ? 1 : 0;
      }
      // Where transformers comes to the longest that is allowed, it scores what has not ended as if it had.
      if (line["beam"].size() >= 64) continue;
      EXPECT_EQ(beam[i], without_frame(ids(line["beam"]), end)) << line["source"];
      // Marian's folders suppress the padding, whose probability goes to the other tokens here.
      EXPECT_NEAR(scores[i], line["beam_score"].get<double>(), suppresses ? 5e-3 : 2e-5) << line["source"];
      // Of an unknown piece SentencePiece writes its sign and transformers nothing; and of M2M-100's tags, which are
      // special, it writes that of the target.
      if (GetParam() != "m2m100" && std::ranges::find(beam[i], unknown) == beam[i].end()) {
        EXPECT_EQ(without_last_blanks(texts[i]), without_last_blanks(line["translation"].get<std::string>()));
      }
    }
  }
  RecordProperty("lines", lines);
  RecordProperty("equal_greedy", equal_greedy);
  RecordProperty("equal_beam", equal_beam);
}

INSTANTIATE_TEST_SUITE_P(Families, HuggingFaceFamily,
                         ::testing::Values("marian", "marian-separate", "pegasus", "bart", "mbart50", "m2m100", "nllb",
                                           "t5", "flan-t5", "mt5", "umt5", "madlad"),
                         [](const auto& family) {
                           std::string name = family.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(HuggingFaceImporter, MakesFoldersThatSayWhatTheFolderOfTransformersSays) {
  ForeignFolder folder("bart");
  folder.import();
  const formats::ModelConfig config = plugins::load_config(folder.imported(), folder.host());
  EXPECT_EQ(config.decoding,
            Json({{"beam_size", 4}, {"length_penalty", "transformers"}, {"alpha", 0.7}, {"maximum_length", 62}}));
  EXPECT_THAT(config.languages.always.source_prefix, ElementsAre(0));
  EXPECT_THAT(config.languages.always.target_prefix, ElementsAre(0));
  EXPECT_EQ(config.sequences.decoder_start, 2);
  EXPECT_EQ(config.model["norm"], "post");
  EXPECT_EQ(config.model["embedding_norm"], true);
  EXPECT_THAT(core::read_file(folder.imported() / "README.md"), HasSubstr("model_type bart"));
}

TEST(HuggingFaceImporter, PutsTheTagsOfLanguagesWhereTheModelWantsThem) {
  ForeignFolder folder("nllb");
  const auto table = [&] { return plugins::load_config(folder.path(), folder.host()).languages; };
  const std::int32_t english = table().find("eng_Latn")->source_prefix.front();
  EXPECT_THAT(table().tags("eng_Latn", "fra_Latn").source_prefix, ElementsAre(english));
  EXPECT_EQ(table().tags("", "fra_Latn").target_prefix, table().find("fra_Latn")->target_prefix);
  EXPECT_EQ(table().source_language, "eng_Latn");
  EXPECT_EQ(table().languages.size(), 202U);
  EXPECT_THAT(error_of([&] { table().tags("eng_Latn", "fra_Latm"); }), HasSubstr("it has fra_Latn"));
  EXPECT_THAT(error_of([&] { table().tags("eng_Latn", "deu"); }), HasSubstr("deu_Latn"));
  folder.change("tokenizer_config.json", {{"legacy_behaviour", true}});
  EXPECT_THAT(table().tags("eng_Latn", "fra_Latn").source_prefix, ElementsAre());
  EXPECT_THAT(table().tags("eng_Latn", "fra_Latn").source_suffix, ElementsAre(english));
}

TEST(HuggingFaceImporter, NamesTheKeyThatItCannotFollow) {
  const auto error_with = [](const char* family, const Json& keys) {
    ForeignFolder folder(family);
    folder.change("config.json", keys);
    return folder.error_of_import();
  };
  EXPECT_THAT(error_with("bart", {{"activation_function", "gelu_new"}}),
              HasSubstr("config.json: activation_function: is 'gelu_new'"));
  EXPECT_THAT(error_with("bart", {{"normalize_before", true}}), HasSubstr("normalize_before: is true"));
  EXPECT_THAT(error_with("marian", {{"decoder_ffn_dim", 20}}),
              HasSubstr("decoder_ffn_dim: is 20 and encoder_ffn_dim is"));
  EXPECT_THAT(error_with("nllb", {{"tie_encoder_decoder", true}}), HasSubstr("tie_encoder_decoder"));
  EXPECT_THAT(error_with("nllb", {{"quantization_config", {{"bits", 4}}}}), HasSubstr("quantization_config"));
  EXPECT_THAT(error_with("nllb", {{"vocab_size", 200}}),
              HasSubstr("vocab_size: is 200, and d_model 12, but the table of embeddings is [286, 12]"));
  EXPECT_THAT(error_with("bart", {{"encoder_layers", 3}}),
              HasSubstr("there is no tensor 'model.encoder.layers.2.self_attn_layer_norm.weight'"));
  EXPECT_THAT(error_with("bart", {{"encoder_layers", 1}}), HasSubstr("tensors are of nothing that the configuration"));
  EXPECT_THAT(error_with("bart", {{"encoder_ffn_dim", 20}, {"decoder_ffn_dim", 20}}),
              HasSubstr("is of the shape [16, 12], the configuration says [20, 12]"));
  EXPECT_THAT(error_with("bart", {{"forced_bos_token_id", 2}}), ::testing::Not(HasSubstr("internal")));
}

/// The mean difference between the log probabilities that a computation gives and those that transformers does, of
/// lines that the model has learned.
double mean_difference(const std::string& family, tensor::ComputeChoice compute, plugins::Host& host) {
  testing::TemporaryFolder folder;
  plugins::import_model(family_folder(family), folder / "imported", host);
  pipeline::Scorer scorer(pipeline::Model(folder / "imported", host, {.threads = 1, .compute = compute}),
                          {.languages = languages_of(family)});
  double sum = 0;
  std::size_t count = 0;
  const Json expected = core::load_json((family_folder(family) / "expected.json").string())["lines"];
  constexpr std::size_t kLearned = 12;
  for (std::size_t l = 0; l < kLearned; ++l) {
    const Json& line = expected[l];
    const pipeline::LineScore score =
        scorer.score({{line["source"].get<std::string>(), line["target"].get<std::string>(), "line"}}).front();
    for (std::size_t i = 0; i < score.token_log_probabilities.size(); ++i)
      sum += std::abs(score.token_log_probabilities[i] - line["log_probabilities"][i].get<double>());
    count += score.token_log_probabilities.size();
  }
  return sum / static_cast<double>(count);
}

TEST(T5Importer, ComputesInFewBitsWithinBounds) {
  plugins::Host host;
  for (const char* family : {"flan-t5", "mt5", "umt5", "madlad"}) {
    EXPECT_LT(mean_difference(family, tensor::ComputeChoice::kF32, host), 1e-5) << family;
    EXPECT_LT(mean_difference(family, tensor::ComputeChoice::kBF16, host), 0.01) << family;
    // Activations have 7 bits on some processors.
    EXPECT_LT(mean_difference(family, tensor::ComputeChoice::kI8, host), 0.04) << family;
  }
}

TEST(T5Importer, MadladsTagsAreLanguages) {
  ForeignFolder folder("madlad");
  const formats::LanguageTable table = plugins::load_config(folder.path(), folder.host()).languages;
  std::vector<std::string> codes;
  for (const auto& [code, tags] : table.languages) codes.push_back(code);
  EXPECT_THAT(codes, ElementsAre("de", "en", "zh_Hant"));
  // What SentencePiece makes of "<2de> ...": the blank that every text begins with, and the tag.
  const std::vector<std::int32_t> tag = table.tags("", "de").source_prefix;
  ASSERT_EQ(tag.size(), 2U);
  EXPECT_EQ(*plugins::load_model(folder.path(), folder.host()).source_tokenizer->id("<2de>"), tag.back());
  EXPECT_THAT(error_of([&] { table.tags("", ""); }), HasSubstr("target_language, a code"));
}

TEST(T5Importer, ATaskSaysWhatStandsInFrontAndHowToSearch) {
  ForeignFolder folder("t5");
  const Json task = {{"prefix", kPrefix}, {"num_beams", 7}, {"early_stopping", true}};
  folder.change("config.json", {{"task_specific_params", {{"translation_en_to_de", task}}}});
  const auto import = [&](const Json& options) {
    testing::TemporaryFolder scratch;
    plugins::import_model(folder.path(), scratch / "imported", folder.host(), {.options = options});
    return plugins::load_config(scratch / "imported", folder.host());
  };
  const formats::ModelConfig told = import({{"task", kTask}});
  EXPECT_EQ(told.decoding["beam_size"], 7);
  EXPECT_EQ(told.decoding["length_penalty"], "fairseq");
  const formats::ModelConfig said = import({{"source_prefix", kPrefix}});
  EXPECT_EQ(said.decoding["beam_size"], 4);
  EXPECT_EQ(said.languages.always.source_prefix, told.languages.always.source_prefix);
  EXPECT_TRUE(import(Json::object()).languages.empty());
  // The first ids of a golden line, which has the prefix.
  const Json first = core::load_json((family_folder("t5") / "expected.json").string())["lines"][0]["source_ids"];
  const auto& prefix = told.languages.always.source_prefix;
  EXPECT_EQ(std::vector<std::int32_t>(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(prefix.size())),
            prefix);
  EXPECT_THAT(error_of([&] {
                import({{ "task", "summarization" }});
              }),
              HasSubstr("has no task 'summarization'; it has translation_en_to_de"));
}

TEST(T5Importer, NamesTheKeyThatItCannotFollow) {
  const auto error_with = [](const char* family, const Json& keys) {
    ForeignFolder folder(family);
    folder.change("config.json", keys);
    return folder.error_of_import();
  };
  EXPECT_THAT(error_with("t5", {{"feed_forward_proj", "gated-tanh"}}),
              HasSubstr("config.json: feed_forward_proj: is 'gated-tanh'"));
  EXPECT_THAT(error_with("t5", {{"vocab_size", 90}}),
              HasSubstr("vocab_size: is 90, and d_model 12, but the table of embeddings is [87, 12]"));
  EXPECT_THAT(error_with("t5", {{"num_layers", 3}}), HasSubstr("there is no tensor 'encoder.block.2.layer.0"));
  EXPECT_THAT(error_with("mt5", {{"num_decoder_layers", 2}}), HasSubstr("tensors are of nothing"));
  EXPECT_THAT(error_with("t5", {{"d_kv", 6}}), HasSubstr("is of the shape [10, 12], the configuration says [12, 12]"));
  EXPECT_THAT(error_with("flan-t5", {{"eos_token_id", 3}}), HasSubstr("is no special token"));
  EXPECT_THAT(error_with("t5", {{"dropout_rate", 1}}), HasSubstr("dropout_rate"));
  EXPECT_THAT(error_with("t5", {{"relative_attention_max_distance", 4}}), HasSubstr("relative_distance"));
  ForeignFolder folder("t5");
  std::filesystem::remove(folder.path() / "spiece.model");
  EXPECT_THAT(folder.error_of_import(), HasSubstr("neither spiece.model nor tokenizer.json"));
}

TEST(T5Importer, PlacesSentinelsThatNoFileLists) {
  ForeignFolder folder("t5");
  std::filesystem::remove(folder.path() / "added_tokens.json");
  folder.change("tokenizer_config.json", {{"added_tokens_decoder", nullptr}, {"extra_ids", 4}});
  const auto loaded = plugins::load_model(folder.path(), folder.host());
  EXPECT_EQ(loaded.source_tokenizer->piece(83), "<extra_id_0>");
  EXPECT_EQ(loaded.source_tokenizer->piece(80), "<extra_id_3>");
  EXPECT_EQ(loaded.source_tokenizer->size(), 87);
  EXPECT_TRUE(loaded.source_tokenizer->is_special(80));
}

/// What an import of the family says it cannot follow, with these keys in generation_config.json.
std::vector<std::string> warnings_with(const char* family, const Json& keys) {
  ForeignFolder folder(family);
  core::write_file(folder.path() / "generation_config.json", keys.dump());
  std::vector<std::string> warnings;
  plugins::import_model(folder.path(), folder.imported(), folder.host(),
                        {.log = [&](core::LogLevel level, std::string_view message) {
                          EXPECT_EQ(level, core::LogLevel::kWarning);
                          warnings.emplace_back(message);
                        }});
  return warnings;
}

TEST(HuggingFaceImporter, FollowsWhatTheFolderSaysOfItsSearchOrSaysThatItDoesNot) {
  const auto decoding_with = [](const Json& keys) {
    ForeignFolder folder("bart");
    core::write_file(folder.path() / "generation_config.json", keys.dump());
    return plugins::load_config(folder.path(), folder.host());
  };
  const auto config = decoding_with({{"max_new_tokens", 20}, {"max_length", 64}, {"decoder_start_token_id", 3}});
  EXPECT_EQ(config.decoding["maximum_length"], 19);
  EXPECT_EQ(config.sequences.decoder_start, 3);
  EXPECT_THAT(decoding_with({{"forced_bos_token_id", {5}}}).languages.always.target_prefix, ElementsAre(5));
  EXPECT_THAT(warnings_with("bart", {{"num_beams", 4}, {"do_sample", false}, {"eos_token_id", 2}}), ElementsAre());
  EXPECT_THAT(warnings_with("bart", {{"eos_token_id", {2, 5}},
                                     {"begin_suppress_tokens", {3}},
                                     {"do_sample", true},
                                     {"num_beams", 2},
                                     {"early_stopping", "never"},
                                     {"forced_bos_token_id", {3, 4}}}),
              ::testing::UnorderedElementsAre(
                  HasSubstr("generation_config.json: eos_token_id: has '5'; translations end with 2 alone"),
                  HasSubstr("begin_suppress_tokens: is '[3]'; is not followed"), HasSubstr("do_sample: is 'true'"),
                  HasSubstr("early_stopping: is '\"never\"'"), HasSubstr("forced_bos_token_id: is a list")));
  const auto refusal = [](const Json& keys) {
    ForeignFolder folder("bart");
    core::write_file(folder.path() / "generation_config.json", keys.dump());
    return folder.error_of_import();
  };
  EXPECT_THAT(refusal({{"bad_words_ids", {{300}}}}),
              HasSubstr("generation_config.json: bad_words_ids: has 300, which is no id of the 300 pieces"));
  EXPECT_THAT(refusal({{"suppress_tokens", {-1}}}), HasSubstr("suppress_tokens: has -1"));
  EXPECT_THAT(refusal({{"repetition_penalty", 0}}), HasSubstr("repetition_penalty: is 0; it must be in 0.001 .. 1000"));
  EXPECT_THAT(refusal({{"num_beams", 1e99}}), HasSubstr("num_beams: is 1e+99; it must be a whole number in 1 .. 128"));
}

TEST(HuggingFaceImporter, RefusesFilesThatWouldBeIgnoredInSilence) {
  ForeignFolder folder("bart");
  std::filesystem::remove(folder.path() / "generation_config.json");
  std::filesystem::create_symlink("nowhere", folder.path() / "generation_config.json");
  EXPECT_THAT(folder.error_of_import(),
              HasSubstr("generation_config.json: is no file, but a folder, a pipe, or a link"));
  std::filesystem::remove(folder.path() / "generation_config.json");
  std::string merges = core::read_file(folder.path() / "merges.txt");
  merges.resize(merges.rfind('\n', merges.size() - 2) + 1);
  core::write_file(folder.path() / "merges.txt", merges);
  EXPECT_THAT(folder.error_of_import(), HasSubstr("merges.txt: no merge makes the piece"));
}

/// SentencePiece's own ids are none of the model's, so a lost list of ids must not be made up for.
TEST(HuggingFaceImporter, RefusesFoldersWhoseListOfIdsIsLost) {
  ForeignFolder joint("marian");
  std::filesystem::remove(joint.path() / "vocab.json");
  EXPECT_THAT(joint.error_of_import(), HasSubstr("vocab.json: there is no such file"));
  for (const char* list : {"vocab.json", "target_vocab.json"}) {
    ForeignFolder separate("marian-separate");
    std::filesystem::remove(separate.path() / list);
    EXPECT_THAT(separate.error_of_import(), HasSubstr(std::string("/") + list + ": "));
  }
}

/// Nobody writes to it, so whoever opened it for reading would wait for ever.
TEST(HuggingFaceImporter, APipeInThePlaceOfAnyFileIsRefusedAtOnce) {
  for (const char* family : {"bart", "t5", "mbart50"}) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(ForeignFolder(family).path()))
      names.push_back(entry.path().filename());
    int refused = 0;
    for (const std::string& name : names) {
      ForeignFolder folder(family);
      std::filesystem::remove(folder.path() / name);
      ASSERT_EQ(::mkfifo((folder.path() / name).c_str(), 0600), 0);
      if (folder.error_of_import() != "no error") ++refused;  // the others are not read at all
    }
    EXPECT_GE(refused, 3) << family;
  }
}

TEST(HuggingFaceImporter, SaysWhyAFolderIsNone) {
  ForeignFolder folder("bart");
  core::write_file(folder.path() / "config.json", "");
  EXPECT_THAT(folder.error_of_import(), HasSubstr("config.json: not valid JSON"));
  core::write_file(folder.path() / "config.json", R"({"model_type": "gpt2"})");
  EXPECT_THAT(folder.error_of_import(),
              HasSubstr("model_type: is 'gpt2'; models of the types marian, pegasus, bart, "));
  ForeignFolder pointers("bart");
  core::write_file(pointers.path() / "model.safetensors",
                   "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n");
  EXPECT_THAT(pointers.error_of_import(),
              HasSubstr("model.safetensors: is a Git LFS pointer, not the file itself; fetch that in its repository"));
}

TEST(HuggingFaceImporter, ComparesShapesBeforeMemoryIsTaken) {
  ForeignFolder folder("bart");
  // 26 GB, were it allocated.
  folder.change("config.json", {{"encoder_ffn_dim", 1 << 18}, {"decoder_ffn_dim", 1 << 18}, {"encoder_layers", 1024}});
  EXPECT_THAT(error_of([&] { plugins::load_model(folder.path(), folder.host()); }),
              HasSubstr("is of the shape [16, 12], the configuration says [262144, 12]"));
}

TEST(T5Importer, ComparesShapesBeforeMemoryIsTaken) {
  ForeignFolder folder("t5");
  // 50 GB, were it allocated.
  folder.change("config.json", {{"d_ff", 1 << 18}, {"num_layers", 1024}, {"num_decoder_layers", 1024}});
  const Json none = Json::object();
  core::OptionReader own(none, "options");
  const auto foreign = folder.host().registry().model_importers().get("huggingface").make(folder.path(), own);
  const formats::ModelConfig& config = foreign->config();
  const auto model = folder.host().registry().models().get(config.model_type).make(config.sequences, config.model);
  EXPECT_THAT(error_of([&] { foreign->check(model->parameters()); }),
              HasSubstr("is of the shape [16, 12], the configuration says [262144, 12]"));
  // Whatever name the table has, and whatever stands in one tensor here and in several there.
  for (const char* family : {"t5", "flan-t5", "mt5", "umt5", "madlad"}) {
    ForeignFolder sound(family);
    EXPECT_EQ(sound.error_of_import(), "no error") << family;
  }
}

TEST(T5Importer, RefusesMoreTagsOfLanguagesThanAModelMayHave) {
  // "<2aaa>", "<2aab>", ...
  constexpr int kTags = formats::LanguageTable::kMaxLanguages + 1, kPieces = 80;
  const auto letter = [](int of) { return static_cast<char>('a' + of % 26); };
  Json tags = Json::object();
  for (int i = 0; i < kTags; ++i)
    tags[std::string("<2") + letter(i / 676) + letter(i / 26) + letter(i) + ">"] = kPieces + i;
  ForeignFolder folder("t5");
  core::write_file(folder.path() / "added_tokens.json", tags.dump());
  folder.change("tokenizer_config.json", {{"added_tokens_decoder", nullptr}});
  const std::int64_t width = 12, size = kPieces + kTags;
  folder.change("config.json", {{"vocab_size", size}});
  std::vector<float> table(static_cast<std::size_t>(size * width));
  formats::SafetensorsWriter writer(folder.path() / "model.safetensors",
                                    {{.name = "shared.weight", .shape = {size, width}}}, {});
  writer.write({table.data(), size, width, width, tensor::DType::kF32, tensor::Device::kCpu});
  writer.finish();
  EXPECT_THAT(error_of([&] { plugins::load_config(folder.path(), folder.host()); }),
              HasSubstr("its tokenizer has tags of more than 10000 languages"));
}

TEST(HuggingFaceImporter, StaysInTheFolderWhateverAnIndexSays) {
  ForeignFolder folder("m2m100");
  Json index = core::load_json((folder.path() / "model.safetensors.index.json").string());
  index["weight_map"]["model.shared.weight"] = "../elsewhere.safetensors";
  core::write_file(folder.path() / "model.safetensors.index.json", index.dump());
  EXPECT_THAT(folder.error_of_import(), HasSubstr("must be the name of a file in the folder"));
}

TEST(HuggingFaceImporter, RefusesWeightsThatAreNotNumbers) {
  ForeignFolder folder("bart");
  std::string weights = core::read_file(folder.path() / "model.safetensors");
  weights.replace(weights.size() - 4, 4, std::string("\0\0\xC0\x7F", 4));
  core::write_file(folder.path() / "model.safetensors", weights);
  EXPECT_THAT(folder.error_of_import(), HasSubstr("a model's weights are finite numbers"));
}

}  // namespace
}  // namespace dragoman::imports
