#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <poplar/Engine.hpp>
#include <poplar/exceptions.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ipu_emulator/model/machine.h"
#include "ipu_emulator/model/options.h"

namespace ipu_emulator {
namespace {

std::string joined(std::span<const std::string_view> words) {
    std::string text;
    for (const std::string_view word : words)
        text += (text.empty() ? "" : ", ") + std::string(word);
    return text.empty() ? "none" : text;
}

[[noreturn]] void wrong_value(std::string_view name, const std::string& expected, const std::string& value) {
    throw poplar::invalid_option("the option " + std::string(name) + " expects " + expected + ", got \"" + value +
                                 "\"");
}

}  // namespace

void check_options(std::string_view function, const poplar::OptionFlags& options,
                   std::span<const std::string_view> known) {
    for (const auto& [name, value] : options) {
        if (std::ranges::find(known, std::string_view(name)) != known.end()) continue;
        throw poplar::invalid_option(std::string(function) + ": unknown option \"" + name +
                                     "\"; known are: " + joined(known));
    }
}

bool bool_option(const poplar::OptionFlags& options, std::string_view name, bool fallback) {
    const auto found = options.find(std::string(name));
    if (found == options.end()) return fallback;
    if (found->second != "true" && found->second != "false") wrong_value(name, "true or false", found->second);
    return found->second == "true";
}

std::string choice_option(const poplar::OptionFlags& options, std::string_view name,
                          std::initializer_list<std::string_view> choices) {
    const auto found = options.find(std::string(name));
    if (found == options.end()) return std::string(*choices.begin());
    if (std::ranges::find(choices, std::string_view(found->second)) == choices.end())
        wrong_value(name, "one of " + joined(std::span(choices.begin(), choices.size())), found->second);
    return found->second;
}

double number_option(const poplar::OptionFlags& options, std::string_view name, double fallback) {
    const auto found = options.find(std::string(name));
    if (found == options.end()) return fallback;
    char* end = nullptr;
    const double value = std::strtod(found->second.c_str(), &end);
    if (found->second.empty() || *end != '\0') wrong_value(name, "a number", found->second);
    return value;
}

std::uint64_t count_option(const poplar::OptionFlags& options, std::string_view name, std::uint64_t fallback) {
    const auto found = options.find(std::string(name));
    if (found == options.end()) return fallback;
    std::uint64_t value = 0;
    const char* end = found->second.data() + found->second.size();
    const auto [last, error] = std::from_chars(found->second.data(), end, value);
    if (error != std::errc() || last != end) wrong_value(name, "a whole number from 0 on", found->second);
    return value;
}

namespace {

constexpr const char* kVariable = "POPLAR_ENGINE_OPTIONS";

/// Reads {"name": "value", ...}.
class FlatObject {
public:
    explicit FlatObject(std::string_view text) : text_(text) {}

    void read_into(poplar::OptionFlags& options) {
        expect('{');
        if (next() != '}') {
            read_pair(options);
            while (next() == ',') {
                ++at_;
                read_pair(options);
            }
        }
        expect('}');
        if (next() != '\0') wrong("the end");
    }

private:
    void read_pair(poplar::OptionFlags& options) {
        const std::string name = read_string();
        expect(':');
        options.set(name, read_string());
    }
    std::string read_string() {
        expect('"');
        std::string word;
        for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
            if (text_[at_] == '\\') ++at_;
            if (at_ < text_.size()) word += text_[at_];
        }
        expect('"');
        return word;
    }
    char next() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0)
            ++at_;
        return at_ < text_.size() ? text_[at_] : '\0';
    }
    void expect(char c) {
        if (next() != c) wrong(std::string(1, c));
        ++at_;
    }
    [[noreturn]] void wrong(const std::string& expected) const {
        throw poplar::invalid_option(std::string(kVariable) + ": expected " + expected + " at character " +
                                     std::to_string(at_ + 1) + " of " + std::string(text_) +
                                     "; write a JSON object of strings, {\"name\": \"value\"}");
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

constexpr const char* kSwitches[] = {"autoReport.all",
                                     "autoReport.outputExecutionProfile",
                                     "autoReport.outputGraphProfile",
                                     "autoReport.outputDebugInfo",
                                     "autoReport.outputLoweredVars",
                                     "debug.instrument",
                                     "debug.instrumentCompute",
                                     "debug.instrumentExternalExchange",
                                     "debug.instrumentControlFlow",
                                     "debug.allowOutOfMemory",
                                     "debug.retainDebugInformation",
                                     "debug.floatPointOpException",
                                     "debug.nanOverflowMode",
                                     "debug.trace",
                                     "debug.cbor",
                                     "target.syncReplicasIndependently",
                                     "target.extendedMemory",
                                     "exchange.enablePrefetch",
                                     "prng.enableStochasticRounding",
                                     "opt.enableMultiAccessCopies",
                                     "opt.useAutoloader"};
constexpr const char* kCounts[] = {"autoReport.executionProfileProgramRunCount", "prng.seed"};
/// Options whose values are not checked: paths, and words that no source lists completely.
constexpr const char* kTexts[] = {"autoReport.directory",
                                  "debug.computeInstrumentationLevel",
                                  "target.deterministicWorkers",
                                  "target.saveArchive",
                                  "exchange.streamBufferOverlap",
                                  "exchange.multicastPolicy",
                                  "opt.internalExchangeOptimisationTarget"};

}  // namespace

