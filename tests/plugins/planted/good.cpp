#include "letters.h"
#include "twice.h"

#include <algorithm>
#include <cctype>

#include <dragoman/core/options.h>
#include <dragoman/plugins/plugin.h>

namespace {

using namespace dragoman;

/// Shouts: letters become upper-case, and as many marks follow as the options say.
class Shout final : public pipeline::MapStage {
 public:
  explicit Shout(std::int64_t marks) : marks_(static_cast<std::size_t>(marks)) {}
  void process(pipeline::Record& record) const override {
    for (char& letter : record.text) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    record.text.append(marks_, '!');
  }

 private:
  std::size_t marks_;
};

template <class Float>
void twice(tensor::Context&, const planted::TwiceArguments& arguments) {
  for (std::int64_t i = 0; i < arguments.x.rows; ++i)
    for (std::int64_t j = 0; j < arguments.x.cols; ++j) arguments.y.row<Float>(i)[j] = 2 * arguments.x.row<Float>(i)[j];
}

void register_good(plugins::Registrar& registrar) {
  registrar.add(plugins::StageEntry{"shout", "upper-case and loud", [](core::OptionReader& options) {
                                      return std::make_unique<Shout>(options.get("marks", std::int64_t{1}));
                                    }});
  registrar.add(plugins::TokenizerEntry{"letters", "a letter is a piece",
                                        [](const tokenizer::TokenizerFile& file, core::OptionReader& own) {
                                          return std::make_unique<planted::Letters>(file, own);
                                        },
                                        planted::letters_example()});
  registrar.add_kernel("cpu", planted::kTwice, twice<float>);
  registrar.add_kernel("reference", planted::kTwice, twice<double>);
  registrar.add_kernel("mirror", planted::kTwice, twice<float>);
}

}  // namespace

DRAGOMAN_PLUGIN("good", "Apache-2.0", register_good)
