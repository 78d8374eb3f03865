#include "text/text.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>
#include <mecab.h>

#include <dragoman/core/error.h>
#include <dragoman/evaluation/mecab_tokenizer.h>

namespace dragoman::evaluation {
namespace {

using core::ErrorCode;

/// From each letter, MeCab searches the rest of the run, so a run of 64 KiB takes six seconds.
constexpr std::size_t kMaxSegmentBytes = std::size_t{1} << 14;

/// Throws unless the folder contains the files of a dictionary as regular files. MeCab would wait for a pipe, and read
/// a device, for ever.
void require_dictionary_files(const std::filesystem::path& dictionary) {
  for (const char* const name : {"dicrc", "sys.dic", "unk.dic", "matrix.bin", "char.bin"}) {
    const std::filesystem::path file = dictionary / name;
    std::error_code error;
    core::require(std::filesystem::is_regular_file(file, error), ErrorCode::kIo,
                  "{}: is not a folder with a dictionary of MeCab: it has no file {}; name one that has, such as "
                  "Debian's package mecab-ipadic-utf8",
                  dictionary.string(), name);
  }
}

/// MeCab's C interface. It is loaded when the first tokenizer is created, so that only scoring Japanese requires it.
class MecabLibrary {
 public:
  static const MecabLibrary& instance() {
    static const MecabLibrary library;
    return library;
  }

  decltype(&mecab_version) version = nullptr;
  decltype(&mecab_strerror) error = nullptr;
  decltype(&mecab_model_new) new_model = nullptr;
  decltype(&mecab_model_destroy) destroy_model = nullptr;
  decltype(&mecab_model_dictionary_info) dictionary_info = nullptr;
  decltype(&mecab_model_new_tagger) new_tagger = nullptr;
  decltype(&mecab_destroy) destroy_tagger = nullptr;
  decltype(&mecab_model_new_lattice) new_lattice = nullptr;
  decltype(&mecab_lattice_destroy) destroy_lattice = nullptr;
  decltype(&mecab_lattice_set_sentence2) set_sentence = nullptr;
  decltype(&mecab_parse_lattice) parse = nullptr;
  decltype(&mecab_lattice_get_bos_node) first_node = nullptr;

 private:
  static constexpr const char* kFile = "libmecab.so.2";

  MecabLibrary() : handle_(dlopen(kFile, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) {
      const char* const reason = dlerror();
      core::fail(ErrorCode::kUnsupported,
                 "{}; Japanese words are cut by MeCab, which is in Debian's packages libmecab2 and mecab-ipadic-utf8: "
                 "install them",
                 reason == nullptr ? kFile : reason);
    }
    find(version, "mecab_version");
    find(error, "mecab_strerror");
    find(new_model, "mecab_model_new");
    find(destroy_model, "mecab_model_destroy");
    find(dictionary_info, "mecab_model_dictionary_info");
    find(new_tagger, "mecab_model_new_tagger");
    find(destroy_tagger, "mecab_destroy");
    find(new_lattice, "mecab_model_new_lattice");
    find(destroy_lattice, "mecab_lattice_destroy");
    find(set_sentence, "mecab_lattice_set_sentence2");
    find(parse, "mecab_parse_lattice");
    find(first_node, "mecab_lattice_get_bos_node");
  }

  template <typename Function>
  void find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(dlsym(handle_, name));
    core::require(function != nullptr, ErrorCode::kUnsupported, "{} has no function {}; install MeCab 0.996", kFile,
                  name);
  }

  void* handle_;  // stays open until the process ends
};

/// A dictionary and its tagger. Any number of threads may use the tagger, each with its own lattice.
class Mecab {
 public:
  explicit Mecab(const std::filesystem::path& dictionary) : library_(MecabLibrary::instance()) {
    require_dictionary_files(dictionary);
    std::string folder = dictionary.string();
    // /dev/null replaces the user's settings file, and the empty -u the user dictionaries that dicrc could name.
    std::array<std::string, 7> arguments{"mecab", "-r", "/dev/null", "-d", folder, "-u", ""};
    std::array<char*, arguments.size()> pointers{};
    std::ranges::transform(arguments, pointers.begin(), [](std::string& argument) { return argument.data(); });
    model_ = {library_.new_model(static_cast<int>(pointers.size()), pointers.data()), library_.destroy_model};
    if (model_ == nullptr) {
      const char* const reason = library_.error(nullptr);
      core::fail(ErrorCode::kIo, "{}: MeCab does not open it as a dictionary: {}", folder,
                 reason == nullptr ? "no reason is given" : reason);
    }
    const mecab_dictionary_info_t* const info = library_.dictionary_info(model_.get());
    const std::string_view charset = info->charset;
    core::require(lower_case(charset) == "utf-8" || lower_case(charset) == "utf8", ErrorCode::kIo,
                  "{}: is a dictionary in {}; one in UTF-8 is needed, as in Debian's package mecab-ipadic-utf8", folder,
                  charset);
    name_ =
        fmt::format("ja-mecab-{}-{}", library_.version(),
                    info->size == kWordsOfIpaDictionary && info->next == nullptr ? "IPA" : std::to_string(info->size));
    tagger_ = {library_.new_tagger(model_.get()), library_.destroy_tagger};
    core::require(tagger_ != nullptr, ErrorCode::kIo, "{}: MeCab makes no tagger of it", folder);
  }

  const std::string& name() const { return name_; }

  std::string separate(std::string_view segment) const {
    segment = trim_left(trim_right(segment));
    core::require(
        segment.size() <= kMaxSegmentBytes, ErrorCode::kBadInput,
        "a segment of {} bytes is too long for MeCab, which takes at most {}; cut the texts into shorter lines",
        segment.size(), kMaxSegmentBytes);
    const std::unique_ptr<mecab_lattice_t, decltype(&mecab_lattice_destroy)> lattice(library_.new_lattice(model_.get()),
                                                                                     library_.destroy_lattice);
    core::require(lattice != nullptr, ErrorCode::kInternal, "MeCab makes no lattice");
    library_.set_sentence(lattice.get(), segment.data(), segment.size());
    core::require(library_.parse(tagger_.get(), lattice.get()) != 0, ErrorCode::kInternal,
                  "MeCab cannot cut a segment of {} bytes", segment.size());
    std::string words;
    words.reserve(2 * segment.size());
    for (const mecab_node_t* node = library_.first_node(lattice.get()); node != nullptr; node = node->next)
      if (node->length > 0) words.append(node->surface, node->length).push_back(' ');
    return words;
  }

 private:
  /// The number of words of version 2.7.0-20070801, by which sacreBLEU recognises the dictionary.
  static constexpr unsigned kWordsOfIpaDictionary = 392'126;

  const MecabLibrary& library_;
  std::string name_;
  std::unique_ptr<mecab_model_t, decltype(&mecab_model_destroy)> model_{nullptr, nullptr};
  std::unique_ptr<mecab_t, decltype(&mecab_destroy)> tagger_{nullptr, nullptr};
};

}  // namespace

OtherBleuTokenizer make_mecab_tokenizer(const std::filesystem::path& dictionary) {
  const auto mecab = std::make_shared<const Mecab>(dictionary);
  return {.name = mecab->name(), .separate = [mecab](std::string_view segment) { return mecab->separate(segment); }};
}

}  // namespace dragoman::evaluation
