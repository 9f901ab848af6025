#include "cnntrain/base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <mutex>
#include <utility>

#include "cnntrain/base/text.h"

namespace cnntrain::log {
namespace {

/// spdlog's levels, indexed by Level.
constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                                                 spdlog::level::err};
constexpr const char* kYellow = "\033[33m";
constexpr const char* kRed = "\033[1;31m";

struct State {
    std::shared_ptr<spdlog::sinks::stderr_color_sink_mt> sink;
    std::unique_ptr<spdlog::logger> logger;
    std::mutex mutex;
    Format format = nullptr;
    std::function<void()> before_line;

    void set_pattern() const { logger->set_pattern(format != nullptr ? "%v" : "%^[%l]%$ %v"); }
};

State& state() {
    static State instance;
    static const bool made = [] {
        instance.sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>(spdlog::color_mode::never);
        instance.sink->set_color(spdlog::level::info, "");
        instance.sink->set_color(spdlog::level::warn, kYellow);
        instance.sink->set_color(spdlog::level::err, kRed);
        instance.logger = std::make_unique<spdlog::logger>("cnntrain", instance.sink);
        instance.logger->flush_on(spdlog::level::debug);
        instance.set_pattern();
        return true;
    }();
    static_cast<void>(made);
    return instance;
}

void print(Level level, const std::string& message) {
    State& all = state();
    const spdlog::level::level_enum own = kLevels[static_cast<int>(level)];
    if (!all.logger->should_log(own)) return;
    const std::scoped_lock lock(all.mutex);
    if (all.before_line) all.before_line();
    const auto name = spdlog::level::to_string_view(own);
    const std::string text =
        all.format != nullptr ? all.format({name.data(), name.size()}, message) : printable_lines(message);
    all.logger->log(own, spdlog::string_view_t(text));
}

}  // namespace

void set_level(Level level) {
    state().logger->set_level(kLevels[static_cast<int>(level)]);
}

void set_colours(bool on) {
    state().sink->set_color_mode(on ? spdlog::color_mode::always : spdlog::color_mode::never);
}

void set_format(Format format) {
    State& all = state();
    const std::scoped_lock lock(all.mutex);
    all.format = format;
    all.set_pattern();
}

void set_before_line(std::function<void()> before) {
    State& all = state();
    const std::scoped_lock lock(all.mutex);
    all.before_line = std::move(before);
}

void debug(const std::string& message) {
    print(Level::debug, message);
}

void info(const std::string& message) {
    print(Level::info, message);
}

void warning(const std::string& message) {
    print(Level::warning, message);
}

void error(const std::string& message) {
    print(Level::error, message);
}

}  // namespace cnntrain::log
