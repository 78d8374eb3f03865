#pragma once

#include "process.h"
#include "tree.h"

#include <filesystem>
#include <string>
#include <vector>

namespace dragoman::faults {

/// Something that a command writes in the folder `out` of its working directory.
struct Output {
  enum class Kind {
    kFile,         ///< takes its name when complete; beside it there may be `.partial` and `.partial.job`
    kModelFolder,  ///< replaced as a whole; beside it there may be `.partial` and `.replaced`
    kRunFolder,    ///< of a training run
  };
  std::string name;
  Kind kind = Kind::kFile;
  std::string old = {};  ///< the fixture that stands for an earlier result; empty for a file: a line of text
};

/// One way to use a command, on small real inputs.
struct Scenario {
  std::string name;
  std::string command;                 ///< as users know it, for the table
  std::vector<std::string> arguments;  ///< "{f}" is the folder of fixtures
  std::string input = {};              ///< the fixture given on standard input; empty: nothing is read from there
  std::vector<Output> outputs = {};
  std::vector<std::string> resume = {};      ///< added to continue after an interruption; empty: just run it again
  std::string start = {};                    ///< the fixture that is copied to `out` first
  std::vector<std::string> changeable = {};  ///< files of `out` that say when or how fast they were made
  bool reports_faults = false;               ///< what it prints says what failed, so no two failures print the same
  bool loads_library = false;                ///< by the system's loader, which takes an interrupted read for an error
  bool replaces = true;                      ///< earlier results may lie at its outputs
  bool belong_together = false;              ///< its outputs are of use only with one another

  bool reads_standard_input() const { return !input.empty(); }
};

/// Every command of the program, most in several ways.
std::vector<Scenario> make_scenarios();

/// What a scenario does when nothing goes wrong.
struct Profile {
  int status = 0;
  std::string output;
  std::string error;
  Tree results;
  std::vector<std::uint64_t> calls;  ///< by class; empty where processes cannot be supervised
  std::uint64_t allocations = 0;     ///< of Dragoman's own; 0 without the hooks
  std::uint64_t peak_address_space = 0;
  double seconds = 0;
  double processor_seconds = 0;
  double began_after = 0;  ///< of the processor time; 0 if the command has no beginning, as that of --help
};

/// The programs and folders that everything needs.
struct Equipment {
  std::string program;
  std::string hooks;  ///< the library for LD_PRELOAD; empty if it cannot be used
  std::filesystem::path model;
  std::filesystem::path plugin = {};
  std::filesystem::path foreign = {};  ///< models of other toolkits
  std::filesystem::path scratch;
  bool supervision = false;
  bool mounts = false;  ///< file systems can be mounted, for this process alone
  std::filesystem::path fixtures() const { return scratch / "fixtures"; }
};

/// Makes corpora, tokenizers, models and configurations in equipment.fixtures(), with the program itself.
void make_fixtures(const Equipment& equipment);

/// Makes the working directory `folder` of a scenario: `out` with what it starts from, and `tmp`.
void make_workplace(const Equipment& equipment, const Scenario& scenario, const std::filesystem::path& folder);
/// Puts earlier results where the outputs will be.
void add_earlier_results(const Equipment& equipment, const Scenario& scenario, const std::filesystem::path& folder);

/// The undisturbed run in that folder.
RunPlan plan_of(const Equipment& equipment, const Scenario& scenario, const std::filesystem::path& folder);

/// Runs the scenario undisturbed, counts what can fail, and makes sure that two runs give the same bytes. Throws
/// std::runtime_error if not.
Profile measure(const Equipment& equipment, const Scenario& scenario);

}  // namespace dragoman::faults
