#include "ipu_emulator/model/engine_options.h"

#include <cctype>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <poplar/exceptions.hpp>

#include "ipu_emulator/model/options.h"

namespace ipu_emulator {
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
