// Tar archives: never a crash, and every file that is found lies inside the archive, under a name that does, too. The
// first byte says if the headers' checksums are set right before: 'c' or 'r' (as it is).
#include <filesystem>
#include <span>
#include <string>

#include "cnntrain/base/io.h"
#include "data/format_fixtures.h"
#include "data/records/tar.h"
#include "fuzz/fuzz_target.h"

namespace cnntrain::fuzz {
namespace {

void check_archive(const std::string& bytes) {
    static MemoryFiles files;
    write_text(files, "x.tar", bytes);
    const auto archive = files.open("x.tar");
    for (const data::TarMember& member : data::tar_members(*archive)) {
        require(member.begin <= bytes.size() && member.bytes <= bytes.size() - member.begin);
        const std::filesystem::path path(member.name);
        require(!path.empty() && !path.is_absolute());
        for (const std::filesystem::path& part : path)
            require(part != "..");
    }
}

}  // namespace

std::vector<std::string> seeds() {
    const std::string plain = data::encode_tar({{"a/b.jpg", "x"}, {"a/b.cls", "3"}});
    const std::string extended = data::encode_tar({{"p", "12 path=b/c\n9 size=1\n", 'x'},
                                                   {"a", "y"},
                                                   {"g", "9 a=bcde\n", 'g'},
                                                   {"l", "long/name", 'L'},
                                                   {"b", "z"}});
    return {"c" + plain, "r" + plain, "c" + extended, "c" + data::encode_tar({{"../a", "x"}, {"d/", "", '5'}})};
}

std::vector<std::string> words() {
    return {"path=", "size=", "ustar", "../", "/", std::string(1, '\0'), "\x80"};
}

}  // namespace cnntrain::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace cnntrain;
    if (size == 0) return 0;
    std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    if (data[0] == 'c') data::set_tar_checksums(bytes);
    fuzz::accepted([&] { fuzz::check_archive(bytes); });
    return 0;
}
