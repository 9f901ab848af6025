// Text of any bytes through the tokeniser, and any bytes as a vocabulary: never a crash, and every piece that comes out
// is one of the vocabulary's. The first byte says what the rest is: 't' text, 'c' text that keeps its case, 'v' a
// vocabulary.
#include <string_view>

#include "data/text/tokeniser.h"
#include "fuzz/fuzz_target.h"

namespace cnntrain::fuzz {
namespace {

constexpr std::string_view kVocabulary =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##a\ncat\n##s\n.\n##.\ne\n##e\n\xce\xb1\n##\xcf\x83\n##"
    "\xcf\x82\n\xe5\x8c\x97\n";

void check_text(std::string_view text, bool lower_case) {
    static const data::Vocabulary vocabulary(kVocabulary);
    data::Tokeniser tokeniser(vocabulary, lower_case);
    std::vector<data::TokenId> ids;
    tokeniser.append_tokens(text, ids);
    for (const data::TokenId id : ids)
        require(id < vocabulary.size() && id != 0);
    if (data::is_blank(text)) require(ids.empty() && data::stripped(text).empty());
    // A stripped text is sound: all of its bytes belong to characters, and stripping it again changes nothing.
    const std::string stripped = data::stripped(text);
    data::CodePoint value = 0;
    for (std::string_view rest = stripped; !rest.empty();)
        require(data::take_code_point(rest, value));
    require(data::stripped(stripped) == stripped);
}

void check_vocabulary(std::string_view text) {
    const data::Vocabulary vocabulary(text);
    require(vocabulary.distinct().size() <= vocabulary.size());
    std::vector<data::TokenId> ids;
    const bool covered = vocabulary.append_pieces("catsas\xce\xb1", ids);
    require(covered || ids.empty());
    for (const data::TokenId id : ids)
        require(id < vocabulary.size());
}

}  // namespace

std::vector<std::string> seeds() {
    return {"tThe cats, the Caf\xc3\xa9s.", "c\xe5\x8c\x97\xe4\xba\xac cat\xe2\x80\xa8s",
            "t\xce\x91\xce\xa3'\xce\x91 \xce\xa3", "tA\xcc\x8a\xcc\xa3 \xed\x95\x9c \xf0\x9f\x98\x80 \xef\xa4\x80",
            "v" + std::string(kVocabulary)};
}

std::vector<std::string> words() {
    return {"\xce\xa3", "\xcc\x81", "\xe3\x80\xae", "\xe2\x80\xa9", "\xc2\xa0", "##",
            "\n",       "a",        "\xef\xbf\xbd", "\xed\xa0\x80", "'"};
}

}  // namespace cnntrain::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace cnntrain;
    if (size == 0) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    if (data[0] == 'v') {
        fuzz::check_vocabulary(text);
    } else {
        fuzz::check_text(text, data[0] != 'c');
    }
    return 0;
}
