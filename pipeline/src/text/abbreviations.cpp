#include "abbreviations.h"

#include <algorithm>
#include <array>

#include <unicode/uchar.h>

#include <dragoman/core/hash_tables.h>
#include <dragoman/core/utf8.h>
#include <dragoman/core/white_space.h>

namespace dragoman::pipeline {
namespace {

/// The abbreviations of a language, without their last full stop. Written for this file, and compared with CLDR's
/// segmentation suppressions; without entries that are also words, and without entries that often end a sentence, such
/// as `usw` and `etc`.
struct LanguageAbbreviations {
  std::string_view language;
  std::string_view always;          ///< separated by spaces
  std::string_view before_numbers;  ///< only if a number follows
  bool has_ordinals = false;        ///< whether a full stop marks ordinal numbers
  std::string_view words = {};      ///< single letters that may end a sentence
};

constexpr std::array kLanguages = std::to_array<LanguageAbbreviations>({
    {"de",
     "Abb Abk Abs Abschn Abt Adr Anm Aufl Ausg Bde Begr Bibl Chr Co Dipl Dipl.-Ing Dir Doz Dr Dres Fa Fn Forts Frl "
     "Frhr Gebr Hbf Hl Hr Hrn Hrsg Ing Inh Jg Jh Jhd Kap Kl Komm Ltd Ltn Mag Mio Mrd Nr Obj Pf Pfr Prof Reg.-Bez Sek "
     "Sr Spezif St Str Tel Urspr Verf Vors Ztr a.d abh abzgl allg amtl bspw bzgl bzw ca d.h dt ehem eigtl einschl engl "
     "entspr erw ev evtl exkl frz gegr geb gek gem gen gesch gest ggf ggfs griech hl i.d.R inkl insb insbes ital jew "
     "jmd jmdn kath kfm lt mind mtl möbl n.Chr näml o.g od rd röm s.a s.o s.u schwäb sog sogen spez städt staatl südd "
     "tägl u.a u.U urspr v.a v.Chr verh versch verw vgl z.B z.T z.Z zzgl österr",
     "Abb Art Bd H Jan Feb Apr Aug Sept Okt Nov Dez Mai Nr Seite S Tab Z ca um", true},
    {"en",
     "Adm Brig Capt Cf Cmdr Col Cpl Dept Dr Drs Ens Fr Ft Gen Gov Hon Lt Lt.Cdr Maj Messrs Mlle Mme Mr Mrs Ms Msgr Mt "
     "Op Prof Pvt Rep Reps Rev Rt Sen Sens Sgt St Supt approx cf e.g eg esp i.e ie vs viz",
     "Apr Art Aug Ch Dec Eq Ex Feb Fig Figs Jan Jul Jun Mar No Nos Nov Oct Sec Sep Sept Vol art ch col ed eq fig figs "
     "no nos p para pp pt sec vol",
     false, "I"},
    {"fr", "M MM Dr Pr Prof Me Mgr St Ste Cie av bd boul c.-à-d cf chap env ex fig hab p.ex réf vs",
     "art chap fig n no p pp t vol"},
    {"es",
     "Sr Sra Srta Sres Sras Dr Dra Dres D Dña Da Ing Lic Lcdo Ldo Prof Gral Mons Rvdo Excmo Excma Ilmo Ilma Sto Sta Av "
     "Avda Cía Ud Uds Vd Vds aprox cap cf ej fig gral p.ej pág págs ref tel vol vs",
     "art cap fig n núm p pág págs vol", false, "o y"},
    {"it",
     "Sig Sigg Sig.ra Dott Dott.ssa Prof Prof.ssa Avv Ing Arch Geom Rag Mons Egr Gent Spett ca cfr cap fig pag pagg "
     "sec tav vol",
     "art cap fig n p pag pagg vol", false, "e"},
    {"pt",
     "Sr Sra Srta Srs Dr Dra Drs Prof Profa Eng Exmo Exma Ilmo Av Cia Sto Sta Gen Cel Cap aprox cap cf ex fig p.ex pág "
     "págs tel vol",
     "art cap fig n p pág págs vol", false, "a e o"},
    {"ca", "Sr Sra Srs Dr Dra Prof Av Sta St aprox cap cf fig p.ex pàg tel vol", "art cap fig n p pàg vol", false,
     "a i o"},
    {"nl",
     "Dhr Dr Drs Ds Hr Ing Jhr Mevr Mej Mr Mw Prof St aanv afb bijv bijz blz bv ca d.w.z dhr dr drs excl incl ing ir "
     "m.a.w m.b.t mevr mr mw nr o.a prof resp t.a.v tel vgl v.Chr z.g zgn",
     "art afb blz nr p", false, "u"},
    {"af", "Dr Prof Mnr Mev Mej Ds St bv ca d.w.s dr m.a.w mnr mev mej nr o.a prof", "bl nr p"},
    {"sv",
     "Dr Prof Hr Fr S:t St bl.a ca d.v.s dr dvs exkl f.d fr.o.m hr inkl jfr kl kap m.a.o max min nr obs prof resp s.k "
     "sid t.ex t.o.m tel tex uppl",
     "kap kl nr s sid", false, "i å"},
    {"da",
     "Dr Hr Fr Prof Skt St bl.a ca dr dvs eks ekskl f.eks fx hhv hr inkl jf kap kl maks mht min nr pga prof s.k tlf "
     "vedr",
     "kap kl nr s", true, "i å"},
    {"nb", "Dr Hr Fr Prof St bl.a ca dr dvs eks ekskl f.eks fr hr inkl jf kap kl maks mht nr pga prof s.k tlf vedr",
     "kap kl nr s", true, "i å"},
    {"nn", "Dr Hr Fr Prof St bl.a ca dr dvs eks ekskl f.eks fr hr inkl jf kap kl maks nr pga prof s.k tlf",
     "kap kl nr s", true, "i å"},
    {"is", "Dr Hr Sr Próf a.m.k dr frk hr m.a nr próf s.s t.d u.þ.b þ.e", "bls kl nr", true, "á í"},
    {"fi", "Dr Hra Nti Prof Rva dr ent esim hra huom ks mm myöh n nk nro ns nti prof puh rva s.o t.s vrt yht",
     "klo nro s", true},
    {"et", "Dr Hr Pr Prof a.s dr e.m.a hr jms k.a lk n.ö nn nr nt pr prof s.o s.t sh t st vt", "lk nr p", true},
    {"lv", "Dr Prof dr piem prof plkst sk t.i t.s tālr", "lpp nr plkst", true},
    {"lt", "Dr Prof dr p pan pvz prof tel vad žr", "nr p"},
    {"pl",
     "Dr Inż Mgr Prof Św art bp br ds dr godz gen hr inż jw kpt ks łac lek m.in mgr mjr np nr o.o os p pkt płk pn pow "
     "prof pt red rys szt św tab tel tj tzn tzw ul ur uw vs wg wł wyd zam zob",
     "art nr poz rys s str tab t", false, "a i o u w z"},
    {"cs",
     "Bc Dr Ing JUDr MUDr MVDr Mgr PaedDr PhDr Prof RNDr Sv angl cca čs č čl doc dr fr gen i.e ing kap kpt lat max mgr "
     "mjr např něm nám obr odst p par pí pozn popř prof př př.n.l resp sl srov st str sv škpt tab tel tj tzn tzv ul vč "
     "zejm",
     "č čl obr odst s str tab", true, "a i k o s u v z"},
    {"sk",
     "Bc Dr Ing JUDr MUDr MVDr Mgr PaedDr PhDr Prof RNDr Sv angl cca č čl doc dr gen hl ing kap kpt lat max mgr mjr "
     "min napr nám nem obr ods p pozn prof príp resp sl st str sv tab tel t.j tj t.z tzn tzv ul vrát zv",
     "č čl obr ods s str tab", true, "a i k o s u v z"},
    {"sl", "Dr Mag Prof Sv dr g ga gdč gl ing inž mag npr oz prof prim sv str št tel tj t.i t.j ul", "čl sl st str št",
     true, "a i k o s v z"},
    {"hr", "Dr Mr Prof Sv br dr engl g gđa gđica i.e ing inž mr npr odn prof str sv šk tel tj tzv ul usp",
     "br čl sl st str", true, "a i k o s u"},
    {"bs", "Dr Mr Prof Sv br dr g gđa npr odn prof str sv tel tj tzv ul", "br čl str", true, "a i k o s u"},
    {"sr",
     "Dr Mr Prof Sv br dr g gđa npr odn prof str sv tel tj tzv ul Др Мр Проф Св бр др г гђа нпр одн проф стр св тел тј "
     "тзв ул",
     "br str бр стр", true, "a i k o s u а и к о с у"},
    {"hu",
     "Dr Id Ifj Özv Prof Szt St ált biz db dr f ford gr hrsz id ifj ill irod k kb kk kp krt ld m max min ny ún özv pl "
     "prof sz szt szerk tel tkp ui u uo ún vö vsz",
     "fej old sz", true},
    {"ro",
     "Dl Dna Dlui Dr Ing Prof Sf St Str art cca cf cap dl dna dr d-na ex fig ing nr obs p pag prof sf str tel vol",
     "art fig nr p pag", false, "a e o"},
    {"ru",
     "акад г гл гос гр доц д-р ж.-д инж исп кв коп корп м-р напр нач обл оз пер пл пос пр-т просп проф р-н рис св см "
     "ср ст т.е т.н т.к тел тов тт ул чл англ франц греч",
     "гл п пп рис с ст стр т табл", false, "а в и к о с у я"},
    {"uk",
     "акад англ вул гл гр див доц ім інж кв напр нар обл оз пер пл пор пос проф р-н рис св смт ст стор т.зв тел тов",
     "гл п рис с ст стор т табл", false, "а в з і й о у є я"},
    {"bg", "акад бул вж г-н г-жа гр доц ж.к инж кв напр нар обл пл проф рис св см стр т.е т.нар тел ул",
     "ал гл рис с стр чл", false, "а в и о с у"},
    {"el", "κ κα κος κ.κ Δρ δρ βλ δηλ π.χ πχ λ.χ αρ σελ τηλ Αγ αγ καθ πρβ τ.μ", "αρ σ σελ τ"},
    {"tr",
     "Dr Prof Doç Yrd Av Alb Bşk Gen Hz Mah Müh Ort Sn Sok Cad Apt Bkz Fak Org Ör St Sv bkz bş cad çev dr haz mah no "
     "örn prof sf sok tel yy",
     "No bk no s sf", true, "o"},
    {"eu", "Dr And Jn adib or zk", "art or zk", true},
});

/// Other codes of the same lists.
std::string_view code_of_list(std::string_view language) {
  constexpr std::array kSame = std::to_array<std::pair<std::string_view, std::string_view>>({{"no", "nb"},
                                                                                             {"gl", "pt"},
                                                                                             {"lb", "de"},
                                                                                             {"gsw", "de"},
                                                                                             {"nds", "de"},
                                                                                             {"sh", "hr"},
                                                                                             {"be", "ru"},
                                                                                             {"mk", "bg"},
                                                                                             {"fo", "da"}});
  for (const auto& [code, same] : kSame)
    if (code == language) return same;
  return language;
}

void add_words(std::string_view list, core::TextViewSet& words) {
  while (!list.empty()) {
    const std::string_view word = list.substr(0, list.find(' '));
    words.insert(word);
    list.remove_prefix(std::min(word.size() + 1, list.size()));
  }
}

/// Returns the word at the end of the text. It may have full stops inside.
std::string_view last_word(std::string_view text) {
  // Before a word there may be a bracket, a quotation mark or a dash; they have no letters or digits.
  std::size_t begin = text.size();
  while (begin > 0) {
    std::size_t at = begin - 1;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
    const auto c = static_cast<UChar32>(core::decode_utf8(text, at).code_point);
    const bool is_mark = (U_GET_GC_MASK(c) & U_GC_M_MASK) != 0;
    if (c != '.' && c != '-' && c != ':' && u_isalnum(c) == 0 && !is_mark) break;
    begin = at;
  }
  return text.substr(begin);
}

/// Returns whether the text is one letter, perhaps after a hyphen, as in "J.-P.".
bool is_initial(std::string_view word) {
  const std::size_t separator = word.find_last_of(".-");
  if (separator != std::string_view::npos) word.remove_prefix(separator + 1);
  if (word.empty()) return false;
  const core::DecodedCharacter first = core::decode_utf8(word, 0);
  return first.length == word.size() && u_isalpha(static_cast<UChar32>(first.code_point)) != 0 &&
         u_hasBinaryProperty(static_cast<UChar32>(first.code_point), UCHAR_IDEOGRAPHIC) == 0;
}

/// A larger number is more likely to be the end of a sentence than a day, a place in a ranking or a monarch's number.
bool is_ordinal(std::string_view word) {
  constexpr int kLargest = 31;
  int number = 0;
  for (const char c : word) {
    if (c < '0' || c > '9' || number > kLargest) return false;
    number = 10 * number + (c - '0');
  }
  return number >= 1 && number <= kLargest;
}

}  // namespace

Abbreviations::Abbreviations(std::string_view language) {
  const auto found = std::ranges::find(kLanguages, code_of_list(language), &LanguageAbbreviations::language);
  if (found == kLanguages.end()) return;
  add_words(found->always, always_);
  add_words(found->before_numbers, before_numbers_);
  add_words(found->words, words_);
  has_ordinals_ = found->has_ordinals;
  for (const std::string_view word : always_) {
    const core::DecodedCharacter first = core::decode_utf8(word, 0);
    std::string capitalised;
    core::append_utf8(capitalised, static_cast<char32_t>(u_toupper(static_cast<UChar32>(first.code_point))));
    capitalised_.insert(capitalised.append(word.substr(first.length)));
  }
}

bool Abbreviations::continues(std::string_view before, std::string_view after) const {
  if (!before.ends_with('.') || after.empty()) return false;
  const std::string_view word = last_word(before.substr(0, before.size() - 1));
  if (word.empty() || word.ends_with('.')) return false;
  if (is_initial(word)) return !words_.contains(word);
  if (always_.contains(word) || capitalised_.contains(word)) return true;
  if (after.front() >= '0' && after.front() <= '9') return before_numbers_.contains(word);
  // "S. 12." has a number of a page.
  const std::size_t begin = static_cast<std::size_t>(word.data() - before.data());
  return has_ordinals_ && is_ordinal(word) && !core::trim_white_space(before.substr(0, begin)).ends_with('.');
}

}  // namespace dragoman::pipeline
