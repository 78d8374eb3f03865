#include "torch/pickle.h"

#include "torch/storages.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_set>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/quote.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;

constexpr std::string_view kTensor = "torch._utils._rebuild_tensor_v2";
constexpr std::string_view kParameter = "torch._utils._rebuild_parameter";
constexpr std::string_view kOrderedDict = "collections.OrderedDict";
constexpr std::string_view kDefaultDict = "collections.defaultdict";
constexpr std::size_t kMaxDimensions = 16;
constexpr std::size_t kLongestKey = 64;

/// Returns the storage for names like "torch.FloatStorage", or an empty string.
std::string_view storage_of(std::string_view name) {
  constexpr std::string_view kModule = "torch.";
  if (!name.starts_with(kModule)) return {};
  const TorchStorage* const found = find_torch_storage(name.substr(kModule.size()));
  return found == nullptr ? std::string_view() : found->name;
}

/// Returns whether the name is data in configurations, such as torch.float32.
bool is_plain_name(std::string_view name) {
  constexpr std::array<std::string_view, 9> kTypes{"torch.float32", "torch.float16", "torch.bfloat16",
                                                   "torch.float64", "torch.int64",   "torch.int32",
                                                   "torch.int16",   "torch.int8",    "torch.bool"};
  return std::ranges::find(kTypes, name) != kTypes.end();
}

/// Returns whether the name is a class of fairseq's or omegaconf's configurations, whose objects are read as their
/// attributes, or a class that these use. None of them is ever run.
bool is_of_configuration(std::string_view name) {
  constexpr std::array<std::string_view, 10> kNames{
      "argparse.Namespace", "typing.Any",        "__builtin__.dict", "__builtin__.list", "__builtin__.int",
      "__builtin__.long",   "__builtin__.float", "__builtin__.str",  "__builtin__.bool", "__builtin__.unicode"};
  return name.starts_with("omegaconf.") || name.starts_with("fairseq.") ||
         std::ranges::find(kNames, name) != kNames.end();
}

/// The maximum length of a class name with its module.
constexpr std::size_t kLongestName = 1024;

/// The stack machine that runs a pickle.
class PickleMachine {
 public:
  PickleMachine(std::span<const std::byte> bytes, const std::string& name, std::deque<PickleValue>& values)
      : bytes_(bytes), name_(name), values_(values) {}

  PickleRef run() {
    while (true) {
      opcode_at_ = place_;
      const auto opcode = number<std::uint8_t>();
      if (opcode == '.') return pop();
      step(opcode);
    }
  }
  std::size_t place() const noexcept { return place_; }

 private:
  using Ref = PickleValue*;

  [[noreturn]] void refuse(std::string_view complaint) const {
    core::fail(ErrorCode::kBadInput, "{}: byte {} of the pickle: {}; the file is damaged, or no torch.save() wrote it",
               name_, opcode_at_, complaint);
  }
  void check(bool holds, const char* complaint) const {
    if (!holds) refuse(complaint);
  }

  std::string_view take(std::uint64_t size) {
    check(size <= bytes_.size() - place_, "it ends too early");
    const std::string_view taken(reinterpret_cast<const char*>(bytes_.data()) + place_, size);
    place_ += size;
    return taken;
  }
  template <class Number>
  Number number() {
    Number value{};
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view line() {
    const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + place_, bytes_.size() - place_);
    const std::size_t end = rest.find('\n');
    check(end != std::string_view::npos, "a name has no end");
    place_ += end + 1;
    return rest.substr(0, end);
  }

