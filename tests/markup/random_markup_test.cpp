#include "toy_translator.h"

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <regex>

#include <gtest/gtest.h>

namespace dragoman::markup {
namespace {

/// Random well-formed documents, in which every element has a number.
class Tree {
 public:
  Tree(std::uint32_t seed, bool opaque) : random_(seed), opaque_(opaque) {}

  std::string html() {
    std::string out;
    add_content(out, 0, true);
    return out;
  }

 private:
  std::size_t below(std::size_t bound) { return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_); }
  const char* space() { return std::array{"", " ", " ", "\n  "}[below(4)]; }

  void add_content(std::string& out, int depth, bool blocks) {
    const std::size_t parts = below(6);
    for (std::size_t i = 0; i < parts; ++i) {
      out += space();
      const std::size_t kind = below(10);
      if (kind < 4 || depth > 5)
        out += std::array{
            "Hund", "K&auml;se", "rot, gr&#252;n", "a &lt; b &amp; c", "Ja!", "12", "\"Nein\".", "日本"}[below(8)];
      else if (kind < 8)
        add_element(out, std::array{"b", "I", "span", "x:y"}[below(4)], depth, blocks && below(4) == 0);
      else if (kind == 8 && blocks)
        add_element(out, std::array{"div", "P", "li", "td"}[below(4)], depth, true);
      else
        add_point(out);
    }
    out += space();
  }
  void add_element(std::string& out, const std::string& name, int depth, bool blocks) {
    out += "<" + name + " id=\"" + std::to_string(++elements_) + "\">";
    add_content(out, depth + 1, blocks);
    out += "</" + name + ">";
  }
  void add_point(std::string& out) {
    const std::string id = std::to_string(++elements_);
    switch (below(opaque_ ? 5 : 3)) {
      case 0:
        out += "<br id=\"" + id + "\"/>";
        break;
      case 1:
        out += "<img id=\"" + id + "\" src='<&'/>";
        break;
      case 2:
        out += "<!-- " + id + " <b> -->";
        break;
      case 3:
        out += "<code id=\"" + id + "\">f(x)</code>";
        break;
      default:
        out += "<span id=\"" + id + "\" translate=\"no\">Roter <b id=\"" + id + "b\">Hund</b></span>";
    }
  }

  std::mt19937 random_;
  bool opaque_;
  int elements_ = 0;
};

/// What a reader with other rules than the library's finds in a document.
struct Content {
  std::map<std::string, std::string> parents{};  ///< for each tag's bytes: the bytes of the start tag around it
  std::string text{};                            ///< without whitespace
  bool well_formed = true;
};

Content read(const std::string& html) {
  static const std::regex markup(R"(<!--[^]*?-->|<[^<>"']*(?:"[^"]*"[^<>"']*|'[^']*'[^<>"']*)*>)");
  Content content;
  std::vector<std::string> open{""};
  std::string text;
  auto done = html.cbegin();
  for (std::sregex_iterator tag(html.begin(), html.end(), markup), end; tag != end; ++tag) {
    text.append(done, html.cbegin() + tag->position());
    done = html.cbegin() + tag->position() + tag->length();
    const std::string bytes = tag->str();
    if (bytes.starts_with("</")) {
      const std::string name = bytes.substr(2, bytes.size() - 3);
      content.well_formed = content.well_formed && open.size() > 1 && open.back().starts_with("<" + name + " ");
      if (open.size() > 1) open.pop_back();
      continue;
    }
    content.well_formed = content.well_formed && content.parents.emplace(bytes, open.back()).second;
    if (!bytes.starts_with("<!") && !bytes.ends_with("/>")) open.push_back(bytes);
  }
  text.append(done, html.cend());
  content.well_formed = content.well_formed && open.size() == 1 && text.find_first_of("<>") == std::string::npos;
  for (const auto& [reference, character] : std::map<std::string, std::string>{
           {"&lt;", "<"}, {"&gt;", ">"}, {"&auml;", "ä"}, {"&#252;", "ü"}, {"&quot;", "\""}, {"&amp;", "&"}})
    for (std::size_t at; (at = text.find(reference)) != std::string::npos;)
      text.replace(at, reference.size(), character);
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  content.text = text;
  return content;
}

/// Permutes, drops and adds words, and links them with errors.
TranslatedSegment shuffled(const std::string& text, std::mt19937& random) {
  std::vector<core::TextRange> words = toy_words(text);
  if (random() % 2 == 0) std::ranges::shuffle(words, random);
  TranslatedSegment segment;
  for (const core::TextRange& word : words) {
    const std::size_t what = random() % 10;
    if (what == 0) continue;
    if (!segment.text.empty() && what != 1) segment.text += ' ';
    const auto begin = static_cast<std::uint32_t>(segment.text.size());
    segment.text += what == 2 ? "neu" : text.substr(word.begin, word.end - word.begin);
    if (what == 3) continue;
    const core::TextRange& source = what == 4 ? words[random() % words.size()] : word;
    segment.links.push_back({static_cast<std::uint32_t>(source.begin), static_cast<std::uint32_t>(source.end), begin,
                             static_cast<std::uint32_t>(segment.text.size()), 1});
  }
  return segment;
}

