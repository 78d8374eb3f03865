#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/pipeline/model.h>
#include <dragoman/pipeline/translator.h>
#include <dragoman/server/translation_service.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::server {

/// A translation by one model.
struct Leg {
  pipeline::Translator* translator = nullptr;
  pipeline::LanguagePair languages{};  ///< as codes of the model's table; empty if it has none
  std::string source{};                ///< the offered code
  std::string target{};
  std::string strategy{};  ///< the default one of the model
  std::int32_t beam_size = 1;
  std::shared_ptr<const tokenizer::Tokenizer> source_tokenizer{};
};

/// The models of a service, and the pairs that they offer. Immutable and thread-safe. It must not be destroyed by a
/// worker of one of its models.
class ModelSet {
 public:
  /// Loads the models.
  explicit ModelSet(const ServiceOptions& options);

  const std::vector<Language>& languages() const noexcept { return languages_; }
  std::optional<std::string> find_language(std::string_view code) const;
  bool offers(const std::string& source, const std::string& target) const;
  /// Returns the models through which texts in `source` become texts in `target`: none if both are the same language,
  /// two for a pivot. Error{kUnsupported} if the pair is not offered.
  std::vector<Leg> route(const std::string& source, const std::string& target) const;
  std::vector<ModelInfo> models() const;
  std::vector<std::string> decoders() const;
  /// Throws Error{kBadInput} unless requests may choose this decoder. "": the model's own.
  void require_decoder(const std::string& name) const;

 private:
  struct Served {
    pipeline::Model model;
    std::unique_ptr<pipeline::Translator> translator;
    /// From offered codes to codes of the model's table; to "" if it does not have the language.
    std::map<std::string, std::string> sources;
    std::map<std::string, std::string> targets;
    std::string strategy;
    std::int32_t beam_size;
  };

  static Served load(const ServedModel& served, const ServiceOptions& options);
  const Served* find(const std::string& source, const std::string& target) const;
  std::optional<Leg> leg(const std::string& source, const std::string& target) const;
  void list_languages();

  std::string pivot_;
  std::vector<Served> served_;
  std::vector<Language> languages_;
  std::map<std::string, std::string> keys_;  ///< offered codes by key
};

}  // namespace dragoman::server