  template <class T>
  void push(T value) {
    values_.push_back({std::move(value)});
    stack_.push_back(&values_.back());
  }
  Ref pop() {
    check(stack_.size() > (marks_.empty() ? 0 : marks_.back()), "takes a value where none is");
    const Ref top = stack_.back();
    stack_.pop_back();
    return top;
  }
  Ref top() {
    check(stack_.size() > (marks_.empty() ? 0 : marks_.back()), "needs a value where none is");
    return stack_.back();
  }
  std::vector<PickleRef> pop_marked() {
    check(!marks_.empty(), "takes values up to a mark that is not there");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickleRef> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
  }
  void push_tuple(std::size_t size) {
    PickledTuple tuple;
    for (std::size_t i = 0; i < size; ++i) tuple.items.push_back(pop());
    std::ranges::reverse(tuple.items);
    push(std::move(tuple));
  }
  void remember(std::uint32_t index) { memo_[index] = top(); }
  void recall(std::uint32_t index) {
    const auto found = memo_.find(index);
    check(found != memo_.end(), "recalls what it never remembered");
    stack_.push_back(found->second);
  }
  template <class T>
  T& container(const char* complaint) {
    T* held = std::get_if<T>(&top()->value);
    check(held != nullptr, complaint);
    return *held;
  }
  void add_pairs(const std::vector<PickleRef>& items) {
    check(items.size() % 2 == 0, "a key has no value");
    auto& dictionary = container<PickledDict>("sets items of what is no dictionary");
    for (std::size_t i = 0; i < items.size(); i += 2) dictionary.items.emplace_back(items[i], items[i + 1]);
  }
  void add_items(const std::vector<PickleRef>& items) {
    auto& list = container<PickledList>("appends to what is no list").items;
    list.insert(list.end(), items.begin(), items.end());
  }

  /// Reads a little-endian integer in two's complement of up to 8 bytes.
  std::int64_t long_integer() {
    const auto size = number<std::uint8_t>();
    check(size <= 8, "has an integer of more than 64 bits");
    const std::string_view digits = take(size);
    std::uint64_t value = !digits.empty() && (static_cast<unsigned char>(digits.back()) & 0x80U) != 0 ? ~0ULL : 0;
    for (std::size_t i = digits.size(); i-- > 0;) value = value << 8U | static_cast<unsigned char>(digits[i]);
    return static_cast<std::int64_t>(value);
  }
  /// Reads a big-endian float.
  double binary_float() {
    std::string digits(take(8));
    std::ranges::reverse(digits);
    double value = 0;
    std::memcpy(&value, digits.data(), sizeof value);
    return value;
  }

  /// Pushes a known name. Any other name is an error, before it can have an effect.
  void push_global(std::string name) {
    if (storage_of(name).empty() && !is_plain_name(name) && name != kTensor && name != kParameter &&
        name != kOrderedDict && name != kDefaultDict && !is_of_configuration(name))
      core::fail(ErrorCode::kUnsupported,
                 "{}: byte {} of the pickle: it calls {}, which is not of tensors and plain data, and nothing that is "
                 "in a model's file is ever run; load the file in Python where you trust it and save the state dict "
                 "alone, best as safetensors",
                 name_, opcode_at_, core::quote(name));
    push(PickledGlobal{std::move(name)});
  }

  template <class T>
  const T& argument(const PickledTuple& arguments, std::size_t index) const {
    check(index < arguments.items.size(), "a call has too few arguments");
    const T* held = arguments.items[index]->as<T>();
    check(held != nullptr, "a call has an argument of another type");
    return *held;
  }
  std::vector<std::int64_t> numbers(const PickledTuple& arguments, std::size_t index) const {
    const auto& items = argument<PickledTuple>(arguments, index).items;
    check(items.size() <= kMaxDimensions, "a tensor has more dimensions than any model's");
    std::vector<std::int64_t> result;
    for (const PickleRef item : items) {
      const auto* value = item->as<std::int64_t>();
      check(value != nullptr && *value >= 0, "a tensor has a size or stride that is none");
      result.push_back(*value);
    }
    return result;
  }

