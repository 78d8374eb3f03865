#include "kinds.h"

#include <sys/stat.h>

#include <csignal>
#include <stdexcept>

#include <fmt/format.h>

namespace dragoman::faults {
namespace {

namespace fs = std::filesystem;
using StreamKind = Stream::Kind;

/// The arguments that name an input file.
std::vector<std::size_t> input_arguments(const Scenario& scenario) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < scenario.arguments.size(); ++i)
    if (scenario.arguments[i].starts_with("{f}/")) places.push_back(i);
  return places;
}

std::uint64_t if_it_names_inputs(const Equipment&, const Scenario& scenario, const Profile&) {
  return input_arguments(scenario).size();
}

/// Something else stands where an input file should be.
void replace_input(const Draw& draw, const std::string& replacement) {
  const std::vector<std::size_t> places = input_arguments(draw.scenario);
  const std::size_t place = places[draw.random() % places.size()];
  draw.fault.description = fmt::format("{} instead of {}", replacement, draw.scenario.arguments[place]);
  draw.fault.plan.command[place + 1] = replacement;  // the first is the program
  draw.fault.expectation.same_task = false;
  draw.fault.expectation.reads_output = false;
  draw.fault.expectation.statuses = {1, 2};  // what kind of thing an input is can decide whether the usage is right
}

void interrupt(const Draw& draw, double after_seconds) {
  const int signal = draw.coin() ? SIGTERM : SIGINT;
  draw.fault.plan.signals = {{after_seconds, signal}};
  draw.fault.expectation.statuses.insert(kInterruptedStatus);
  draw.fault.expectation.signals = {signal};
}

constexpr double kLongEnough = 0.5;  // seconds, for any of the small tasks to be in the midst of its work

}  // namespace

std::vector<FaultKind> input_kinds() {
  const auto if_it_reads = [](const Equipment&, const Scenario& scenario, const Profile&) -> std::uint64_t {
    return scenario.reads_standard_input() ? 4 : 0;
  };
  return {
      {"input-silent", if_it_reads,
       [](const Draw& draw) {
         draw.fault.plan.input = {.kind = StreamKind::kSilent};
         draw.fault.expectation.statuses = {};
         interrupt(draw, kLongEnough);
         draw.fault.expectation.may_succeed = false;
         draw.fault.expectation.same_task = false;
       }},
      {"input-endless", if_it_reads,
       [](const Draw& draw) {
         draw.fault.plan.input.kind = StreamKind::kEndless;
         draw.fault.expectation.same_task = false;
         if (!draw.profile.output.empty() && draw.coin()) {
           draw.fault.plan.output = {.kind = StreamKind::kBroken, .bytes = 50};
           draw.fault.expectation.statuses.insert(kClosedPipeStatus);
           draw.fault.expectation.reads_output = false;
           draw.fault.description = "its reader leaves";
         }
         interrupt(draw, draw.fault.description.empty() ? kLongEnough : 5);
         draw.fault.expectation.may_succeed = false;
       }},
      {"input-fifo", if_it_names_inputs,
       [](const Draw& draw) {
         const fs::path fifo = draw.folder / "fifo";
         if (::mkfifo(fifo.c_str(), 0600) != 0) throw std::runtime_error("mkfifo");
         replace_input(draw, fifo.string());
         interrupt(draw, kLongEnough);
         draw.fault.expectation.may_succeed = false;
       }},
      {"input-zeros", if_it_names_inputs,
       [](const Draw& draw) {
         replace_input(draw, "/dev/zero");
         if (!draw.equipment.hooks.empty()) draw.fault.plan.limits.address_space = std::uint64_t{1} << 32;
         interrupt(draw, 3);
       }},
      {"input-folder", if_it_names_inputs, [](const Draw& draw) { replace_input(draw, "out"); }},
      {"input-missing", if_it_names_inputs,
       [](const Draw& draw) {
         replace_input(draw, "no-such-file");
         draw.fault.expectation.may_succeed = draw.profile.status != 0;
       }},
      {"input-empty", if_it_names_inputs, [](const Draw& draw) { replace_input(draw, "/dev/null"); }},
  };
}

}  // namespace dragoman::faults
