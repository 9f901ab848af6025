#include "cnntrain/base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace cnntrain::log {
namespace {

/// In the order of Level.
constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                                                 spdlog::level::err};

spdlog::logger& logger() {
    static const std::unique_ptr<spdlog::logger> instance = [] {
        auto made = std::make_unique<spdlog::logger>("cnntrain", std::make_shared<spdlog::sinks::stderr_sink_mt>());
        made->set_pattern("[%l] %v");
        made->flush_on(spdlog::level::debug);
        return made;
    }();
    return *instance;
}

}  // namespace

void set_level(Level level) {
    logger().set_level(kLevels[static_cast<int>(level)]);
}

void set_prefix(const std::string& prefix) {
    std::string pattern;
    for (const char c : prefix)
        pattern += c == '%' ? std::string("%%") : std::string(1, c);
    logger().set_pattern(pattern + "[%l] %v");
}

void debug(const std::string& message) {
    logger().log(spdlog::level::debug, spdlog::string_view_t(message));
}

void info(const std::string& message) {
    logger().log(spdlog::level::info, spdlog::string_view_t(message));
}

void warning(const std::string& message) {
    logger().log(spdlog::level::warn, spdlog::string_view_t(message));
}

void error(const std::string& message) {
    logger().log(spdlog::level::err, spdlog::string_view_t(message));
}

}  // namespace cnntrain::log
