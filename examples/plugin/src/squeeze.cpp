#include "squeeze.h"

#include <dragoman/core/options.h>

namespace example {
namespace {

using namespace dragoman;

class Squeeze final : public pipeline::MapStage {
 public:
  explicit Squeeze(bool keep_tabs) : keep_tabs_(keep_tabs) {}

  void process(pipeline::Record& record) const override {
    std::string squeezed;
    bool after_blank = false;
    for (const char character : record.text) {
      if (is_blank(character)) {
        after_blank = true;
        continue;
      }
      if (after_blank && !squeezed.empty()) squeezed += ' ';
      after_blank = false;
      squeezed += character;
    }
    record.text = std::move(squeezed);
  }

 private:
  bool is_blank(char character) const { return character == ' ' || (character == '\t' && !keep_tabs_); }

  bool keep_tabs_;
};

}  // namespace

std::unique_ptr<pipeline::MapStage> make_squeeze(core::OptionReader& options) {
  return std::make_unique<Squeeze>(options.get("keep_tabs", false));
}

}  // namespace example
