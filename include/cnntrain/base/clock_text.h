// A moment of the clock as text.
#pragma once

#include <array>
#include <chrono>
#include <ctime>
#include <string>

namespace cnntrain {

using Moment = std::chrono::system_clock::time_point;
enum class Zone { local, utc };

/// The moment in the pattern of strftime().
inline std::string clock_text(const char* pattern, std::time_t when = std::time(nullptr), Zone zone = Zone::local) {
    std::tm fields{};
    (zone == Zone::utc ? gmtime_r : localtime_r)(&when, &fields);
    std::array<char, 64> text{};
    std::strftime(text.data(), text.size(), pattern, &fields);
    return text.data();
}
inline std::string clock_text(const char* pattern, Moment when) {
    return clock_text(pattern, std::chrono::system_clock::to_time_t(when));
}

/// The part of the moment below a second, in this unit.
template <typename Unit> long long below_second(Moment when) {
    return std::chrono::duration_cast<Unit>(when.time_since_epoch()).count() % (std::chrono::seconds(1) / Unit(1));
}

}  // namespace cnntrain