class RandomMarkup : public ::testing::TestWithParam<bool> {};

TEST_P(RandomMarkup, EveryTagIsKeptOnceWithinItsParent) {
  for (std::uint32_t seed = 0; seed < 4000; ++seed) {
    const std::string html = Tree(seed, GetParam()).html();
    std::mt19937 random(seed);
    std::string text;
    const Document document(html);
    std::vector<TranslatedSegment> translations;
    for (const Segment& segment : document.segments()) translations.push_back(shuffled(segment.text, random));
    const std::string out = document.assemble(translations);
    const Content source = read(html);
    const Content result = read(out);
    ASSERT_TRUE(source.well_formed) << html;
    ASSERT_TRUE(result.well_formed) << html << "\n" << out;
    ASSERT_EQ(result.parents, source.parents) << html << "\n" << out;
    if (GetParam()) continue;
    // Only texts without letters are not translated.
    for (const TranslatedSegment& translation : translations) {
      std::string part = translation.text;
      std::erase(part, ' ');
      const std::size_t at = result.text.find(part, text.size());
      ASSERT_NE(at, std::string::npos) << html << "\n" << out;
      const std::string between = result.text.substr(text.size(), at - text.size());
      ASSERT_EQ(between.find_first_not_of("12"), std::string::npos) << html << "\n" << out;
      text = result.text.substr(0, at + part.size());
    }
    ASSERT_EQ(result.text.find_first_not_of("12", text.size()), std::string::npos) << html << "\n" << out;
  }
}

TEST_P(RandomMarkup, ACopyHasTheSameTagsAndText) {
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    const std::string html = Tree(seed, GetParam()).html();
    const std::string out = translated(html, copied);
    const Content source = read(html);
    const Content result = read(out);
    ASSERT_EQ(result.text, source.text) << html << "\n" << out;
    ASSERT_EQ(result.parents, source.parents) << html << "\n" << out;
  }
}

INSTANTIATE_TEST_SUITE_P(Trees, RandomMarkup, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "WithUntouchedElements" : "OfInlineElements"; });

/// Bytes that have a meaning in HTML, in any order.
TEST(Markup, AnyBytesHaveATranslation) {
  const std::array<std::string_view, 24> parts = {
      "<",    ">",    "</",  "b", "i ",   "/>",    "\"",   "'",      "=",    "<b>",      "</b>", "<p>",
      "</p>", "<!--", "-->", "&", "&lt;", "&#x6;", "Hund", "<code>", "\xC3", "</code> ", "\xA4", "alt=\"x"};
  std::mt19937 random(5);
  for (int round = 0; round < 20'000; ++round) {
    std::string html;
    for (std::size_t i = random() % 16; i > 0; --i) html += parts[random() % parts.size()];
    const std::string out = translated(html, [&](const std::string& text) { return shuffled(text, random); });
    EXPECT_EQ(std::ranges::count(out, '<') > 0,
              std::ranges::count(html, '<') > 0 && out.find('<') != std::string::npos);
  }
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

/// Time and stack grow with the length only: quadratic time would take minutes here.
TEST(Markup, HugeDocuments) {
  constexpr std::size_t kMany = 100'000;
  for (const std::string& html :
       {repeated("<b>Hund ", kMany) + repeated("</b>", kMany),
        repeated("<b>", kMany) + "Hund" + repeated("</b>", kMany), repeated("<div>", kMany) + "Hund",
        repeated("<b>", kMany) + repeated("</i>", kMany), repeated("<b>Hund</b> ", kMany),
        repeated("<img>", kMany) + "Hund", repeated("Hund<br>", kMany), repeated("<code>f</code> Hund ", kMany),
        repeated("<![CDATA[>", kMany), repeated("<!--", kMany), repeated("<a b=", kMany), repeated("<code>", kMany),
        repeated("<p translate=no>", kMany), repeated("<script>", kMany), repeated("&amp;", kMany) + "Hund",
        repeated("&firma;", kMany) + "Hund", repeated("Hund ", 10 * kMany) + "<b>Hund</b>",
        repeated("<b>Hund <i>Katze</i></b> <i>Maus</i> ", kMany)})
    EXPECT_FALSE(translated(html, copied).empty());
}

}  // namespace
}  // namespace dragoman::markup