  void call() {
    const Ref arguments_value = pop();
    const auto* arguments = arguments_value->as<PickledTuple>();
    const auto* function = pop()->as<PickledGlobal>();
    check(arguments != nullptr && function != nullptr, "calls what is no name, or without arguments");
    if (function->name == kTensor) {
      const auto& storage = argument<PickledStorage>(*arguments, 0);
      PickledTensor tensor{.storage = storage.key,
                           .storage_type = storage.type,
                           .offset = argument<std::int64_t>(*arguments, 1),
                           .shape = numbers(*arguments, 2),
                           .strides = numbers(*arguments, 3)};
      check(tensor.offset >= 0 && tensor.shape.size() == tensor.strides.size(),
            "a tensor's sizes and strides disagree");
      push(std::make_shared<const PickledTensor>(std::move(tensor)));
    } else if (function->name == kParameter) {
      argument<std::shared_ptr<const PickledTensor>>(*arguments, 0);
      stack_.push_back(const_cast<Ref>(arguments->items[0]));
    } else if (function->name == kOrderedDict) {
      check(arguments->items.empty(), "an ordered dictionary is made of something");
      push(PickledDict{});
    } else if (function->name == kDefaultDict) {
      push(PickledDict{});
    } else if (is_of_configuration(function->name)) {
      // A member of an enumeration is represented by its value.
      if (arguments->items.size() == 1) return stack_.push_back(const_cast<Ref>(arguments->items[0]));
      push(PickledDict{});
    } else {
      refuse("calls " + core::quote(function->name) + ", which is not to be called here");
    }
  }
  /// Sets the attributes of a new dictionary. They are kept for a Namespace, and ignored for an OrderedDict, where they
  /// are irrelevant (`_metadata`).
  void build() {
    auto* attributes = std::get_if<PickledDict>(&pop()->value);
    auto& object = container<PickledDict>("sets the state of what has none");
    check(attributes != nullptr, "a state is no dictionary");
    // Moved, since copies for many objects would take more memory than any file.
    if (namespaces_.contains(top()) && attributes != &object) object.items = std::move(attributes->items);
  }
  void new_object() {
    call();
    check(top()->as<PickledDict>() != nullptr, "makes an object of a class that is none");
    namespaces_.insert(top());
  }
  /// Reads ('storage', type, key, place, elements).
  void push_storage() {
    const Ref id = pop();
    const auto* parts = id->as<PickledTuple>();
    check(parts != nullptr && parts->items.size() >= 5, "refers to what is no storage");
    check(argument<std::string>(*parts, 0) == "storage", "refers to what is no storage");
    const std::string_view type = storage_of(argument<PickledGlobal>(*parts, 1).name);
    const auto& key = argument<std::string>(*parts, 2);
    check(!type.empty() && key.size() <= kLongestKey, "refers to a storage of no type, or of a name that is none");
    push(PickledStorage{key, type});
  }

  void step(std::uint8_t opcode);
  bool step_value(std::uint8_t opcode);
  bool step_container(std::uint8_t opcode);

  std::span<const std::byte> bytes_;
  const std::string& name_;
  std::deque<PickleValue>& values_;
  std::size_t place_ = 0;
  std::size_t opcode_at_ = 0;
  std::vector<Ref> stack_;
  std::vector<std::size_t> marks_;
  core::IntegerMap<std::uint32_t, Ref> memo_;
  std::unordered_set<PickleRef> namespaces_;
};

// The names of the opcodes are those in Python's pickletools.

bool PickleMachine::step_value(std::uint8_t opcode) {
  switch (opcode) {
    case 'N':  // NONE
      return push(std::monostate{}), true;
    case 0x88:  // NEWTRUE
      return push(true), true;
    case 0x89:  // NEWFALSE
      return push(false), true;
    case 'J':  // BININT
      return push(static_cast<std::int64_t>(number<std::int32_t>())), true;
    case 'K':  // BININT1
      return push(static_cast<std::int64_t>(number<std::uint8_t>())), true;
    case 'M':  // BININT2
      return push(static_cast<std::int64_t>(number<std::uint16_t>())), true;
    case 0x8A:  // LONG1
      return push(long_integer()), true;
    case 'G':  // BINFLOAT
      return push(binary_float()), true;
    case 'X':  // BINUNICODE
    case 'B':  // BINBYTES
    case 'T':  // BINSTRING
      return push(std::string(take(number<std::uint32_t>()))), true;
    case 0x8C:  // SHORT_BINUNICODE
    case 'C':   // SHORT_BINBYTES
    case 'U':   // SHORT_BINSTRING
      return push(std::string(take(number<std::uint8_t>()))), true;
    default:
      return false;
  }
}

