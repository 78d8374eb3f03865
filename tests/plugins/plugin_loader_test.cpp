#include "dragoman/plugins/plugin_loader.h"

#include "error_message.h"
#include "planted/twice.h"
#include "planted_file.h"
#include "test_data.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/plugins/fingerprint.h>
#include <dragoman/plugins/host.h>

namespace dragoman::plugins {
namespace {

using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;

/// What is registered, to see that a refused plugin leaves no trace.
struct Inventory {
  std::size_t models, stages, plugin_kernels, cpu_kernels, reference_kernels, plugins;
  bool operator==(const Inventory&) const = default;
};

Inventory inventory_of(Host& host) {
  return {host.registry().models().all().size(),
          host.registry().stages().all().size(),
          host.registry().kernels().size(),
          host.runtime().kernels(tensor::Device::kCpu).count(),
          host.runtime().kernels(tensor::Device::kReference).count(),
          host.loader().loaded().size()};
}

/// The message with which `file` is refused; the host must be afterwards what it was before.
std::string refusal_of(Host& host, const std::string& file) {
  const Inventory before = inventory_of(host);
  const std::string message = error_of([&] { host.loader().load(file); });
  EXPECT_EQ(inventory_of(host), before) << message;
  return message;
}

TEST(PluginLoader, LoadsAFileAndRegistersItsParts) {
  Host host;
  const LoadedPlugin& plugin = host.loader().load(planted_file("good"));
  EXPECT_EQ(plugin.name, "good");
  EXPECT_EQ(plugin.licence, "Apache-2.0");
  EXPECT_EQ(plugin.toolkit_version, kToolkitVersion);
  EXPECT_EQ(host.registry().stages().find("shout")->provider, "good");

  const core::Json json = {{"marks", 2}};
  core::OptionReader options(json, "test");
  const auto shout = host.registry().stages().get("shout").make(options);
  options.finish();
  pipeline::Record record;
  record.text = "hello";
  shout->process(record);
  EXPECT_EQ(record.text, "HELLO!!");
}

TEST(PluginLoader, APluginsKernelRunsOnBothDevices) {
  Host host;
  host.loader().load(planted_file("good"));
  core::SequentialExecutor executor;
  for (const tensor::Device device : {tensor::Device::kCpu, tensor::Device::kReference}) {
    const auto context = host.runtime().make_context(device, executor);
    const tensor::Tensor x = tensor::copy_to_step(*context, std::vector<float>{1, 2, 3}, 1, 3);
    const tensor::Tensor y = context->allocate(1, 3);
    context->kernels().get(planted::kTwice)(*context, {x, y});
    EXPECT_EQ(tensor::element(y, 0, 2), 6) << tensor::name_of(device);
  }
}

TEST(PluginLoader, FindsInstalledPluginsByTheirName) {
  Host host({.plugin_folder = testing::built("planted_plugins")});
  EXPECT_EQ(host.loader().require_plugin("good").name, "good");
  EXPECT_EQ(&host.loader().require_plugin("good"), host.loader().find("good"));
  EXPECT_THAT(refusal_of(host, "goof"), AllOf(HasSubstr("'goof' is not installed"), HasSubstr("goof.so")));
}

TEST(PluginLoader, AModelCannotNameAFile) {
  Host host({.plugin_folder = testing::built("planted_plugins")});
  for (const std::string name : {"../planted/good", "/tmp/x.so", "good.so", "", ".", "a b"})
    EXPECT_THAT(error_of([&] { host.loader().require_plugin(name); }), HasSubstr("is not the name of a plugin"))
        << name;
  EXPECT_TRUE(host.loader().loaded().empty());
}

TEST(PluginLoader, WithoutAFolderNamesAreRefused) {
  Host host;
  EXPECT_THAT(refusal_of(host, "good"), HasSubstr("no folder of installed plugins is known"));
}

TEST(PluginLoader, AFileThatDoesNotExist) {
  Host host;
  EXPECT_THAT(refusal_of(host, "/nowhere/plugin.so"), HasSubstr("/nowhere/plugin.so: there is no such plugin file"));
}

TEST(PluginLoader, AFileThatIsNoSharedLibrary) {
  const testing::TemporaryFolder folder;
  const std::string file = (folder / "text.so").string();
  std::ofstream(file) << "This is no ELF file, however its name ends. " << std::string(4096, 'x');
  Host host;
  EXPECT_THAT(refusal_of(host, file), AllOf(HasSubstr(file), HasSubstr("cannot be loaded as a shared library")));
}

TEST(PluginLoader, ALibraryWithoutTheQuery) {
  Host host;
  EXPECT_THAT(refusal_of(host, planted_file("no_query")),
              HasSubstr("has a plugin's note but is no plugin: it does not export dragoman_plugin_query()"));
}

TEST(PluginLoader, ADescriptorThatIsTooSmall) {
  Host host;
  EXPECT_THAT(refusal_of(host, planted_file("old_descriptor")), HasSubstr("the plugin's descriptor has 8 bytes"));
}

TEST(PluginLoader, AnotherSdkIsRefusedBeforeAnyOfItsCodeIsCalled) {
  Host host;
  EXPECT_THAT(refusal_of(host, planted_file("foreign_sdk")),
              AllOf(HasSubstr("built for another SDK"), HasSubstr("compiler 'gcc 3' where this program has"),
                    HasSubstr("SDK headers '0123456789abcdef' where this program has")));
}

TEST(PluginLoader, ARegistrationThatThrowsLeavesNothingBehind) {
  Host host;
  EXPECT_THAT(
      refusal_of(host, planted_file("throwing")),
      AllOf(HasSubstr("'throwing' failed to register and was left out"), HasSubstr("the table of tables is missing")));
  EXPECT_EQ(host.registry().stages().find("orphan"), nullptr);
}

TEST(PluginLoader, ATakenModelNameLeavesNothingBehind) {
  Host host;
  EXPECT_THAT(refusal_of(host, planted_file("duplicate")),
              HasSubstr("the model 'transformer' is registered already, by 'dragoman'"));
  EXPECT_EQ(host.registry().models().find("newcomer"), nullptr);
}

TEST(PluginLoader, ATakenKernelLeavesNothingBehind) {
  Host host;
  EXPECT_THAT(refusal_of(host, planted_file("duplicate_kernel")), HasSubstr("already has a kernel for the op 'add'"));
  EXPECT_EQ(host.runtime().kernels(tensor::Device::kCpu).find(planted::kTwice), nullptr);
}

TEST(PluginLoader, ARefusedPluginDoesNotStandInTheWayOfTheNext) {
  Host host;
  refusal_of(host, planted_file("throwing"));
  EXPECT_EQ(host.loader().load(planted_file("good")).name, "good");
}

TEST(PluginLoader, TheSamePluginTwiceAndTwoOfOneName) {
  Host host;
  host.loader().load(planted_file("good"));
  EXPECT_THAT(refusal_of(host, planted_file("good")), HasSubstr("a plugin called 'good' is there already"));
  EXPECT_THAT(refusal_of(host, planted_file("same_name")),
              AllOf(HasSubstr("same_name.so: a plugin called 'good' is there already"), HasSubstr("good.so")));
}

TEST(PluginLoader, AFileNameMustBeTheNameOfThePlugin) {
  Host host({.plugin_folder = testing::built("planted_plugins")});
  EXPECT_THAT(refusal_of(host, "same_name"), HasSubstr("holds the plugin 'good', not 'same_name'"));
}

TEST(PluginLoader, EachHostHasItsOwnRegistry) {
  Host first;
  first.loader().load(planted_file("good"));
  Host second;
  EXPECT_EQ(second.registry().stages().find("shout"), nullptr);
  second.loader().load(planted_file("good"));
  EXPECT_NE(second.registry().stages().find("shout"), nullptr);
}

// --- the descriptor, field by field ---

void register_nothing(Registrar&) {}

PluginDescriptor complete_descriptor() {
  return {sizeof(PluginDescriptor), kPluginMagic, kFingerprint, "1.0", "mine", "MIT", register_nothing};
}

std::string complaint_about(const PluginDescriptor& descriptor) {
  return error_of([&] { check_descriptor(&descriptor, "mine.so"); });
}

TEST(PluginDescriptorCheck, ACompleteOnePasses) {
  const PluginDescriptor descriptor = complete_descriptor();
  EXPECT_NO_THROW(check_descriptor(&descriptor, "mine.so"));
}

TEST(PluginDescriptorCheck, ALargerOneOfAFutureHostPasses) {
  PluginDescriptor descriptor = complete_descriptor();
  descriptor.struct_size += 16;
  EXPECT_NO_THROW(check_descriptor(&descriptor, "mine.so"));
}

TEST(PluginDescriptorCheck, EveryFieldIsChecked) {
  EXPECT_THAT(error_of([] { check_descriptor(nullptr, "mine.so"); }), HasSubstr("returned no descriptor"));

  PluginDescriptor descriptor = complete_descriptor();
  descriptor.magic = 0x12345678;
  EXPECT_THAT(complaint_about(descriptor), HasSubstr("0x12345678"));

  descriptor = complete_descriptor();
  descriptor.fingerprint = nullptr;
  EXPECT_THAT(complaint_about(descriptor), HasSubstr("fingerprint"));

  const std::string endless(5000, 'a');
  descriptor = complete_descriptor();
  descriptor.name = endless.c_str();
  EXPECT_THAT(complaint_about(descriptor), HasSubstr("the name in the plugin's descriptor is missing or too long"));

  descriptor = complete_descriptor();
  descriptor.name = "../mine";
  EXPECT_THAT(complaint_about(descriptor), HasSubstr("'../mine' cannot be the name of a plugin"));

  descriptor = complete_descriptor();
  descriptor.licence = nullptr;
  EXPECT_THAT(complaint_about(descriptor), HasSubstr("licence"));

  descriptor = complete_descriptor();
  descriptor.register_plugin = nullptr;
  EXPECT_THAT(complaint_about(descriptor), HasSubstr("no register function"));
}

TEST(PluginDescriptorCheck, SaysWhichPartOfTheFingerprintDiffers) {
  std::string fingerprint = kFingerprint;
  const std::string ours = "sanitizer=";
  const std::size_t value = fingerprint.find(ours) + ours.size();
  fingerprint.replace(value, fingerprint.find(';', value) - value, "memory");
  PluginDescriptor descriptor = complete_descriptor();
  descriptor.fingerprint = fingerprint.c_str();
  const std::string message = complaint_about(descriptor);
  EXPECT_THAT(message, HasSubstr("sanitizer 'memory' where this program has '"));
  EXPECT_EQ(message.find("compiler"), std::string::npos) << message;
}

TEST(PluginDescriptorCheck, AFingerprintWithPartsThatWeDoNotKnow) {
  const std::string fingerprint = std::string(kFingerprint) + "; moon=full";
  PluginDescriptor descriptor = complete_descriptor();
  descriptor.fingerprint = fingerprint.c_str();
  EXPECT_THAT(complaint_about(descriptor), HasSubstr("it knows parts that this program does not"));
}

}  // namespace
}  // namespace dragoman::plugins
