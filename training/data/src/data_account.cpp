#include "data/data_account.h"

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>

namespace dragoman::training {
namespace {

core::Json lengths_of(const LengthCounts& lengths) {
  core::Json list = core::Json::array();
  for (const auto& [length, count] : lengths) list.push_back({length, count});
  return list;
}

core::Json account_of(const Corpus& corpus) {
  return {{"pairs", corpus.size()},
          {"source", lengths_of(corpus.lengths().source)},
          {"target", lengths_of(corpus.lengths().target)}};
}

}  // namespace

void write_data_account(const std::filesystem::path& path, const Corpus& train, const Corpus* validation) {
  core::Json account{{"format_version", kDataAccountVersion}, {"train", account_of(train)}};
  if (validation != nullptr) account["validation"] = account_of(*validation);
  core::write_file(path, core::one_line(account) + "\n");
}

}  // namespace dragoman::training
