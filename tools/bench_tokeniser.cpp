// The speed of the WordPiece tokeniser on one thread.
//
// usage: bench_tokeniser VOCABULARY TEXT [--cased] [--rounds 5] [--ids]
//
// Prints the rate of the fastest round in MB of text for a second of processor time, which other programs on the machine
// change little; with --ids the token ids instead, a line for each line.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/io.h"
#include "data/text/tokeniser.h"
#include "data/text/vocabulary.h"

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

double processor_seconds() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

void print_ids(const std::vector<std::string_view>& lines, data::Tokeniser& tokeniser) {
    std::vector<data::TokenId> ids;
    for (const std::string_view line : lines) {
        ids.clear();
        tokeniser.append_tokens(line, ids);
        std::string text;
        for (const data::TokenId id : ids)
            text += (text.empty() ? "" : " ") + std::to_string(id);
        std::puts(text.c_str());
    }
}

void measure(const std::string& text, const std::vector<std::string_view>& lines, data::Tokeniser& tokeniser,
             int rounds) {
    std::vector<data::TokenId> ids;
    std::size_t tokens = 0;
    double best = 1e300;
    for (int round = 0; round < rounds; ++round) {
        tokens = 0;
        const double start = processor_seconds();
        for (const std::string_view line : lines) {
            ids.clear();
            tokeniser.append_tokens(line, ids);
            tokens += ids.size();
        }
        best = std::min(best, processor_seconds() - start);
    }
    std::printf("%.2f MB/s (%zu tokens)\n", static_cast<double>(text.size()) / 1e6 / best, tokens);
}

int run(const std::vector<std::string>& words) {
    std::vector<std::string> paths;
    bool cased = false;
    bool ids = false;
    int rounds = 5;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == "--cased") {
            cased = true;
        } else if (words[i] == "--ids") {
            ids = true;
        } else if (words[i] == "--rounds" && i + 1 < words.size()) {
            rounds = std::atoi(words[++i].c_str());
        } else {
            paths.push_back(words[i]);
        }
    }
    if (paths.size() != 2) {
        std::fprintf(stderr, "usage: bench_tokeniser VOCABULARY TEXT [--cased] [--rounds 5] [--ids]\n");
        return 2;
    }
    const data::Vocabulary vocabulary = data::Vocabulary::read(posix_files(), paths[0]);
    data::Tokeniser tokeniser(vocabulary, !cased);
    const std::string text = posix_files().read_text(paths[1]);
    const std::vector<std::string_view> lines = lines_of(text);
    if (ids) {
        print_ids(lines, tokeniser);
    } else {
        measure(text, lines, tokeniser, rounds);
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run({argv + 1, argv + argc});
    } catch (const std::exception& error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        return 1;
    }
}