bool PickleMachine::step_container(std::uint8_t opcode) {
  switch (opcode) {
    case '}':  // EMPTY_DICT
      return push(PickledDict{}), true;
    case ']':  // EMPTY_LIST
      return push(PickledList{}), true;
    case ')':  // EMPTY_TUPLE
      return push(PickledTuple{}), true;
    case 't':  // TUPLE
      return push(PickledTuple{pop_marked()}), true;
    case 0x85:  // TUPLE1
    case 0x86:  // TUPLE2
    case 0x87:  // TUPLE3
      return push_tuple(opcode - 0x84U), true;
    case 'a': {  // APPEND
      const Ref item = pop();
      return add_items({item}), true;
    }
    case 'e':  // APPENDS
      return add_items(pop_marked()), true;
    case 's': {  // SETITEM
      const Ref value = pop();
      const Ref key = pop();
      return add_pairs({key, value}), true;
    }
    case 'u':  // SETITEMS
      return add_pairs(pop_marked()), true;
    default:
      return false;
  }
}

void PickleMachine::step(std::uint8_t opcode) {
  if (step_value(opcode) || step_container(opcode)) return;
  switch (opcode) {
    case 0x80: {  // PROTO
      const auto protocol = number<std::uint8_t>();
      return check(protocol >= 2 && protocol <= 5, "it is of a protocol that is not 2 to 5");
    }
    case 0x95:  // FRAME
      take(8);
      return;
    case '(':  // MARK
      return marks_.push_back(stack_.size());
    case '0':  // POP
      pop();
      return;
    case '1':  // POP_MARK
      pop_marked();
      return;
    case 'q':  // BINPUT
      return remember(number<std::uint8_t>());
    case 'r':  // LONG_BINPUT
      return remember(number<std::uint32_t>());
    case 0x94:  // MEMOIZE
      return remember(static_cast<std::uint32_t>(memo_.size()));
    case 'h':  // BINGET
      return recall(number<std::uint8_t>());
    case 'j':  // LONG_BINGET
      return recall(number<std::uint32_t>());
    case 'c': {  // GLOBAL
      std::string name(line());
      name += '.';
      name += line();
      check(name.size() <= kLongestName, "a name is longer than any");
      return push_global(std::move(name));
    }
    case 0x93: {  // STACK_GLOBAL
      const auto* name = pop()->as<std::string>();
      const auto* module = pop()->as<std::string>();
      check(name != nullptr && module != nullptr, "a name is no text");
      check(name->size() + module->size() < kLongestName, "a name is longer than any");
      return push_global(*module + "." + *name);
    }
    case 'Q':  // BINPERSID
      return push_storage();
    case 'R':  // REDUCE
      return call();
    case 0x81:  // NEWOBJ
      return new_object();
    case 'b':  // BUILD
      return build();
    default:
      refuse(fmt::format("the opcode 0x{:02X} is none that torch.save() writes", opcode));
  }
}

}  // namespace

PickleRef PickleValue::at(std::string_view key) const {
  const auto* dictionary = as<PickledDict>();
  if (dictionary == nullptr) return nullptr;
  // Of duplicate keys, the last one counts, as in Python.
  for (auto item = dictionary->items.rbegin(); item != dictionary->items.rend(); ++item)
    if (const auto* text = item->first->as<std::string>(); text != nullptr && *text == key) return item->second;
  return nullptr;
}

Pickle::Pickle(std::span<const std::byte> bytes, const std::string& name) {
  PickleMachine machine(bytes, name, values_);
  root_ = machine.run();
  size_ = machine.place();
}

}  // namespace dragoman::imports
