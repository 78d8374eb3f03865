#pragma once

#include "exchange.h"
#include "test_data.h"

#include <string>

#include <gtest/gtest.h>

#include <dragoman/pipeline/translator.h>
#include <dragoman/server/dialects.h>

namespace dragoman::server {

/// The dialects over the bundled model, as de-en and de-pt-BR.
class Served : public ::testing::Test {
 protected:
  static constexpr const char* kDog = "Ein Hund läuft über das Gras.";
  static constexpr const char* kDogForm = "Ein+Hund+l%C3%A4uft+%C3%BCber+das+Gras.";

  static std::filesystem::path bundled() { return dragoman::testing::in_source("examples/multi30k/model"); }
  static std::string of_library(const std::string& sentence) {
    static pipeline::Translator translator{pipeline::Model(bundled(), {.threads = 1})};
    return translator.translate(sentence);
  }
  static std::vector<LanguageGuess> detect(std::string_view text, std::size_t most) {
    std::vector<LanguageGuess> guesses;
    if (text.starts_with("Ein")) guesses = {{"de", 0.9}, {"nl", 0.05}, {"en", 0.03}, {"da", 0.02}};
    if (text.starts_with("A ")) guesses = {{"en", 1}};
    if (guesses.size() > most) guesses.resize(most);
    return guesses;
  }
  static ServiceOptions service_options() {
    ServiceOptions made;
    made.models = {{"de", "en", bundled()}, {"de", "pt-BR", bundled()}};
    made.model.threads = 1;
    made.detector = detect;
    return made;
  }
  /// Replaces the routes by those with other options.
  void serve(const DialectOptions& options) {
    router_ = {};
    add_dialects(router_, service_, options);
  }
  void SetUp() override { serve({}); }

  http::Response ask(http::Request request) const {
    request.character_limit = character_limit_;
    return server::ask(router_, std::move(request));
  }
  http::Response post(const std::string& path, const std::string& body, const std::string& type = kForm) const {
    return ask(request_of("POST", path, body, type));
  }
  http::Response get(const std::string& path) const { return ask(request_of("GET", path)); }
  http::Response post_json(const std::string& path, const core::Json& body) const {
    return post(path, body.dump(), kJson);
  }

  TranslationService service_{service_options()};
  http::Router router_;
  std::size_t character_limit_ = 0;  ///< of the caller
};

}  // namespace dragoman::server
