#include "cnntrain/config/yaml_text.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <unordered_map>
#include <vector>

#include "cnntrain/base/io.h"

namespace cnntrain::config {
namespace {

constexpr std::uint64_t kLargestFileBytes = 1'000'000;
constexpr std::int64_t kMostValues = 20'000;
constexpr int kDeepest = 64;

/// The size of a value after its references are expanded.
struct Extent {
    std::int64_t values = 1;
    int depth = 0;
};

/// Measures a document during parsing, without building it.
class Limits : public YAML::EventHandler {
public:
    explicit Limits(ErrorKind kind) : kind_(kind) {}

    void OnDocumentStart(const YAML::Mark& mark) override { first_ = mark; }
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { value(mark, anchor, {}); }
    void OnScalar(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  const std::string& /*value*/) override {
        is_empty_ = false;
        value(mark, anchor, {});
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        const auto found = anchors_.find(anchor);
        if (found == anchors_.end()) fail(mark, "the value contains a reference to itself");
        value(mark, 0, found->second);
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value /*style*/) override {
        begin(mark, anchor);
    }
    void OnSequenceEnd() override { end(); }
    void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value /*style*/) override {
        begin(mark, anchor);
    }
    void OnMapEnd() override { end(); }

    /// Error unless the document that was measured has no value: readers take the first document only.
    void refuse_if_more() const {
        if (!is_empty_) fail(first_, "a second document begins here, and only one is read; keep one in the file");
    }

private:
    struct Open {
        YAML::Mark mark;
        YAML::anchor_t anchor;
        Extent extent;
    };

    [[noreturn]] void fail(const YAML::Mark& mark, const std::string& what) const {
        throw Error(kind_, "line " + std::to_string(mark.line + 1) + ": " + what);
    }

    void begin(const YAML::Mark& mark, YAML::anchor_t anchor) {
        is_empty_ = false;
        open_.push_back({mark, anchor, {}});
        if (open_.size() > kDeepest) fail_depth(mark);
    }

    void end() {
        const Open closed = open_.back();
        open_.pop_back();
        value(closed.mark, closed.anchor, closed.extent);
    }

    /// Adds a complete value to the innermost open container.
    void value(const YAML::Mark& mark, YAML::anchor_t anchor, const Extent& extent) {
        if (anchor != 0) anchors_[anchor] = extent;
        if (open_.empty()) return;
        Extent& around = open_.back().extent;
        around.values += extent.values;
        around.depth = std::max(around.depth, extent.depth + 1);
        if (around.values > kMostValues)
            fail(mark, "with its references the file holds more than " + std::to_string(kMostValues) + " values");
        if (around.depth > kDeepest) fail_depth(mark);
    }

    [[noreturn]] void fail_depth(const YAML::Mark& mark) const {
        fail(mark, "values are nested more than " + std::to_string(kDeepest) + " deep");
    }

    ErrorKind kind_;
    YAML::Mark first_ = {};  // where the document begins
    bool is_empty_ = true;
    std::vector<Open> open_;
    std::unordered_map<YAML::anchor_t, Extent> anchors_;  // sizes of complete values
};

}  // namespace

std::string yaml_text(const std::string& file, ErrorKind kind) {
    std::string text = read_text(posix_files(), file, kLargestFileBytes);
    try {
        check_yaml(text, kind);
    } catch (const Error& error) {
        throw error.within(file);
    }
    return text;
}

void check_yaml(std::string_view text, ErrorKind kind) {
    Limits limits(kind);
    try {
        std::istringstream stream{std::string(text)};
        YAML::Parser parser(stream);
        parser.HandleNextDocument(limits);
        Limits next(kind);
        while (parser.HandleNextDocument(next))
            next.refuse_if_more();
    } catch (const YAML::ParserException& error) {
        throw Error(kind, "line " + std::to_string(error.mark.line + 1) + ": " + error.msg);
    } catch (const YAML::Exception& error) {
        throw Error(kind, error.what());
    }
}

}  // namespace cnntrain::config