poplar::OptionFlags with_environment(const poplar::OptionFlags& options) {
    poplar::OptionFlags result = options;
    if (const char* text = std::getenv(kVariable)) FlatObject(text).read_into(result);
    return result;
}

void check_engine_options(const poplar::OptionFlags& options) {
    std::vector<std::string_view> known(std::begin(kSwitches), std::end(kSwitches));
    known.insert(known.end(), std::begin(kCounts), std::end(kCounts));
    known.insert(known.end(), std::begin(kTexts), std::end(kTexts));
    check_options("Engine", options, known);
    for (const char* name : kSwitches)
        bool_option(options, name, false);
    for (const char* name : kCounts)
        count_option(options, name, 0);
}

}  // namespace ipu_emulator

namespace poplar {

using ipu_emulator::Machine;

// NOLINTNEXTLINE(performance-unnecessary-value-param): Poplar's signature
Engine::Engine(const Graph& graph, ArrayRef<Program> programs, const OptionFlags& options, ProgressFunc,
               const DebugContext&)
    : machine_(std::make_unique<Machine>(ipu_emulator::Access::shared(graph),
                                         std::span(programs.data(), programs.size()), options)) {}

// NOLINTNEXTLINE(performance-unnecessary-value-param): Poplar's signature
Engine::Engine(const Graph& graph, Program program, const OptionFlags& options, ProgressFunc progressCallBack,
               const DebugContext& debugContext)
    : Engine(graph, ArrayRef<Program>(&program, 1), options, std::move(progressCallBack), debugContext) {}

Engine::Engine(Engine&&) noexcept = default;
Engine::~Engine() = default;

void Engine::load(const Device& device) {
    machine_->load(device.getTarget());
}

void Engine::run(unsigned programIndex, const std::string&) {
    machine_->run(programIndex);
}

void Engine::connectStream(StringRef handle, void* begin, void* end) {
    machine_->port(handle.cloneAsString()).connect(static_cast<std::byte*>(begin), static_cast<std::byte*>(end));
}

void Engine::connectStream(StringRef handle, void* begin) {
    machine_->port(handle.cloneAsString()).connect(static_cast<std::byte*>(begin));
}

void Engine::connectStreamToCallback(StringRef handle, StreamCallbackHandle callback) {
    machine_->port(handle.cloneAsString()).connect(callback.takeCallback());
}

void Engine::connectStreamToCallback(StringRef handle, unsigned replica, StreamCallbackHandle callback) {
    machine_->port(handle.cloneAsString()).connect(replica, callback.takeCallback());
}

void Engine::copyFromRemoteBuffer(StringRef handle, void* w, std::uint64_t repeatIndex, unsigned replicationIndex) {
    machine_->copy_row(handle.cloneAsString(), repeatIndex, replicationIndex, nullptr, w);
}

void Engine::copyToRemoteBuffer(void* w, StringRef handle, std::uint64_t repeatIndex, unsigned replicationIndex) {
    machine_->copy_row(handle.cloneAsString(), repeatIndex, replicationIndex, w, nullptr);
}

void Engine::readTensor(StringRef handle, void* buf, void* bufEnd) {
    machine_->read_tensor(handle.cloneAsString(), static_cast<std::byte*>(buf), static_cast<std::byte*>(bufEnd));
}

void Engine::writeTensor(StringRef handle, const void* buf, const void* bufEnd) {
    machine_->write_tensor(handle.cloneAsString(), static_cast<const std::byte*>(buf),
                           static_cast<const std::byte*>(bufEnd));
}

}  // namespace poplar
