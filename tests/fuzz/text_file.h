// One file on a memory disk, for readers that want the name of a real one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

namespace cnntrain::fuzz {

class TextFile {
public:
    explicit TextFile(const std::string& name) {
        std::error_code not_there;
        const bool in_memory = std::filesystem::is_directory("/dev/shm", not_there);
        const std::filesystem::path folder = in_memory ? "/dev/shm" : std::filesystem::temp_directory_path();
        path_ = folder / ("cnntrain_fuzz_" + std::to_string(::getpid()) + "_" + name);
    }
    ~TextFile() {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }
    TextFile(const TextFile&) = delete;
    TextFile& operator=(const TextFile&) = delete;

    const std::string& with(const std::uint8_t* data, std::size_t size) const {
        std::ofstream(path_, std::ios::binary)
            .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
        return path_;
    }

private:
    std::string path_;
};

}  // namespace cnntrain::fuzz
