#include "toy_translator.h"

#include <gtest/gtest.h>

namespace dragoman::markup {
namespace {

std::vector<std::string> texts_of(std::string_view html) {
  std::vector<std::string> texts;
  const Document document{std::string(html)};
  for (const Segment& segment : document.segments()) texts.push_back(segment.text);
  return texts;
}

/// The only segment of `html` is translated as `target`.
std::string placed(std::string_view html, std::string_view target, std::string_view pairs) {
  return translated(html, [&](const std::string& text) { return linked(text, target, pairs); });
}

using Texts = std::vector<std::string>;

TEST(Markup, TagsSurroundTheWordsThatAreAlignedWithTheirs) {
  EXPECT_EQ(placed("<b>Ein Hund</b> läuft.", "A dog is running.", "0-0 1-1 2-2 2-3 3-4"), "<b>A dog</b> is running.");
  EXPECT_EQ(placed("Gestern <i>lief</i> ein <b>Hund</b>.", "A dog ran yesterday.", "0-3 1-2 2-0 3-1 4-4"),
            "A <b>dog</b> <i>ran</i> yesterday.");
}

TEST(Markup, WordsWithoutALinkFollowTheirNeighbours) {
  EXPECT_EQ(placed("<b>Hunde</b> laufen.", "The dogs are running.", "0-1 1-3 2-4"), "<b>The dogs</b> are running.");
  EXPECT_EQ(placed("Er sah <b>Hunde</b>.", "He saw dogs there.", "0-0 1-1 2-2 3-4"), "He saw <b>dogs there</b>.");
}

TEST(Markup, AnElementIsOneStretch) {
  EXPECT_EQ(placed("Er <b>macht</b> die Tür <b>auf</b>.", "He opens the door.", "0-0 1-1 4-1 2-2 3-3 5-4"),
            "He <b>opens</b> the door<b></b>.");
  EXPECT_EQ(placed("Er <b>gab auf</b>, was er hatte", "He gave all up", "0-0 1-1 2-3 4-2"), "He <b>gave</b> all up");
}

TEST(Markup, NestedAndAdjacentElements) {
  EXPECT_EQ(placed("<b>Ein <i>roter</i> Ball</b>", "A red ball", "0-0 1-1 2-2"), "<b>A <i>red</i> ball</b>");
  EXPECT_EQ(placed("<b><i>Ein Ball</i></b>", "A ball", "0-0 1-1"), "<b><i>A ball</i></b>");
  EXPECT_EQ(placed("<b>Ball</b><i>spiel</i>", "Ball game", "0-0 0-1"), "<b></b><i>Ball game</i>");
  EXPECT_EQ(placed("<a>Hund</a><b>, Katze</b>", "Dog, cat", "0-0 1-1 2-2"), "<a>Dog</a><b>, cat</b>");
}

TEST(Markup, AnElementWithoutWordsStaysWhereItWas) {
  EXPECT_EQ(placed("Der <b></b> Hund", "The dog", "0-0 1-1"), "The<b></b> dog");
  EXPECT_EQ(placed("Ja <b>doch</b> Hund", "Yes dog", "0-0 2-1"), "Yes<b></b> dog");
  EXPECT_EQ(placed("<b></b>Hund", "Dog", "0-0"), "<b></b>Dog");
  EXPECT_EQ(placed("Hund<b></b>", "Dog", "0-0"), "Dog<b></b>");
}

TEST(Markup, PointsStandWhereTheirNeighboursWent) {
  EXPECT_EQ(placed("Hund<br>Katze", "dog cat", "0-0 1-1"), "dog<br> cat");
  EXPECT_EQ(placed("Ein <img src='a>b'> Hund", "A dog", "0-0 1-1"), "A <img src='a>b'> dog");
  EXPECT_EQ(placed("Gestern <img>lief er", "He ran yesterday", "0-2 1-1 2-0"), "He <img>ran yesterday");
  EXPECT_EQ(placed("Siehe Bild <img/>.", "See picture.", "0-0 1-1 2-2"), "See picture <img/>.");
  EXPECT_EQ(placed("Hund<!-- Notiz -->", "dog", "0-0"), "dog<!-- Notiz -->");
}

TEST(Markup, UntouchedContentIsCopied) {
  EXPECT_EQ(texts_of("Rufe <code>f(x)</code> auf"), Texts({"Rufe f(x) auf"}));
  EXPECT_EQ(placed("Rufe <code>f(x)</code> auf", "Call f(x)", "0-0"), "Call <code>f(x)</code>");
  EXPECT_EQ(placed("Drücke <kbd>Strg</kbd> jetzt", "Now press Ctrl", "0-1 1-2 2-0"), "Now press <kbd>Strg</kbd>");
  EXPECT_EQ(
      placed("Die Firma <span translate=\"no\">Roter Hund</span> lief", "The Roter Hund company ran", "0-0 1-3 4-4"),
      "The <span translate=\"no\">Roter Hund</span> company ran");
  EXPECT_EQ(placed("<i class='a notranslate'>Hund</i> lief", "Ran", "1-0"), "<i class='a notranslate'>Hund</i> Ran");
  EXPECT_EQ(texts_of("<pre>Hund\n  Katze</pre><p>Ja</p><script>if (a<b) </b></script><style>p</style>"), Texts({"Ja"}));
  EXPECT_EQ(texts_of("<div translate=no><p>Hund</p></div>Ja"), Texts({"Ja"}));
  EXPECT_EQ(placed("<code>f</code> und <code>f</code>", "f and f", "1-1"), "<code>f</code> and <code>f</code>");
}

TEST(Markup, BlocksEndSegments) {
  EXPECT_EQ(texts_of("<h1>Hund</h1><P>Ein <b>Ball</b>.</P><ul><li>Ja<li>Nein</ul>"),
            Texts({"Hund", "Ein Ball.", "Ja", "Nein"}));
  EXPECT_EQ(texts_of("a <b>b <p>c</p></b> d"), Texts({"a", "b", "c", "d"}));
  EXPECT_EQ(texts_of("Hund<br><br>Katze<br>Maus"), Texts({"Hund", "Katze Maus"}));
}

TEST(Markup, WhitespaceAtTheEndsStays) {
  const std::string html = "\n  <p>\n\tEin\n  <b> Hund </b>\n</p> &nbsp; <hr>\n";
  EXPECT_EQ(texts_of(html), Texts({"Ein Hund"}));
  EXPECT_EQ(translated(html, copied), "\n  <p>\n\tEin <b>Hund</b>\n</p> &nbsp; <hr>\n");
}

TEST(Markup, CharacterReferences) {
  EXPECT_EQ(texts_of("Br&ouml;tchen &amp; K&#xe4;se &lt;3 &AMP &#8364;5 &notit; &euro"),
            Texts({"Brötchen & Käse <3 & €5 ¬it; &euro"}));
  EXPECT_EQ(translated("a &amp; b &lt; c &gt; d &quot;", copied), "a &amp; b &lt; c &gt; d \"");
  EXPECT_EQ(translated("a & b < c", copied), "a &amp; b &lt; c");
  // A document type may define it.
  EXPECT_EQ(translated("die &firma; und &amp;firma;", copied), "die &firma; und &amp;firma;");
  EXPECT_EQ(texts_of("a&#0;b&#xD800;c&#x110000;d&#128;"), Texts({"a\uFFFDb\uFFFDc\uFFFDd€"}));
}

TEST(Markup, AttributesAreTranslated) {
  const auto shout = [](const std::string& text) { return TranslatedSegment{.text = "\"" + text + "\" & so"}; };
  EXPECT_EQ(translated("<img ALT='Hund' src=hund.png title=Ball>", shout),
            "<img ALT='\"Hund\" &amp; so' src=hund.png title=\"&quot;Ball&quot; &amp; so\">");
  EXPECT_EQ(texts_of("<input placeholder=\"Dein &quot;Name&quot;\" value='Nein'><a aria-label='Ja' href='/Hund'>X</a>"),
            Texts({"Dein \"Name\"", "Ja", "X"}));
  EXPECT_EQ(texts_of("<p title=''><i alt=' '></i><code title='Hund'></code><p title='123'>"), Texts());
}

TEST(Markup, TextWithoutLettersIsCopied) {
  EXPECT_EQ(texts_of("<p>123</p> | <b>—</b> &copy; &#160; <code>x</code>"), Texts());
  const std::string html = "<p>1 &amp;&nbsp;2</p>\t|<b>3<i>4</b></i>";
  EXPECT_EQ(translated(html, copied), html);
}

TEST(Markup, MalformedMarkupIsKept) {
  for (const char* html : {"<b>Hund",
                           "Hund</b>",
                           "<b>ein <i>Hund</b> lief</i>",
                           "<",
                           "</",
                           "<b",
                           "a <b title='x",
                           "</>",
                           "</ x>Hund",
                           "<!-- Hund",
                           "<!doctype html><p>Hund",
                           "<![CDATA[ x ]]>Hund",
                           "<?php x ?>Hund",
                           "<p><b>ein</p><p>Hund</b></p>",
                           "<div></p></div>",
                           "<script>Hund",
                           "<table><tr><td>Hund",
                           "<A HREF=x>Hund</a >",
                           "<g id=1/>Hund<x id='2'/>",
                           "<!-->Hund",
                           "<b/ >Hund</b>"})
    EXPECT_EQ(translated(html, copied), std::string_view(html) == "<" ? "<" : html) << html;
}

/// Complaints about other programs.
TEST(Markup, NestedElementsAreOneSentence) {  // LibreTranslate#806, translate-html#19
  const std::string html =
      "<a href=\"#\" target=\"_blank\">\n  <em>\n    <span style=\"color: #f00;\">\n     View the complete range of\n"
      "    </span>\n  </em>\n  <em>\n    <span style=\"color: #f00;\">\n      drawer systems here!\n    </span>\n  "
      "</em>\n"
      "</a>";
  EXPECT_EQ(texts_of(html), Texts({"View the complete range of drawer systems here!"}));
  EXPECT_EQ(translated(html, copied),
            "<a href=\"#\" target=\"_blank\"><em><span style=\"color: #f00;\">View the complete range of</span></em> "
            "<em><span style=\"color: #f00;\">drawer systems here!</span></em></a>");
}

TEST(Markup, LineBreaksOfTheSourceEndNoSentence) {  // LibreTranslate#288, translate-html#10
  EXPECT_EQ(texts_of("<p>\n\t\tWenn eine Zeile kein Verb\n\t\tenthält, muss die Übersetzung\n\t\tfalsch sein.\n\t</p>"),
            Texts({"Wenn eine Zeile kein Verb enthält, muss die Übersetzung falsch sein."}));
}

TEST(Markup, DeclarationsAndCommentsStay) {  // LibreTranslate#871 and #552
  const std::string html =
      "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"/><title>A Test</title></head><body>"
      "<!-- wp:paragraph {\"dropCap\":true} --><p>One</p><!-- /wp:paragraph --></body></html>";
  EXPECT_EQ(texts_of(html), Texts({"A Test", "One"}));
  EXPECT_EQ(translated(html, copied), html);
}

TEST(Markup, SpacesStayOutsideOfElements) {  // translatepy#71, deepltranslate-core#278
  EXPECT_EQ(placed("I am here and <strong>you are</strong>", "Ich bin hier und du bist", "0-0 1-1 2-2 3-3 4-4 5-5"),
            "Ich bin hier und <strong>du bist</strong>");
  EXPECT_EQ(placed("the flower thrips (<em>F. occidentalis</em>) and", "de trips (F. occidentalis) en",
                   "0-0 2-1 3-2 4-3 5-4 6-5 7-6 8-7"),
            "de trips (<em>F. occidentalis</em>) en");
}

TEST(Markup, OneWordAndAttributesWithCode) {  // LibreTranslate#144 and #636
  EXPECT_EQ(placed("<p>hello</p>", "Bonjour", "0-0"), "<p>Bonjour</p>");
  EXPECT_EQ(translated("Good <a href=\"\" onclick=\"check('<b>');\">This</a> ready", copied),
            "Good <a href=\"\" onclick=\"check('<b>');\">This</a> ready");
}

/// Returns the texts of the sentences of each segment. A sentence ends after '.' or '!'.
std::vector<Texts> sentences_of(std::string_view html) {
  const Document document{std::string(html)};
  const std::vector<core::TextRange> ranges = document.find_sentences([](std::string_view text) {
    std::vector<core::TextRange> sentences;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find_first_of(".!", begin), text.size() - 1) + 1;
      sentences.push_back({begin, end});
      begin = std::min(text.find_first_not_of(' ', end), text.size());
    }
    return sentences;
  });
  std::vector<Texts> all;
  for (std::size_t i = 0; i < document.segments().size(); ++i) {
    Texts& texts = all.emplace_back();
    for (const core::TextRange& range : document.sentences(i, ranges))
      texts.push_back(document.segments()[i].text.substr(range.begin, range.end - range.begin));
  }
  return all;
}

