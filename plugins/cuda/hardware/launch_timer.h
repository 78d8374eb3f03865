#pragma once

namespace dragoman::backend::cuda {

/// Takes the time of what is launched within its scope, under a name that lives as long as the program; nothing unless
/// LaunchTimes was switched on.
class TimedLaunch {
 public:
  explicit TimedLaunch(const char* name);
  TimedLaunch(const TimedLaunch&) = delete;
  TimedLaunch& operator=(const TimedLaunch&) = delete;
  ~TimedLaunch();

 private:
  const char* name_;
  void* begin_ = nullptr;  ///< an event
};

}  // namespace dragoman::backend::cuda
