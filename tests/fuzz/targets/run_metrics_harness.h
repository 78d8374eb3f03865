#pragma once

#include "target.h"

#include <cmath>
#include <string>
#include <string_view>

#include <dragoman/core/json.h>
#include <dragoman/report/run_history.h>

namespace dragoman::fuzz {

/// Reads the bytes as metrics.jsonl and shows them. True if there was a figure or a sample.
inline bool exercise_run_metrics(std::string_view bytes) {
  report::RunHistory history{.name = std::string(bytes.substr(0, 100))};
  history.metrics = report::read_metrics(bytes);
  const report::Metrics& metrics = history.metrics;
  for (const auto* group : {&metrics.training, &metrics.validation})
    for (const auto& [key, series] : *group)
      for (const auto& [update, value] : series)
        promise(std::isfinite(value) && update >= 0 && update <= metrics.last_update, "a figure is a finite number");
  promise((metrics.unreadable == 0) == (metrics.first_unreadable == 0), "the first unreadable line is named");
  const std::string page = report::to_html({history}, "fuzz");
  const std::size_t begin = page.find("id=\"data\">") + 10;
  const std::string data = page.substr(begin, page.find("</script>", begin) - begin);
  promise(data.find('<') == std::string::npos, "texts cannot end the element that they are in");
  promise(core::try_parse_json(data).tree.is_object(), "the page's data are JSON");
  return !metrics.training.empty() || !metrics.validation.empty() || !metrics.samples.empty();
}

inline Target run_metrics_target() {
  return {.name = "run_metrics", .exercise = exercise_run_metrics, .budget = {.bytes_per_byte = 2048}};
}

}  // namespace dragoman::fuzz
