#include "kinds.h"

#include <algorithm>

#include <fmt/format.h>

namespace dragoman::faults {
namespace {

using StreamKind = Stream::Kind;

/// A stream that is not read cannot be missed; one that is must be.
void lose_output(const Draw& draw, StreamKind kind) {
  draw.fault.plan.output = {.kind = kind};
  draw.fault.expectation.reads_output = false;
  draw.fault.expectation.may_succeed = draw.profile.output.empty();
  if (kind == StreamKind::kBroken && !draw.profile.output.empty())
    draw.fault.expectation.statuses = {kClosedPipeStatus};
  draw.fault.expectation.must_succeed = draw.profile.output.empty();
}

void lose_error(const Draw& draw, StreamKind kind) {
  draw.fault.plan.error = {.kind = kind};
  draw.fault.expectation.reads_error = false;
  draw.fault.expectation.must_succeed = true;
}

}  // namespace

std::vector<FaultKind> stream_kinds() {
  const auto if_it_prints = [](const Equipment&, const Scenario&, const Profile& profile) {
    return std::min<std::uint64_t>(profile.output.size(), kMany);
  };
  const auto if_it_reads = [](const Equipment&, const Scenario& scenario, const Profile&) {
    return scenario.reads_standard_input() ? kMany : 0;
  };
  return {
      {"stdin-closed", always,
       [](const Draw& draw) {
         draw.fault.plan.input = {.kind = StreamKind::kClosed};
         draw.fault.expectation.must_succeed = !draw.scenario.reads_standard_input();
       }},
      {"stdin-folder", always,
       [](const Draw& draw) {
         draw.fault.plan.input = {.kind = StreamKind::kFolder};
         draw.fault.expectation.must_succeed = !draw.scenario.reads_standard_input();
       }},
      {"stdin-slow", if_it_reads,
       [](const Draw& draw) {
         draw.fault.plan.input.kind = StreamKind::kNonBlocking;
         draw.fault.expectation.may_succeed = true;
       }},
      {"stdout-closed", always, [](const Draw& draw) { lose_output(draw, StreamKind::kClosed); }},
      {"stdout-full", always, [](const Draw& draw) { lose_output(draw, StreamKind::kFull); }},
      {"stdout-broken", always, [](const Draw& draw) { lose_output(draw, StreamKind::kBroken); }},
      {"stdout-leaves", if_it_prints,
       [](const Draw& draw) {
         const std::uint64_t bytes = draw.number(draw.profile.output.size());
         draw.fault.plan.output = {.kind = StreamKind::kBroken, .bytes = bytes};
         draw.fault.description = fmt::format("the reader leaves after {} bytes", bytes);
         draw.fault.expectation.reads_output = false;
         draw.fault.expectation.statuses = {kClosedPipeStatus};
       }},
      {"stdout-slow", if_it_prints,
       [](const Draw& draw) {
         draw.fault.plan.output = {.kind = StreamKind::kNonBlocking};
         draw.fault.expectation.may_succeed = true;
       }},
      {"stderr-closed", always, [](const Draw& draw) { lose_error(draw, StreamKind::kClosed); }},
      {"stderr-full", always, [](const Draw& draw) { lose_error(draw, StreamKind::kFull); }},
      {"stderr-broken", always, [](const Draw& draw) { lose_error(draw, StreamKind::kBroken); }},
      {"all-closed", always,
       [](const Draw& draw) {
         lose_output(draw, StreamKind::kClosed);
         draw.fault.plan.input = {.kind = StreamKind::kClosed};
         draw.fault.plan.error = {.kind = StreamKind::kClosed};
         draw.fault.expectation.reads_error = false;
         draw.fault.expectation.must_succeed = draw.profile.output.empty() && !draw.scenario.reads_standard_input();
       }},
      {"outputs-full", always,
       [](const Draw& draw) {
         lose_output(draw, StreamKind::kFull);
         draw.fault.plan.error = {.kind = StreamKind::kFull};
         draw.fault.expectation.reads_error = false;
       }},
  };
}

}  // namespace dragoman::faults
