// Downloads over HTTP, by libcurl, and SHA-256, by OpenSSL's libcrypto. A build without them has neither.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "cnntrain/weights/published.h"

namespace cnntrain::weights {

/// Appends the content of `address` to the file `partial`, from where it ends; a server that has changed the content
/// or cannot continue sends all of it. Lost connections are taken up again as long as that leads farther. The file
/// `partial`.etag keeps the server's name of the content; where it gives none, only content with a known sum is
/// continued. Errors as fetch_published().
void download(FileSystem& files, const std::string& address, const std::string& partial, bool has_sum,
              const FetchHost& host);

/// Waits; throws Interrupted on a stop.
void pause_for(std::chrono::milliseconds time, const FetchHost& host);

class Sha256 {
public:
    Sha256();
    ~Sha256();
    Sha256(const Sha256&) = delete;
    Sha256& operator=(const Sha256&) = delete;

    void add(std::span<const std::byte> bytes);
    /// 64 hexadecimal digits. Ends the sum.
    std::string digits();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace cnntrain::weights
