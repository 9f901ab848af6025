// The speed of the WordPiece tokeniser on one thread: prints the rate of the fastest round in MB of text for a second
// of processor time; with --ids the token ids instead.
#include <string>
#include <string_view>

#include "cnntrain/base/io.h"
#include "data/text/tokeniser.h"
#include "run_tool.h"

namespace {

using namespace cnntrain;

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        lines.push_back(text.substr(0, text.find('\n')));
        text.remove_prefix(std::min(lines.back().size() + 1, text.size()));
    }
    return lines;
}

void tokenise(const std::vector<std::string_view>& lines, data::Tokeniser& tokeniser, bool print) {
    std::vector<data::TokenId> ids;
    for (const std::string_view line : lines) {
        ids.clear();
        tokeniser.append_tokens(line, ids);
        if (!print) continue;
        std::string text;
        for (const data::TokenId id : ids)
            text += (text.empty() ? "" : " ") + std::to_string(id);
        std::puts(text.c_str());
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::string vocabulary;
    std::string text_file;
    bool ids = false;
    int rounds = 5;
    CLI::App app{"Times the WordPiece tokeniser on one thread, in MB of text for a second of processor time."};
    app.add_option("VOCABULARY", vocabulary, "a piece in each line")->required();
    app.add_option("TEXT", text_file, "the text that is tokenised")->required();
    app.add_flag("--ids", ids, "print the token ids instead, a line for each line");
    app.add_option("--rounds", rounds, "rounds, of which the fastest counts")->check(CLI::PositiveNumber);
    return run_tool(app, argc, argv, [&] {
        const data::Vocabulary pieces = data::Vocabulary::read(posix_files(), vocabulary);
        data::Tokeniser tokeniser(pieces, true);
        const std::string text = read_text(posix_files(), text_file);
        double best = 1e300;
        for (int round = 0; round < (ids ? 1 : rounds); ++round) {
            const double start = processor_seconds();
            tokenise(lines_of(text), tokeniser, ids);
            best = std::min(best, processor_seconds() - start);
        }
        if (!ids) std::printf("%.2f MB/s\n", static_cast<double>(text.size()) / 1e6 / best);
        return 0;
    });
}
