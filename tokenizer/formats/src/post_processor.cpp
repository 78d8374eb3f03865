#include "composed/composed_tokenizer.h"
#include "dragoman/tokenizer/tokenizer_files.h"

#include <nlohmann/json.hpp>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::Quoted;

[[noreturn]] void unsupported(std::string_view what) {
  core::fail(ErrorCode::kUnsupported, "the post-processor of the tokenizer {}; name the tokens that surround a text",
             what);
}

/// Returns whether a step of a template is a text; otherwise it is a special token.
bool is_text(const core::Json& step) {
  return step.is_object() && step.contains("Sequence");
}

class PostProcessor {
 public:
  explicit PostProcessor(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  SurroundingIds read(const core::Json& part) {
    add(part);
    return std::move(ids_);
  }

 private:
  void add(const core::Json& part) {
    const std::string type = part.value("type", "");
    if (type == "Sequence") {
      for (const core::Json& each : part.at("processors")) add(each);
    } else if (type == "TemplateProcessing") {
      add_template(part);
    } else if (type == "BertProcessing" || type == "RobertaProcessing") {
      put_in_front({id_of(part.at("cls"))});
      put_behind({id_of(part.at("sep"))});
    } else if (type != "ByteLevel") {  // ByteLevel only moves offsets
      unsupported("is of the type " + type);
    }
  }

  void add_template(const core::Json& part) {
    std::vector<std::int32_t> in_front, behind;
    bool text = false;
    for (const core::Json& step : part.at("single")) {
      if (is_text(step) && text) unsupported("repeats the text");
      if (is_text(step)) {
        text = true;
        continue;
      }
      const std::string& token = step.at("SpecialToken").at("id").get_ref<const std::string&>();
      const core::Json& ids = part.at("special_tokens").at(token).at("ids");
      require_few(in_front.size() + behind.size() + ids.size());
      for (const core::Json& id : ids) (text ? behind : in_front).push_back(checked(id.get<std::int32_t>()));
    }
    if (!text) unsupported("leaves the text out");
    put_in_front(in_front);
    put_behind(behind);
  }

  /// Reads ["</s>", 2].
  std::int32_t id_of(const core::Json& token) const { return checked(token.at(1).get<std::int32_t>()); }
  std::int32_t checked(std::int32_t id) const {
    if (id < 0 || id >= tokenizer_.size()) unsupported(fmt::format("adds the id {}, which no piece has", id));
    return id;
  }

  /// A template may name a token any number of times, and the token may stand for any number of ids.
  void require_few(std::size_t more) const {
    constexpr std::size_t kMaxIds = 1024;
    if (ids_.in_front.size() + ids_.behind.size() + more > kMaxIds)
      unsupported(fmt::format("adds more than {} ids to a text", kMaxIds));
  }
  void put_in_front(const std::vector<std::int32_t>& ids) {
    require_few(ids.size());
    ids_.in_front.insert(ids_.in_front.begin(), ids.begin(), ids.end());
  }
  void put_behind(const std::vector<std::int32_t>& ids) {
    require_few(ids.size());
    ids_.behind.insert(ids_.behind.end(), ids.begin(), ids.end());
  }

  const Tokenizer& tokenizer_;
  SurroundingIds ids_;
};

std::string post_processor_of(const Tokenizer& tokenizer) {
  if (const auto* merges = dynamic_cast<const BpeTokenizer*>(&tokenizer)) return merges->definition().post_processor;
  if (const auto* composed = dynamic_cast<const ComposedTokenizer*>(&tokenizer)) return composed->post_processor();
  return {};
}

}  // namespace

std::optional<SurroundingIds> ids_of_post_processor(const Tokenizer& tokenizer) {
  const std::string text = post_processor_of(tokenizer);
  if (text.empty()) return std::nullopt;
  try {
    return PostProcessor(tokenizer).read(core::parse_json(text, "post_processor", core::EqualKeys::kLastCounts));
  } catch (const nlohmann::json::exception& error) {
    core::fail(ErrorCode::kBadInput, "the post-processor of the tokenizer lacks a part or has one of another type: {}",
               error.what());
  }
}

}  // namespace dragoman::tokenizer
