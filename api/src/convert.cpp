#include "dragoman/dragoman.h"

#include <dragoman/core/json.h>
#include <dragoman/plugins/convert.h>
#include <dragoman/plugins/host.h>
#include <dragoman/plugins/quantize_model.h>

namespace dragoman {

void convert(const std::filesystem::path& input, const std::filesystem::path& output, const ConvertOptions& options) {
  plugins::ConvertOptions all{.from = options.from, .to = options.to, .stop = options.stop, .log = options.log};
  if (!options.import_options.empty()) all.import_options = core::parse_json(options.import_options, "import_options");
  plugins::convert(input, output, plugins::default_host(), all);
}

void quantize(const std::filesystem::path& model, const std::filesystem::path& output, ComputeChoice type,
              const std::stop_token& stop) {
  plugins::quantize_model(model, output, type, plugins::default_host(), stop);
}

}  // namespace dragoman