TEST(Markup, SentencesKeepTheirPlacesInTheSource) {
  EXPECT_EQ(sentences_of("<p>Hallo&nbsp;Du! <b>Ein\n Hund</b> &amp; <i>Katze.</i></p><p>Nein.</p>"),
            (std::vector<Texts>{{"Hallo\u00A0Du!", "Ein Hund & Katze."}, {"Nein."}}));
  EXPECT_EQ(Document("<p>Hallo. Du.</p>").sentences(0, {}).front().end, 10u);
}

TEST(Markup, ControlsOfAFormAreNoSentence) {
  EXPECT_EQ(texts_of("<label>Name: <input></label><button>Senden</button> <select><option>Ja<option>Nein</select>"),
            (Texts{"Name:", "Senden", "Ja", "Nein"}));
  EXPECT_EQ(texts_of("<video>Alt</video><audio>Neu</audio>"), (Texts{"Alt", "Neu"}));
}

TEST(Markup, AttributesHaveSentencesOfTheirOwn) {
  EXPECT_EQ(
      sentences_of("Ein Hund. <a title='Eins. Zwei.'>Ein <img alt='Drei. Vier.' title='Fünf'> Mann</a>. Nein."),
      (std::vector<Texts>{{"Eins.", "Zwei."}, {"Drei.", "Vier."}, {"Fünf"}, {"Ein Hund.", "Ein Mann.", "Nein."}}));
  EXPECT_EQ(sentences_of("<p title='Eins. Zwei.'>Ja. <img alt='Drei.'></p><img alt='Vier. Fünf.'>12<p>Nein. Ja.</p>"),
            (std::vector<Texts>{{"Eins.", "Zwei."}, {"Drei."}, {"Ja."}, {"Vier.", "Fünf."}, {"Nein.", "Ja."}}));
}

TEST(Markup, SegmentsTellWhereTagsAre) {
  const Document document("Ein <b>Hund</b> lief. Nein.");
  const Segment& segment = document.segments().front();
  EXPECT_TRUE(segment.has_tags_within({0, 14}));
  EXPECT_FALSE(segment.has_tags_within({4, 8}));
  EXPECT_FALSE(segment.has_tags_within({15, 20}));
}

}  // namespace
}  // namespace dragoman::markup
