// Runs a fuzz target without libFuzzer: mutations of the seeds, from a fixed seed, so that a run can be repeated.
//
// usage: <target>_fuzz [-runs=N] [-seed=S]     mutate and run
//        <target>_fuzz -write_corpus=DIR       store the seeds, as a corpus for libFuzzer
//        <target>_fuzz FILE...                 run these inputs
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include <sys/time.h>

#include "cnntrain/base/rng.h"
#include "fuzz/fuzz_target.h"

namespace {

using cnntrain::Rng;

/// The input under test, for the message of a crash or a hang.
std::string current;

extern "C" void store_current() {
    constexpr const char* kName = "fuzz-failure.bin";
    std::ofstream(kName, std::ios::binary) << current;
    std::fprintf(stderr, "the input of %zu bytes is in %s\n", current.size(), kName);
}

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): the sanitizers' name
extern "C" void __sanitizer_set_death_callback(void (*callback)());

void on_timer(int) {
    std::fprintf(stderr, "the input hangs\n");
    store_current();
    std::_Exit(1);
}

/// Processor seconds that one input may take: a process that others slow down does not hang.
void set_timer(int seconds) {
    const itimerval timer{{0, 0}, {seconds, 0}};
    setitimer(ITIMER_PROF, &timer, nullptr);
}

void run(std::string input) {
    current = std::move(input);
    // A block of exactly this size, so that reading beyond it is seen.
    const std::vector<std::uint8_t> bytes(current.begin(), current.end());
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

std::size_t below(Rng& rng, std::size_t bound) {
    return static_cast<std::size_t>(rng.integer(0, static_cast<std::int64_t>(bound)));
}

/// One of the format's words, seldom very many of it.
std::string some_words(const std::vector<std::string>& words, Rng& rng) {
    const std::string& word = words[below(rng, words.size())];
    std::string text;
    for (std::int64_t count = rng.integer(0, 16) == 0 ? rng.integer(1, 300) : 1; count > 0; --count)
        text += word;
    return text;
}

void mutate_once(std::string& input, const std::vector<std::string>& seeds, const std::vector<std::string>& words,
                 Rng& rng) {
    if (input.empty()) input.push_back('\0');
    const std::size_t at = below(rng, input.size());
    if (!words.empty() && rng.integer(0, 2) == 0) {
        const std::size_t replaced = rng.integer(0, 2) == 0 ? 0 : 1 + below(rng, 8);
        input.replace(at, std::min(replaced, input.size() - at), some_words(words, rng));
        return;
    }
    switch (rng.integer(0, 8)) {
        case 0:
            input[at] = static_cast<char>(input[at] ^ (1 << rng.integer(0, 8)));
            break;
        case 1:
            input[at] = static_cast<char>(rng.next_u32());
            break;
        case 2: {  // numbers that lengths stumble over
            constexpr std::string_view kValues[] = {"\xff\xff\xff\xff",
                                                    "\x7f\xff\xff\xff",
                                                    "\x80\x80\x80\x80\x80",
                                                    {"\0\0\0\0", 4},
                                                    "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
                                                    "\xff\xd8",
                                                    "\xff\xda"};
            const std::string_view value = kValues[below(rng, std::size(kValues))];
            input.replace(at, std::min(value.size(), input.size() - at), value);
            break;
        }
        case 3:
            input.erase(at, 1 + below(rng, 16));
            break;
        case 4:
            input.insert(at, 1 + below(rng, 16), static_cast<char>(rng.next_u32()));
            break;
        case 5:
            input.resize(at);
            break;
        case 6:
            input.insert(below(rng, input.size()), input.substr(at, 1 + below(rng, 64)));
            break;
        default: {
            const std::string& other = seeds[below(rng, seeds.size())];
            const std::size_t from = below(rng, other.size());
            input.replace(at, std::min<std::size_t>(32, input.size() - at), other.substr(from, 1 + below(rng, 64)));
        }
    }
}

void fuzz(std::int64_t runs, std::uint64_t seed) {
    const std::vector<std::string> seeds = cnntrain::fuzz::seeds();
    const std::vector<std::string> words = cnntrain::fuzz::words();
    for (std::int64_t i = 0; i < runs; ++i) {
        set_timer(20);
        Rng rng(seed, cnntrain::RngStream::test, 0, static_cast<std::uint64_t>(i));
        std::string input = seeds[below(rng, seeds.size())];
        for (std::int64_t changes = rng.integer(0, 6); changes > 0; --changes)
            mutate_once(input, seeds, words, rng);
        run(std::move(input));
    }
    set_timer(0);
    std::printf("%lld inputs\n", static_cast<long long>(runs));
}

void write_corpus(const std::filesystem::path& folder) {
    std::filesystem::create_directories(folder);
    int number = 0;
    for (const std::string& seed : cnntrain::fuzz::seeds())
        std::ofstream(folder / std::to_string(number++), std::ios::binary) << seed;
    std::printf("%d inputs in %s\n", number, folder.c_str());
}

}  // namespace

int main(int argc, char** argv) {
    __sanitizer_set_death_callback(store_current);
    std::signal(SIGPROF, on_timer);
    std::int64_t runs = 10000;
    std::uint64_t seed = 1;
    bool only_files = false;
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        if (word.starts_with("-runs=")) {
            runs = std::atoll(word.substr(6).data());
        } else if (word.starts_with("-seed=")) {
            seed = static_cast<std::uint64_t>(std::atoll(word.substr(6).data()));
        } else if (word.starts_with("-write_corpus=")) {
            write_corpus(std::string(word.substr(14)));
            return 0;
        } else {
            only_files = true;
            std::ifstream file(argv[i], std::ios::binary);
            run({std::istreambuf_iterator<char>(file), {}});
        }
    }
    if (!only_files) fuzz(runs, seed);
    return 0;
}
