#include "support/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>

#include "cnntrain/base/io.h"

namespace cnntrain::test {

TemporaryFolder::TemporaryFolder(const std::filesystem::path& parent) : path_(parent / "cnntrain_XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) throw std::system_error(errno, std::generic_category(), path_);
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, const std::string& text) const {
    std::string file = *this / name;
    write_text(posix_files(), file, text);
    return file;
}

std::string TemporaryFolder::read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(*this / name, std::ios::binary).rdbuf();
    return text.str();
}

}  // namespace cnntrain::test
